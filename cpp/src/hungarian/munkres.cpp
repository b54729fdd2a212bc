// Method "munkres": the classical Hungarian method on a slack matrix, after Lopes, Yadav, Ilic and Patra.
//
// Problem   the linear assignment problem of types.hpp.
// Method    Step 1  subtract the least of each row and of each column, by reductions; list the zeros of the slack
//           matrix.
//           Step 2  star zeros, at most one a row and column: a first matching.
//           Step 3  uncover everything but what the stars cover; done when every row has a star.
//           Step 4  prime zeros that are not covered, until no more can be: the forest of hungarian/state.hpp.
//           Step 5  flip a path of primes and stars from each free row that has one: several an iteration (5a, 5b).
//           Step 6  without one, take the least slack that is not covered from all that are not covered, add it where
//                   covers cross, and list the zeros again.
//           In the words of state.hpp: stars are the matching, a row that is in the forest is not covered, a column
//           that is in it is, the row of a prime is its column's predecessor, and the sum of step 6's least slacks is
//           theta.
// Cost      O(n^2) a step 6, of which an iteration has up to n: O(n^4) in all; a slack matrix of 8 bytes a pair.
// Threads   share the rows in steps 1 and 6: each row's slack, minimum and list of zeros has one writer; a barrier ends
//           the minimum before the update begins (team.hpp). Steps 2 to 5 touch zeros alone, and are done by one.
// Stages    of two later reports on this implementation, that mean something on a CPU:
//             (1) fused: step 6 adds, subtracts and lists zeros in one pass over the slack, which (3) is then still in
//                 a register; without it, zeros are listed by a second pass over the whole matrix
//             (2) one launch: threads stay for the whole solve; without it, they are started for every step
//           The others are about a GPU: (0) counters of zeros by bin in the place of one that all threads add to, which
//           there is none of here; (4) a barrier of the block in step 6.
// Options   `by_regret`: step 2 takes the rows in the order of their regret (Vogel's rule) instead of their number.
//           `switches`: after an iteration that took a step 6 and matched few rows, shortest paths go on
//           (hungarian_tree.cpp): an idea that the reports leave open.
//
// Deviations: rows and columns are exchanged, so that the search begins at rows, of which there are no more than needed
// in rectangular problems; a block of zeros is a row's list. Rows outside the forest are touched only where they gain
// slack: at its columns. A tree that has a path grows no more. Slack of floats is formed anew from the duals in each
// iteration, so that the rounding of step 6 does not add up ("renewal_seconds"). Forbidden pairs and unmatched columns.
//
// Reference: P. A. C. Lopes, S. S. Yadav, A. Ilic, S. K. Patra, "Fast Block Distributed CUDA Implementation of the
// Hungarian Algorithm", Journal of Parallel and Distributed Computing 130 (2019).
#include <algorithm>
#include <memory>
#include <vector>

#include "lapwing/hungarian/methods.hpp"
#include "lapwing/hungarian/state.hpp"
#include "lapwing/hungarian/tight.hpp"

namespace lapwing {
namespace {

template <class D>
class Munkres {
  public:
    Munkres(const HungarianProblem<D>& problem, const MunkresOptions& options, int threads, Control& control)
        : options_(options), s_(problem, threads, control), pitch_(hungarian_padded(s_.n)) {}

    Solution<D> solve() {
        const Status status = step_1();
        if (status != Status::optimal) return s_.finish(status);
        step_2();
        return s_.finish(run());
    }

  private:
    // An iteration has matched few rows if it was fewer than one in so many of those that were free, after a step 6.
    static constexpr std::size_t kFew = 16;

    const MunkresOptions options_;
    HungarianState<D> s_;
    std::size_t pitch_;
    // (c - v) - u of all pairs, of unmatched columns, and where it is 0: exactly so for integers; for floats up to the
    // rounding of one iteration, and never negative.
    std::unique_ptr<D[]> slack_;       // [m x pitch]
    std::vector<D> unmatched_slack_;   // [m]
    TightPairs zeros_;                 // [m] outside the forest without its columns
    std::vector<D> least_;             // [m] of a row of the forest: its least slack that is not covered
    std::vector<char> is_in_forest_;   // [m]
    std::vector<std::int64_t> every_;  // [padded n] all columns are open
    std::vector<Index> frontier_;

    D* slack_of(Index i) { return slack_.get() + static_cast<std::size_t>(i) * pitch_; }

    // A loop over all rows, and the end of the threads if they do not stay.
    template <class Work>
    void over_rows(const Work& work) {
        s_.for_rows(s_.m, [&](Index begin, Index end) {
            std::vector<Index> found(static_cast<std::size_t>(s_.n));
            for (Index i = begin; i < end; ++i) work(i, found.data());
        });
        if (!options_.one_launch) s_.team.dismiss();
    }

    Status step_1() {
        const StageClock clock(s_.statistics, s_.control, "step_1_seconds");
        const Status status = s_.reduce();
        if (status != Status::optimal) return status;
        const auto rows = static_cast<std::size_t>(s_.m);
        slack_ = std::make_unique_for_overwrite<D[]>(rows * pitch_);
        unmatched_slack_.resize(rows);
        zeros_.resize(rows);
        least_.resize(rows);
        is_in_forest_.resize(rows);
        every_.assign(pitch_, -1);
        s_.stage = "list";
        form_slack();
        return s_.expired() ? Status::time_limit : Status::optimal;
    }

