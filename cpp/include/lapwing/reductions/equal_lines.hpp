// Rows that cost the same everywhere, and columns that do: a transportation problem, which is smaller.
//
// Costs of ages, prices, counts, times in minutes, or capacities by repetition depend on few distinct values: many rows
// are equal to each other, and many columns. Take each set of equal rows as one source, with as many units as it has
// rows, and each set of equal columns as one sink. An assignment is a transport of these units, at the same cost, and
// its dual prices are prices of the rows and columns.
//
// Shortest paths carry the units (reductions/transport.hpp). Where rows may stay free, doing so is one more column, for
// all rows.
//
// Of points whose costs are computed, equal ones are found by their coordinates.
//
// Reads a few numbers of 128 rows and columns if none are equal; else every row once or twice. Memory: the distinct
// rows, and the costs between distinct rows and distinct columns.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Whether a look at some lines of a matrix finds equal ones, so many that pairs of distinct ones are `fewer` times
// fewer than all pairs.
template <class T>
bool has_equal_lines(const Problem<T>& problem, double fewer = 4);

// Solves what has_equal_lines has found, or lines that a source knows to be equal. False, with nothing solved, if there
// are too many distinct lines, the transport takes longer than reading the matrix a few times, the time is up, or the
// problem is infeasible or invalid.
template <class T>
bool solve_equal_lines(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution);

}  // namespace lapwing
