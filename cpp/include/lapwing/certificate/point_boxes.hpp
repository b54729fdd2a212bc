// Which columns a row of points may violate its constraints with: the certificate's own boxes.
//
// A row i is proven against a whole box of columns at once if c - u[i] - v >= 0 for a cost c that none of the box is
// below, and the largest v in it. Every point of a box is between its corners, so |x[k] - y[k]| (a product x[k] y[k])
// is least, or greatest, at a place that is known; there the cost is computed by its definition. As each operation of
// the definition is rounded monotonically, none of the box's costs is below (above) that one. Where the definition uses
// a function that may not be monotone, the cost is lowered (raised) by a 4096th of the term.
//
// Where costs are squared distances, v is also compared with a linear function of the coordinates. If v <= a . y + r in
// a box, then c - u - v >= (w |x - y|^2 - a . y) - r - u, and the bracket is least, dimension by dimension, at
// x + a / 2w or at an end. So rows that are matched far away, where v varies much within a box, are proven, too.
//
// Boxes are of kCertificateBoxColumns columns in any order that the source knows, which is checked to be one; a box of
// the next level holds kCertificateBoxFan of them. Shares with the methods' boxes (costs/boxes.hpp) only the definition
// of costs. O(log n) bounds a row and the columns of a few boxes, where dimensions are few and the duals are good; all
// columns otherwise.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "lapwing/costs/points.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

inline constexpr Index kCertificateBoxColumns = kColumnsAtOnce;
inline constexpr Index kCertificateBoxFan = 16;

// The corners of boxes, as the kernels see them: coordinate k of box b at low[k * stride + b] and high[k * stride + b].
template <class T>
struct CornerTerm {
    PointTerm<T> points;  // y in the boxes' order
    const T *low, *high;
    std::ptrdiff_t stride;
};

template <class T>
class CertificatePointBoxes {
  public:
    // Null if the costs are not of points, if there are few columns, no order of them, or if a cost might not be
    // finite. v [cols] as minimised. `poll` is called now and then, and may throw.
    static std::unique_ptr<CertificatePointBoxes> of(const CostSource<T>* source, Index rows, Index cols, bool maximize,
                                                     const double* v, int threads, const std::function<void()>& poll);

    // Boxes that are not proven of row i, whose dual is u: visit(costs, columns, prices, count) for each.
    template <class Visit>
    Index visit_doubtful(Index i, double u, const Visit& visit) const {
        Index visited = 0;
        T cost[kCertificateBoxColumns];
        Index doubtful[kMostLevels * kCertificateBoxFan];  // boxes, numbered through all levels
        Index left = doubtful_in(i, u, last_level_, last_count_, doubtful);
        while (left > 0) {
            const Index box = doubtful[--left];
            if (box >= boxes_) {
                const Inner& inner = inner_[box - boxes_];
                left += doubtful_in(i, u, inner.first, inner.count, doubtful + left);
                continue;
            }
            const Index first = box * kCertificateBoxColumns;
            const Index count = std::min(kCertificateBoxColumns, cols_ - first);
            costs_of(i, first, cost);
            visit(cost, order_.data() + first, v_.data() + first, count);
            visited += count;
        }
        return visited;
    }
    // Rows in an order in which neighbours have boxes in common.
    const std::vector<std::int32_t>& row_order() const { return row_order_; }

  private:
    struct Inner {
        Index first, count;  // its boxes
    };
    static constexpr int kMostLevels = 8;

    CertificatePointBoxes() = default;
    void build(std::span<const PointTerm<T>> terms, const double* v);
    void take_slopes();
    Index doubtful_in(Index i, double u, Index first, Index count, Index* found) const;
    void costs_of(Index i, Index first, T* cost) const;

    Index cols_ = 0, boxes_ = 0;  // boxes_: of the lowest level, which come first
    bool maximize_ = false;
    std::vector<std::int32_t> order_, row_order_;
    std::vector<double> v_;               // in order
    std::vector<double> highest_;         // v in each box
    std::vector<double> slopes_, rises_;  // a and r: [dims, boxes] and [boxes]; empty if costs are others
    std::vector<Inner> inner_;            // of the boxes from boxes_ on
    Index last_level_ = 0, last_count_ = 0;
    std::vector<std::vector<T>> y_, corners_;
    std::vector<CornerTerm<T>> terms_;  // refer to these
    std::vector<PointTerm<T>> points_;  // those of terms_
};

}  // namespace lapwing
