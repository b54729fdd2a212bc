// Costs that are computed from points: a weighted sum of terms, each a metric of one set of coordinates.
//
// Row i and column j have coordinates x[i][k] and y[j][k], k = 0 .. dims - 1, of the number type T of the costs, in
// which all of the arithmetic is done: differences first, k in increasing order, nothing fused. So a cost depends on
// neither the instruction set nor the piece of the row that it is computed with. Pairs that are farther apart than a
// term's limit are forbidden. Memory O((rows + cols) dims); costs/points.inc.hpp has the loops.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "costs/metrics.cuh"
#include "lapwing/costs/source.hpp"

namespace lapwing {

// The metrics of src/lapwing/kernels/costs/metrics.cuh, which holds their arithmetic.
enum class Metric {
#define LAPWING_METRIC(name) name,
    FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
};
std::optional<Metric> metric_named(std::string_view name);

// One term, as the loops see it. y is stored by dimension, with room for kColumnsAtOnce more columns.
template <class T>
struct PointTerm {
    Metric metric;
    Index dims;
    const T* x;             // [rows, dims]
    const T* y;             // [dims, stride]
    std::ptrdiff_t stride;  // >= cols + kColumnsAtOnce
    T weight;
    T power;
    T limit = std::numeric_limits<T>::infinity();   // an unweighted cost above it
    T beyond = std::numeric_limits<T>::infinity();  // counts as this: infinity, with the sign that forbids a pair
};

inline constexpr Index kColumnsAtOnce = 64;
// Points of many dimensions that are computed together, and how many dimensions at a time.
inline constexpr struct {
    Index rows = 64, cols = 64, dims = 128;
} kPointBlock;
template <class T>
struct PointScratch {
    T sums[kPointBlock.rows * kPointBlock.cols], totals[kPointBlock.rows * kPointBlock.cols];  // of a term; of all
    T packed[kPointBlock.cols * kPointBlock.dims];                                             // coordinates of columns
};

template <class T>
class PointCosts final : public CostSource<T> {
  public:
    PointCosts(Index rows, Index cols) : rows_(rows), cols_(cols) {}

    // Adds a term of x [rows, dims] and y [cols, dims], both copied; all numbers finite but limit and beyond.
    void add(Metric metric, Index dims, const T* x, const T* y, T weight, T power,
             T limit = std::numeric_limits<T>::infinity(), T beyond = std::numeric_limits<T>::infinity());

    Index rows() const { return rows_; }
    Index cols() const { return cols_; }
    void read(Index i, Index first, Index count, T* out) const override;
    void read_block(Index begin, Index end, Index first, Index count, T* out, std::ptrdiff_t stride) const override;
    std::unique_ptr<CostSource<T>> part(std::span<const Index> rows, std::span<const Index> cols) const override;
    bool has_parts() const override { return true; }
    Index rows_at_once() const override { return has_many_dims() ? kPointBlock.rows : 1; }
    std::vector<std::int32_t> in_order(bool rows, Index group, Team& team,
                                       const std::function<void()>& poll) const override;
    std::unique_ptr<CostSource<T>> in_boxes(std::span<const Index> rows, std::span<const Index> cols) const override;
    bool is_in_order() const override { return is_in_order_; }
    const ColumnBoxes<T>* boxes() const override { return boxes_.get(); }
    std::unique_ptr<CostSource<T>> turned(std::span<const Index> rows) const override;
    // Equal points. O(dims) a line.
    std::vector<Index> equal_lines(bool rows, Index most) const override;

    std::span<const PointTerm<T>> terms() const { return terms_; }

  private:
    struct Coordinates {
        std::vector<T> x, y;
    };
    // Takes over the coordinates of one more term, laid out as in PointTerm.
    void add(PointTerm<T> term, Coordinates&& coordinates);
    std::unique_ptr<PointCosts> chosen(std::span<const Index> rows, std::span<const Index> cols) const;
    // Rows and columns are in spatial order: puts the columns into boxes.
    void make_boxes();
    std::ptrdiff_t stride() const { return std::ptrdiff_t{cols_} + kColumnsAtOnce; }
    bool has_many_dims() const;

    Index rows_, cols_;
    std::vector<Coordinates> coordinates_;
    std::vector<PointTerm<T>> terms_;  // refer to coordinates_
    bool is_in_order_ = false;
    std::unique_ptr<const ColumnBoxes<T>> boxes_;  // refer to terms_; null where they are of no use
};

}  // namespace lapwing
