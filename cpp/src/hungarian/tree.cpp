// Method "hungarian-tree": the alternating-tree variant of Date and Nagi's Hungarian method.
//
// Problem   the linear assignment problem of types.hpp.
// Method    Row and column reduction and a first matching. Then, in each iteration, a forest grows from
//           all free rows at once (hungarian/state.hpp). Every column keeps its least slack to the rows of the forest,
//           and the row where it is attained; a row that enters lowers them, in one pass over its costs. Columns whose
//           slack is 0 are the frontier: free ones end their trees, matched ones bring their rows in. Without a
//           frontier, the least column slack is the dual update. Once trees have ends and nothing else is tight, one
//           path in each is flipped.
// Cost      O(n) a dual update or a level of the search, O(n) a row that enters: O(n^2) an iteration, O(n^3) in all;
//           O(m + n) memory.
// Threads   share the columns: each column's slack and predecessor have one writer, which takes rows in their order.
//           All else is done by one.
//
// Deviations: a dual update raises one number, theta, instead of n column slacks, and is O(n) for the minimum alone; a
// tree that has an end grows no more; a reverse pass is not needed (state.hpp); rectangular problems, forbidden pairs
// and unmatched columns.
//
// Reference: K. Date, R. Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel
// Computing 57 (2016) 52-72.
#include <algorithm>
#include <vector>

#include "lapwing/hungarian/methods.hpp"
#include "lapwing/hungarian/state.hpp"

namespace lapwing {
namespace {

template <class D>
class TreeSearch {
  public:
    explicit TreeSearch(HungarianState<D>& state)
        : s_(state), distance_(hungarian_padded(s_.n), kInfinity<D>), offset_(static_cast<std::size_t>(s_.m), D{0}),
          tight_(static_cast<std::size_t>(s_.n)) {}

    Status run() {
        s_.stage = "search";
        while (!s_.free_rows.empty()) {
            const Status status = iterate();
            const StageClock clock(s_.statistics, s_.control, "augmentation_seconds");
            s_.raise_duals();
            if (status != Status::optimal) return status;
            s_.flip_paths();
        }
        return Status::optimal;
    }

  private:
    HungarianState<D>& s_;
    // Column slacks: distance_[j] - theta is the least slack of open column j to the forest's rows, `predecessor` where
    // it is attained. So a dual update of theta lowers all of them at once.
    std::vector<D> distance_;
    std::vector<D> offset_;  // [m] u - theta when the row entered: (c - v) - offset is a distance
    std::vector<Index> frontier_, tight_;

    // One forest, until trees have ends.
    Status iterate() {
        s_.begin_forest();
        std::fill_n(distance_.begin(), s_.n, kInfinity<D>);
        frontier_ = s_.rows;
        for (const Index i : frontier_) offset_[i] = s_.u[i];
        for (;;) {
            if (!grow()) return Status::time_limit;
            if (!s_.ends.empty()) return Status::optimal;
            const StageClock clock(s_.statistics, s_.control, "dual_update_seconds");
            if (!update_duals()) return Status::infeasible;
        }
    }

    // The forward pass: takes in what is tight under the present duals; false if time is up.
    bool grow() {
        const StageClock clock(s_.statistics, s_.control, "forward_seconds");
        do {
            scan_frontier();
            if (s_.expired()) return false;
        } while (collect_tight());
        return true;
    }

    void scan_frontier() {
        if (frontier_.empty()) return;
        const auto& kernels = s_.kernels;
        s_.for_cols(static_cast<Index>(frontier_.size()), [&](Index begin, Index end) {
            for (const Index i : frontier_)
                kernels.relax(s_.problem.row(i, begin), s_.problem.maximize, end - begin, s_.v.data() + begin,
                              s_.open.data() + begin, offset_[i], i, distance_.data() + begin,
                              s_.predecessor.data() + begin);
        });
        s_.counts.rows_scanned += static_cast<std::int64_t>(frontier_.size());
    }

    // Takes what is at distance theta into the forest; true if rows came with it, which are the new frontier.
    bool collect_tight() {
        ++s_.counts.levels;
        frontier_.clear();
        if (s_.problem.has_unmatched_columns()) {
            for (const Index i : s_.rows)
                if (s_.problem.may_stay_unmatched(i) && s_.may_grow(i) &&
                    s_.problem.unmatched_cost_of(i) - offset_[i] <= s_.theta)
                    s_.enter_unmatched_column(i);
        }
        const Index count = s_.kernels.within(distance_.data(), s_.n, s_.open.data(), s_.theta, tight_.data());
        s_.counts.edges_visited += count;
        for (const bool free : {true, false}) {  // ends first: the rest of their trees need not be scanned
            for (Index k = 0; k < count; ++k) {
                const Index j = tight_[k], owner = s_.col_to_row[j];
                const auto i = static_cast<Index>(s_.predecessor[j]);
                if ((owner == kFreeRow) != free || !s_.may_grow(i)) continue;
                s_.enter(i, j);
                if (free) continue;
                offset_[owner] = (s_.problem.at(owner, j) - s_.v[j]) - s_.theta;
                frontier_.push_back(owner);
            }
        }
        return !frontier_.empty();
    }

    // Raises theta to the least distance; false if nothing else can be reached.
    bool update_duals() {
        D least = s_.kernels.least_of(distance_.data(), s_.n, s_.open.data());
        if (s_.problem.has_unmatched_columns())
            for (const Index i : s_.rows)
                if (s_.problem.may_stay_unmatched(i))
                    least = std::min(least, s_.problem.unmatched_cost_of(i) - offset_[i]);
        if (least >= kInfinity<D>) return false;
        s_.theta = std::max(s_.theta, least);
        ++s_.counts.dual_updates;
        return true;
    }
};

}  // namespace

template <class D>
Status match_by_trees(HungarianState<D>& state) {
    return TreeSearch<D>(state).run();
}

template <class D>
Solution<D> hungarian_tree(const HungarianProblem<D>& problem, int threads, Control& control) {
    HungarianState<D> state(problem, threads, control);
    {
        const StageClock clock(state.statistics, control, "reduction_seconds");
        const Status status = state.reduce();
        if (status != Status::optimal) return state.finish(status);
        state.match_tight(std::vector<Index>(state.free_rows));
    }
    return state.finish(match_by_trees(state));
}

#define LAPWING_INSTANTIATE(D)                          \
    template Status match_by_trees(HungarianState<D>&); \
    template Solution<D> hungarian_tree(const HungarianProblem<D>&, int, Control&);
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

}  // namespace lapwing
