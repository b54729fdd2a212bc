// Whether a problem's numbers leave room for its solution: checked before a solve, so that no sum can overflow.
//
// Distances and duals are sums of at most 2 (n + 1) costs along an alternating path, n = min(rows, cols). So
// 2 (n + 1) * max |cost| must stay below 2^62 for integers and within the largest finite double for floats; forbidden
// pairs and absent unmatched costs (infinity) do not count. All rows may stay free: for unmatched costs n = rows, and
// where columns have prices, too, n = rows + cols.
// float and int32_t costs always pass and are not read.
// One pass at memory speed for double and int64_t.
#pragma once

#include "lapwing/threads.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// The largest magnitude that a cost may have, n = min(rows, cols).
template <class D>
D cost_limit(Index n) {
    if constexpr (std::is_floating_point_v<D>) {
        return std::numeric_limits<double>::max() / (2.0 * n + 4.0);
    } else {
        return ((std::int64_t{1} << 62) - 1) / (2 * (std::int64_t{n} + 1)) - 1;  // 1 for the magnitude's own rounding
    }
}

template <class D>
struct CostRange {
    bool fits = true;
    D limit = 0;     // the largest magnitude allowed for this shape
    D extreme = 0;   // the finite cost of the largest magnitude, signed as given to the method; 0 if none was read
    Index row = -1;  // where it is; -1: it is the price of a column that stays free
    Index col = -1;  // -1: it is unmatched_cost[row]
};

// `unmatched_cols`: nullptr or [cols] prices of columns that stay free, which are added to costs: all may be half as
// large. `threads` is an upper limit. NaN and -inf are left for the method to report. Throws Interrupted. T: float,
// double, int32_t, int64_t.
template <class T>
CostRange<Dual<T>> check_range(const Problem<T>& problem, int threads, const KeepGoing& keep_going = {},
                               const Dual<T>* unmatched_cols = nullptr);

// Throws CostTooLarge for int64_t costs and for unmatched costs. Methods that check floating-point costs as they read
// them call this first. Returns by how much prices to start from may differ: for integers so that distances, sums of at
// most 2 n costs and such a difference, stay below 2^62; for floats infinity. `control` may be null.
template <class T>
Dual<T> require_range(const Problem<T>& problem, Control* control);

}  // namespace lapwing
