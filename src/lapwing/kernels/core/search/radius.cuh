// The search radius: a distance within which enough free columns lie.
//
// While steps run, every block finds the same radius, not far beyond the least one (shrink_radius). At the end block 0
// finds the least one (find_radius).
#pragma once
#include "core/control/commands.cuh"
#include "core/shared.cuh"

// The distance of the k-th free column; kFar if there is no such column, or it was not reached.
__device__ inline uint64 free_distance(const State& state, uint32 k, uint32 count) {
    return k < count ? __ldcg(state.distance + load_stable(state.free_cols + k)) : kFar;
}

// The distances of this thread's share of the free columns, kFar for those not reached. The first are in registers.
struct FreeDistances {
    uint32 count;
    uint64 kept[Tuning::kept_distances];

    __device__ FreeDistances(const State& state, uint32 count) : count(count) {
#pragma unroll
        for (uint32 q = 0; q < Tuning::kept_distances; ++q)
            kept[q] = free_distance(state, threadIdx.x + q * blockDim.x, count);
    }
    // f(distance) for each; kFar for unused registers.
    template <class F>
    __device__ void each(const State& state, F f) const {
#pragma unroll
        for (uint32 q = 0; q < Tuning::kept_distances; ++q) f(kept[q]);
        for (uint32 k = threadIdx.x + Tuning::kept_distances * blockDim.x; k < count; k += blockDim.x)
            f(free_distance(state, k, count));
    }
    // Number of columns at distance at most `limit` and less than kFar. All threads of a block call it and get the
    // result.
    __device__ uint32 within(const State& state, uint64 limit) const {
        uint32 all = 0;
#pragma unroll
        for (uint32 q = 0; q < Tuning::kept_distances; ++q) {
            if (q * blockDim.x < count) all += __syncthreads_count(kept[q] <= limit);
        }
        for (uint32 base = Tuning::kept_distances * blockDim.x; base < count; base += blockDim.x)
            all += __syncthreads_count(free_distance(state, base + threadIdx.x, count) <= limit);
        return all;
    }
};

// The (k + 1)-th largest of the keys of a warp's lanes, in every lane; k is small.
__device__ inline uint64 nth_largest(uint64 mine, uint32 k) {
    for (;; --k) {
        const uint64 largest = ~warp_min(~mine);
        if (k == 0) return largest;
        if (lane_index() == __ffs(__ballot_sync(kAllLanes, mine == largest)) - 1) mine = 0;
    }
}
// A distance within which enough free columns lie, not far beyond the least such distance; at most the previous search
// radius. Every thread of a block calls it, and all blocks get the same result.
template <bool wide>
__device__ inline uint64 shrink_radius(const Team& team, const SearchRun& run) {
    const State& state = team.state;
    uint64 radius = run.radius;
    if (run.wanted == 1) {
        const uint64 nearest = wide ? __ldcg(&state.counts->nearest) : team.own.nearest;
        return nearest < radius ? nearest : radius;
    }
    if (shared().state.matrix.rows < shared().state.matrix.cols) return radius;  // the coordinator finds it
    if (run.free_count <= kWarp) {
        const uint32 lane = lane_index();
        const uint64 key = lane < run.free_count ? free_distance(state, lane, run.free_count) : 0;
        const uint64 nth = nth_largest(key, run.free_count - run.wanted);
        return nth < radius ? nth : radius;
    }
    const FreeDistances distances(state, run.free_count);
    if (radius == kFar) {
        if (distances.within(state, kFar - 1) < run.wanted) return radius;
        uint64 farthest = 0;
        distances.each(state, [&](uint64 key) { farthest = key != kFar && key > farthest ? key : farthest; });
        radius = best_in_block(shared().scratch.keys, farthest, false);
    }
    Dual near = 0, far = from_key<Dual>(radius);
    for (uint32 turn = 0; turn < Tuning::radius_halvings; ++turn) {
        const Dual middle = near + (far - near) / 2;
        if (distances.within(state, as_key(middle)) >= run.wanted)
            far = middle;
        else
            near = middle;
    }
    return as_key(far);
}

// The distance of the farthest free column that was reached; kFar if there is none.
__device__ inline void find_farthest(const Team& team, Scratch& scratch, uint32 count) {
    uint64 farthest = 0;  // and one, kFar becoming 0
    const FreeDistances distances(team.state, count);
    distances.each(team.state, [&](uint64 key) { farthest = key + 1 > farthest ? key + 1 : farthest; });
    farthest = best_in_block(scratch.keys, farthest, false);
    if (threadIdx.x == 0) team.own.answer = farthest - 1;
}
// The distance within which `wanted` free columns lie, or kFar.
__device__ inline void find_radius(const Team& team, Scratch& scratch, uint32 count, uint32 wanted) {
    if (count <= Tuning::sorted) {  // every key counts those before it
        uint64 mine = 0;
        if (threadIdx.x < count) mine = scratch.sorted[threadIdx.x] = free_distance(team.state, threadIdx.x, count);
        __syncthreads();
        if (threadIdx.x >= count) return;
        uint32 rank = 0;
#pragma unroll 8
        for (uint32 k = 0; k < count; ++k)
            rank += scratch.sorted[k] < mine || (scratch.sorted[k] == mine && k < threadIdx.x);
        if (rank == wanted - 1) team.own.answer = mine;
        return;
    }
    const FreeDistances distances(team.state, count);
    uint64 reached = 0, nearest = kFar, farthest = 0;
    distances.each(team.state, [&](uint64 key) {
        reached += key < kFar;
        nearest = key < nearest ? key : nearest;
        farthest = key < kFar && key > farthest ? key : farthest;
    });
    reached = sum_in_block(scratch, reached, 0);
    nearest = best_in_block(scratch.keys, nearest, true);
    farthest = reached < wanted ? kFar : best_in_block(scratch.keys, farthest, false);
    // The smallest key with enough at or below it is in nearest..farthest.
    for (uint32 turn = 0; nearest < farthest && farthest < kFar; ++turn) {
        const uint64 middle = nearest + (farthest - nearest) / 2;
        uint64 below = 0;
        distances.each(team.state, [&](uint64 key) { below += key <= middle; });
        const uint64 all = sum_in_block(scratch, below, turn);
        if (all >= wanted)
            farthest = middle;
        else
            nearest = middle + 1;
        if (all == wanted) break;
    }
    // The bound becomes a distance, so that prices stay on the costs' grid.
    uint64 largest = 0;
    distances.each(team.state, [&](uint64 key) { largest = key <= farthest && key > largest ? key : largest; });
    largest = best_in_block(scratch.keys, largest, false);
    if (threadIdx.x == 0) team.own.answer = largest;
}
