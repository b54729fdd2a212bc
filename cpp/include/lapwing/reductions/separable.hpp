// Costs that are a number of the row plus a number of the column, but for few pairs that cost less.
//
// So costs are where two things that have no partner may be paired all the same, at the price of leaving both out:
// c_ij = min(d_ij, a_i + b_j), with a_i to delete i and b_j to insert j. Distances of persistence diagrams, edit
// distances of sets and of graphs, and tracks that end and begin are written so; so are costs with a cap, or with few
// bonuses, beside offsets of rows and columns. Searches would walk through the pairs at a_i + b_j, all of which are
// nearly tight.
//
// Let all rows stay free at a_i, and all columns at b_j, and forbid the pairs that cost no less. In a square problem as
// many rows as columns are free then, and pairing them up costs what staying free did. The optimum is the same, as the
// other pairs of the matrix cost no less than both lines free. Duals u_i <= a_i and v_j <= b_j are feasible there, with
// equality for what is free. The rest is sparse (sparse/solve.hpp).
//
// Numbers a_i and b_j are medians of differences over 32 columns and rows. They are right up to rounding if most pairs
// of a line are usual ones; every pair is examined, so nothing depends on luck but the time. A pair that differs from
// a_i + b_j by rounding only counts as one that equals it; the certificate knows the difference.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// False, with nothing solved, if the costs are not such, more than `each` pairs a row cost less, a cost is out of range
// or not a number, or the time is up. A look at 16 costs, mostly; more only if these look separable.
template <class T>
bool solve_separable(const Problem<T>& problem, Index each, Control& control, Solution<Dual<T>>& solution);

}  // namespace lapwing
