// The orders of RowOwners (costs/owners.hpp), followed over rows that this process holds.
//
// `own` is the problem of these rows alone, in their order, with all columns. Lists do not depend on the number of
// threads. Where rows are shared out otherwise, a list may be longer or shorter, since a row tries the tau of the row
// before it first (ListScratch), and end in other ties.
#pragma once

#include <span>

#include "lapwing/costs/source.hpp"
#include "lapwing/threads.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Where the rows of `own` are in the whole problem.
struct PlaceOfRows {
    Index first;            // the number of its row 0
    Index rows_of_problem;  // how many there are
};

// Rows of `own`, listed under v [cols]; `limits` is empty or has one for each row. Throws InvalidCost with the row of
// `own`, CostTooLarge, Interrupted.
template <class T>
ListedRows<T> list_own_rows(const Problem<T>& own, PlaceOfRows place, std::span<const Index> rows,
                            std::span<const Dual<T>> limits, const Dual<T>* v, int threads,
                            const KeepGoing& keep_going = {});

// v[j] = min(v[j], c[rows[k], j] - u[k] for all k with a finite u), of costs as the kernels minimise them.
template <class T>
void lower_own_columns(const Problem<T>& own, std::span<const Index> rows, const Dual<T>* u, Dual<T>* v,
                       const KeepGoing& keep_going = {});

}  // namespace lapwing
