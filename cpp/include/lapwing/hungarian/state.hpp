// What the Hungarian methods ("hungarian-bfs", "hungarian-tree", "munkres") share: duals, a matching, and the forest of
// alternating paths that grows from all free rows at once.
//
// An iteration grows the forest until some of its trees have reached a free column (or an exit, at which a row may stay
// free), and flips one path in each of these trees: trees have no vertex in common, so neither have the paths.
// Whenever the forest cannot grow along tight pairs, the duals of its rows rise and those of its columns fall, by the
// least slack of a pair that leads out of it. `theta` is the sum of these steps in one iteration.
//
// Rounding. What is tight is decided by one expression, (c - v) - u <= 0. A float problem whose sums round would lose
// pairs again that were tight when they were chosen, so nothing rests on a second look at them: the forest keeps its
// predecessors, a matched pair is tight by definition (u is set to c - v), and a dual that has moved k times in an
// iteration is its old value and theta, two roundings instead of k. The pair of least slack always enters, so an
// iteration has at most as many dual updates as there are columns, whatever rounding does. On costs whose sums are exact all of this
// changes nothing.
//
// More columns than rows, or rows that may stay free: v starts at 0 (no column reduction), only columns of the
// forest fall, and of these the free ones end it at once; so v <= 0, and v = 0 at free columns. No virtual row is stored.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/hall.hpp"
#include "lapwing/hungarian/kernels.hpp"
#include "lapwing/hungarian/team.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

template <class T>
class HungarianState {
  public:
    using D = Dual<T>;
    static constexpr Index kFree = -1, kExit = -2;            // row_to_col; else a column
    static constexpr double kPairsPerPiece = 32768;           // of a loop that threads share: some 10 us
    static std::size_t index(Index i) { return static_cast<std::size_t>(i); }

    struct Counts {
        std::int64_t iterations = 0, dual_updates = 0, augmentations = 0;
        std::int64_t edges_visited = 0;  // tight pairs looked at while forests grew
        std::int64_t levels = 0;         // steps of the breadth-first search
        std::int64_t rows_scanned = 0;   // rows of costs or slack that were walked through
    };

    const Problem<T>& problem;
    Control& control;
    const HungarianKernels<T> kernels;
    const Index m, n;
    Team team;
    Counts counts;
    Statistics statistics;  // what a method adds to the counts
    const char* stage = "reduce";

    // c - u - v >= 0 up to rounding, = 0 where matched; u[i] <= exit_cost(i). At every moment but inside a flip, and, in the
    // tree method, inside an iteration.
    std::vector<D> u, v;             // [m], [padded n]
    std::vector<Index> row_to_col;   // [m]
    std::vector<Index> col_to_row;   // [n] -1 where free
    std::vector<Index> free_rows;    // ascending

    // The forest. open[j] == 0 exactly where j is in it.
    D theta = 0;
    std::vector<Index> rows, cols;         // in it, in the order in which they came; its roots first
    std::vector<Index> root;               // [m] the free row of the row's tree, where it is in the forest
    std::vector<char> is_done;             // [m] of a root: its tree has an end and grows no more
    std::vector<std::int64_t> predecessor; // [padded n] the row from which a column was reached
    std::vector<std::int64_t> open;        // [padded n] -1, or 0 where it is closed
    struct End {
        Index row, col;  // the last pair of the path; col == kExit: the row's exit
    };
    std::vector<End> ends;

    HungarianState(const Problem<T>& given, int threads, Control& the_control)
        : problem(given), control(the_control), kernels(hungarian_kernels<T>(given.maximize)), m(given.cost.rows),
          n(given.cost.cols), team(threads), u(index(m), D{0}), v(hungarian_padded(n), D{0}),
          row_to_col(index(m), kFree), col_to_row(index(n), -1), root(index(m), -1), is_done(index(m), 0),
          predecessor(hungarian_padded(n), -1), open(hungarian_padded(n), 0), base_u_(index(m), D{0}),
          base_v_(index(n), D{0}), entered_(index(n), D{0}) {
        for (Index i = 0; i < m; ++i) free_rows.push_back(i);
        std::fill_n(open.begin(), n, -1);
        if (given.cost.col_stride != 1) copy_rows();
    }

