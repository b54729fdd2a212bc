#include "lapwing/certificate/point_boxes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#define LAPWING_TARGET_INCLUDE "lapwing/certificate/point_boxes.inc.hpp"
#include "lapwing/costs/spatial_order.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

constexpr Index kFewColumns = 1024;  // of so few all costs are computed

bool is_order(const std::vector<std::int32_t>& order, Index count) {
    std::vector<char> seen(static_cast<std::size_t>(count), 0);
    for (const std::int32_t k : order) {
        if (k < 0 || k >= count || seen[static_cast<std::size_t>(k)] != 0) return false;
        seen[static_cast<std::size_t>(k)] = 1;
    }
    return static_cast<Index>(order.size()) == count;
}

// Least and largest of `count` numbers, `stride` apart.
template <class T>
std::pair<T, T> range_of(const T* at, Index count, std::ptrdiff_t stride) {
    std::pair<T, T> range{*at, *at};
    for (Index k = 1; k < count; ++k) {
        const T x = at[k * stride];
        range = {std::min(range.first, x), std::max(range.second, x)};
    }
    return range;
}

// Whether every cost, and every number on the way to one, is finite: so it is where the definition gives a finite cost,
// with room for signs and rounding, for coordinates as far apart as any, and for coordinates as large as any.
template <class T>
bool are_finite(std::span<const PointTerm<T>> terms, Index rows, Index cols) {
    T total = 0;
    for (const PointTerm<T>& term : terms) {
        std::vector<T> none(static_cast<std::size_t>(term.dims)), apart = none, x = none, y = none;
        for (Index k = 0; k < term.dims; ++k) {
            const auto [x_low, x_high] = range_of(term.x + k, rows, term.dims);
            const auto [y_low, y_high] = range_of(term.y + k * term.stride, cols, 1);
            const auto at = static_cast<std::size_t>(k);
            apart[at] = std::max(x_high - y_low, y_high - x_low);
            x[at] = std::max(std::fabs(x_low), std::fabs(x_high));
            y[at] = std::max(std::fabs(y_low), std::fabs(y_high));
        }
        for (const auto& [a, b] : {std::pair(&none, &apart), std::pair(&x, &y)}) {
            for (const T weight : {T(1), term.weight}) {
                T cost = 0;
                PointCosts<T> largest(1, 1);
                largest.add(term.metric, term.dims, a->data(), b->data(), weight, term.power);
                largest.read(0, 0, 1, &cost);
                total += std::fabs(cost);
            }
        }
    }
    return total <= std::numeric_limits<T>::max() / 8;
}

}  // namespace

template <class T>
std::unique_ptr<CertificatePointBoxes<T>> CertificatePointBoxes<T>::of(const CostSource<T>* source, Index rows,
                                                                       Index cols, bool maximize, const double* v,
                                                                       int threads, const std::function<void()>& poll) {
    const auto* points = dynamic_cast<const PointCosts<T>*>(source);
    if (points == nullptr || rows < 1 || cols < kFewColumns) return nullptr;
    if (!are_finite(points->terms(), rows, cols)) return nullptr;
    std::unique_ptr<CertificatePointBoxes> boxes(new CertificatePointBoxes);
    boxes->cols_ = cols;
    boxes->maximize_ = maximize;
    Team team(threads);
    boxes->order_ = points->in_order(false, kNested, team, poll);
    if (!is_order(boxes->order_, cols)) return nullptr;
    boxes->row_order_ = points->in_order(true, kNested, team, poll);
    if (!is_order(boxes->row_order_, rows)) return nullptr;
    boxes->build(points->terms(), v);
    return boxes;
}

template <class T>
void CertificatePointBoxes<T>::build(std::span<const PointTerm<T>> terms, const double* v) {
    constexpr Index kFan = kCertificateBoxFan;
    // Boxes of a level begin at a multiple of kFan; boxes that are there for that alone have a price of -infinity.
    const auto padded = [](Index count) { return (count + kFan - 1) / kFan * kFan; };
    v_.reserve(order_.size());
    for (const std::int32_t j : order_) v_.push_back(v[j]);
    Index level = 0, count = (cols_ + kCertificateBoxColumns - 1) / kCertificateBoxColumns;
    boxes_ = padded(count);
    for (; count > kFan; level += padded(std::exchange(count, (count + kFan - 1) / kFan))) {
        for (Index b = 0; b < count; b += kFan) inner_.push_back({level + b, std::min(kFan, count - b)});
        inner_.resize(static_cast<std::size_t>(padded(static_cast<Index>(inner_.size()))));
    }
    last_level_ = level, last_count_ = count;
    const std::ptrdiff_t all = boxes_ + static_cast<std::ptrdiff_t>(inner_.size());
    // Gathers one number a box: from those of its columns, then from those of its boxes.
    const auto gather = [&](auto* of_box, const auto* of_column, const auto& larger) {
        for (Index b = 0; b < boxes_; ++b)
            for (Index j = b * kCertificateBoxColumns; j < std::min(cols_, (b + 1) * kCertificateBoxColumns); ++j)
                if (j % kCertificateBoxColumns == 0 || larger(of_column[j], of_box[b])) of_box[b] = of_column[j];
        for (std::size_t b = 0; b < inner_.size(); ++b)
            for (Index k = inner_[b].first; k < inner_[b].first + inner_[b].count; ++k)
                if (k == inner_[b].first || larger(of_box[k], of_box[boxes_ + b])) of_box[boxes_ + b] = of_box[k];
    };
    highest_.assign(static_cast<std::size_t>(all), -kInfinity<double>);
    gather(highest_.data(), v_.data(), std::greater<double>());
    for (const PointTerm<T>& term : terms) {
        const std::ptrdiff_t stride = std::ptrdiff_t{cols_} + kColumnsAtOnce;
        auto& y = y_.emplace_back(static_cast<std::size_t>(term.dims * stride));
        auto& corners = corners_.emplace_back(static_cast<std::size_t>(2 * term.dims * all));
        for (Index k = 0; k < term.dims; ++k) {
            T* const mine = y.data() + k * stride;
            for (Index j = 0; j < cols_; ++j) mine[j] = term.y[k * term.stride + order_[static_cast<std::size_t>(j)]];
            gather(corners.data() + k * all, mine, std::less<T>());
            gather(corners.data() + (term.dims + k) * all, mine, std::greater<T>());
        }
        PointTerm<T> ordered = term;
        ordered.y = y.data(), ordered.stride = stride;
        points_.push_back(ordered);
        terms_.push_back({ordered, corners.data(), corners.data() + term.dims * all, all});
    }
    take_slopes();
}

