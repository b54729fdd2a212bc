// Starting prices from a greedy assignment in the order of regret: the estimate of Guthe and Thuerck (Algorithm 1015,
// ACM TOMS 47, 2021), which nearly solves costs of rank one.
//
// Rows choose their cheapest free column in the order of decreasing regret (second smallest cost minus smallest). Then,
// from the last row to the first, the price of the row's column is set between two bounds that the rows and columns
// chosen later imply: the row must not prefer a later column, and no later row may prefer this one. Where the two are
// consistent all the way, the greedy assignment is optimal and the prices prove it. Deviation: the middle of the bounds
// is taken, so that no tie is made. Cost: three passes over the matrix.
#pragma once

#include <numeric>

#include "lapwing/core/state.hpp"

namespace lapwing {

// A price at which no row takes a column.
template <class D>
inline constexpr D kBlocked = std::is_floating_point_v<D> ? -kInfinity<D> : -(kInfinity<D> / 2 * 3);

// Columns chosen greedily, -1 for a row without one. Fills `order` with the rows as they chose.
template <class T>
std::vector<Index> choose_by_regret(CoreState<T>& state, std::vector<Index>& order) {
    using D = Dual<T>;
    std::vector<D> regret(state.m);
    const std::vector<D> zero(state.n, D{0});
    state.share(
        state.m, rows_at_a_time(state.problem),
        [&](Index begin, Index end, ListScratch<T>& scratch) {
            for (Index i = begin; i < end; ++i) {
                state.lists.list_under(i, zero.data(), scratch);
                const BestInList<D> best = state.lists.best(i, zero.data());
                regret[i] = best.place < 0 ? D{0} : best.second - best.first;
            }
        },
        [&] { state.poll_row(); });
    order.resize(state.m);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return regret[a] > regret[b]; });
    std::vector<D> open(state.n, D{0});  // 0, or kBlocked once chosen
    std::vector<Index> chosen(state.m, -1);
    for (const Index i : order) {
        BestInList<D> best = state.lists.best(i, open.data());
        if (best.place < 0 || best.first > state.lists.tau(i)) {
            state.lists.list_under(i, open.data(), state.scratch);
            best = state.lists.best(i, open.data());
        }
        if (best.place < 0) continue;
        chosen[i] = state.lists.cols(i)[best.place];
        open[chosen[i]] = kBlocked<D>;
        state.poll_row();
    }
    return chosen;
}

// Sets state.v. The lists are used up: every row has to be listed afterwards.
template <class T>
void regret_start(CoreState<T>& state) {
    using D = Dual<T>;
    std::vector<Index> order;
    const std::vector<Index> chosen = choose_by_regret(state, order);
    const auto& kernels = state.lists.kernels();
    std::vector<D> later(state.n, D{0});          // prices of columns that are chosen later or never
    std::vector<D> upper(state.n, kInfinity<D>);  // min over later rows of c - u
    for (const Index i : order)
        if (chosen[i] >= 0) later[chosen[i]] = kBlocked<D>;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
        const Index i = *it, j = chosen[i];
        if (j < 0) continue;
        const T* row = state.scratch.dense_row(i);
        const D cost = state.problem.maximize ? static_cast<D>(signed_cost<T, true>(row[j])) : static_cast<D>(row[j]);
        D least = kernels.minimum(row, state.n, later.data());
        const bool last = !(least < kInfinity<D>), first_bound = !(upper[j] < kInfinity<D>);
        const D lower = last ? upper[j] : cost - least;
        const D price = last && first_bound ? D{0} : first_bound ? lower : lower / 2 + upper[j] / 2;
        later[j] = price;
        least = std::min(least, cost - price);
        kernels.lower_columns(row, state.n, least, upper.data());
        state.poll_row();
    }
    for (D& price : later)
        if (!(price > kBlocked<D>)) price = 0;
    take_prices(state, later);
}

}  // namespace lapwing
