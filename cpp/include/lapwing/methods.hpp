// The methods on a CPU, one declaration each; all answer to the contract in solution.hpp.
//
// Instantiated for float, double, int32_t and int64_t in cpp/src. Every method takes any strides, checks for NaN and
// -inf as it first reads the matrix (InvalidCost), polls the Control, and is free of global state. Rows <= cols, or
// `unmatched_cost` is given. Empty problems are answered by the caller. solve_core alone takes a problem with a source.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Candidate lists that prove themselves (core/). `start_v`: nullptr or [cols] prices to start from, any finite values.
// `keep` is called when the control says so (keep_every), and when an exception ends the solve.
template <class T>
Solution<Dual<T>> solve_core(const Problem<T>& problem, const Dual<T>* start_v, int threads, Control& control,
                             const Keep<Dual<T>>& keep = {});

// Jonker-Volgenant on full rows; also the direct path of small problems (jv.inc.hpp).
template <class T>
Solution<Dual<T>> solve_jv(const Problem<T>& problem, Control& control);

// solve_jv, and solve_core from the beginning if its searches prove hard: for sizes at which a matrix stays in the cache,
// jv is up to twice as fast on costs without structure, and core ten times on others.
template <class T>
Solution<Dual<T>> solve_jv_or_core(const Problem<T>& problem, int threads, Control& control);

// The largest smaller side for which that pays. Measured at n = 500 to 2000, where the two take the same time.
inline constexpr Index kJvOrCoreMaxRows = 1024;

// Gives rows that a time limit has left free the cheapest column that is free too, in the order of the rows.
template <class T>
void complete_greedily(const Problem<T>& problem, std::vector<Index>& row_to_col, Control& control);

// What an assignment costs in a matrix, as minimised; kInfinity if a row has neither a column nor a price.
template <class T>
Dual<T> total_cost(const Problem<T>& problem, const std::vector<Index>& row_to_col);

// Algorithm 1015: shortest augmenting paths with epsilon-pricing on full rows (ssp.inc.hpp).
template <class T>
Solution<Dual<T>> solve_ssp(const Problem<T>& problem, Control& control);

}  // namespace lapwing
