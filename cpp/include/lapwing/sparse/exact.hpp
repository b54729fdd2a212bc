// The exact solve (exact/solve.hpp) of sparse costs: without rounding, from duals that are nearly right.
#pragma once

#include "lapwing/exact/solve.hpp"
#include "lapwing/sparse/solve.hpp"

namespace lapwing {

// T: float or double. `start_rows` and `threads` of the request are not used.
template <class T>
ExactSolution solve_sparse_exact(const SparseProblem<T>& problem, const ExactRequest& request, Control& control);

}  // namespace lapwing
