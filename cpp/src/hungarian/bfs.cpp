// Method "hungarian-bfs": the classical variant of Date and Nagi's Hungarian method.
//
// Problem   the linear assignment problem of types.hpp.
// Method    Row and column reduction and a first matching (hungarian/state.hpp). If a row is left free, the tight pairs
//           of all rows are listed. In each iteration a forest grows breadth first from all free rows along the lists
//           (the forward pass), and one path in each tree that reached a free column is flipped. If no tree did, a dual
//           update in two stages: the least slack between the rows of the forest and the columns outside it, by a pass
//           over these rows; then new duals, and new lists of the rows that have gained tight pairs.
// Cost      O(n^2) a dual update, of which an iteration has up to n: O(n^4) in all; O(m + n) memory, and the lists.
// Threads   share the rows of the forest: each row's least slack and list have one writer. Their minimum is taken, and
//           the forest grown, by one.
//
// Deviations: lists by row (hungarian/tight.hpp) instead of one array, and only those that gain are made again: what a
// dual update loosens leads from rows outside the forest into it, which matters to nobody until the next iteration
// drops it. The forest is kept over a dual update, so that progress does not rest on rounding (hungarian/state.hpp). A
// tree that has an end grows no more; a reverse pass is not needed. Rectangular problems, forbidden pairs and unmatched
// columns.
//
// Reference: K. Date, R. Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel
// Computing 57 (2016) 52-72.
#include <algorithm>
#include <numeric>
#include <vector>

#include "lapwing/hungarian/methods.hpp"
#include "lapwing/hungarian/state.hpp"
#include "lapwing/hungarian/tight.hpp"

namespace lapwing {

template <class D>
void grow_forest(HungarianState<D>& state, const TightPairs& tight, std::vector<Index> frontier) {
    std::vector<Index> next;
    for (; !frontier.empty(); frontier.swap(next)) {  // expansion of a level, contraction to the rows of the next
        ++state.counts.levels;
        next.clear();
        for (const Index i : frontier) {
            if (!state.may_grow(i)) continue;
            const std::vector<Index>& cols = tight[i];
            state.counts.edges_visited += static_cast<std::int64_t>(cols.size());
            const auto end = std::find_if(cols.begin(), cols.end(), [&](Index j) {
                return j == state.n || (state.col_to_row[j] == kFreeRow && state.open[j] != 0);
            });
            if (end != cols.end()) {
                *end == state.n ? state.enter_unmatched_column(i) : static_cast<void>(state.enter(i, *end));
                continue;
            }
            for (const Index j : cols)
                if (state.open[j] != 0) next.push_back(state.enter(i, j));
        }
        state.poll();
    }
}
namespace {

template <class D>
class HungarianBfs {
  public:
    HungarianBfs(const HungarianProblem<D>& problem, int threads, Control& control) : s_(problem, threads, control) {}

    Solution<D> solve() {
        {
            const StageClock clock(s_.statistics, s_.control, "reduction_seconds");
            const Status status = s_.reduce();
            if (status != Status::optimal) return s_.finish(status);
            s_.match_tight(std::vector<Index>(s_.free_rows));
        }
        return s_.finish(run());
    }

  private:
    HungarianState<D> s_;
    TightPairs tight_;      // of each row; outside an iteration exactly the pairs with slack <= 0
    std::vector<D> slack_;  // [m] of a row of the forest: the least to a column outside, or its unmatched column
    std::vector<Index> frontier_;

    Status run() {
        if (s_.free_rows.empty()) return Status::optimal;  // the optimality check
        if (s_.expired()) return Status::time_limit;
        slack_.assign(static_cast<std::size_t>(s_.m), D{0});
        tight_.resize(static_cast<std::size_t>(s_.m));
        s_.stage = "list";
        {
            const StageClock clock(s_.statistics, s_.control, "compression_seconds");
            list_tight(all_rows(), D{0});
        }
        s_.stage = "search";
        while (!s_.free_rows.empty()) {
            s_.begin_forest();
            frontier_ = s_.rows;
            const auto updates = s_.counts.dual_updates;
            const Status status = iterate();
            if (status != Status::optimal) return status;
            if (s_.counts.dual_updates > updates) drop_loose();
        }
        return Status::optimal;
    }

