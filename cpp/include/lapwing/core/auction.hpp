// Auction on candidate lists, Gauss-Seidel order: prices that make the searches short.
//
// A free row takes its cheapest column j and lowers v[j] until its second choice is as good, and by epsilon more; the
// row that had j, if any, bids next. With epsilon > 0 this is a phase of Bertsekas' auction with epsilon scaling
// (Annals of Operations Research 14, 1988), here on lists and with a limit on the number of bids: a phase only prepares
// prices, so rows may stay free. With epsilon = 0 it is Jonker and Volgenant's augmenting row reduction (Computing 38,
// 1987), and leaves an assignment on tight edges. O(k) a bid. Deviations: the second best is bounded by tau, which
// lowers v less than allowed but never too far; the number of bids is limited, since with epsilon = 0 bidding wars can
// be endless; and no price leaves the range (see numbers/range.hpp), whatever was there before the phases.
#pragma once

#include "lapwing/core/state.hpp"

namespace lapwing {

// Starts from the rows in `free` and returns those that are still free. On return with epsilon == 0 every assigned
// row's edge is tight and u is feasible for assigned rows; free rows' u is not set.
template <class T>
std::vector<Index> auction(CoreState<T>& state, const std::vector<Index>& free, Dual<T> epsilon,
                           std::int64_t bid_limit) {
    using D = Dual<T>;
    std::vector<Index> left;
    std::int64_t bids = 0;
    for (const Index first : free) {
        state.keep_if_due();
        Index i = first;
        while (i >= 0) {
            if (bids++ >= bid_limit || state.control.poll(state.progress) || state.has_read_too_much()) {
                left.push_back(i);
                break;
            }
            state.lists.keep_prices_fresh(state.v.data(), state.scratch);
            const BestTwo<D> best = best_two(state, i, state.scratch);
            if (best.column < 0) {
                left.push_back(i);
                break;
            }
            const Index j = best.column;
            const Index owner = state.col_to_row[j];
            if (j >= state.n) {  // its unmatched column: no other row can take it
                state.u[i] = best.first;
                state.assign(i, j);
                break;
            }
            const D step = best.second < kInfinity<D> ? best.second - best.first + epsilon : epsilon;
            const D price = state.v[j] - step;
            if (!(price > state.lowest_price)) {
                if (!(best.first > -kInfinity<D>)) refuse_changed_costs();
                left.push_back(i);
                break;
            }
            const bool moved = price < state.v[j];
            if (!moved && owner >= 0) {
                left.push_back(i);
                break;
            }
            state.v[j] = price;
            state.u[i] = best.first + step;
            if (owner >= 0) state.row_to_col[owner] = -1;
            state.assign(i, j);
            i = owner;
        }
    }
    return left;
}

}  // namespace lapwing