// In the lowest boxes each slope is fitted by itself; the others have the mean of theirs. Any slopes would do. Rises
// are raised by far more than their rounding.
template <class T>
void CertificatePointBoxes<T>::take_slopes() {
    constexpr double kTiny = 0x1p-44;
    for (const PointTerm<T>& term : points_)
        if (term.metric != Metric::squared_euclidean || !(term.weight > 0) || maximize_) return;
    const auto all = static_cast<Index>(highest_.size());
    rises_.assign(static_cast<std::size_t>(all), -kInfinity<double>);
    std::ptrdiff_t dims = 0, at_dimension = 0;
    for (const PointTerm<T>& term : points_) dims += term.dims;
    slopes_.assign(static_cast<std::size_t>(dims * all), 0.0);
    std::vector<double> left = v_, size;
    for (const double v : v_) size.push_back(std::fabs(v));
    for (const CornerTerm<T>& term : terms_)
        for (Index k = 0; k < term.points.dims; ++k) {
            const T* const y = term.points.y + k * term.points.stride;
            double* const slope = slopes_.data() + at_dimension++ * all;
            for (Index first = 0; first < cols_; first += kCertificateBoxColumns) {
                const Index end = std::min(cols_, first + kCertificateBoxColumns);
                double mean = 0, with_v = 0, with_y = 0;
                for (Index j = first; j < end; ++j) mean += static_cast<double>(y[j]) / (end - first);
                for (Index j = first; j < end; ++j) {
                    const double apart = static_cast<double>(y[j]) - mean;
                    with_v += apart * v_[j], with_y += apart * apart;
                }
                const double a = with_y > 0 && std::isfinite(with_v / with_y) ? with_v / with_y : 0;
                slope[first / kCertificateBoxColumns] = a;
                for (Index j = first; j < end; ++j) {
                    const double product = a * static_cast<double>(y[j]);
                    left[j] -= product, size[j] += std::fabs(product);
                }
            }
        }
    for (Index j = 0; j < cols_; ++j) {
        double& rise = rises_[j / kCertificateBoxColumns];
        rise = std::max(rise, left[j] + kTiny * size[j]);
    }
    for (std::size_t b = 0; b < inner_.size(); ++b) {
        const auto [first, count] = inner_[b];
        if (count == 0) continue;
        std::vector<double> rise(rises_.begin() + first, rises_.begin() + first + count);
        double* slope = slopes_.data();
        for (const CornerTerm<T>& term : terms_)
            for (Index k = 0; k < term.points.dims; ++k, slope += all) {
                double& mean = slope[boxes_ + static_cast<Index>(b)];
                for (Index c = 0; c < count; ++c) mean += slope[first + c] / count;
                for (Index c = 0; c < count; ++c) {
                    const std::ptrdiff_t at = k * term.stride + first + c;
                    const double apart = slope[first + c] - mean, low = static_cast<double>(term.low[at]),
                                 high = static_cast<double>(term.high[at]),
                                 reach = std::max(std::fabs(low), std::fabs(high));
                    rise[c] += std::max(apart * low, apart * high) +
                               kTiny * (std::fabs(rise[c]) + (std::fabs(slope[first + c]) + std::fabs(mean)) * reach);
                }
            }
        rises_[boxes_ + static_cast<Index>(b)] = *std::max_element(rise.begin(), rise.end());
    }
}

template <class T>
Index CertificatePointBoxes<T>::doubtful_in(Index i, double u, Index first, Index count, Index* found) const {
    unsigned bits = LAPWING_DISPATCH(certificate_doubtful_boxes<T>, terms_.data(), static_cast<Index>(terms_.size()), i,
                                     first, maximize_, u, highest_.data());
    if (bits != 0 && !rises_.empty())
        bits =
            LAPWING_DISPATCH(certificate_doubtful_slopes<T>, terms_.data(), static_cast<Index>(terms_.size()), i, first,
                             u, slopes_.data(), static_cast<std::ptrdiff_t>(highest_.size()), rises_.data(), bits);
    Index kept = 0;
    for (Index b = 0; b < count; ++b)
        if ((bits >> b & 1) != 0) found[kept++] = first + b;
    return kept;
}

template <class T>
void CertificatePointBoxes<T>::costs_of(Index i, Index first, T* cost) const {
    LAPWING_DISPATCH(certificate_costs<T>, points_.data(), static_cast<Index>(points_.size()), i, first, cost);
}

template class CertificatePointBoxes<float>;
template class CertificatePointBoxes<double>;

}  // namespace lapwing
