// Ties at the price of staying free: among all optimal answers, one with the most matched rows.
//
// An optimal answer uses tight pairs alone (cost == u + v), and every line whose dual is below the price of staying
// free is matched in all of them. So the optimal answers are the matchings of tight pairs that match these lines, and
// augmenting paths of tight pairs, which keep matched lines matched, lead from any one to one with the most pairs
// (layers.hpp). Only rows that such paths reach are read, mostly few, and once: their tight pairs are kept as bits, up
// to kMostBytes. Where columns are in boxes (costs/boxes.hpp), only those boxes of a row that may hold tight pairs.
//
// Duals of floats are rounded. There, pairs that are tight up to rounding are followed, and a path is used if it costs
// no more than what it replaces: a sum without rounding. Where one is refused, others may lie behind it: then the pairs
// whose cost - v - u is rounded to 0 or less, which are fewer, are followed once more.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "lapwing/certificate/exact_sum.hpp"
#include "lapwing/matching/layers.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Whether cost - u - v is 0; of floats up to their rounding, or as it is rounded.
template <class D>
bool is_nearly_tight(D cost, D u, D v, bool as_rounded = false) {
    if constexpr (std::is_floating_point_v<D>)
        if (!as_rounded)
            return cost - v - u <= (std::fabs(cost) + std::fabs(u) + std::fabs(v)) * 0x1p-50 && cost < kInfinity<D>;
    return !(cost - v > u);
}

// Takes paths of tight pairs, as `pairs` tells them: first up to rounding. Returns how many rows got a column.
template <class Pairs>
Index match_along(Pairs& pairs, std::vector<Index>& row_to_col, std::vector<Index>& col_to_row,
                  const std::vector<Index>& free) {
    LayeredMatching matching(pairs, row_to_col, col_to_row, free);
    const Index gained = matching.run();
    if (!matching.has_refused()) return gained;
    pairs.follow_less();
    std::vector<Index> left;
    std::copy_if(free.begin(), free.end(), std::back_inserter(left),
                 [&](Index i) { return row_to_col[static_cast<std::size_t>(i)] < 0; });
    return gained + LayeredMatching(pairs, row_to_col, col_to_row, std::move(left)).run();
}

// Whether a path, of rows[k] which leaves its column for cols[k], costs no more than what it replaces: its first row's
// and its last column's prices of staying free. cost(i, j) >= 0 for j, or the price of row i for j == -1.
template <class D, class Cost, class Price>
bool pays(const std::vector<Index>& rows, const std::vector<Index>& cols, const std::vector<Index>& row_to_col,
          const Cost& cost, const Price& price) {
    if constexpr (std::is_floating_point_v<D>) {
        ExactSum<double> change;
        for (std::size_t k = 0; k < rows.size(); ++k) {
            const Index before = row_to_col[static_cast<std::size_t>(rows[k])];
            change.add(cost(rows[k], cols[k]));
            change.add(-cost(rows[k], std::max(before, Index{-1})));
        }
        change.add(-price(cols.back()));
        return !(change.upward() > 0);
    }
    return true;
}

// Matches more rows of an optimal answer where that costs nothing. Returns how many. `v`: [cols] as minimised;
// `prices`: nullptr, or [cols] of columns that stay free.
template <class T>
Index match_ties(const Problem<T>& problem, std::vector<Index>& row_to_col, const Dual<T>* v,
                 const Dual<T>* prices = nullptr);

}  // namespace lapwing
