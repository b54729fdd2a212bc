// Columns that stay free at a price: a problem whose columns are free at no cost.
//
// Free columns cost q_j each. An assignment costs sum(q) and, for every pair (i, j) in it, c_ij - q_j. So the costs
// c_ij - q_j have the same optima, and with their duals u and v' <= 0 the duals u and v = v' + q are feasible for c:
// v <= q, with equality for free columns. Differences of floats are rounded; the certificate, which knows the costs and
// prices themselves, tells whether that matters, and the exact solve subtracts without rounding.
#pragma once

#include <algorithm>
#include <vector>

#include "lapwing/costs/rewritten.hpp"
#include "lapwing/solution.hpp"

namespace lapwing {

// The costs of a problem less the price of their column, as given (not minimised), in the type of its duals.
template <class T>
class LessColumnPrices final : public RewrittenCosts<T, Dual<T>> {
  public:
    using D = Dual<T>;

    // `prices`: [cols] as minimised, finite; it must outlive the source.
    LessColumnPrices(const Problem<T>& problem, const D* prices) : RewrittenCosts<T, D>(problem), prices_(prices) {}

    // The same as a matrix, by rows.
    std::vector<D> written_out() const {
        const Index rows = this->problem_.cost.rows, cols = this->problem_.cost.cols;
        std::vector<D> matrix(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
        this->fetch(0, rows);
        for (Index i = 0; i < rows; ++i)
            this->read(i, 0, cols, matrix.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(cols));
        return matrix;
    }

  private:
    void rewrite(Index, Index first, Index count, const T* given, D* out) const override {
        const D* const price = prices_ + first;
        for (Index k = 0; k < count; ++k) {
            const auto c = static_cast<D>(given[k]);
            out[k] = this->problem_.maximize ? c + price[k] : c - price[k];
        }
    }

    const D* prices_;
};

// Turns duals of the costs less the prices into duals of `problem`, whose matched pairs are tight to the last digit.
template <class T>
void add_column_prices(const Problem<T>& problem, const Dual<T>* prices, const Index* row_to_col, Dual<T>* u,
                       Dual<T>* v) {
    for (Index j = 0; j < problem.cost.cols; ++j) v[j] += prices[j];
    for (Index i = 0; i < problem.cost.rows && u != nullptr; ++i)
        if (const Index j = row_to_col[i]; j >= 0)
            u[i] = std::min(at_pair(problem, i, j) - v[j], problem.unmatched_cost[i]);
}

}  // namespace lapwing
