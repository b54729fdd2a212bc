// Shortest alternating paths from all free rows at once: the search of "hungarian-tree", and what "munkres" may switch to.
#pragma once

#include <algorithm>
#include <vector>

#include "lapwing/hungarian/state.hpp"

namespace lapwing {

// Matches all rows, whatever the state is (its invariants hold): see hungarian_tree.cpp.
template <class T>
class TreeSearch {
    using D = Dual<T>;

  public:
    explicit TreeSearch(HungarianState<T>& state)
        : s_(state), distance_(hungarian_padded(s_.n), kInfinity<D>), offset_(static_cast<std::size_t>(s_.m), D{0}),
          tight_(static_cast<std::size_t>(s_.n)) {}

    Status run() {
        s_.stage = "search";
        const StageClock clock(s_.statistics, s_.control, "tree_seconds");
        while (!s_.free_rows.empty()) {
            const Status status = iterate();
            s_.raise_duals();
            if (status != Status::optimal) return status;
            s_.flip_paths();
        }
        return Status::optimal;
    }

  private:
    HungarianState<T>& s_;
    // Column slacks: distance_[j] - theta is the least slack of open column j to the forest's rows, `predecessor` where it
    // is attained. So a dual update of theta lowers all of them at once.
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
            scan_frontier();
            if (s_.expired()) return Status::time_limit;
            if (collect_tight()) continue;
            if (!s_.ends.empty()) return Status::optimal;
            if (!update_duals()) return Status::infeasible;
        }
    }

    void scan_frontier() {
        if (frontier_.empty()) return;
        const auto& kernels = s_.kernels;
        s_.for_cols(static_cast<Index>(frontier_.size()), [&](Index begin, Index end) {
            for (const Index i : frontier_)
                kernels.relax(s_.row(i) + begin, kernels.maximize, end - begin, s_.v.data() + begin,
                              s_.open.data() + begin, offset_[i], i, distance_.data() + begin,
                              s_.predecessor.data() + begin);
        });
        s_.counts.rows_scanned += static_cast<std::int64_t>(frontier_.size());
    }

    // Takes what is at distance theta into the forest; true if rows came with it, which are the new frontier.
    bool collect_tight() {
        ++s_.counts.levels;
        frontier_.clear();
        if (s_.has_exits()) {
            for (const Index i : s_.rows)
                if (s_.has_exit(i) && s_.may_grow(i) && s_.exit_cost(i) - offset_[i] <= s_.theta) s_.enter_exit(i);
        }
        const Index count = s_.kernels.within(distance_.data(), s_.n, s_.open.data(), s_.theta, tight_.data());
        s_.counts.edges_visited += count;
        for (const bool free : {true, false}) {  // ends first: the rest of their trees need not be scanned
            for (Index k = 0; k < count; ++k) {
                const Index j = tight_[k], owner = s_.col_to_row[j];
                const auto i = static_cast<Index>(s_.predecessor[j]);
                if ((owner == s_.kFree) != free || !s_.may_grow(i)) continue;
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
        if (s_.has_exits())
            for (const Index i : s_.rows)
                if (s_.has_exit(i)) least = std::min(least, s_.exit_cost(i) - offset_[i]);
        if (least >= kInfinity<D>) return false;
        s_.theta = std::max(s_.theta, least);
        ++s_.counts.dual_updates;
        return true;
    }
};

}  // namespace lapwing
