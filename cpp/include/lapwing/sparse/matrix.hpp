// Sparse costs: the arrays that a caller gives, and the checked copy that the solver works on.
//
// The caller's arrays may be wrong, and other threads may write to them during a solve. So they are read once: indices
// are checked as they are copied, and no loop of the solver reads the caller's arrays again.
#pragma once

#include <cstdint>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// rows x cols costs by rows (CSR): row i has the entries indptr[i] to indptr[i + 1] - 1. All other pairs are
// forbidden. Columns in any order; of equal ones each is a pair of its own. Nothing is promised about the numbers in
// the arrays.
template <class T>
struct SparseView {
    const std::int64_t* indptr = nullptr;  // [rows + 1]
    const Index* indices = nullptr;        // [entries]
    const T* data = nullptr;               // [entries]
    Index rows = 0;
    Index cols = 0;
    std::int64_t entries = 0;  // length of indices and data
};

// Thrown where the arrays are no matrix, with words for the user.
void require_rising(const std::int64_t* indptr, Index rows, std::int64_t entries);
[[noreturn]] void refuse_index(std::int64_t line, std::int64_t at, Index size, bool by_columns = false);

template <class T>
struct SparseEntry {
    T cost;
    Index col;
};

// Where a row's entries are. The first `listed` of them are the cheapest under earlier prices, and `tau` is a lower
// bound on cost - v of all others: prices only rise while a solve runs (v only falls), so it holds for ever.
template <class D>
struct SparseRow {
    std::int64_t begin = 0;
    Index count = 0;
    Index listed = 0;
    D tau = kInfinity<D>;
};

// The allowed pairs as minimised, by rows, or by columns where the problem is solved transposed. A row's entries are in
// any order.
//
// Invariant: rows lie one after the other in `entries`, 0 <= col < cols of the matrix as solved, costs are finite.
template <class T>
struct Adjacency {
    std::vector<SparseRow<Dual<T>>> rows;
    std::vector<SparseEntry<T>> entries;
};

// Checks and copies, with costs as numbers of type U: T itself, or double for integers. Throws Refused for damaged
// arrays; InvalidCost, of the matrix as solved, for NaN and -inf as minimised.
template <class U, class T>
Adjacency<U> make_adjacency(const SparseView<T>& view, bool maximize, bool transposed);

// Whether a pair is given twice. Throws Refused for damaged arrays, in words for rows or, `by_columns`, for columns.
template <class T>
bool has_duplicates(const SparseView<T>& view, bool by_columns);

}  // namespace lapwing
