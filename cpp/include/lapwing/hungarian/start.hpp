// Where the Hungarian methods start: row and column reduction, and a first matching on tight pairs.
//
// O(m n) each; rows, or pieces of columns, are shared among threads, each the only writer of what it computes.
#pragma once

#include <algorithm>
#include <vector>

#include "lapwing/hungarian/state.hpp"

namespace lapwing {

// u = the least cost of each row (at most its exit's), then, in square problems, v = the least c - u of each column. Checks the
// costs: throws InvalidCost. Complete even when the time is up, so that there is a bound, but for the columns.
template <class T>
void reduce(HungarianState<T>& state) {
    using D = Dual<T>;
    const auto& kernels = state.kernels;
    std::vector<Index> invalid(static_cast<std::size_t>(state.m), -1);
    state.for_rows(state.m, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            const T* row = state.row(i);
            invalid[i] = kernels.first_invalid(row, kernels.maximize, state.n);
            const D least = kernels.least(row, kernels.maximize, state.n, state.v.data(), state.open.data());
            state.u[i] = std::min(least, state.exit_cost(i));
        }
    });
    state.counts.rows_scanned += state.m;
    for (Index i = 0; i < state.m; ++i)
        if (invalid[i] >= 0) throw InvalidCost{i, invalid[i]};
    // A row that can have nothing: any dual will do, since its costs are all infinite, and the search will name it.
    for (D& least : state.u) least = least < kInfinity<D> ? least : D{0};
    if (!state.is_square() || state.expired()) return;
    std::fill(state.v.begin(), state.v.end(), kInfinity<D>);
    state.for_cols(state.m, [&](Index begin, Index end) {
        for (Index i = 0; i < state.m; ++i)
            kernels.lower_columns(state.row(i) + begin, kernels.maximize, end - begin, state.u[i], state.v.data() + begin);
    });
    state.counts.rows_scanned += state.m;
    for (D& least : state.v) least = least < kInfinity<D> ? least : D{0};
    std::fill(state.v.begin() + state.n, state.v.end(), D{0});
}

// The rows, by what each would lose without its cheapest column: the difference of its two least reduced costs, greatest
// first (Vogel's rule). Rows with several tight columns can wait.
template <class T>
std::vector<Index> rows_by_regret(HungarianState<T>& state) {
    using D = Dual<T>;
    std::vector<D> regret(static_cast<std::size_t>(state.m));
    const auto& kernels = state.kernels;
    state.for_rows(state.m, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            const auto two =
                kernels.two_least(state.row(i), kernels.maximize, state.n, state.v.data(), state.open.data());
            const D second = std::min(two.second, state.exit_cost(i));
            regret[i] = second < kInfinity<D> ? second - two.least : kInfinity<D>;
        }
    });
    state.counts.rows_scanned += state.m;
    std::vector<Index> order(state.free_rows);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return regret[a] > regret[b]; });
    return order;
}

// Gives each row of `order` the first tight column that is still free, or its exit if that is tight.
template <class T>
void match_tight(HungarianState<T>& state, const std::vector<Index>& order) {
    const auto& kernels = state.kernels;
    for (const Index i : order) {
        state.poll();
        const Index j = kernels.find(state.row(i), kernels.maximize, state.n, state.v.data(), state.open.data(),
                                     state.u[i], Dual<T>{0});
        if (j >= 0) {
            state.match(i, j);
            state.open[j] = 0;
        } else if (state.has_exit(i) && state.exit_cost(i) - state.u[i] <= 0) {
            state.match(i, HungarianState<T>::kExit);
        }
    }
    state.counts.rows_scanned += state.m;
    std::fill_n(state.open.begin(), state.n, -1);
    state.list_free_rows();
    state.statistics.set("matched_at_start", static_cast<double>(state.m) - static_cast<double>(state.free_rows.size()));
}

}  // namespace lapwing
