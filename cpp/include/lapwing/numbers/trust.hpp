// Whether rounding may have spoiled an answer that nobody asks a certificate for.
//
// Errors of float64 duals are some units in the last place of the largest one. Where that is of the size of the
// objective, the answer is as good as any float64 sum can tell. Where it is much larger (a large number M in place of
// infinity), only the certificate knows. O(rows + cols) for nearly all problems.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/jv/jv.hpp"
#include "lapwing/reductions/large_costs.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Duals may be so much larger than the objective, 4 of their 52 digits.
inline constexpr double kTrustedRatio = 16;

// Whether the prices of an optimal answer to a problem with a matrix, and `shift` of its solution, are so small;
// integers always are. Where the costs of pairs lie far apart, the rounding of prices is small beside the small ones,
// too.
template <class T>
bool are_small(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v, double shift = 0);

// Whether the certificate of an answer leaves a bound of at most rows ulps of the objective; of up to kDirectMaxRows
// rows also small beside small costs. `unmatched_cols`: nullptr or [cols] prices of columns that stay free.
template <class T>
bool is_proven(const Problem<T>& problem, const Index* row_to_col, const Dual<T>* v,
               const Dual<T>* unmatched_cols = nullptr);

// Whether an error (the bound or the violation of a certificate) is small beside the sum of the small costs of an
// assignment, too, where there are much larger ones. Where some pairs at a large number M are needed, an ulp of the
// objective is an ulp of M, and n of them may be as much as all other costs. `costs`: [count], of the matched pairs and
// the free rows and columns; `share`: of the sum, that an error may be.
inline constexpr double kSmallError = 0x1p-10;
bool tells_small_costs(double error, const double* costs, std::size_t count, double share = kSmallError);

// As solve_direct, and whether the answer, if there is one, is sure to be optimal: since its prices are small, or the
// problem was solved without its large costs (reductions/large_costs.hpp), or by its certificate. A look at one row
// says whether to begin without. The answer lies in `workspace`, or in `memory`, which such a solve fills.
template <class D>
struct AnswerMemory {
    Workspace workspace;
    Solution<D> solution;
};
template <class T>
bool solve_surely(const Problem<T>& problem, std::byte* workspace, bool with_u, AnswerMemory<Dual<T>>& memory,
                  DirectAnswer<Dual<T>>& answer);

// The same for more than kDirectMaxRows rows and columns, by the methods for so many, on one thread.
template <class T>
bool solve_larger_surely(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution);

// The same for costs some of which are far above all others, as they are: if few reads of the rows find an answer with
// small prices, prices of any size keep enough digits, or most costs are the large one. False if none of that holds.
template <class T>
bool solve_beside_large(const Problem<T>& problem, const LargeCosts& large, Control& control,
                        Solution<Dual<T>>& solution);

}  // namespace lapwing
