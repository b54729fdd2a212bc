// Shared by the Hungarian methods ("hungarian-bfs", "hungarian-tree", "munkres"): duals, a matching, and the forest of
// alternating paths that grows from all free rows at once.
//
// An iteration grows the forest until some of its trees have reached a free column (or a row's unmatched column, at
// which a row may stay free), and flips one path in each of these trees: trees have no vertex in common, so neither
// have the paths. Whenever the forest cannot grow along tight pairs, the duals of its rows rise and those of its
// columns fall, by the least slack of a pair that leads out of it. `theta` is the sum of these steps in one iteration.
//
// Rounding. One expression decides tightness, (c - v) - u <= 0. A float problem whose sums round would lose
// pairs again that were tight when they were chosen, so nothing rests on a second look at them: the forest keeps its
// predecessors, a matched pair is tight by definition (u is set to c - v), and a dual that has moved k times in an
// iteration is its old value and theta, two roundings instead of k. The pair of least slack always enters, so an
// iteration has at most as many dual updates as there are columns, whatever rounding does. On costs whose sums are
// exact all of this changes nothing.
//
// More columns than rows, or rows that may stay free: v starts at 0 (no column reduction), only columns of the
// forest fall, and of these the free ones end it at once; so v <= 0, and v = 0 at free columns. No dummy row is
// stored.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/hungarian/kernels.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/team.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// A problem whose costs, of whatever type, are read through kernels; all as minimised.
template <class D>
struct HungarianProblem {
    HungarianKernels<D> kernels;
    bool maximize;
    Index rows, cols;
    const D* unmatched_cost;  // [rows] or nullptr
    const std::byte* data;    // rows of contiguous costs
    std::ptrdiff_t pitch;     // bytes from one row to the next
    std::ptrdiff_t item;      // bytes of a cost

    const void* row(Index i, Index begin = 0) const { return data + i * pitch + begin * item; }
    D at(Index i, Index j) const { return kernels.cost(row(i), maximize, j); }
    D unmatched_cost_of(Index i) const { return unmatched_cost != nullptr ? unmatched_cost[i] : kInfinity<D>; }
    bool may_stay_unmatched(Index i) const { return unmatched_cost_of(i) < kInfinity<D>; }
    bool has_unmatched_columns() const { return unmatched_cost != nullptr; }
    bool is_square() const { return rows == cols && !has_unmatched_columns(); }
};

inline constexpr Index kFreeRow = -1, kUnmatchedColumn = -2;  // in row_to_col; else a column

template <class D>
class HungarianState {
  public:
    struct Counts {
        std::int64_t iterations = 0, dual_updates = 0, augmentations = 0;
        std::int64_t edges_visited = 0;  // tight pairs looked at while forests grew
        std::int64_t levels = 0;         // steps of the breadth-first search
        std::int64_t rows_scanned = 0;   // rows of costs or slack that were walked through
    };
    struct End {
        Index row, col;  // the last pair of a path; col == kUnmatchedColumn: the row's unmatched column
    };

    const HungarianProblem<D>& problem;
    const HungarianKernels<D>& kernels;
    Control& control;
    const Index m, n;
    Team team;
    Counts counts;
    Statistics statistics;  // what a method adds to the counts
    const char* stage = "reduce";

    // c - u - v >= 0 up to rounding, = 0 where matched; u[i] <= unmatched_cost_of(i). At every moment but inside a
    // flip, and, in the tree method, inside an iteration.
    std::vector<D> u, v;            // [m], [padded n]
    std::vector<Index> row_to_col;  // [m]
    std::vector<Index> col_to_row;  // [n] -1 where free
    std::vector<Index> free_rows;   // ascending

    // The forest. open[j] == 0 exactly where j is in it.
    D theta = 0;
    std::vector<Index> rows, cols;          // in it, in the order in which they came; its roots first
    std::vector<Index> root;                // [m] the free row of the row's tree, where it is in the forest
    std::vector<char> is_done;              // [m] of a root: its tree has an end and grows no more
    std::vector<std::int64_t> predecessor;  // [padded n] the row from which a column was reached
    std::vector<std::int64_t> open;         // [padded n] -1, or 0 where it is closed
    std::vector<End> ends;

    HungarianState(const HungarianProblem<D>& given, int threads, Control& the_control);

    // --- loops that threads share, and the outside world

    // work(begin, end) on pieces of [0, count), each item being a row of n pairs.
    void for_rows(Index count, const std::function<void(Index, Index)>& work);
    // On pieces of the columns, `pairs` pairs each; begin is a multiple of the padding.
    void for_cols(Index pairs, const std::function<void(Index, Index)>& work);
    void poll() { is_expired_ = control.poll(progress()) || is_expired_; }
    // Whether the time is up, as the clock says now.
    bool expired() { return is_expired_ = control.look(progress()) || is_expired_; }

    // --- the start: O(m n) each

    // u = the least cost of each row (at most its unmatched cost), then, in square problems, v = the least c - u of
    // each column. Checks the costs: throws InvalidCost. When the time is up, u is complete nevertheless, so that there
    // is a bound. Infeasible if a row can have nothing.
    Status reduce();
    // The rows, by what each would lose without its cheapest column: the difference of its two least reduced costs,
    // greatest first (Vogel's rule). Rows with several tight columns can wait.
    std::vector<Index> rows_by_regret();
    // Gives each row of `order` the first tight column that is still free, or its unmatched column if that is tight.
    void match_tight(const std::vector<Index>& order);

    // --- the forest

    void begin_forest();
    bool may_grow(Index i) const { return !is_done[root[i]]; }
    // Column j is reached from row i along a tight pair. The row that it brings into the forest; kFreeRow: none, an
    // end.
    Index enter(Index i, Index j);
    // Row i's tree ends at its unmatched column.
    void enter_unmatched_column(Index i) { finish_tree({i, kUnmatchedColumn}); }
    // The duals of the forest after dual updates of `theta` in all.
    void raise_duals();
    // Augmentation: one path in each tree that has an end. Predecessors lead from an end to its root, so what the
    // papers do in a reverse pass (5a of "munkres") and a forward one (5b), for paths that meet, is one walk here.
    // Duals are up to date.
    void flip_paths();

    // Infeasible: hall_rows has a row that can have no column; a reader of the costs finds the others.
    Solution<D> finish(Status status);

  private:
    Index empty_row_ = -1;                      // can have nothing
    std::vector<D> base_u_, base_v_, entered_;  // duals, and theta, when a root or a column entered the forest
    // Augmentations before the first dual update, in so many iterations; then those of every five iterations.
    std::int64_t early_ = 0, early_iterations_ = 0;
    std::array<std::int64_t, 7> by_five_{};
    double bound_ = -std::numeric_limits<double>::infinity();
    bool is_expired_ = false;

    Progress progress() const {
        return {stage, static_cast<Index>(counts.iterations), m - static_cast<Index>(free_rows.size()), bound_};
    }
    void match(Index i, Index j);
    void list_free_rows();
    void finish_tree(End end);
    void check_invariants() const;
    Statistics report();
};

// Adds the time until its end to a statistic.
class StageClock {
  public:
    StageClock(Statistics& statistics, Control& control, const char* name)
        : statistics_(statistics), control_(control), name_(name), began_(control.seconds()) {}
    ~StageClock() { statistics_.add(name_, control_.seconds() - began_); }
    StageClock(const StageClock&) = delete;
    StageClock& operator=(const StageClock&) = delete;

  private:
    Statistics& statistics_;
    Control& control_;
    const char* name_;
    double began_;
};

}  // namespace lapwing
