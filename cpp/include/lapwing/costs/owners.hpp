// Rows of costs that other processes hold, each a block of them, and the orders that they follow.
//
// A source of such costs can be read row by row, as any other (costs/rows.hpp). But a pass over all rows would take the
// whole matrix through one process, which may have no room for it and waits for each row. So the owners make the passes
// of the core method, each over its own rows and all at once: listing, column minima, copies of samples, the largest
// cost. Every function of RowOwners may be called by one thread at a time.
#pragma once

#include <span>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

// Candidate lists of some rows as CandidateLists keeps them (core/lists.hpp), one after the other.
template <class T>
struct ListedRows {
    std::vector<Index> counts;  // [rows] columns in the list of each row, at most its capacity
    std::vector<Index> cols;    // [sum of counts]
    std::vector<T> costs;       // [sum of counts], as the kernels minimise them (signed_cost)
    std::vector<Dual<T>> tau;   // [rows] c - v of no column left out is less
};

// The finite cost of the largest magnitude, as it is given; of no rows 0.
template <class T>
struct ExtremeCost {
    T value = 0;
    Index row = -1, col = -1;
};

template <class T>
class RowOwners {
  public:
    virtual ~RowOwners() = default;
    // Lists these rows (empty: all) under v [cols], and checks their costs: InvalidCost, CostTooLarge. With limits, one
    // for each of the rows, as a refresh does (CandidateLists::relist).
    virtual ListedRows<T> list(std::span<const Index> rows, std::span<const Dual<T>> limits, bool maximize,
                               const Dual<T>* v) const = 0;
    // v[j] = min(v[j], c[rows[k], j] - u[k] for all k), of costs as the kernels minimise them.
    virtual void lower_columns(std::span<const Index> rows, bool maximize, const Dual<T>* u, Dual<T>* v) const = 0;
    // out [rows, cols]: the costs of all pairs of these rows and columns, as they are given.
    virtual void copy(std::span<const Index> rows, std::span<const Index> cols, T* out) const = 0;
    virtual ExtremeCost<T> extreme() const = 0;
};

}  // namespace lapwing
