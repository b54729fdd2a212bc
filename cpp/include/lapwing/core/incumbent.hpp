// The answer of an interrupted solve, and the checkpoint of a long one: the cheapest complete assignment and the
// highest lower bound seen between stages.
//
// For any v, row minima as u make the duals feasible, and a list bounds its row's minimum. So a look costs
// O(m k), about as much as one bid a row, and reads no costs but those of a complete assignment.
#pragma once

#include <string_view>

#include "lapwing/core/auction.hpp"
#include "lapwing/core/state.hpp"
#include "lapwing/methods.hpp"

namespace lapwing {

// The dual objective of the state's v and these u, as minimised. Rows that have no column at all do not count.
template <class T>
double dual_objective(const CoreState<T>& state, const std::vector<Dual<T>>& u) {
    double sum = 0;
    for (const auto& x : u)
        if (x < kInfinity<Dual<T>>) sum += static_cast<double>(x);
    for (const auto& x : state.v) sum += static_cast<double>(x);
    if (state.has_dummy_rows()) sum -= static_cast<double>(state.highest_price()) * state.spare();
    if (std::is_integral_v<T> && state.problem.maximize) sum += state.m;  // signed_cost
    return sum;
}

// Duals from the state's conventions to those of solution.hpp.
template <class T>
void to_contract(const CoreState<T>& state, std::vector<Dual<T>>& u, std::vector<Dual<T>>& v) {
    if (state.has_dummy_rows()) {
        const Dual<T> ceiling = *std::max_element(v.begin(), v.end());
        for (auto& x : v) x -= ceiling;
        for (auto& x : u) x += ceiling;
    }
    if constexpr (std::is_integral_v<T>)
        if (state.problem.maximize)
            for (auto& x : u) x += 1;  // signed_cost
    v.resize(state.n);
}

template <class T>
class Incumbent {
  public:
    using D = Dual<T>;

    explicit Incumbent(const Keep<D>& keep) : keep_(keep) {}

    // Reports what it sees as progress; returns the bound under the state's own v.
    double look(CoreState<T>& state) {
        std::vector<D> u(state.m);
        for (Index i = 0; i < state.m; ++i) {
            u[i] = std::min(state.lists.best(i, state.v.data()).first, state.lists.tau(i));
            if (state.has_unmatched_columns())
                u[i] = std::min(u[i], state.unmatched_cost_of(i) - state.v[state.unmatched_column(i)]);
        }
        const double bound = dual_objective(state, u);
        if (bound > bound_) {
            bound_ = bound;
            u_ = std::move(u);
            v_ = state.v;
        }
        offer_completed(state);
        state.progress.bound = std::max(state.progress.bound, bound);
        return bound;
    }

    // Hands over the best duals, those of the current prices included, and the best assignment: the last one, if none
    // is complete.
    void keep(CoreState<T>& state) {
        look(state);
        hand_over(state);
    }
    // The same after an exception in any stage.
    void keep_on_exception(CoreState<T>& state) {
        const std::string_view stage = state.progress.stage;
        if (stage == "auction" || stage == "search") look(state);  // else lists are void
        if (!v_.empty()) hand_over(state);
    }
    // At the time limit, with row minima as the state's u: replaces the state's duals and assignment by better ones
    // seen earlier.
    void settle(CoreState<T>& state) {
        if (bound_ > dual_objective(state, state.u)) {
            state.u = std::move(u_);
            state.v = std::move(v_);
        }
        std::vector<Index> completed = state.row_to_col;
        for (Index& j : completed)
            if (j >= state.n) j = -1;
        complete_greedily(state.problem, completed, state.control);
        if (!row_to_col_.empty()) offer(state, completed);
        state.row_to_col = row_to_col_.empty() ? std::move(completed) : std::move(row_to_col_);
    }

  private:
    // The assignment, if it lacks few rows: these get the columns that are left.
    void offer_completed(CoreState<T>& state) {
        std::vector<Index> rows, cols, completed = state.row_to_col;
        for (Index i = 0; i < state.m; ++i)
            if (completed[i] < 0) rows.push_back(i);
        if (!rows.empty()) {
            if (state.has_dummy_rows() || static_cast<Index>(rows.size()) > most_completed(state.m)) return;
            for (Index j = 0; j < state.n; ++j)
                if (state.col_to_row[j] < 0) cols.push_back(j);
            for (std::size_t k = 0; k < rows.size(); ++k) completed[rows[k]] = cols[k];
        }
        offer(state, completed);
    }
    static Index most_completed(Index m) {
        constexpr Index kShare = 1000;  // one of so many rows
        return std::max<Index>(1, m / kShare);
    }
    void hand_over(CoreState<T>& state) {
        auto u = u_, v = v_;
        to_contract(state, u, v);
        auto row_to_col = row_to_col_.empty() ? state.row_to_col : row_to_col_;
        for (Index& j : row_to_col)
            if (j >= state.n) j = -1;
        keep_(std::move(u), std::move(v), std::move(row_to_col));
        state.control.kept();
    }
    // As minimised, of row i in this column, in its unmatched column, or left free.
    static D cost_of(const CoreState<T>& state, Index i, Index j) {
        if (j >= 0 && j < state.n) return state.cost(i, j);
        return state.has_unmatched_columns() ? state.problem.unmatched_cost[i] : kInfinity<D>;
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

    const Keep<D>& keep_;
    double bound_ = -std::numeric_limits<double>::infinity();
    std::vector<D> u_, v_;
    D objective_ = kInfinity<D>;
    std::vector<Index> row_to_col_;
};

}  // namespace lapwing
