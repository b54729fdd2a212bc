// The row passes of the Hungarian methods (kernels.inc.hpp), chosen at run time for this CPU.
//
// A row is n contiguous costs of any type: behind these passes the methods see duals alone, and are compiled once for
// each type of these. Arrays by column (`v`, `open`, ...) are padded to a multiple of kHungarianPadding, a row of
// costs is not. A column j with open[j] == 0 is not looked at; the padding is never open.
#pragma once

#include <cstdint>

#include "lapwing/types.hpp"

namespace lapwing {

inline constexpr Index kHungarianPadding = 8;  // lanes of the widest vector

inline std::size_t hungarian_padded(Index n) {
    return (static_cast<std::size_t>(n) + kHungarianPadding - 1) / kHungarianPadding * kHungarianPadding;
}

template <class D>
struct TwoLeast {
    D least, second;  // second == least where two columns tie; kInfinity where there is none
};

// Slack means (c[i,j] - v[j]) - u[i], by this expression everywhere.
template <class D>
struct HungarianKernels {
    D (*cost)(const void* row, bool maximize, Index j);

    // The first column whose cost is NaN or -inf, as minimised; -1: none.
    Index (*first_invalid)(const void* row, bool maximize, Index n);
    // The least c - v of the open columns; kInfinity if there is none, or all are forbidden.
    D (*least)(const void* row, bool maximize, Index n, const D* v, const std::int64_t* open);
    TwoLeast<D> (*two_least)(const void* row, bool maximize, Index n, const D* v, const std::int64_t* open);
    // best[j] = min(best[j], c - u).
    void (*lower_columns)(const void* row, bool maximize, Index n, D u, D* best);
    // The open columns with slack <= limit, ascending; `found` has room for n. Returns how many.
    Index (*collect)(const void* row, bool maximize, Index n, const D* v, const std::int64_t* open, D u, D limit,
                     Index* found);
    // The first of them, or -1.
    Index (*find)(const void* row, bool maximize, Index n, const D* v, const std::int64_t* open, D u, D limit);
    // Where (c - v) - offset is less than distance[j], of the open columns: it, and `i` as predecessor.
    void (*relax)(const void* row, bool maximize, Index n, const D* v, const std::int64_t* open, D offset,
                  std::int64_t i, D* distance, std::int64_t* predecessor);

    // Slack or distances by column, padded as `v` is. A row of slack, max(0, slack), its padding kInfinity:
    void (*form_slack)(const void* row, bool maximize, Index n, const D* v, D u, D* slack);
    // The least of the open columns, kInfinity if there is none.
    D (*least_of)(const D* x, Index n, const std::int64_t* open);
    // The open columns with x <= limit, ascending. Returns how many.
    Index (*within)(const D* x, Index n, const std::int64_t* open, D limit, Index* found);
    void (*subtract)(D* slack, Index n, const std::int64_t* open, D step);  // from the open columns
    // The same, and all columns, open or not, where slack is 0 now.
    Index (*subtract_and_find)(D* slack, Index n, const std::int64_t* open, D step, Index* zeros);
};

template <class T>
HungarianKernels<Dual<T>> hungarian_kernels();

}  // namespace lapwing