    const T* row(Index i) const {
        return copy_.empty() ? problem.cost.row(i) : copy_.data() + index(i) * index(n);
    }
    D exit_cost(Index i) const {
        return problem.unmatched_cost != nullptr ? problem.unmatched_cost[i] : kInfinity<D>;
    }
    bool has_exits() const { return problem.unmatched_cost != nullptr; }
    bool has_exit(Index i) const { return exit_cost(i) < kInfinity<D>; }
    bool is_square() const { return m == n && !has_exits(); }

    // --- loops that threads share, and the outside world

    // work(begin, end) on pieces of [0, count), each item being a row of n pairs.
    template <class Work>
    void for_rows(Index count, const Work& work) {
        const auto piece = static_cast<Index>(kPairsPerPiece / n) + 1;
        team.share(count, piece, [this] { poll(); }, work);
    }
    // The same with columns of `pairs` pairs each; begin is a multiple of the padding.
    template <class Work>
    void for_cols(Index pairs, const Work& work) {
        const auto piece = static_cast<Index>(kPairsPerPiece / std::max<Index>(pairs, 1)) / kHungarianPadding + 1;
        team.share(n, piece * kHungarianPadding, [this] { poll(); }, work);
    }

    void poll() { expired_ = control.poll(progress()) || expired_; }
    // Whether the time is up, as the clock says now.
    bool expired() { return expired_ = control.look(progress()) || expired_; }

    // --- the forest

    void begin_forest() {
        ++counts.iterations;
        theta = 0;
        for (const Index j : cols) open[index(j)] = -1;
        cols.clear();
        ends.clear();
        rows = free_rows;
        for (const Index i : rows) {
            root[index(i)] = i;
            is_done[index(i)] = 0;
            base_u_[index(i)] = u[index(i)];
        }
        bound_ = 0;
        for (const D x : u) bound_ += static_cast<double>(x);
        for (const D x : v) bound_ += static_cast<double>(x);
#ifdef LAPWING_CHECK_INVARIANTS
        check();
#endif
    }

    bool may_grow(Index i) const { return !is_done[index(root[index(i)])]; }

    // Column j is reached from row i along a tight pair. The row that it brings into the forest; kFree: none, an end.
    Index enter(Index i, Index j) {
        predecessor[index(j)] = i;
        open[index(j)] = 0;
        entered_[index(j)] = theta;
        base_v_[index(j)] = v[index(j)];
        cols.push_back(j);
        const Index owner = col_to_row[index(j)];
        if (owner == kFree) {
            finish_tree({i, j});
        } else {
            root[index(owner)] = root[index(i)];
            rows.push_back(owner);
        }
        return owner;
    }
    // Row i's tree ends at its exit.
    void enter_exit(Index i) { finish_tree({i, kExit}); }

    // The duals of the forest after dual updates of `theta` in all.
    void raise_duals() {
        for (const Index j : cols) v[index(j)] = base_v_[index(j)] - (theta - entered_[index(j)]);
        for (const Index i : rows) {
            const Index j = row_to_col[index(i)];
            u[index(i)] = j == kFree ? base_u_[index(i)] + theta : problem.at(i, j) - v[index(j)];
        }
    }