    Status iterate() {
        for (;;) {
            {
                const StageClock clock(s_.statistics, s_.control, "forward_seconds");
                grow_forest(s_, tight_, std::move(frontier_));
            }
            if (!s_.ends.empty()) break;
            if (s_.expired()) return Status::time_limit;
            const StageClock clock(s_.statistics, s_.control, "dual_update_seconds");
            if (!update_duals()) return Status::infeasible;
        }
        const StageClock clock(s_.statistics, s_.control, "augmentation_seconds");
        s_.flip_paths();
        return Status::optimal;
    }

    std::vector<Index> all_rows() const {
        std::vector<Index> all(static_cast<std::size_t>(s_.m));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }

    // Adds the pairs of these rows with slack <= limit and columns outside the forest.
    void list_tight(const std::vector<Index>& rows, D limit) {
        const auto& kernels = s_.kernels;
        s_.for_rows(static_cast<Index>(rows.size()), [&](Index begin, Index end) {
            std::vector<Index> found(static_cast<std::size_t>(s_.n));
            for (Index k = begin; k < end; ++k) {
                const Index i = rows[k];
                const Index count = kernels.collect(s_.problem.row(i), s_.problem.maximize, s_.n, s_.v.data(),
                                                    s_.open.data(), s_.u[i], limit, found.data());
                tight_[i].insert(tight_[i].end(), found.begin(), found.begin() + count);
                if (s_.problem.may_stay_unmatched(i) && s_.problem.unmatched_cost_of(i) - s_.u[i] <= limit)
                    tight_[i].push_back(s_.n);
            }
        });
        s_.counts.rows_scanned += static_cast<std::int64_t>(rows.size());
    }

    void drop_loose() {
        const auto is_loose = [this](Index i, Index j) {
            return (j == s_.n ? s_.problem.unmatched_cost_of(i) : s_.problem.at(i, j) - s_.v[j]) - s_.u[i] > 0;
        };
        for (Index i = 0; i < s_.m; ++i) {
            s_.poll();
            std::erase_if(tight_[i], [&](Index j) { return is_loose(i, j); });
        }
    }

    // Both stages; false if no column outside the forest can ever be reached.
    bool update_duals() {
        const auto& kernels = s_.kernels;
        s_.for_rows(static_cast<Index>(s_.rows.size()), [&](Index begin, Index end) {
            for (Index k = begin; k < end; ++k) {
                const Index i = s_.rows[k];
                const D least =
                    kernels.least(s_.problem.row(i), s_.problem.maximize, s_.n, s_.v.data(), s_.open.data());
                const D nearest = std::min(least, s_.problem.unmatched_cost_of(i));
                slack_[i] = nearest < kInfinity<D> ? nearest - s_.u[i] : kInfinity<D>;
            }
        });
        s_.counts.rows_scanned += static_cast<std::int64_t>(s_.rows.size());
        D least = kInfinity<D>;
        for (const Index i : s_.rows) least = std::min(least, slack_[i]);
        if (least >= kInfinity<D>) return false;
        const D step = std::max(least, D{0});
        frontier_.clear();
        for (const Index i : s_.rows)
            if (slack_[i] <= step) frontier_.push_back(i);
        list_tight(frontier_, step);  // under the duals by which the slack was found
        s_.theta += step;
        s_.raise_duals();
        ++s_.counts.dual_updates;
        return true;
    }
};

}  // namespace

template <class D>
Solution<D> hungarian_bfs(const HungarianProblem<D>& problem, int threads, Control& control) {
    return HungarianBfs<D>(problem, threads, control).solve();
}

#define LAPWING_INSTANTIATE(D)                                                            \
    template void grow_forest(HungarianState<D>&, const TightPairs&, std::vector<Index>); \
    template Solution<D> hungarian_bfs(const HungarianProblem<D>&, int, Control&);
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

}  // namespace lapwing
