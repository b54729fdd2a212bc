// Step 3 of a solve in lanes (batch/lanes.cu): shortest augmenting paths.
#pragma once
#include "batch/lane_solver.cuh"

// Step 3. A lane is a column.
template <int32 G>
__device__ void LaneSolver<G>::search() {
    bool searching = false;
    for (;;) {
        if (!searching && waiting_ != 0) {
            searching = true;
            begin();
        }
        if (!anywhere(searching)) return;
        if (searching && !in_tree_) {
            const Dual x = offset_ + (memory_.cost[row_][me_] - price_);
            if (x < distance_) {
                distance_ = x;
                from_ = column_;
            }
        }
        const int32 nearest = argmin();
        const Dual level = from_lane(in_tree_ ? infinity<Dual>() : distance_, nearest);
        const Dual next_offset = from_lane(distance_ - partner_dual_, nearest);
        const int32 next_row = from_lane(partner_, nearest);
        if (batch_.priced != 0) {
            const Dual price = from_lane(unmatched_price_, row_);
            if (price < infinity<Dual>() && offset_ + price < unmatched_distance_) {
                unmatched_distance_ = offset_ + price;
                unmatched_row_ = row_;
            }
        }
        const bool dry = !(level < infinity<Dual>()) && !(unmatched_distance_ < infinity<Dual>());
        const bool stays = !dry && unmatched_distance_ <= level;
        const bool ends = searching && (dry || stays || next_row < 0);
        if (searching && !ends) {
            if (me_ == nearest) in_tree_ = true;
            row_ = next_row;
            column_ = nearest;
            offset_ = next_offset;
        }
        if (anywhere(ends)) {
            if (ends && dry) {
                status_ = kInfeasible;
                waiting_ = 0;
            }
            augment(ends && !dry, stays, nearest, stays ? unmatched_distance_ : level);
            if (ends) searching = false;
        }
    }
}

// Step 3 of a problem that has a warp to itself. A step relaxes by four columns, the nearest of each quarter of the
// lanes, since their latencies overlap. Labels may fall again later (Bellman-Ford, nearly in the order of Dijkstra's
// method), so a search ends when no pending column has a smaller label than its end.
template <int32 G>
__device__ void LaneSolver<G>::search_in_groups() {
    for (; waiting_ != 0; waiting_ &= waiting_ - 1) {
        if (search_from(first_of(waiting_))) continue;
        status_ = kInfeasible;
        waiting_ = 0;
        return;
    }
}

template <int32 G>
__device__ bool LaneSolver<G>::search_from(int32 root) {
    const bool present = me_ < cols_, open = partner_ < 0;
    begin_at(root);
    bool pending = !open && distance_ < infinity<Dual>();
    for (;;) {
        const int32 key = order_key(distance_) & ~kLanes | me_;
        const bool ends = present && open && distance_ < infinity<Dual>();
        int32 least[BatchTuning::lane_columns];
#pragma unroll
        for (int32 g = 0; g < BatchTuning::lane_columns; ++g)
            least[g] = warp_min(pending && me_ % BatchTuning::lane_columns == g ? key : kNoKey);
        int32 end = warp_min(ends ? key : kNoKey), nearest = least[0];
#pragma unroll
        for (int32 g = 1; g < BatchTuning::lane_columns; ++g) nearest = smaller(nearest, least[g]);
        if (unmatched_distance_ < infinity<Dual>()) end = smaller(end, order_key(unmatched_distance_));
        if ((end | kLanes) <= (nearest | kLanes)) {
            const Dual ended = warp_least(ends ? distance_ : infinity<Dual>());
            const Dual waits = warp_least(pending ? distance_ : infinity<Dual>());
            const bool stays = unmatched_distance_ <= ended;
            const Dual level = stays ? unmatched_distance_ : ended;
            if (level <= waits) {
                if (!(level < infinity<Dual>())) return false;
                augment(true, stays, first_of(vote(ends && distance_ == level)), level);
                return true;
            }
        }
        Dual label[BatchTuning::lane_columns], dual[BatchTuning::lane_columns], cost[BatchTuning::lane_columns];
        int32 row[BatchTuning::lane_columns];
#pragma unroll
        for (int32 g = 0; g < BatchTuning::lane_columns; ++g) {
            const int32 lane = least[g] & kLanes;
            row[g] = larger(from_lane(partner_, lane), 0);
            label[g] = from_lane(distance_, lane);
            dual[g] = from_lane(partner_dual_, lane);
            cost[g] = memory_.cost[row[g]][me_];
            if (least[g] == kNoKey) label[g] = infinity<Dual>();
            if (key == least[g]) pending = false;
        }
        if (batch_.priced != 0) {
#pragma unroll
            for (int32 g = 0; g < BatchTuning::lane_columns; ++g) relax_unmatched(row[g], label[g], dual[g]);
        }
#pragma unroll
        for (int32 g = 0; g < BatchTuning::lane_columns; ++g) {
            const Dual x = label[g] + reduced(cost[g], price_, dual[g]);
            if (present && x < distance_) {
                distance_ = x;
                from_ = least[g] & kLanes;
                pending = !open;
            }
        }
    }
}

