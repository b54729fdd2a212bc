// Shared by the parts of the "ssp" method: ssp.cpp (the method), ssp_start.cpp (where it starts) and their kernels;
// "auction" ends with its last phase.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

inline constexpr Index kSspPadding = 8;  // lanes of the widest vector
inline constexpr Index kSspVirtualRow = -2;

enum SspState : std::int64_t { ssp_unowned = -1, ssp_closed = 0, ssp_owned = 1 };

// One search's labels. All arrays are padded to a multiple of kSspPadding; the padding is closed for ever.
template <class D>
struct SspLabels {
    const D* v;
    D* distance;                // shortest known alternating path from the free row; final where closed
    std::int64_t* predecessor;  // the row from which it is reached, or kSspVirtualRow
    const std::int64_t* state;  // SspState
    Index cols;
};

// The open column of the smallest distance, the first unowned one where there are several; -1 if none is open.
template <class D>
struct SspNearest {
    D distance;
    Index column;
};

// The one to close first; neither's column is -1, but best's may be.
template <class D>
SspNearest<D> ssp_nearer(SspNearest<D> best, SspNearest<D> other, const std::int64_t* state) {
    if (best.column < 0 || other.distance < best.distance) return other;
    if (other.distance != best.distance) return best;
    const bool unowned = state[other.column] == ssp_unowned;
    if (unowned != (state[best.column] == ssp_unowned)) return unowned ? other : best;
    return other.column < best.column ? other : best;
}

// Properties of one row's costs, as minimised.
template <class D>
struct SspExtremes {
    D least;        // kInfinity: all pairs are forbidden
    D greatest;     // of the pairs that are not forbidden
    Index invalid;  // a column with NaN or -inf, or -1
};

// Properties of one row's costs minus v.
template <class D>
struct SspTwoLeast {
    D least, second;  // second == least where two columns tie; kInfinity where there is no second
    Index column;     // of the least; the first of several
};

inline std::size_t ssp_padded(Index n) {
    return (static_cast<std::size_t>(n) + kSspPadding - 1) / kSspPadding * kSspPadding;
}

// The rows of a problem, contiguous, and how many were read.
template <class T>
class SspRows {
  public:
    explicit SspRows(const Problem<T>& problem) : problem_(problem), reader_(problem.cost, problem.source) {}

    // Valid until the next call.
    const T* operator()(Index i) {
        ++scanned_;
        return reader_.row(i);
    }
    // All rows are read next, in their order.
    void expect_all() { reader_.expect(0, problem_.cost.rows); }
    const Problem<T>& problem() const { return problem_; }
    std::int64_t scanned() const { return scanned_; }
    Dual<T> unmatched_cost(Index i) const {
        return problem_.unmatched_cost != nullptr ? problem_.unmatched_cost[i] : kInfinity<Dual<T>>;
    }

  private:
    const Problem<T>& problem_;
    RowReader<T> reader_;
    std::int64_t scanned_ = 0;
};

// Where the method starts (ssp_start.cpp).
template <class D>
struct SspStart {
    std::vector<D> v;                                         // [padded cols], finite
    std::vector<D> row_least;                                 // [rows]: with v = 0, feasible duals
    std::vector<Index> order;                                 // [rows]: of the first phase
    std::vector<Index> best;                                  // [rows]: an assignment, -1 where a row found no column
    D epsilon = 0;                                            // of the first phase; 0: none is needed
    double epsilon_least = 0;                                 // below this, scaling ends
    double unit = 0;                                          // of prices and epsilons: keeps sums on a binary grid
    double bound = -std::numeric_limits<double>::infinity();  // a lower bound on the optimum
    Index forbidden_row = -1;  // a row whose pairs are all forbidden and that may not stay free
    bool expired = false;      // the time limit passed; row_least is complete nevertheless
    Statistics statistics;

    D in_units(double x) const { return static_cast<D>(unit > 0 ? std::floor(x / unit) * unit : x); }
};

// Throws InvalidCost, CostTooLarge. Reads each row at most five times.
template <class T>
SspStart<Dual<T>> ssp_start(SspRows<T>& rows, const SspOptions& options, Control& control);

// The phases, from any start; exact whatever its prices are. The answer does not depend on `threads`.
template <class T>
Solution<Dual<T>> ssp_solve(SspRows<T>& rows, SspStart<Dual<T>> start, const SspOptions& options, int threads,
                            Control& control);

}  // namespace lapwing
