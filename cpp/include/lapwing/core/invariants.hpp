// The invariants of the core method's state, asserted in checking builds (LAPWING_CHECK_INVARIANTS) after each phase.
//
// With c[i,j] as it is minimised, and rounding allowed for float costs, integers being exact:
//     pairing            row_to_col and col_to_row agree; prices are finite
//     list bounds        c[i,j] - v[j] >= tau[i] for every column j that the list of row i leaves out
//     epsilon-optimality c[i,j] - u[i] - v[j] >= -epsilon for every column j of every assigned row i
//     tightness          c[i,j] - u[i] - v[j] == 0 for every assigned pair
//     dummy rows         v[j] <= ceiling, and == ceiling at every unassigned column, once every row is assigned
// Cost: O(m + n) for the pairing, which is asserted after every augmentation; O(m n) for the others. These read whole
// rows, so they are skipped for costs that are supplied row by row.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

#include "lapwing/core/state.hpp"

namespace lapwing {

#ifdef LAPWING_CHECK_INVARIANTS
// False while a test changes costs during a solve, which breaks invariants.
inline std::atomic<bool> costs_are_constant = true;

inline void require_invariant(bool holds, const char* which) {
    if (!holds) throw std::logic_error(std::string("core method: broken invariant: ") + which);
}

// A bound on the rounding of c - u - v: prices change in many small steps, each rounded to half a unit in the last
// place.
template <class D>
D rounding_of(D c, D u, D v) {
    const auto magnitude = [](D x) { return x < 0 ? -x : x; };
    if constexpr (std::is_floating_point_v<D>)
        return 1e-11 * (magnitude(c) + magnitude(u) + magnitude(v));
    else
        return D{0};
}
#endif

template <class T>
void assert_pairing([[maybe_unused]] const CoreState<T>& state) {
#ifdef LAPWING_CHECK_INVARIANTS
    using D = Dual<T>;
    for (Index i = 0; i < state.m; ++i)
        require_invariant(state.row_to_col[i] < 0 || state.col_to_row[state.row_to_col[i]] == i, "pairing");
    for (Index j = 0; j < state.columns; ++j) {
        const Index i = state.col_to_row[j];
        require_invariant(i < 0 || state.row_to_col[i] == j, "pairing");
        require_invariant(state.v[j] < kInfinity<D> && state.v[j] > -kInfinity<D>, "finite prices");
    }
#endif
}

// After a phase with this epsilon, while lists are in use.
template <class T>
void assert_epsilon_optimal([[maybe_unused]] const CoreState<T>& state, [[maybe_unused]] Dual<T> epsilon) {
    assert_pairing(state);
#ifdef LAPWING_CHECK_INVARIANTS
    using D = Dual<T>;
    if (!costs_are_constant || (state.problem.source != nullptr && !state.problem.source->has_parts())) return;
    std::vector<char> listed(state.n);
    for (Index i = 0; i < state.m; ++i) {
        const D u = state.u[i];
        const Index mine = state.row_to_col[i];
        const auto check_edge = [&](Index j, D c) {
            const D slack = (c - state.v[j]) - u, rounding = rounding_of(c, u, state.v[j]);
            require_invariant(slack >= -epsilon - rounding, "epsilon-optimality");
            require_invariant(j != mine || slack <= rounding, "tightness");
        };
        for (const Index j : state.lists.cols(i)) listed[j] = 1;
        for (Index j = 0; j < state.n; ++j) {
            const D c = state.minimised(at_pair(state.problem.cost, state.problem.source, i, j));
            if (!(c < kInfinity<D>)) continue;
            require_invariant(listed[j] || c - state.v[j] >= state.lists.tau(i), "list bounds");
            if (mine >= 0) check_edge(j, c);
        }
        for (const Index j : state.lists.cols(i)) listed[j] = 0;
        if (mine >= 0 && state.has_unmatched_columns() && state.unmatched_cost_of(i) < kInfinity<D>)
            check_edge(state.unmatched_column(i), state.unmatched_cost_of(i));
    }
#endif
}

// After the searches that made the assignment complete.
template <class T>
void assert_optimal([[maybe_unused]] const CoreState<T>& state) {
    assert_epsilon_optimal(state, Dual<T>{0});
#ifdef LAPWING_CHECK_INVARIANTS
    using D = Dual<T>;
    require_invariant(state.matched() == state.m, "every row is assigned");
    if (!costs_are_constant || !state.has_dummy_rows()) return;
    for (Index j = 0; j < state.columns; ++j) {
        const D rounding = rounding_of(state.ceiling, state.v[j], D{0});
        require_invariant(state.v[j] <= state.ceiling + rounding, "dummy rows");
        require_invariant(state.col_to_row[j] >= 0 || state.v[j] >= state.ceiling - rounding, "dummy rows");
    }
#endif
}

}  // namespace lapwing