template <int32 G>
__device__ void LaneSolver<G>::begin_at(int32 root) {
    root_ = unmatched_row_ = root;
    from_ = kFree;
    in_tree_ = true;
    unmatched_distance_ = batch_.priced != 0 ? from_lane(unmatched_price_, root) : infinity<Dual>();
    distance_ = me_ < cols_ ? memory_.cost[root][me_] - price_ : infinity<Dual>();
}

template <int32 G>
__device__ void LaneSolver<G>::relax_unmatched(int32 row, Dual label, Dual dual) {
    const Dual unmatched_price = from_lane(unmatched_price_, row);
    if (!(unmatched_price < infinity<Dual>()) || !(label < infinity<Dual>())) return;
    const Dual x = label + reduced(unmatched_price, 0, dual);
    if (x < unmatched_distance_) {
        unmatched_distance_ = x;
        unmatched_row_ = row;
    }
}

template <int32 G>
__device__ void LaneSolver<G>::begin() {
    root_ = row_ = first_of(waiting_);
    waiting_ &= waiting_ - 1;
    column_ = kFree;
    offset_ = 0;
    distance_ = unmatched_distance_ = infinity<Dual>();
    unmatched_row_ = root_;
    in_tree_ = me_ >= cols_;
}

// The column outside the tree with the smallest distance; among equals a free one, then the first.
template <int32 G>
__device__ int32 LaneSolver<G>::argmin() const {
    constexpr int32 kOutside = 0x7fffffff;
    const int32 high = in_tree_ ? kOutside : high_word(distance_);
    uint32 best = vote(high == least_of(high));
    const bool several = (best & (best - 1)) != 0;
    if (anywhere(several)) {
        const bool in = (best >> me_ & 1) != 0;
        const int32 low = in ? static_cast<int32>(low_word(distance_) ^ (1u << 31)) : 0x7fffffff;
        const int32 least = least_of(low);
        best = vote(in && low == least);
        const uint32 open = best & vote(partner_ < 0);
        if (open != 0) best = open;
    }
    return first_of(best);
}

// Lowers the prices in the tree, and flips the path to column `end`, or to the partner of the row that stays
// unmatched.
template <int32 G>
__device__ void LaneSolver<G>::augment(bool mine, bool stays, int32 end, Dual level) {
    if (mine && in_tree_ && me_ < cols_ && distance_ < level) price_ -= level - distance_;
    const uint32 leaves = vote(partner_ == unmatched_row_);
    int32 j = !mine ? kFree : stays ? first_of(leaves) : end;
    while (anywhere(j >= 0)) {
        const int32 before = from_lane(from_, larger(j, 0));
        const int32 row = from_lane(partner_, larger(before, 0));
        if (j >= 0 && me_ == j) partner_ = before < 0 ? root_ : row;
        if (j >= 0) j = before;
    }
    if (mine) set_partner_dual();
}
