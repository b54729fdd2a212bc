// The search radius: a distance within which enough free columns lie.
//
// While steps run, every block finds the same radius, not far beyond the least one (shrink_radius). At the end block 0
// finds the least one (find_radius).
#pragma once
#include "core/search/nth_key.cuh"

// The distances of the free columns, kFar for those not reached.
struct FreeDistance {
    __device__ static uint64 at(const State& state, uint32 k) {
        return __ldcg(state.distance + load_stable(state.free_cols + k));
    }
};
using FreeDistances = Keys<FreeDistance>;

// The (k + 1)-th largest of the keys of a warp's lanes, in every lane; k is small.
__device__ inline uint64 nth_largest(uint64 mine, uint32 k) {
    for (;; --k) {
        const uint64 largest = ~warp_min(~mine);
        if (k == 0) return largest;
        if (lane_index() == __ffs(__ballot_sync(kAllLanes, mine == largest)) - 1) mine = 0;
    }
}
// Whether steps find the radius; elsewhere the coordinator does.
__device__ inline bool finds_radius(const State& state, const SearchRun& run) {
    return run.wanted == 1 || state.matrix.rows >= state.matrix.cols || run.from_dummies;
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
    if (run.open_count <= kWarp) {
        const uint32 lane = lane_index();
        const uint64 key = lane < run.open_count ? FreeDistance::at(state, lane) : 0;
        const uint64 nth = nth_largest(key, run.open_count - run.wanted);
        return nth < radius ? nth : radius;
    }
    const FreeDistances distances(state, run.open_count);
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
    const uint64 key = nth_key(team.state, scratch, wanted, FreeDistances(team.state, count));
    if (threadIdx.x == 0) team.own.answer = key;
}
