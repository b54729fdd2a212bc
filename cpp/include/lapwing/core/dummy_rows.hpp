// Dummy rows (core/state.hpp) in an auction: they bid all at once, when the others have bid.
//
// They cost nothing in any column, so each wants a column with the highest v; they hold the unassigned columns. While
// one of these is more than epsilon below a column that a row holds, they bid for all columns above a *level*: v comes
// down to it, and rows that had one of these columns bid again. The level is where there are as many columns as dummy
// rows, less a step; never below the lowest column that they hold. Similar persons that bid one by one would outbid
// each other by epsilon each time (D. P. Bertsekas, D. A. Castanon, "The auction algorithm for the transportation
// problem", Annals of Operations Research 20, 1989). A step is a few epsilon: rows of a region that has too few columns
// are indifferent, up to epsilon, between these and to stay free, and the level need not fall to where the former are.
// O(m + n).
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "lapwing/core/state.hpp"

namespace lapwing {

// The k-th highest of some values, k >= 1, which are put in another order.
template <class D>
D kth_highest(Index k, std::vector<D>& values) {
    const auto at = values.begin() + (k - 1);
    std::nth_element(values.begin(), at, values.end(), std::greater<D>());
    return *at;
}

// How many rows have a column that a dummy row wants, and would lose it if the searches began now.
template <class T>
Index wanted_by_dummy_rows(const CoreState<T>& state) {
    std::vector<Dual<T>> all = state.v;
    const Dual<T> level = kth_highest(state.spare(), all);
    Index held = 0;
    for (Index j = 0; j < state.columns; ++j) held += state.col_to_row[j] < 0 && state.v[j] >= level;
    return std::max(state.spare() - held, 0);
}

// The bids of all dummy rows. Returns the rows that lose their columns; none when nothing is to be done.
template <class T>
std::vector<Index> bid_for_dummy_rows(CoreState<T>& state, Dual<T> epsilon, Dual<T> step) {
    using D = Dual<T>;
    std::vector<Index> losers;
    std::vector<D> unassigned;
    D highest = -kInfinity<D>;  // of a row's column
    for (Index j = 0; j < state.columns; ++j) {
        if (state.col_to_row[j] < 0)
            unassigned.push_back(state.v[j]);
        else
            highest = std::max(highest, state.v[j]);
    }
    const D lowest = kth_highest(state.spare(), unassigned);
    if (!(highest - epsilon > lowest)) return losers;
    std::vector<D> all = state.v;
    const D level = std::max(lowest, kth_highest(state.spare(), all) - step);
    for (Index j = 0; j < state.columns; ++j) {
        if (!(state.v[j] > level)) continue;
        state.v[j] = level;
        const Index i = state.col_to_row[j];
        if (i < 0) continue;
        state.row_to_col[i] = state.col_to_row[j] = -1;
        losers.push_back(i);
    }
    return losers;
}

}  // namespace lapwing
