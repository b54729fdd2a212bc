// More digits for duals: a solve of the rest that they leave of the costs.
//
// Problem. Duals of the size of large costs (a penalty, a large number M in place of infinity) lose the last digits of
// other costs, and these decide. Method. Iterative refinement: the costs less the duals are computed as if without
// rounding, and rounded once. They are solved from prices of zero, in float64: most matched pairs are near zero then,
// and so are the new duals, with digits of their own. The sums of the old and the new duals are those of the problem.
// Each time, some sixteen more digits are right. Only square problems: elsewhere free columns would need a price of
// zero in the sum. Cost. A pass over the costs to list all rows, and searches for the rows that rounding has misled; of
// what fits in a small copy, a transport where lines are equal, and a few reads of each row where rows are few.
// Reference: A. M. Gleixner, D. E. Steffy, K. Wolter, "Iterative refinement for linear programming", INFORMS Journal on
// Computing 28 (2016); here the assignment is kept, too, where it is tight.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

struct RefineRequest {
    const double *u, *v;      // [u_parts][rows], [v_parts][cols]: sums over parts are the duals, as minimised
    int u_parts, v_parts;     // at least 1
    const Index* start_rows;  // [rows] the columns of an assignment
    int threads = 1;
};

// T: float or double; rows == cols, no unmatched costs. u and v of the solution are to be added to the duals.
// Contract as in methods.hpp, but InvalidCost and CostTooLarge, where a sum is too large, say nothing of the costs.
template <class T>
Solution<double> refine(const Problem<T>& problem, const RefineRequest& request, Control& control);

}  // namespace lapwing
