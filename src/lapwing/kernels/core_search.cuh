// Shortest augmenting paths from all free rows at once, on the lists.
//
// One search: distances of columns (reduced costs along alternating paths) from the nearest free row, by label correction. A
// step looks at the candidates of all rows whose distance fell (the frontier): atomicMin on the columns' distances. It takes
// the distances from which it looks before any of them falls again, so that what a step does is the same on every run.
// Distances beyond `cap` are of no interest: the cap falls to where about half as many free columns are reached as rows are
// free. When nothing changes, a row whose list does not reach as far as the cap (its distance + tau - u) is listed again under
// today's prices; if that is not enough, all its columns are looked at. Then (core_augment.cuh), with D the cap:
//
//   u[i] += max(0, D - distance of i),  v[j] -= max(0, D - distance of j)
//
// keeps u + v <= cost (the triangle inequality, and a minimum with a constant keeps it) and matched pairs tight, and makes the
// paths to all free columns within D tight. Trees of different free rows have no node in common: every tree that reached free
// columns matches one of them. So a search matches a good part of the free rows, not one.
//
// Where columns outnumber rows, the prices of free columns must stay at zero: the cap is then the nearest free column's.
//
// Cost: a step takes the lists and v of the frontier, two atomics for each distance that falls, 2 barriers.
#pragma once
#include "core_lists.cuh"

__device__ inline Dual reduced(Dual cost, Dual v, Dual u) {
    const Dual x = cost - v - u;  // rounding may leave it below 0
    return x > Dual(0) ? x : Dual(0);
}

// Column `col` is at distance x or nearer, where it was at `known`; kNone is not meant. All lanes of a warp call it. What takes
// long is on its way at once, and the frontier grows once.
template <bool wide>
__device__ inline void reach(const Team& team, const SearchRun& run, int32 col, Dual x, uint64 known) {
    State& state = team.state;
    const uint64 key = as_key(x);
    uint32 last = run.begun;  // the step in which it fell before this one
    int32 holder = 0;
    if (col >= 0 && key <= run.cap && key < known) {  // it falls, perhaps not through us, but in this step
        atomicMin(state.distance + col, key);
        last = atomicExch(state.step + col, run.number);
        holder = settled(state.col_to_row + col);
        if (run.wanted == 1 && holder < 0) atomicMin(wide ? &state.counts->nearest : &team.own.nearest, key);
    }
    StepCounts& counts = counts_of<wide>(team, run.present);
    raise(&counts.event, holder < 0);
    const bool adds = last < run.begun && holder >= 0;
    const uint32 place = take_place(&counts.next, adds);
    if (adds) state.frontier[!run.present][place] = {holder, col};
}

// One step of as much of the frontier as there are warps, one candidate a lane. What a row's distance is, is settled before
// any falls.
template <bool wide>
__device__ inline void take_step(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 index = run.done + team.warp();
    const bool there = index < run.count;
    Reached at = {0, kNone};
    Candidate mine = {kNone, Dual(0)};
    Dual u = 0, distance = 0, v = 0;
    if (there) {
        at = settled(state.frontier[run.present] + index);
        mine = load_candidate(state, at.row);
        u = settled(state.u + at.row);
        if (at.col >= 0) distance = from_key<Dual>(__ldcg(state.distance + at.col));
        if (mine.col == at.col) mine.col = kNone;
        if (mine.col >= 0) v = settled(state.v + mine.col);
    }
    team.sync();
    if (there) {
        const uint64 known = mine.col >= 0 ? __ldcg(state.distance + mine.col) : 0;
        reach<wide>(team, run, mine.col, distance + reduced(mine.cost, v, u), known);
    }
    reset_next_counts<wide>(team, run.present);
    team.sync();
}

// The k-th smallest of the keys of a warp's lanes (k from 0), in every lane; lanes that have none bring kFar.
__device__ inline uint64 nth_in_warp(uint64 mine, uint32 count, uint32 k) {
    uint32 rank = 0;
    for (uint32 other = 0; other < count; ++other) {
        const uint64 theirs = __shfl_sync(kAllLanes, mine, other);
        rank += theirs < mine || (theirs == mine && other < lane_index());
    }
    return __shfl_sync(kAllLanes, mine, __ffs(__ballot_sync(kAllLanes, rank == k && lane_index() < count)) - 1);
}
// f(count of the block's threads for whose free columns is(distance)), over all free columns; all threads get it.
template <class Is>
__device__ inline uint32 count_free_cols(const State& state, uint32 count, Is is) {
    uint32 all = 0;
    for (uint32 base = 0; base < count; base += blockDim.x) {
        const uint32 k = base + threadIdx.x;
        const uint64 key = k < count ? __ldcg(state.distance + settled(state.free_cols + k)) : kFar;
        all += __syncthreads_count(k < count && is(key));
    }
    return all;
}
// A distance at which enough free columns are reached, not far beyond the least; at most the cap that was. Every thread of the
// block calls it and gets the same, in whichever block.
template <bool wide>
__device__ inline uint64 lower_cap(const Team& team, const SearchRun& run) {
    constexpr uint32 kHalvings = 8;
    const State& state = team.state;
    uint64 cap = run.cap;
    if (run.wanted == 1) {
        const uint64 nearest = wide ? __ldcg(&state.counts->nearest) : team.own.nearest;
        return nearest < cap ? nearest : cap;
    }
    if (run.free_count <= kWarp) {
        const bool mine = lane_index() < run.free_count;
        const uint64 key = mine ? __ldcg(state.distance + settled(state.free_cols + lane_index())) : kFar;
        const uint64 nth = nth_in_warp(key, run.free_count, run.wanted - 1);
        return nth < cap ? nth : cap;
    }
    if (cap == kFar) {
        if (count_free_cols(state, run.free_count, [](uint64 key) { return key != kFar; }) < run.wanted) return cap;
        uint64 farthest = 0;
        for (uint32 k = threadIdx.x; k < run.free_count; k += blockDim.x) {
            const uint64 key = __ldcg(state.distance + settled(state.free_cols + k));
            farthest = key != kFar && key > farthest ? key : farthest;
        }
        cap = best_in_block(shared().scratch.keys, farthest, false);
    }
    Dual near = 0, far = from_key<Dual>(cap);
    for (uint32 turn = 0; turn < kHalvings; ++turn) {
        const Dual middle = near + (far - near) / 2;
        const uint32 within =
            count_free_cols(state, run.free_count, [&](uint64 key) { return key <= as_key(middle); });
        if (within >= run.wanted)
            far = middle;
        else
            near = middle;
    }
    return as_key(far);
}

