// Local searches: shortest augmenting paths from many free rows side by side, each by one warp, where they are short.
//
// The searches of core/search/relax.cuh advance all free rows together, and their distances by steps of the whole team.
// Sparse costs leave many rows free whose path to a free column has a few pairs only: in components of a few rows, and
// wherever columns may stay free. Here a warp finds one row's path by Dijkstra's algorithm, with the tree in registers,
// a column a lane. It gives up if the tree outgrows the lanes, if a list is too short, or if there is no path.
//
// All warps search under the same duals and the same matching, and then claim the columns of their trees and the free
// columns at the ends. Of several rows the lowest gets a column. A row that gets all its columns is matched along its
// path; any other row tries again in the next sweep. So the answer does not depend on the order of threads
// (deterministic reservations). With D the length of the path,
//
//   u[i] += D - distance of i,  v[j] -= D - distance of j   for the rows and columns of the tree
//
// keeps u + v <= cost: a column that a row of the tree leads to is in the tree, or at distance D or more, and other
// trees can only lower its v. Matched pairs stay tight, since both their sides are in one tree or in none.
//
// Cost of a sweep: the lists of all rows of trees, with v and the rows matched to their columns, one list after the
// other; two barriers for every free row of a warp.
//
// References: R. Jonker and A. Volgenant, Computing 38 (1987); G. E. Blelloch, J. T. Fineman, P. B. Gibbons and
// J. Shun, "Internally deterministic parallel algorithms can be fast", PPoPP 2012.
#pragma once
#include "core/control/commands.cuh"
#include "core/shared.cuh"

// A tree, and its path to a free column. Lane k holds the k-th column that was reached, of `size` in all; `size` and
// the path's end are the same in all lanes.
struct LocalTree {
    int32 col = kNone, row = kNone, above = kNone;  // row: matched to it; above: lane of the column before, or kNone
    Dual distance = 0;
    uint32 size = 0;
    int32 end = kNone, end_above = kNone;  // the nearest free column so far; kNone: none
    uint64 length = kFar;                  // its distance
};

// Columns that a tree leads to, at most Tuning::local_room in a lane. All lanes of a warp call its functions.
struct LocalQueue {
    struct Entry {
        uint64 key;  // its distance; kFar: no column
        int32 col, row, above;
    };
    Entry entry[Tuning::local_room];

    __device__ LocalQueue() {
#pragma unroll
        for (Entry& each : entry) each = {kFar, kNone, kNone, kNone};
    }
    // Adds a column, or lowers its distance. False if there is no room for it. `added` is the same in all lanes.
    __device__ bool add(const Entry& added) {
        bool known = false, room = false;
#pragma unroll
        for (const Entry& each : entry) {
            known |= each.col == added.col;
            room |= each.col == kNone;
        }
        const uint32 knowing = __ballot_sync(kAllLanes, known), roomy = __ballot_sync(kAllLanes, room);
        const uint32 lanes = knowing != 0 ? knowing : roomy;
        bool adds = lane_index() == __ffs(static_cast<int32>(lanes)) - 1u;
#pragma unroll
        for (Entry& each : entry) {
            if (!adds || each.col != (knowing != 0 ? added.col : kNone)) continue;
            if (added.key < each.key) each = added;
            adds = false;
        }
        return lanes != 0;
    }
    // Takes the nearest column out.
    __device__ Entry take() {
        Entry least = {kFar, kNone, kNone, kNone};
#pragma unroll
        for (const Entry& each : entry) {
            if (each.key < least.key) least = each;
        }
        const uint64 nearest = warp_min(least.key);
        const uint32 source = __ffs(static_cast<int32>(__ballot_sync(kAllLanes, least.key == nearest))) - 1;
        const Entry taken = {nearest, __shfl_sync(kAllLanes, least.col, source),
                             __shfl_sync(kAllLanes, least.row, source), __shfl_sync(kAllLanes, least.above, source)};
#pragma unroll
        for (Entry& each : entry) {
            if (each.col == taken.col) each = {kFar, kNone, kNone, kNone};
        }
        return taken;
    }
};

