#include "lapwing/numbers/range.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lapwing/costs/source.hpp"
#include "lapwing/threads.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/numbers/range.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

double magnitude(double x) { return std::isfinite(x) ? std::fabs(x) : 0; }
std::int64_t magnitude(std::int64_t x) { return x ^ (x >> 63); }

// The first of n positions where this holds.
template <class Holds>
Index find(Index n, const Holds& holds) {
    for (Index j = 0; j < n; ++j)
        if (holds(j)) return j;
    refuse_changed_costs();
}

// The largest magnitude of every line.
template <class D>
std::vector<D> largest_magnitudes(const MatrixView<D>& lines, int threads, const KeepGoing& keep_going) {
    std::vector<D> largest(static_cast<std::size_t>(lines.rows));
    for_each_line(lines, threads, keep_going, [&](Index i) {
        D& most = largest[static_cast<std::size_t>(i)];
        if (lines.col_stride == 1) {
            most = LAPWING_DISPATCH(range_largest_magnitude, lines.row(i), lines.cols);
        } else {
            for (Index j = 0; j < lines.cols; ++j) most = std::max(most, magnitude(lines.at(i, j)));
        }
    });
    return largest;
}

template <class D>
void find_extreme_cost(const Problem<D>& problem, int threads, const KeepGoing& keep_going, CostRange<D>& range) {
    const MatrixView<D>& cost = problem.cost;
    const bool by_columns = lies_by_columns(cost);
    const MatrixView<D> lines = by_columns ? cost.transposed() : cost;
    const std::vector<D> largest = largest_magnitudes(lines, threads, keep_going);
    const auto worst = std::max_element(largest.begin(), largest.end());
    if (worst == largest.end() || *worst <= magnitude(range.extreme)) return;
    const auto line = static_cast<Index>(worst - largest.begin());
    const Index position = find(lines.cols, [&](Index j) { return magnitude(lines.at(line, j)) == *worst; });
    range.row = by_columns ? position : line;
    range.col = by_columns ? line : position;
    range.extreme = cost.at(range.row, range.col);
}

// The same, row by row, of costs that no matrix holds.
template <class D>
void find_extreme_supplied(const Problem<D>& problem, const KeepGoing& keep_going, CostRange<D>& range) {
    if (const RowOwners<D>* owners = problem.source->owners()) {
        const ExtremeCost<D> extreme = owners->extreme();
        if (magnitude(extreme.value) > magnitude(range.extreme))
            range.extreme = extreme.value, range.row = extreme.row, range.col = extreme.col;
        return;
    }
    RowReader<D> reader(problem.cost, problem.source);
    reader.expect(0, problem.cost.rows);
    Watch watch(keep_going);
    for (Index i = 0; i < problem.cost.rows; ++i) {
        const D* row = reader.row(i);
        const D most = LAPWING_DISPATCH(range_largest_magnitude, row, problem.cost.cols);
        if (most > magnitude(range.extreme)) {
            range.row = i;
            range.col = find(problem.cost.cols, [&](Index j) { return magnitude(row[j]) == most; });
            range.extreme = row[range.col];
        }
        watch.look(static_cast<double>(i + 1) / problem.cost.rows);
    }
}

}  // namespace

template <class T>
CostRange<Dual<T>> check_range(const Problem<T>& problem, int threads, const KeepGoing& keep_going,
                               const Dual<T>* unmatched_cols) {
    using D = Dual<T>;
    CostRange<D> range;
    const Index rows = problem.cost.rows, cols = problem.cost.cols;
    const D share = unmatched_cols != nullptr ? 2 : 1;
    range.limit = cost_limit<D>(unmatched_cols != nullptr ? rows + cols : std::min(rows, cols)) / share;
    if (problem.unmatched_cost != nullptr) {
        const D limit = cost_limit<D>(unmatched_cols != nullptr ? rows + cols : rows) / share;
        for (Index i = 0; i < problem.cost.rows; ++i) {
            const D price = problem.unmatched_cost[i];
            if (price == kInfinity<D> || magnitude(price) <= magnitude(range.extreme)) continue;
            range.extreme = price;
            range.row = i;
        }
        for (Index j = 0; unmatched_cols != nullptr && j < problem.cost.cols; ++j) {
            const D price = unmatched_cols[j];
            if (price == kInfinity<D> || magnitude(price) <= magnitude(range.extreme)) continue;
            range.extreme = price;
            range.row = -1;
            range.col = j;
        }
        range.fits = magnitude(range.extreme) <= limit;
        if (!range.fits) {
            range.limit = limit;
            return range;
        }
    }
    if constexpr (std::is_same_v<T, D>) {
        if (problem.source != nullptr)
            find_extreme_supplied(problem, keep_going, range);
        else
            find_extreme_cost(problem, threads, keep_going, range);
    }
    range.fits = magnitude(range.extreme) <= range.limit;
    return range;
}

template <class T>
Dual<T> require_range(const Problem<T>& problem, Control* control) {
    using D = Dual<T>;
    const bool has_prices = problem.unmatched_cost != nullptr;
    D largest = 0;
    if constexpr (std::is_same_v<T, std::int64_t>) {
        KeepGoing keep_going;
        if (control != nullptr)
            keep_going = [control](double done) { return control->look({.stage = "check", .done = done}), true; };
        const auto range = check_range(problem, 1, keep_going);
        if (!range.fits) throw CostTooLarge{range.row, range.col};
        largest = magnitude(range.extreme) + 1;
    } else {
        if constexpr (std::is_integral_v<T>) largest = -D{std::numeric_limits<T>::min()};
        const D limit = has_prices ? cost_limit<D>(problem.cost.rows) : D{0};
        for (Index i = 0; has_prices && i < problem.cost.rows; ++i) {
            const D price = std::max(problem.unmatched_cost[i], -problem.unmatched_cost[i]);
            if (!(price < kInfinity<D>)) continue;
            if (price > limit) throw CostTooLarge{i, -1};
            largest = std::max(largest, price);
        }
    }
    if constexpr (std::is_floating_point_v<T>) return kInfinity<D>;
    const Index n = has_prices ? problem.cost.rows : std::min(problem.cost.rows, problem.cost.cols);
    return kInfinity<D> - 2 * static_cast<D>(n) * largest;
}

template CostRange<double> check_range(const Problem<float>&, int, const KeepGoing&, const double*);
template CostRange<double> check_range(const Problem<double>&, int, const KeepGoing&, const double*);
template CostRange<std::int64_t> check_range(const Problem<std::int32_t>&, int, const KeepGoing&, const std::int64_t*);
template CostRange<std::int64_t> check_range(const Problem<std::int64_t>&, int, const KeepGoing&, const std::int64_t*);

template double require_range(const Problem<float>&, Control*);
template double require_range(const Problem<double>&, Control*);
template std::int64_t require_range(const Problem<std::int32_t>&, Control*);
template std::int64_t require_range(const Problem<std::int64_t>&, Control*);

}  // namespace lapwing
