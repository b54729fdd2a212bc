// Ties at the price of staying free: among all optimal answers, one with the most matched rows.
//
// An optimal answer uses tight pairs alone (cost == u + v), and every line whose dual is below the price of staying
// free is matched in all of them. So the optimal answers are the matchings of tight pairs that match these lines, and
// augmenting paths of tight pairs, which keep matched lines matched, lead from any one to one with the most pairs
// (layers.hpp). Only rows that such paths reach are read; mostly few.
//
// Duals of floats are rounded. There, pairs that are tight up to rounding are followed, and a path is used if it costs
// no more than what it replaces: a sum without rounding.
#pragma once

#include <cmath>
#include <vector>

#include "lapwing/certificate/exact_sum.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/matching/layers.hpp"

namespace lapwing {

// Whether cost - u - v is 0, of floats up to their rounding.
template <class D>
bool is_nearly_tight(D cost, D u, D v) {
    if constexpr (std::is_floating_point_v<D>)
        return cost - v - u <= (std::fabs(cost) + std::fabs(u) + std::fabs(v)) * 0x1p-50 && cost < kInfinity<D>;
    else
        return !(cost - v > u);
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

// The tight pairs of a problem with unmatched costs, under optimal duals.
template <class T>
class TightPairs {
  public:
    using D = Dual<T>;

    // `v`: [cols] as minimised; `prices`: nullptr or [cols] of columns that stay free.
    TightPairs(const Problem<T>& problem, const std::vector<Index>& row_to_col, const D* v, const D* prices)
        : problem_(problem), row_to_col_(row_to_col), v_(v), prices_(prices), reader_(problem.cost, problem.source) {}

    Index next(Index i, std::int64_t& cursor) {
        if (i != read_) row_ = reader_.row(i), read_ = i;
        const D u = dual_of(i);
        for (; cursor < problem_.cost.cols; ++cursor) {
            const auto j = static_cast<Index>(cursor);
            if (is_nearly_tight(problem_.minimised(row_[j]), u, v_[j])) return ++cursor, j;
        }
        return -1;
    }
    bool is_open(Index j) const { return is_nearly_tight(price(j), v_[j], D{0}); }
    bool accepts(const std::vector<Index>& rows, const std::vector<Index>& cols) const {
        return pays<D>(
            rows, cols, row_to_col_,
            [this](Index i, Index j) { return j < 0 ? problem_.unmatched_cost[i] : at_pair(problem_, i, j); },
            [this](Index j) { return price(j); });
    }

  private:
    D price(Index j) const { return prices_ == nullptr ? D{0} : prices_[j]; }
    D dual_of(Index i) {
        const Index j = row_to_col_[static_cast<std::size_t>(i)];
        if (j < 0) return problem_.unmatched_cost[i];
        return std::min(problem_.minimised(row_[j]) - v_[j], problem_.unmatched_cost[i]);
    }

    const Problem<T>& problem_;
    const std::vector<Index>& row_to_col_;
    const D *v_, *prices_;
    RowReader<T> reader_;
    const T* row_ = nullptr;  // row read_
    Index read_ = -1;
};

// Matches more rows of an optimal answer where that costs nothing. Returns how many.
template <class T>
Index match_ties(const Problem<T>& problem, std::vector<Index>& row_to_col, const Dual<T>* v,
                 const Dual<T>* prices = nullptr) {
    std::vector<Index> free;
    for (Index i = 0; i < problem.cost.rows; ++i)
        if (row_to_col[static_cast<std::size_t>(i)] < 0) free.push_back(i);
    if (free.empty() || static_cast<Index>(free.size()) + problem.cost.cols == problem.cost.rows) return 0;
    std::vector<Index> col_to_row(static_cast<std::size_t>(problem.cost.cols), -1);
    for (Index i = 0; i < problem.cost.rows; ++i)
        if (const Index j = row_to_col[static_cast<std::size_t>(i)]; j >= 0)
            col_to_row[static_cast<std::size_t>(j)] = i;
    TightPairs<T> pairs(problem, row_to_col, v, prices);
    return LayeredMatching(pairs, row_to_col, col_to_row, std::move(free)).run();
}

}  // namespace lapwing