// Finds the path of a free row; false if it is not found here. All lanes of a warp call it.
__device__ inline bool find_local_path(const State& state, int32 root, LocalTree& tree) {
    LocalQueue queue;
    uint64 certain = kFar;  // no column outside the lists is nearer
    Dual distance = 0;
    for (int32 i = root, own = kNone, from = kNone;;) {
        const Candidate mine = load_candidate(state, i);
        const Dual u = load_stable(state.u + i), tau = load_stable(state.tau + i);
        if (tau < infinity<Dual>()) {
            const uint64 beyond = as_key(distance + reduced(tau, Dual(0), u));
            certain = beyond < certain ? beyond : certain;
        }
        const bool leads = mine.col >= 0 && mine.col != own;
        const Dual v = leads ? load_stable(state.v + mine.col) : Dual(0);
        const int32 partner = leads ? load_stable(state.col_to_row + mine.col) : kNone;
        const uint64 key = leads ? as_key(distance + reduced(Dual(mine.cost), v, u)) : kFar;
        const uint64 nearest = warp_min(partner < 0 ? key : kFar);
        if (nearest < tree.length) {
            const uint32 ends = __ballot_sync(kAllLanes, partner < 0 && key == nearest);
            tree.end = __shfl_sync(kAllLanes, mine.col, __ffs(static_cast<int32>(ends)) - 1);
            tree.end_above = from;
            tree.length = nearest;
        }
        for (uint32 left = __ballot_sync(kAllLanes, partner >= 0 && key < tree.length); left != 0; left &= left - 1) {
            const uint32 source = __ffs(static_cast<int32>(left)) - 1;
            const int32 j = __shfl_sync(kAllLanes, mine.col, source);
            if (__any_sync(kAllLanes, tree.col == j)) continue;
            if (!queue.add({__shfl_sync(kAllLanes, key, source), j, __shfl_sync(kAllLanes, partner, source), from}))
                return false;
        }
        const LocalQueue::Entry next = queue.take();
        if (next.key >= tree.length) return tree.length != kFar && tree.length <= certain;
        if (tree.size == kWarp) return false;
        if (lane_index() == tree.size) {
            tree.col = next.col;
            tree.row = next.row;
            tree.above = next.above;
            tree.distance = from_key<Dual>(next.key);
        }
        from = static_cast<int32>(tree.size++);
        i = next.row;
        own = next.col;
        distance = from_key<Dual>(next.key);
    }
}

// Whether the row got all columns of its tree; lets these go again. All lanes of a warp call it.
__device__ inline bool holds_tree(const State& state, int32 root, const LocalTree& tree) {
    const bool last = lane_index() == 0, there = lane_index() < tree.size;
    const bool column = there && __ldcg(state.parent_row + tree.col) == root,
               end = last && __ldcg(state.parent_row + tree.end) == root;
    if (column) __stcg(state.parent_row + tree.col, kNoRow);  // no other row can have it
    if (end) __stcg(state.parent_row + tree.end, kNoRow);
    return __all_sync(kAllLanes, column == there && end == last) != 0;
}
// Updates the duals of a tree, and matches the row along its path.
__device__ inline void augment_tree(State& state, int32 root, const LocalTree& tree) {
    const Dual length = from_key<Dual>(tree.length);
    if (lane_index() < tree.size) {
        const Dual change = length - tree.distance;
        state.v[tree.col] = load_stable(state.v + tree.col) - change;
        state.u[tree.row] = load_stable(state.u + tree.row) + change;
    }
    if (lane_index() == 0) state.u[root] = load_stable(state.u + root) + length;
    for (int32 j = tree.end, above = tree.end_above;;) {
        const int32 i = above < 0 ? root : __shfl_sync(kAllLanes, tree.row, above);
        if (lane_index() == 0) {
            state.row_to_col[i] = j;
            state.col_to_row[j] = i;
        }
        if (above < 0) return;
        j = __shfl_sync(kAllLanes, tree.col, above);
        above = __shfl_sync(kAllLanes, tree.above, above);
    }
}

