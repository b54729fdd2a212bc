// The answer of an interrupted sparse solve: the cheapest complete assignment and the highest lower bound seen between
// stages.
#pragma once

#include "lapwing/sparse/state.hpp"

namespace lapwing {

template <class T>
class SparseIncumbent {
  public:
    using D = Dual<T>;

    SparseIncumbent(SparseState<T>& state, const Keep<D>& keep)
        : s_(state), keep_(keep), wanted_(s_.control.wants_previews()) {}

    // Between stages: looks at duals and assignment, if anybody asks for them.
    void look() {
        if (!wanted_) return;
        std::vector<D> u(s_.m);
        const double bound = row_minima(u);
        if (u_.empty() || bound > bound_) {
            bound_ = bound;
            u_ = std::move(u);
            v_ = s_.v;
        }
        offer(s_.row_to_col);
        s_.progress.bound = std::max(s_.progress.bound, bound_);
        if (s_.control.keep_is_due()) hand_over();
    }
    void keep_if_due() {
        if (wanted_ && s_.control.keep_is_due()) look();
    }
    // At the time limit: the state gets the best duals and the best assignment, free rows the cheapest columns that are
    // free.
    void settle() {
        std::vector<D> u(s_.m);
        const double bound = row_minima(u);
        s_.u = std::move(u);
        if (!u_.empty() && bound_ > bound) {
            s_.u = std::move(u_);
            s_.v = std::move(v_);
        }
        complete_greedily();
        offer(s_.row_to_col);
        if (!row_to_col_.empty()) s_.row_to_col = std::move(row_to_col_);
    }
    // Passes the best duals and pairs so far to the keeper of the solve.
    void hand_over() {
        if (u_.empty()) return;
        auto u = u_, v = v_;
        auto row_to_col = row_to_col_.empty() ? s_.row_to_col : row_to_col_;
        for (Index& j : row_to_col) j = std::max(j, Index{-1});
        keep_(std::move(u), std::move(v), std::move(row_to_col));
        s_.control.kept();
    }

  private:
    // Rows' minima make the duals feasible for any v (where columns may stay free, v is at most their price). Returns
    // their sum.
    double row_minima(std::vector<D>& u) {
        double sum = 0;
        for (Index i = 0; i < s_.m; ++i) {
            u[i] = best_pair(s_, i).first;
            sum += static_cast<double>(u[i]);
        }
        for (const D& x : s_.v) sum += static_cast<double>(x);
        return sum;
    }
    void offer(const std::vector<Index>& row_to_col) {
        D objective = 0;
        for (Index i = 0; i < s_.m; ++i) {
            const D cost = s_.cost_of(i, row_to_col[i]);
            if (!(cost < kInfinity<D>)) return;
            objective += cost;
        }
        if (s_.free_cols != nullptr) objective += price_of_free_columns(row_to_col);
        if (!(objective < objective_)) return;
        objective_ = objective;
        row_to_col_ = row_to_col;
        s_.progress.objective = static_cast<double>(objective);
    }
    D price_of_free_columns(const std::vector<Index>& row_to_col) {
        std::vector<char> taken(s_.n, 0);
        for (const Index j : row_to_col)
            if (j >= 0) taken[j] = 1;
        D sum = 0;
        for (Index j = 0; j < s_.n; ++j)
            if (!taken[j]) sum += s_.free_cols[j];
        return sum;
    }
    void complete_greedily() {
        for (Index i = 0; i < s_.m; ++i) {
            if (s_.row_to_col[i] != -1) continue;
            D least = s_.exits == nullptr ? kInfinity<D> : s_.exits[i];
            Index best = least < kInfinity<D> ? kExit : -1;
            for (Index k = 0; k < s_.pairs.rows[i].count; ++k) {
                const auto& entry = s_.entries(i)[k];
                const D cost = static_cast<D>(entry.cost) - s_.free_price(entry.col);
                if (s_.col_to_row[entry.col] >= 0 || !(cost < least)) continue;
                least = cost;
                best = entry.col;
            }
            s_.assign(i, best);
        }
    }

    SparseState<T>& s_;
    const Keep<D>& keep_;
    bool wanted_;
    double bound_ = -std::numeric_limits<double>::infinity();
    std::vector<D> u_, v_;
    D objective_ = kInfinity<D>;
    std::vector<Index> row_to_col_;
};

}  // namespace lapwing
