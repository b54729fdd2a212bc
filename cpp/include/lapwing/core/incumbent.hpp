// What an interrupted solve can answer: the cheapest complete assignment and the highest lower bound seen between stages.
//
// Whatever v is, the rows' minima as u make the duals feasible, and a list bounds its row's minimum. So a look costs O(m k),
// about as much as one bid a row, and reads no costs but those of a complete assignment.
#pragma once

#include "lapwing/core/state.hpp"
#include "lapwing/methods.hpp"

namespace lapwing {

// The dual objective of the state's v and these u, as minimised. Rows that have no column at all do not count.
template <class T>
double dual_objective(const CoreState<T>& state, const std::vector<Dual<T>>& u) {
    double sum = 0;
    for (const auto x : u)
        if (x < kInfinity<Dual<T>>) sum += static_cast<double>(x);
    for (const auto x : state.v) sum += static_cast<double>(x);
    if (state.has_hub()) sum -= static_cast<double>(state.highest_price()) * state.spare();
    if (std::is_integral_v<T> && state.problem.maximize) sum += state.m;  // signed_cost
    return sum;
}

template <class T>
class Incumbent {
  public:
    using D = Dual<T>;

    // Reports what it sees as progress; returns the bound under the state's own v.
    double look(CoreState<T>& state) {
        std::vector<D> u(state.m);
        for (Index i = 0; i < state.m; ++i) {
            u[i] = std::min(state.lists.best(i, state.v.data()).first, state.lists.tau(i));
            if (state.has_exits()) u[i] = std::min(u[i], state.exit_cost(i) - state.v[state.exit_of(i)]);
        }
        const double bound = dual_objective(state, u);
        if (bound > bound_) {
            bound_ = bound;
            u_ = std::move(u);
            v_ = state.v;
        }
        if (state.matched() == state.m) offer(state, state.row_to_col);
        state.progress.bound = std::max(state.progress.bound, bound);
        return bound;
    }

    // At the time limit, with row minima as the state's u: gives the state what is best of its own and this.
    void settle(CoreState<T>& state) {
        if (bound_ > dual_objective(state, state.u)) {
            state.u = std::move(u_);
            state.v = std::move(v_);
        }
        std::vector<Index> completed = state.row_to_col;
        for (Index& j : completed)
            if (j >= state.n) j = -1;
        complete_greedily(state.problem, completed, state.control);
        offer(state, completed);
        state.row_to_col = row_to_col_.empty() ? std::move(completed) : std::move(row_to_col_);
    }

  private:
    // As minimised, of row i in this column, in its exit, or left free.
    static D cost_of(const CoreState<T>& state, Index i, Index j) {
        if (j >= 0 && j < state.n) return state.cost(i, j);
        return state.has_exits() ? state.problem.unmatched_cost[i] : kInfinity<D>;
    }
    void offer(CoreState<T>& state, const std::vector<Index>& row_to_col) {
        D objective = 0;
        for (Index i = 0; i < state.m; ++i) {
            const D cost = cost_of(state, i, row_to_col[i]);
            if (!(cost < kInfinity<D>)) return;
            objective += cost;
        }
        if (!(objective < objective_)) return;
        objective_ = objective;
        row_to_col_ = row_to_col;
        state.progress.objective = static_cast<double>(objective);
    }

    double bound_ = -std::numeric_limits<double>::infinity();
    std::vector<D> u_, v_;
    D objective_ = kInfinity<D>;
    std::vector<Index> row_to_col_;
};

}  // namespace lapwing