// Calls f(row, whether it is free and no sweep gave it up, the same of all lanes) for `share` rows from `first` on, by
// a warp.
template <class F>
__device__ void each_open(const State& state, uint32 first, uint32 share, F f) {
    const uint32 rows = state.matrix.rows;
    for (uint32 base = first; base < first + share && base < rows; base += kWarp) {
        const uint32 i = base + lane_index();
        const bool open = i < rows && load_stable(state.row_to_col + i) < 0 && load_stable(state.claim + i) == kNoRow;
        f(i, open, __ballot_sync(kAllLanes, open));
    }
}

// Lists the free rows that no sweep gave up in rows_at_work[0], in ascending order. Returns their number to every
// thread of the team. target[0]: the numbers in the shares of warps.
__device__ inline uint32 list_open_rows(const Team& team) {
    State& state = team.state;
    const uint32 rows = state.matrix.rows, lane = lane_index();
    const uint32 share = ((rows + team.warps() - 1) / team.warps() + kWarp - 1) / kWarp * kWarp,
                 first = team.warp() * share, shares = (rows + share - 1) / share;
    uint32 mine = 0;
    each_open(state, first, share, [&](uint32, bool, uint32 all) { mine += __popc(all); });
    if (lane == 0 && team.warp() < shares) state.target[0][team.warp()] = static_cast<int32>(mine);
    team.sync();
    uint32 before = 0, count = 0;
    for (uint32 w = lane; w < shares; w += kWarp) {
        const uint32 of_warp = static_cast<uint32>(load_stable(state.target[0] + w));
        before += w < team.warp() ? of_warp : 0;
        count += of_warp;
    }
    before = warp_sum(before);
    count = warp_sum(count);
    each_open(state, first, share, [&](uint32 i, bool open, uint32 all) {
        if (open) state.rows_at_work[0][before + __popc(all & ((1u << lane) - 1))] = static_cast<int32>(i);
        before += __popc(all);
    });
    team.sync();
    return count;
}

// One search from every free row that no sweep gave up: Counts::tried, of which Counts::settled are matched, or given
// up (`claim` is not kNoRow). Neighbouring rows, which often share a component, are searched one after another.
LAPWING_NOINLINE __device__ void sweep_locally() {
    State& state = shared().state;
    const Team team{state, shared().control.counts, shared().control.command.wide, shared().control.command.blocks};
    const uint32 count = list_open_rows(team), turns = (count + team.warps() - 1) / team.warps();
    uint32 settled = 0;
    for (uint32 turn = 0; turn < turns; ++turn) {
        const uint32 index = team.warp() * turns + turn;
        const int32 root = index < count ? load_stable(state.rows_at_work[0] + index) : kNone;
        LocalTree tree;
        const bool found = root >= 0 && find_local_path(state, root, tree);
        if (found && lane_index() < tree.size) atomicMin(state.parent_row + tree.col, root);
        if (found && lane_index() == 0) atomicMin(state.parent_row + tree.end, root);
        if (root >= 0 && !found && lane_index() == 0) state.claim[root] = 0;
        team.sync();
        const bool matched = found && holds_tree(state, root, tree);
        if (matched) augment_tree(state, root, tree);
        settled += matched || (root >= 0 && !found);
        team.sync();
    }
    Counts& counts = team.wide ? *state.counts : team.own;
    if (lane_index() == 0 && settled > 0) atomicAdd(&counts.settled, settled);
    if (lane_index() == 0 && team.warp() == 0) counts.tried = count;
}
