// Whether rounding may have spoiled an answer that nobody asks a certificate for.
//
// Errors of float64 duals are some units in the last place of the largest one. Where that is of the size of the objective, the
// answer is as good as any float64 sum can tell. Where it is much larger (a large number M in place of infinity), only the
// certificate knows. O(rows + cols) for nearly all problems.
#pragma once

#include <vector>

#include "lapwing/jv.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Duals may be so much larger than the objective, 4 of their 52 digits.
inline constexpr double kTrustedRatio = 16;

// Whether the prices of an optimal answer to a problem with a matrix are so small; integers always are.
template <class T>
bool are_small(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v);

// Whether the certificate of an answer leaves a bound of at most rows ulps of the objective.
template <class T>
bool is_proven(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v);

// Memory of the direct path for a second solve, without the large costs; the answer lies in it.
template <class T>
struct SecondSolve {
    std::vector<T> costs;
    Workspace workspace;
};

// Whether an answer of the direct path is sure to be optimal: since its prices are small, or after the problem was solved again
// without its large costs (large_costs.hpp), or by its certificate.
template <class T>
bool make_sure(const Problem<T>& problem, bool with_u, SecondSolve<T>& memory, DirectAnswer<Dual<T>>& answer);

}  // namespace lapwing