    void form_slack() {
        const auto& kernels = s_.kernels;
        over_rows([&](Index i, Index* found) {
            kernels.form_slack(s_.problem.row(i), s_.problem.maximize, s_.n, s_.v.data(), s_.u[i], slack_of(i));
            unmatched_slack_[i] = s_.problem.may_stay_unmatched(i)
                                      ? std::max(s_.problem.unmatched_cost_of(i) - s_.u[i], D{0})
                                      : kInfinity<D>;
            list_zeros(i, found);
        });
        s_.counts.rows_scanned += s_.m;
    }

    void list_zeros(Index i, Index* found) {
        keep_zeros(i, found, s_.kernels.within(slack_of(i), s_.n, every_.data(), D{0}, found));
    }
    void keep_zeros(Index i, const Index* found, Index count) {
        zeros_[i].assign(found, found + count);
        if (unmatched_slack_[i] == 0) zeros_[i].push_back(s_.n);
    }

    void step_2() {
        const StageClock clock(s_.statistics, s_.control, "step_2_seconds");
        s_.match_tight(options_.by_regret ? s_.rows_by_regret() : std::vector<Index>(s_.free_rows));
    }

    Status run() {
        s_.stage = "search";
        while (step_3()) {
            const std::size_t free = s_.free_rows.size();
            const auto updates = s_.counts.dual_updates;
            for (;;) {
                step_4();
                if (!s_.ends.empty()) break;
                if (s_.expired()) return Status::time_limit;
                if (!step_6()) return Status::infeasible;
            }
            step_5();
            const std::size_t left = s_.free_rows.size();
            if (left == 0 || s_.counts.dual_updates == updates) continue;
            if (options_.switches && (free - left) * kFew < free) return switch_to_tree();
            if (!std::is_floating_point_v<D>) continue;
            const StageClock clock(s_.statistics, s_.control, "renewal_seconds");
            form_slack();
        }
        return Status::optimal;
    }

    bool step_3() {
        if (s_.free_rows.empty()) return false;
        const StageClock clock(s_.statistics, s_.control, "step_3_seconds");
        s_.begin_forest();
        frontier_ = s_.rows;
        return true;
    }

    void step_4() {
        const StageClock clock(s_.statistics, s_.control, "step_4_seconds");
        grow_forest(s_, zeros_, std::move(frontier_));
    }

    void step_5() {
        const StageClock clock(s_.statistics, s_.control, "step_5_seconds");
        s_.flip_paths();
    }

    Status switch_to_tree() {
        s_.statistics.set("switched_at_iteration", static_cast<double>(s_.counts.iterations));
        return match_by_trees(s_);
    }

    // False if there is no finite slack that is not covered.
    bool step_6() {
        const StageClock clock(s_.statistics, s_.control, "step_6_seconds");
        const auto& kernels = s_.kernels;
        std::fill(is_in_forest_.begin(), is_in_forest_.end(), 0);
        for (const Index i : s_.rows) is_in_forest_[i] = 1;
        over_rows([&](Index i, Index*) {
            if (!is_in_forest_[i]) return;
            least_[i] = std::min(kernels.least_of(slack_of(i), s_.n, s_.open.data()), unmatched_slack_[i]);
        });
        D step = kInfinity<D>;
        for (const Index i : s_.rows) step = std::min(step, least_[i]);
        if (step >= kInfinity<D>) return false;
        over_rows([&](Index i, Index* found) { is_in_forest_[i] ? lower(i, step, found) : raise(i, step); });
        if (!options_.fused) over_rows([&](Index i, Index* found) { list_zeros(i, found); });
        s_.counts.rows_scanned += 2 * static_cast<std::int64_t>(s_.rows.size()) + (options_.fused ? 0 : s_.m);
        frontier_.clear();
        for (const Index i : s_.rows)
            if (least_[i] == step) frontier_.push_back(i);
        s_.theta += step;
        s_.raise_duals();
        ++s_.counts.dual_updates;
        return true;
    }

    void lower(Index i, D step, Index* found) {
        if (s_.problem.may_stay_unmatched(i)) unmatched_slack_[i] -= step;
        if (options_.fused)
            keep_zeros(i, found, s_.kernels.subtract_and_find(slack_of(i), s_.n, s_.open.data(), step, found));
        else
            s_.kernels.subtract(slack_of(i), s_.n, s_.open.data(), step);
    }
    void raise(Index i, D step) {
        D* slack = slack_of(i);
        for (const Index j : s_.cols) slack[j] += step;
        if (options_.fused) std::erase_if(zeros_[i], [this](Index j) { return j < s_.n && s_.open[j] == 0; });
    }
};

}  // namespace

template <class D>
Solution<D> munkres(const HungarianProblem<D>& problem, const MunkresOptions& options, int threads, Control& control) {
    return Munkres<D>(problem, options, threads, control).solve();
}

template Solution<double> munkres(const HungarianProblem<double>&, const MunkresOptions&, int, Control&);
template Solution<std::int64_t> munkres(const HungarianProblem<std::int64_t>&, const MunkresOptions&, int, Control&);

}  // namespace lapwing
