// The certificate: a proof of how far an assignment is from the optimum, independent of every method.
//
// Linear programming duality: for duals with c - u - v >= 0 on all pairs, every assignment costs at least
// sum(u) + sum(v); an assignment that costs exactly as much is optimal. Real duals may miss feasibility by a little, so
// the proof is quantitative. With e = the worst violation of a line of the matrix, no assignment costs less than
//     dual - sum over lines of e - sum over rows of max(0, u - p) - sum over columns of max(0, v - q),
// the last two terms only where rows may stay free at a price p, columns at a price q (mostly 0). The
// report is rigorous, not merely computed:
//   - the sign of every c - u - v is exact: two rounded subtractions decide unless their result lies within the first
//     one's rounding error of zero; then error-free transformations (Knuth's TwoSum) give the exact value;
//   - sums are exact (Shewchuk, "Adaptive precision floating-point arithmetic", 1997; 128-bit integers) and rounded
//     once: primal, dual and gap to nearest, violation and bound upwards.
// Duals may be sums of several doubles, where one has too few digits for an exact proof; then the same holds of the
// sums. Hence gap == 0 and violation == 0 mean: optimal, with no rounding in the argument (`exact`).
//
// One pass over the matrix, at memory speed, threads over lines (rows, or columns where those are contiguous). Of
// sparse costs the lines are shorter, and their duals are gathered; forbidden pairs have no constraint. Shares nothing
// with the methods but the number types, the way to start threads (threads.hpp), and, where no matrix holds the costs,
// the source that says what they are (costs/source.hpp).
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "lapwing/costs/source.hpp"
#include "lapwing/sparse/matrix.hpp"
#include "lapwing/threads.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// The fault of the input, the first of these that was found.
enum class Fault {
    none,
    column_range,    // row_to_col[fault_row] is neither -1 nor a column
    column_twice,    // row_to_col[fault_row] is the column of an earlier row
    forbidden_pair,  // (fault_row, fault_col) is matched but forbidden
    invalid_dual,    // u[fault_row] (fault_col == -1) or v[fault_col] (fault_row == -1) is not finite
    invalid_cost,    // the cost at (fault_row, fault_col) is NaN or -inf, as minimised; col -1: the price of the row,
                     // row -1: of the column
};

// The type of a sum of many D: integers have no rounding, and no overflow.
template <class D>
using SumOf = std::conditional_t<std::is_integral_v<D>, Int128, D>;

// Of D = double or int64_t; everything as minimised. Of integers a violation, or a bound, from kInfinity on is reported
// as kInfinity.
template <class D>
struct Certificate {
    Fault fault = Fault::none;  // none: the matching is valid and every number is usable
    Index fault_row = -1;
    Index fault_col = -1;
    Index matched = 0;         // rows that have a column
    bool complete = false;     // every row has a column or stays free at a finite price, and so do priced columns
    bool exact = false;        // proven optimal without rounding: no fault, complete, gap == 0 and violation == 0
    SumOf<D> primal = 0;       // of the matched pairs, and the prices of free rows and columns
    SumOf<D> dual = 0;         // sum(u) + sum(v)
    SumOf<D> dual_below = 0;   // the same, rounded down
    SumOf<D> gap = 0;          // primal - dual; of an incomplete matching it means nothing
    D violation = 0;           // worst of u + v - c, of u - p, and of v - q where columns may stay free
    Index violation_row = -1;  // where; row -1: v[violation_col] > q
    Index violation_col = -1;  // where; col -1: u[violation_row] > unmatched_cost[violation_row]
    D bound = kInfinity<D>;    // objective - optimum is at most this; kInfinity if nothing is proven
};

// A sum of so many doubles holds every sum of a few doubles of any magnitude.
inline constexpr int kMostDualParts = 48;

template <class T>
struct CertificateInput {
    MatrixView<T>
        cost;  // rows <= cols unless unmatched_cost is given; without data if there is a source, or sparse costs
    bool maximize = false;
    const Dual<T>* unmatched_cost = nullptr;   // [rows] p as minimised, or nullptr
    const std::int64_t* row_to_col = nullptr;  // [rows], -1 where a row is free; any values are accepted
    const Dual<T>* u = nullptr;                // [parts, rows] as minimised, sums of parts; any values are accepted
    const Dual<T>* v = nullptr;                // [parts, cols] as minimised, sums of parts; any values are accepted
    const CostSource<T>* source = nullptr;     // where the costs come from, if no matrix holds them
    const SparseView<T>* sparse = nullptr;     // the pairs that are not forbidden, if they are given by rows ...
    bool sparse_by_columns = false;            // ... or these by columns: indices are rows of the problem
    int parts = 1;                             // of every dual, at most kMostDualParts; 1 for integers
    // Beside unmatched_cost: [cols] q as minimised, or nullptr, where all are 0.
    const Dual<T>* unmatched_cols = nullptr;
};

// `threads` is an upper limit; the answer does not depend on it. Throws Interrupted. T: float, double, int32_t,
// int64_t.
template <class T>
Certificate<Dual<T>> certify(const CertificateInput<T>& input, int threads, const KeepGoing& keep_going = {});

// The findings of the pass over the pairs for one row.
template <class T>
struct RowProof {
    Dual<T> violation = 0;  // the worst of u + v - c, as minimised
    Index col = -1;         // where
    Index invalid = -1;     // the column of a NaN or -inf
    T matched = 0;          // the cost of its pair, as it is given; 0 without one
};

// The two halves of `certify`, for a matrix whose rows are in several processes: the pass over the pairs of some rows,
// and the proof from what it found of every row. All sums are taken in the second, so they do not depend on how the
// rows are shared out. `input` of the first half has some rows and no unmatched costs; that of the second needs no
// costs.
template <class T>
std::vector<RowProof<T>> certify_rows(const CertificateInput<T>& input, int threads, const KeepGoing& keep_going = {});
template <class T>
Certificate<Dual<T>> certify(const CertificateInput<T>& input, std::span<const RowProof<T>> rows);

}  // namespace lapwing
