// A square matrix that was padded with dummies, so that rows and columns may stay free.
//
// Persistence diagrams, edit distances of sets and of graphs, and tracks that begin and end are written so:
//
//     c_ij  s_ik       rows i with dummy columns k
//     r_lj  g          dummy rows l with columns j; dummies meet at one cost, mostly zero
//
// A row in a dummy column, or a column with a dummy row, stays free. Let s_i be the least cost of row i in dummy
// columns, and r_j that of column j in dummy rows. If no two rows have the same cheapest dummy, and no two columns (of
// equal dummies each takes another), whatever stays free can have its cheapest one. Dummies that are left are as many
// rows as columns, and pair up at g. So an optimum of the pairs c_ij alone, whose rows stay free at s_i and whose
// columns at r_j - g, is one of the matrix: a pair more leaves a dummy row and a dummy column more. Its duals
// u_i <= s_i and v_j <= r_j - g become duals of the matrix with u = g for dummy rows and v = 0 for dummy columns.
//
// Pairs of c_ij >= s_i + r_j - g are not needed. The others, if they are few, are solved as sparse ones.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// False, with nothing solved, if the matrix is not padded so, too many pairs are left, a cost is out of range or not a
// number, or the time is up. It looks at a few costs; only if these are of a padded matrix does it read the others.
template <class T>
bool solve_padded(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution);

}  // namespace lapwing