// After a step: perhaps a lower cap; the next frontier, if this one is done.
template <bool wide>
__device__ inline void conclude_step(const Team& team, SearchRun& run) {
    const StepCounts counts = read_counts<wide>(team, run.present);
    if (counts.event != 0) run.cap = lower_cap<wide>(team, run);
    if (run.done < run.count) return;
    run.done = 0;
    run.count = counts.next;
    run.present ^= 1;
}

// Steps, until nothing changes any more, or there are too many rows at work or too few for the team.
template <bool wide>
LAPWING_NOINLINE __device__ void run_steps() {
    State& state = shared().state;
    const Team team{state, shared().desk.counts, wide, shared().desk.order.blocks};
    SearchRun run = shared().desk.order.search;
    run.done = 0;
    do {
        ++run.number;
        if (run.done == 0) {
            run.begun = run.number;
            run.scans += run.count;
        }
        take_step<wide>(team, run);
        run.done += team.warps();
        conclude_step<wide>(team, run);
    } while (run.done > 0 || (run.count > 0 && suits<wide>(team, run.count)));
    if (blockIdx.x == 0 && threadIdx.x == 0) shared().desk.order.search = run;
}

// Rows whose lists leave columns below the cap in doubt; of reached columns, and free ones.
__device__ inline void find_doubtful(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols, count = cols + run.free_count;
    team.each_converged(count, [&](uint32 index) {
        int32 i = kNone;
        uint64 key = kFar;
        if (index < cols) {
            key = __ldcg(state.distance + index);
            if (key < run.cap) i = settled(state.col_to_row + index);
        } else if (index < count) {
            key = 0;
            i = settled(state.free_rows + index - cols);
        }
        bool doubtful = false;
        if (i >= 0 && key < run.cap) {
            const Dual distance = from_key<Dual>(key), tau = settled(state.tau + i);
            doubtful = tau < infinity<Dual>() &&
                       as_key(distance + reduced(tau, Dual(0), settled(state.u + i))) < run.cap &&
                       !(settled(state.full_search + i) == run.search && settled(state.full_distance + i) == distance);
            if (doubtful) state.row_distance[i] = distance;
        }
        append(team, state.refresh_rows, &Counts::refresh, doubtful ? i : kNone);
    });
}

// Lists a doubtful row again, and looks at all its columns if that does not help. All threads of a block call it.
template <bool wide>
__device__ inline void resolve_doubt(const Team& team, const SearchRun& run, int32 i) {
    State& state = team.state;
    list_row<false>(i);
    const int32 own = settled(state.row_to_col + i);
    const Dual u = settled(state.u + i), distance = settled(state.row_distance + i), tau = settled(state.tau + i);
    // Beyond the cap, not at it: what the old list led to there must be in the new one.
    const bool helps = tau == infinity<Dual>() || as_key(distance + reduced(tau, Dual(0), u)) > run.cap;
    if (helps) {
        if (threadIdx.x == 0)
            state.frontier[!run.present][atomicAdd(&counts_of<wide>(team, run.present).next, 1u)] = {i, own};
        return;
    }
    if (threadIdx.x < kWarp) {
        const bool mine = threadIdx.x == 0 && settled(state.full_search + i) != run.search;
        append(team, state.full_rows, &Counts::full, mine ? i : kNone);
    }
    if (threadIdx.x == 0) {
        state.full_search[i] = run.search;
        state.full_distance[i] = distance;
    }
    for (int32 base = 0; base < state.matrix.cols; base += blockDim.x) {
        const int32 j = base + static_cast<int32>(threadIdx.x);
        const bool there = j < state.matrix.cols && j != own;
        const Dual cost = there ? state.matrix.minimised(state.matrix.row(i)[j]) : infinity<Dual>();
        const Dual x = distance + reduced(cost, there ? settled(state.v + j) : Dual(0), u);
        reach<wide>(team, run, cost < infinity<Dual>() ? j : kNone, x, there ? __ldcg(state.distance + j) : 0);
    }
}
template <bool wide>
LAPWING_NOINLINE __device__ void resolve_doubts() {
    State& state = shared().state;
    const Team team{state, shared().desk.counts, wide, shared().desk.order.blocks};
    const uint32 count = shared().desk.order.count;
    SearchRun run = shared().desk.order.search;
    run.count = run.done = 0;
    run.begun = ++run.number;
    for (uint32 at = team.block(); at < count; at += team.blocks)
        resolve_doubt<wide>(team, run, settled(state.refresh_rows + at));
    team.sync();
    conclude_step<wide>(team, run);
    if (blockIdx.x == 0 && threadIdx.x == 0) shared().desk.order.search = run;
}
