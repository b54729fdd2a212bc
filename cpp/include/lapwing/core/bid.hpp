// One bid of an auction (core/auction.hpp, core/regions.hpp).
#pragma once

#include "lapwing/core/state.hpp"

namespace lapwing {

inline constexpr Index kNobody = -1, kNoBid = -2;

// How rows bid in a phase. When they have, c[i,j] - u[i] - v[j] >= -(epsilon + tolerance) in rows that are assigned.
template <class D>
struct Bidding {
    D epsilon = 0;
    // A row bids by its list unless this may leave out a column that is better than its first choice by more than the
    // tolerance. If it may leave out a better one at all, the step is epsilon; longer ones overshoot.
    D tolerance = 0;
    std::size_t few = 0;  // rows that may be free in the end
    D dummy_step = 0;     // of the level of dummy rows (core/dummy_rows.hpp); 0: they do not bid
};

// Gives row i its first choice under the prices v of columns 0 to n - 1, and lowers the price of that column until the
// second choice is as good, and by epsilon more. Returns the row that loses the column, or kNobody. kNoBid: the row
// stays free, since it has no column, or the price would leave the range, or would not fall though another row has the
// column.
template <class T>
Index place_bid(CoreState<T>& state, Dual<T>* v, Index i, const BestTwo<Dual<T>>& best, Dual<T> epsilon) {
    using D = Dual<T>;
    const Index j = best.column;
    if (j < 0) return kNoBid;
    if (j >= state.n) {  // its unmatched column: no other row can take it
        state.u[i] = best.first;
        state.assign(i, j);
        return kNobody;
    }
    const D step = best.second < kInfinity<D> ? best.second - best.first + epsilon : epsilon;
    const D price = v[j] - step;
    if (!(price > state.lowest_price)) {
        if (!(best.first > -kInfinity<D>)) refuse_changed_costs();
        return kNoBid;
    }
    const Index loser = state.col_to_row[j];
    if (!(price < v[j]) && loser >= 0) return kNoBid;
    v[j] = price;
    state.u[i] = best.first + step;
    if (loser >= 0) state.row_to_col[loser] = -1;
    state.assign(i, j);
    return loser >= 0 ? loser : kNobody;
}

}  // namespace lapwing
