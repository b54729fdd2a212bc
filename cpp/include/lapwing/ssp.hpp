// What the parts of the "ssp" method share: ssp.cpp (the method), ssp_start.cpp (where it starts) and their kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "lapwing/control.hpp"
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

// The open column of the smallest distance, an unowned one where there are several; -1 if none is open.
template <class D>
struct SspNearest {
    D distance;
    Index column;
};

// Of one row's costs, as minimised.
template <class D>
struct SspExtremes {
    D least;        // kInfinity: all pairs are forbidden
    D greatest;     // of the pairs that are not forbidden
    Index invalid;  // a column with NaN or -inf, or -1
};

// Of one row's costs less v.
template <class D>
struct SspTwoLeast {
    D least, second;  // second == least where two columns tie; kInfinity where there is no second
    Index column;     // of the least
};

inline std::size_t ssp_padded(Index n) {
    return (static_cast<std::size_t>(n) + kSspPadding - 1) / kSspPadding * kSspPadding;
}

// The rows of a problem, contiguous, and how many were read.
template <class T>
class SspRows {
  public:
    explicit SspRows(const Problem<T>& problem)
        : problem_(problem), copy_(problem.cost.col_stride == 1 ? 0 : static_cast<std::size_t>(problem.cost.cols)) {}

    // Valid until the next call.
    const T* operator()(Index i) {
        ++scanned_;
        if (copy_.empty()) return problem_.cost.row(i);
        for (Index j = 0; j < problem_.cost.cols; ++j) copy_[static_cast<std::size_t>(j)] = problem_.cost.at(i, j);
        return copy_.data();
    }
    const Problem<T>& problem() const { return problem_; }
    std::int64_t scanned() const { return scanned_; }
    Dual<T> unmatched_cost(Index i) const {
        return problem_.unmatched_cost != nullptr ? problem_.unmatched_cost[i] : kInfinity<Dual<T>>;
    }

  private:
    const Problem<T>& problem_;
    std::vector<T> copy_;  // of one row, where columns are not contiguous
    std::int64_t scanned_ = 0;
};

// Where the method starts (ssp_start.cpp).
template <class D>
struct SspStart {
    std::vector<D> v;                                         // [padded cols], at most 0
    std::vector<D> row_least;                                 // [rows]: with v = 0, feasible duals
    std::vector<Index> order;                                 // [rows]: greatest regret first
    std::vector<Index> greedy;                                // [rows]: an assignment, -1 where a row found no column
    D epsilon = 0;                                            // of the first phase; 0: none is needed
    D epsilon_least = 0;                                      // below this, scaling ends
    double bound = -std::numeric_limits<double>::infinity();  // a lower bound on the optimum
    Index forbidden_row = -1;  // a row whose pairs are all forbidden and that may not stay free
    bool expired = false;      // the time limit passed; row_least is complete nevertheless
};

// Throws InvalidCost. Reads each row at most four times.
template <class T>
SspStart<Dual<T>> ssp_start(SspRows<T>& rows, Control& control);

}  // namespace lapwing
