// Many problems at once: threads take one problem after another, each thread with a workspace of its own.
//
// Binding: _core.solve_batch(costs, maximize, unmatched_cost, threads, with_duals) -> dict
//   costs           (B, m, n) array of float32, float64, int32 or int64 with any strides, or a list of 2-D arrays of one of
//                   these dtypes, the same for all. Tall problems are fine. No dimension may be 0.
//   maximize        bool, for all
//   unmatched_cost  None; or, as minimised, float64 (int64 for integer costs): one array of [sum of all rows], problem
//                   after problem
//   threads         upper limit, >= 1
//   with_duals      bool
//   -> row_to_col   int64 [sum of rows] of all problems, one after the other; -1 where a row is free
//      u, v         [sum of rows], [sum of columns], float64 or int64, as minimised; only with_duals
//      objective    [B], float64 or int64, in the user's sense, with the price of free rows where there is unmatched_cost
//      faults       list of (problem, kind, row, col) in the order of problems; kind is "invalid" (cost at row, col),
//                   "infeasible" (row, col: how many rows share how many fewer columns) or "range" (the magnitude of
//                   row, col's cost is too large). The other outputs of such a problem are undefined.
// Releases the GIL; Ctrl-C raises KeyboardInterrupt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lapwing/threads.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

struct BatchFault {
    enum Kind { invalid, infeasible, range };
    std::size_t problem;
    Kind kind;
    Index row, col;
};

// Where the answers go. Problem b's rows start at row_start[b], its columns at col_start[b].
template <class D>
struct BatchOutput {
    std::span<const std::size_t> row_start;
    std::span<const std::size_t> col_start;
    std::int64_t* row_to_col = nullptr;
    D* u = nullptr;  // null together with v: not wanted
    D* v = nullptr;
    D* objective = nullptr;
};

// Solves all problems (any shapes) on at most `threads` threads, one of them the caller's. Returns the faults in the order of
// problems. Throws Interrupted.
template <class T>
std::vector<BatchFault> solve_batch(std::span<const Problem<T>> problems, const BatchOutput<Dual<T>>& output,
                                    int threads, const KeepGoing& keep_going);

}  // namespace lapwing
