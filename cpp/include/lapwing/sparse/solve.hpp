// Sparse costs: the stages in order.
//
//     copy and check -> components -> rows and columns without a pair -> auction phases -> shortest augmenting paths
//     -> finish
//
// Problem. Every row gets a column of its own among its allowed pairs at the least total cost (rows <= columns, or the
// caller transposes); or rows may stay free at a price each. Nothing that is not in the arrays is ever written out or
// looked at.
// Method. Successive shortest paths on adjacency lists, prepared by auctions. Where every column is needed (square and
// complete) phases of an auction with falling epsilon make good prices first. Where columns may stay free, prices start
// at what that costs, mostly zero, and no phase runs with epsilon > 0: a free column must keep this price, and trees
// are short, since a path may end in so many places.
// Complexity. O(degree) a bid and a scanned row, O(log n) a push; O(n (nnz + n log n)) at worst. 16 bytes of copy an
// entry (8 for 4-byte costs) and some 60 bytes a row and column.
// Deviations. A phase keeps the pairs of the one before that epsilon allows; bids of a phase are limited; searches have
// a budget, past which phases start again from a larger epsilon.
// References. Bertsekas (Annals of Operations Research 14, 1988); Jonker and Volgenant (Computing 38, 1987); Guthe and
// Thuerck, Algorithm 1015 (ACM TOMS 47, 2021), for searches prepared by epsilon scaling.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/sparse/matrix.hpp"

namespace lapwing {

template <class T>
struct SparseProblem {
    SparseView<T> cost;
    bool maximize = false;
    bool transposed = false;                  // the columns of `cost` are the rows to be matched
    const Dual<T>* unmatched_cost = nullptr;  // of the rows to be matched, as minimised, finite or kInfinity
    const Dual<T>* unmatched_cols = nullptr;  // beside it: of the columns, as minimised, finite; null: 0

    Index cols() const { return transposed ? cost.rows : cost.cols; }  // to be matched
};

// In the orientation that is solved. A Hall violator is one of which no part is a violator; `violator_is_cols`: its
// rows are columns of a square problem, and its columns rows.
template <class D>
struct SparseSolution : Solution<D> {
    bool violator_is_cols = false;
};

// `start_v`: nullptr or prices of the columns of the problem as solved, any finite values. `threads`: an upper limit.
// Throws Refused, InvalidCost
// and CostTooLarge, with positions in the problem as solved.
template <class T>
SparseSolution<Dual<T>> solve_sparse(const SparseProblem<T>& problem, const Dual<T>* start_v, int threads,
                                     Control& control, const Keep<Dual<T>>& keep = {});

// The same on a copy that was checked already. `exits`: nullptr or [rows] prices of staying free; `free_cols`: nullptr
// or, beside them, [cols] prices of columns that stay free, finite. `whole`: costs and prices of a floating type are
// whole numbers, and so are the duals. `rectangular`: the duals are those of a problem whose columns may stay free, as
// they may anyway where there are more of them than rows, or exits.
template <class T>
SparseSolution<Dual<T>> solve_adjacency(Adjacency<T>& pairs, Index cols, const Dual<T>* exits, const Dual<T>* start_v,
                                        Control& control, const Keep<Dual<T>>& keep, const Dual<T>* free_cols = nullptr,
                                        bool whole = false, bool rectangular = false);

// Integers in doubles, where these hold all sums: comparisons of doubles are quicker. False if they may not; `solution`
// is then no answer. T: int32_t or int64_t.
template <class T>
bool solve_in_doubles(const SparseProblem<T>& problem, const Dual<T>* start_v, int threads, Control& control,
                      const Keep<Dual<T>>& keep, SparseSolution<Dual<T>>& solution);

// Of an optimal answer to a problem whose rows may stay free at a price: matches more of them where that costs nothing
// (matching/ties.hpp). Here columns may have infinite prices. `v`: [cols] as minimised.
template <class T>
void match_sparse_ties(const SparseProblem<T>& problem, std::vector<Index>& row_to_col, const Dual<T>* v);

// Whether all sums have room (numbers/range.hpp); `pairs`: of the problem.
template <class T>
CostRange<Dual<T>> sparse_range(const SparseProblem<T>& problem, const Adjacency<T>& pairs);

}  // namespace lapwing
