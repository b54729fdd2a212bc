// The methods on a CPU, one declaration each; all keep the contract in solution.hpp.
//
// Instantiated for float, double, int32_t and int64_t in cpp/src. Every method takes any strides, checks for NaN and
// -inf as it first reads the matrix (InvalidCost), polls the Control, and is free of global state. Rows <= cols, or
// `unmatched_cost` is given. Empty problems are answered by the caller. solve_jv alone takes no problem with a source.
#pragma once

#include <cstdint>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/jv/jv.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Shortest augmenting paths on candidate lists with proven bounds (core/solve.hpp). `start_v`: nullptr or [cols] prices
// to start from, any finite values. `start_rows`: nullptr or, beside start_v, [rows] the columns of an assignment, -1
// for a free row: where it is tight, it is kept. Without a start, points of which many are equal are solved as a
// transport (reductions/equal_lines.hpp). `keep` is called when the control says so (keep_every), and when an
// exception ends the solve.
template <class T>
Solution<Dual<T>> solve_core(const Problem<T>& problem, const Dual<T>* start_v, int threads, Control& control,
                             const Keep<Dual<T>>& keep = {}, const Index* start_rows = nullptr);

// Jonker-Volgenant on full rows; also the direct path of small problems (jv/jv.inc.hpp).
template <class T>
Solution<Dual<T>> solve_jv(const Problem<T>& problem, Control& control);
// The same. False, with nothing solved, if it would have to read more rows than allowed. Goes on from `state`, if there
// is one.
template <class T>
bool solve_jv_within(const Problem<T>& problem, JvLimit limit, Control& control, Solution<Dual<T>>& solution,
                     JvStart start = JvStart::fitting, const JvState<Dual<T>>* state = nullptr);

// Up to kDirectMaxRows rows solve_jv; where costs have a cap, within kReadsOfCapped reads a row, and then solve_capped
// (reductions/capped.hpp). Beyond, solve_capped where costs have a cap, sparse pairs where the matrix is padded with
// dummies (reductions/padded.hpp), a transport where lines are equal (reductions/equal_lines.hpp), phases where costs
// have few values (tight/tight.hpp), sparse pairs where the others are sums (reductions/separable.hpp), solve_jv, and
// solve_core if its searches prove hard. Where lists carry no information, because many rows are tied or costs span
// many magnitudes (poor_lists.hpp), solve_core would read rows again and again: solve_jv within a larger budget and
// solve_ssp, whose time hardly depends on the costs, replace it. For sizes at which a matrix stays in the cache, jv is
// up to ten times as fast as core, and core ten times as fast on products and sums. Where a sample of costs ties, core
// leaves them to jv.
template <class T>
Solution<Dual<T>> solve_jv_or_core(const Problem<T>& problem, int threads, Control& control);

// Small overlaps and capped distances take jv 1 to 5 reads a row from prices of zero, few preferences each 7 to 9, and
// solve_capped as long as 3 to 10.
inline constexpr double kReadsOfCapped = 10;

// The largest number of rows (of columns, if these are fewer) for which solve_jv_or_core pays. Measured at n = 500 to
// 2000, where the two take the same time.
inline constexpr Index kJvOrCoreMaxRows = 1024;

// For larger ones: solve_capped where costs have a cap, sparse pairs where the matrix is padded, a transport where
// lines are equal, phases where costs have few values, unless core does well, sparse pairs where others are sums; else
// solve_core, unless lists tell nothing; but phases and solve_jv first where a small sample tells that many pairs tie,
// solve_jv for up to 1536 rows where it tells of any structure, and where rows and columns are the same things. Where
// solve_core reads much, solve_jv tries, once, before it goes on. Where that proves hard: trials of solve_jv and
// solve_ssp, then solve_jv within a larger budget, and solve_ssp at last; plain paths in place of the former three
// where jv would need a copy of the matrix.
template <class T>
Solution<Dual<T>> solve_core_or_jv(const Problem<T>& problem, int threads, Control& control);

// Assigns each row that a time limit has left free, in the order of the rows, to the cheapest free column. After a
// tenth of a second, or of the time so far, the remaining rows get a column by position: free rows and free columns are
// paired in the order that the source gives.
template <class T>
void complete_greedily(const Problem<T>& problem, std::vector<Index>& row_to_col, Control& control);

// The cost of an assignment, as minimised; kInfinity if a row has neither a column nor a price.
template <class T>
Dual<T> total_cost(const Problem<T>& problem, const std::vector<Index>& row_to_col);

// Forward auction with epsilon scaling, and shortest augmenting paths at the end (src/auction/auction.cpp): bids from
// whole rows, or from lists.
enum class AuctionVariant { plain, optimised };
template <class T>
Solution<Dual<T>> solve_auction(const Problem<T>& problem, AuctionVariant variant, Control& control);

// Algorithm 1015: shortest augmenting paths with epsilon-pricing on full rows (src/ssp/ssp.cpp).
// Columns of a row for each thread that shares it: some 9 microseconds of work; to hand it out takes up to 4.
inline constexpr Index kSspColumnsPerThread = 8192;
// Without pricing: plain shortest augmenting paths from v = 0. The others are the places in which the text of the paper
// differs from its authors' published program: true as the text has it (src/ssp/start.cpp, ssp.cpp explain them).
struct SspTrace {                                // of a solve
    std::vector<std::int64_t> scans, path_rows;  // [rows] how often it was read; other rows of its augmenting paths
    std::vector<std::int64_t> searched;          // [rows] rows that its searches read, with itself
    std::vector<double> epsilon;                 // of each phase
    std::vector<std::vector<double>> v;          // that each leaves, [cols]
};
struct SspOptions {
    SspTrace* trace = nullptr;  // to fill
    bool pricing = true;
    bool least_v = false;
    bool picked_v = false;
    bool last_v = false;
    bool whole_gap = false;
    bool any_gap = false;
    bool in_order = false;
    bool stop_early = false;
    bool compare_above = false;
};
template <class T>
Solution<Dual<T>> solve_ssp(const Problem<T>& problem, const SspOptions& options, int threads, Control& control);
// The same. False, with nothing solved, if it would have to read more rows than allowed, with repetitions.
template <class T>
bool solve_ssp_within(const Problem<T>& problem, const SspOptions& options, double most_rows_read, int threads,
                      Control& control, Solution<Dual<T>>& solution);

// Date and Nagi's Hungarian methods: classical (src/hungarian/bfs.cpp), and with alternating trees (tree.cpp). The
// answer of these and of munkres does not depend on `threads`.
template <class T>
Solution<Dual<T>> solve_hungarian_bfs(const Problem<T>& problem, int threads, Control& control);
template <class T>
Solution<Dual<T>> solve_hungarian_tree(const Problem<T>& problem, int threads, Control& control);

// The classical Hungarian method on a slack matrix, after Lopes and others (src/hungarian/munkres.cpp, which explains
// the options).
struct MunkresOptions {
    bool fused = true;
    bool one_launch = true;
    bool by_regret = false;
    bool switches = false;
};
template <class T>
Solution<Dual<T>> solve_munkres(const Problem<T>& problem, const MunkresOptions& options, int threads,
                                Control& control);

}  // namespace lapwing
