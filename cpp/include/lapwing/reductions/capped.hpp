// Costs with a cap: most costs of a row equal its largest one, as in overlaps that are mostly zero, truncated
// distances, or 0/1 costs.
//
// A cap is a price for staying free. If no cost of row i is above t_i, forbid the pairs at t_i, and let the row stay
// free at the price t_i instead; rows and columns that are left free are then paired arbitrarily. The optimum is the
// same: a pair of a free row and a free column that costs less than t_i would improve the assignment if it were
// matched. And the proof carries over: with rows that may stay free u_i <= t_i and v_j <= 0, so u_i + v_j <= t_i holds
// for all pairs at the cap, with equality where both were left free. The rest is sparse (sparse/solve.hpp), and every
// row of the matrix is read once.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Whether rows, some of them evenly spread, have few enough pairs below their caps. A look of some nanoseconds, where
// they have none.
template <class T>
bool has_caps(const Problem<T>& problem);

// Solves what has_caps has found. False, with nothing solved, if too many pairs are below their caps, or a pair is
// forbidden.
template <class T>
bool solve_capped(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution);

}  // namespace lapwing
