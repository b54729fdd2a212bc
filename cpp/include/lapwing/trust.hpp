// Whether rounding may have spoiled an answer that nobody asks a certificate for.
//
// Errors of float64 duals are some units in the last place of the largest one. Where that is of the size of the objective, the
// answer is as good as any float64 sum can tell. Where it is much larger (a large number M in place of infinity), only the
// certificate knows. O(rows + cols) for nearly all problems.
#pragma once

#include "lapwing/types.hpp"

namespace lapwing {

// Duals may be so much larger than the objective, 4 of their 52 digits.
inline constexpr double kTrustedRatio = 16;

// Of an optimal answer to a problem with a matrix: true if its proof leaves a bound above rows ulps of the objective.
template <class T>
bool is_doubtful(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v);

}  // namespace lapwing
