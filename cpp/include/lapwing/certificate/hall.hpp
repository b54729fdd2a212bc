// Why a problem is infeasible: rows that have fewer columns between them than they are (Hall 1935).
//
// Breadth first along alternating paths from a free row: a row leads to its columns that are not forbidden, a matched
// column to its row. If no free column can be reached, every column reached is matched to a row reached, and the free
// row is one more: the rows reached have only the columns reached, and are one too many for them.
// O(rows * cols) time, each row read once; O(rows + cols) memory.
#pragma once

#include <optional>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

struct HallViolator {
    std::vector<Index> rows;  // ascending; the pairs of these rows with columns not in `cols` are all forbidden
    std::vector<Index> cols;  // ascending, fewer than rows
};

// `row_to_col`: any partial matching without forbidden pairs, -1 where free; `free_row` is free in it. Nothing is
// returned if the row can be matched: there is an augmenting path from it, or an alternating path to a row that may
// stay free at a finite unmatched cost. A method calls this when a search from `free_row` is stuck; "nothing" is then
// a contradiction.
template <class T>
std::optional<HallViolator> find_hall_violator(const Problem<T>& problem, const std::vector<Index>& row_to_col,
                                               Index free_row);

}  // namespace lapwing