    // Augmentation: one path in each tree that has an end. Predecessors lead from an end to its root, so what the papers do
    // in a reverse pass (5a of "munkres") and a forward one (5b), for paths that meet, is one walk here. Duals are up to date.
    void flip_paths() {
        for (const End& end : ends) {
            for (auto [i, j] = end;;) {
                const Index before = std::exchange(row_to_col[index(i)], j);
                u[index(i)] = j == kExit ? exit_cost(i) : problem.at(i, j) - v[index(j)];
                if (j != kExit) col_to_row[index(j)] = i;
                if (before == kFree) break;
                j = before;
                i = static_cast<Index>(predecessor[index(j)]);
            }
        }
        counts.augmentations += static_cast<std::int64_t>(ends.size());
        list_free_rows();
    }
    void list_free_rows() {
        std::erase_if(free_rows, [this](Index i) { return row_to_col[index(i)] != kFree; });
    }
    void match(Index i, Index j) {
        row_to_col[index(i)] = j;
        if (j != kExit) col_to_row[index(j)] = i;
        u[index(i)] = j == kExit ? exit_cost(i) : problem.at(i, j) - v[index(j)];
    }

    // --- the answer

    Solution<D> finish(Status status) {
        Solution<D> solution;
        solution.status = status;
        if (status == Status::infeasible) {
            auto found = find_hall_violator(problem, columns(), free_rows.front());
            if (!found) throw std::logic_error("hungarian: no path was found where there is one; please report it");
            solution.hall_rows = std::move(found->rows);
            solution.hall_cols = std::move(found->cols);
        }
        solution.row_to_col = columns();
        for (Index i = 0; i < m; ++i) u[index(i)] = std::min(u[index(i)], exit_cost(i));
        v.resize(index(n));
        solution.u = std::move(u);
        solution.v = std::move(v);
        solution.statistics = report();
        return solution;
    }

#ifdef LAPWING_CHECK_INVARIANTS
    // Where sums are exact and problems small.
    void check() const {
        if (std::is_floating_point_v<T> || index(m) * index(n) > 2048) return;
        for (Index i = 0; i < m; ++i) {
            if (u[index(i)] > exit_cost(i)) throw std::logic_error("hungarian: a dual is above its exit's cost");
            for (Index j = 0; j < n; ++j) {
                const D slack = (problem.at(i, j) - v[index(j)]) - u[index(i)];
                if (slack < 0 || (slack > 0 && row_to_col[index(i)] == j))
                    throw std::logic_error("hungarian: duals are not feasible, or a matched pair is not tight");
            }
        }
        for (Index j = 0; j < n && !is_square(); ++j)
            if (v[index(j)] > 0 || (v[index(j)] < 0 && col_to_row[index(j)] == kFree))
                throw std::logic_error("hungarian: the price of a column has the wrong sign");
    }
#endif

  private:
    std::vector<T> copy_;                       // rows, where the problem's are not contiguous
    std::vector<D> base_u_, base_v_, entered_;  // duals, and theta, when a root or a column entered the forest
    double bound_ = -std::numeric_limits<double>::infinity();
    bool expired_ = false;

    Progress progress() const {
        return {stage, static_cast<Index>(counts.iterations), m - static_cast<Index>(free_rows.size()), bound_};
    }

    void copy_rows() {
        copy_.resize(index(m) * index(n));
        for_rows(m, [this](Index begin, Index end) {
            for (Index i = begin; i < end; ++i)
                for (Index j = 0; j < n; ++j) copy_[index(i) * index(n) + index(j)] = problem.cost.at(i, j);
        });
    }

    void finish_tree(End end) {
        is_done[index(root[index(end.row)])] = 1;
        ends.push_back(end);
    }

    std::vector<Index> columns() const {
        std::vector<Index> only(row_to_col);
        for (Index& j : only) j = std::max(j, Index{-1});
        return only;
    }

    Statistics report() {
        Statistics all;
        all.set("iterations", static_cast<double>(counts.iterations));
        all.set("dual_updates", static_cast<double>(counts.dual_updates));
        all.set("augmentations", static_cast<double>(counts.augmentations));
        all.set("levels", static_cast<double>(counts.levels));
        all.set("edges_visited", static_cast<double>(counts.edges_visited));
        all.set("rows_scanned", static_cast<double>(counts.rows_scanned));
        for (const auto& [name, value] : statistics.values) all.set(name, value);
        all.set("seconds", control.seconds());
        return all;
    }
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
