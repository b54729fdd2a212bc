// Many problems at once: threads take one problem after another, each thread with a workspace of its own.
//
// Binding: _core.solve_batch(costs, maximize, unmatched_cost, unmatched_cols, threads, with_duals) -> dict
//   costs           (B, m, n) array of float32, float64, int32 or int64 with any strides, or a list of 2-D arrays of
//                   one of these dtypes, the same for all. Tall problems are fine. No dimension may be 0.
//   maximize        bool, for all
//   unmatched_cost  None; or, as minimised, float64 (int64 for integer costs): one array of [sum of all rows], problem
//                   after problem
//   unmatched_cols  None; or, beside unmatched_cost, one array of [sum of all columns], as minimised, finite: prices of
//                   columns that stay free
//   threads         upper limit, >= 1
//   with_duals      bool
//   -> row_to_col   int64 [sum of rows] of all problems, one after the other; -1 where a row is free
//      u, v         [sum of rows], [sum of columns], float64 or int64, as minimised; only with_duals
//      objective    [B], float64 or int64, in the user's sense, with the price of free rows where unmatched_cost is
//                   given
//      faults       list of (problem, kind, row, col) in the order of problems; kind is "invalid" (cost at row, col),
//                   "infeasible" (row, col: how many rows share how many fewer columns) or "range" (the magnitude of
//                   row, col's cost is too large), or "doubtful": the answer is there, but rounding may have spoiled it
//                   (numbers/trust.hpp). The other outputs of other such problems are undefined.
// Releases the GIL; Ctrl-C raises KeyboardInterrupt.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lapwing/threads.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// The problems of a batch: a list of any shapes, or a stack of one shape, for which nothing is stored by problem. In
// the outputs, problem b's rows start at row_start(b) and its columns at col_start(b); those of size() are the totals.
template <class T>
class Problems {
  public:
    explicit Problems(std::vector<MatrixView<T>> list)
        : list_(std::move(list)), row_start_(list_.size() + 1), col_start_(list_.size() + 1), size_(list_.size()) {
        for (std::size_t b = 0; b < size_; ++b) {
            row_start_[b + 1] = row_start_[b] + static_cast<std::size_t>(list_[b].rows);
            col_start_[b + 1] = col_start_[b] + static_cast<std::size_t>(list_[b].cols);
        }
    }
    // Problem b's costs start `pitch` elements after those of problem b - 1.
    Problems(const MatrixView<T>& first, std::ptrdiff_t pitch, std::size_t size)
        : first_(first), pitch_(pitch), size_(size) {}

    std::size_t size() const { return size_; }
    std::size_t row_start(std::size_t b) const {
        return list_.empty() ? b * static_cast<std::size_t>(first_.rows) : row_start_[b];
    }
    std::size_t col_start(std::size_t b) const {
        return list_.empty() ? b * static_cast<std::size_t>(first_.cols) : col_start_[b];
    }
    Problem<T> operator[](std::size_t b) const {
        Problem<T> problem{list_.empty() ? first_ : list_[b], maximize, nullptr};
        if (list_.empty()) problem.cost.data += static_cast<std::ptrdiff_t>(b) * pitch_;
        if (unmatched_cost != nullptr) problem.unmatched_cost = unmatched_cost + row_start(b);
        return problem;
    }

    // For all problems.
    bool maximize = false;
    const Dual<T>* unmatched_cost = nullptr;  // null, or [row_start(size())], problem after problem
    const Dual<T>* unmatched_cols = nullptr;  // null, or beside it [col_start(size())]

  private:
    std::vector<MatrixView<T>> list_;
    std::vector<std::size_t> row_start_, col_start_;
    MatrixView<T> first_;
    std::ptrdiff_t pitch_ = 0;
    std::size_t size_;
};

struct BatchFault {
    enum Kind { invalid, infeasible, range, doubtful };
    std::size_t problem;
    Kind kind;
    Index row, col;
};

// Where the answers go; see Problems for the order.
template <class D>
struct BatchOutput {
    std::int64_t* row_to_col = nullptr;
    D* u = nullptr;  // null together with v: not wanted
    D* v = nullptr;
    D* objective = nullptr;
};

// Solves all problems (any shapes) on at most `threads` threads, one of them the caller's. Returns the faults in the
// order of problems. Throws Interrupted.
template <class T>
std::vector<BatchFault> solve_batch(const Problems<T>& problems, const BatchOutput<Dual<T>>& output, int threads,
                                    const KeepGoing& keep_going);

}  // namespace lapwing
