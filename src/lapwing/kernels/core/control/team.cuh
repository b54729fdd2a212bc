// Teams of blocks: how they share work, wait for each other, and count.
//
// A command is carried out by block 0 where few rows are at work, by its cluster where there are more, or by all
// blocks. Rounds of the auction and steps of a search, of which there are thousands, come in runs: the team goes from
// one to the next without the coordinator, and all its threads decide alike.
//
// Cost of a round or step: two barriers (of a block 0.04 us, of a cluster 0.4 to 0.7 us, of the grid 1 to 2 us) and
// some dependent loads.
#pragma once
#include "core/state.cuh"

__device__ inline uint32 middle_blocks() { return gridDim.x < kMiddleBlocks ? gridDim.x : kMiddleBlocks; }
// Waits for the first blocks, as grid_barrier does for all.
__device__ inline void middle_barrier(uint32* arrivals) {
#if !defined(LAPWING_EMULATION) && __CUDA_ARCH__ >= 900
    __syncwarp();
    cluster_barrier();
#else
    grid_barrier(arrivals, middle_blocks());
#endif
}

// The team that carries out a command: the first `blocks` blocks; `wide` unless it is block 0 alone, which counts in
// its shared memory. References are to shared memory, and known to be when inlined.
struct Team {
    State& state;
    Counts& own;  // of block 0
    bool wide;
    uint32 blocks;

    // Neighbouring warps are of different blocks, so that all processors share in what is little.
    __device__ uint32 warp() const {
        const uint32 mine = threadIdx.x / kWarp;
        return wide ? mine * blocks + blockIdx.x : mine;
    }
    __device__ uint32 warps() const { return wide ? blocks * kTeamWarps : kTeamWarps; }
    __device__ uint32 thread() const { return warp() * kWarp + threadIdx.x % kWarp; }
    __device__ uint32 threads() const { return warps() * kWarp; }
    __device__ uint32 block() const { return wide ? blockIdx.x : 0; }
    // All that the team wrote before is seen by all of it after.
    __device__ void sync() const {
        if (!wide) {
            __syncthreads();
        } else if (blocks < gridDim.x) {
            middle_barrier(state.barrier + kLine);
        } else {
            grid_barrier(state.barrier, blocks);
        }
    }
    // body(index) for each index below count, a thread each.
    template <class Body>
    __device__ void each(uint32 count, Body body) const {
#pragma unroll 1
        for (uint32 index = thread(); index < count; index += threads()) body(index);
    }
    // body(index) with whole warps, so that it may use warp operations; index may be count and more.
    template <class Body>
    __device__ void each_converged(uint32 count, Body body) const {
#pragma unroll 1
        for (uint32 index = thread(); index - lane_index() < count; index += threads()) body(index);
    }
    // body(index) for each index below count, a warp each.
    template <class Body>
    __device__ void each_by_warp(uint32 count, Body body) const {
#pragma unroll 1
        for (uint32 index = warp(); index < count; index += warps()) body(index);
    }
};

// Adds to a count, and returns it as it was; wide: one in global memory.
template <bool wide>
__device__ inline uint32 add_count(uint32* count, uint32 more) {
    return wide ? add_in_global(count, more) : add_in_shared(count, more);
}
// Places in a list for the lanes that want one, by its count. All lanes of a warp call it. The order of a list is left
// to chance; nothing that is computed depends on it.
template <bool wide>
__device__ inline uint32 take_place(uint32* count, bool wants) {
    const uint32 wanting = __ballot_sync(kAllLanes, wants);
    if (wanting == 0) return 0;
    const uint32 lane = lane_index();
    uint32 base = 0;
    if (lane == 0) base = add_count<wide>(count, __popc(wanting));
    return __shfl_sync(kAllLanes, base, 0) + __popc(wanting & ((1u << lane) - 1));
}
__device__ inline uint32 take_place(const Team& team, uint32 Counts::* count, bool wants) {
    return team.wide ? take_place<true>(&(team.state.counts->*count), wants)
                     : take_place<false>(&(team.own.*count), wants);
}
// Adds `item` to a list, unless it is negative. All lanes of a warp call it.
__device__ inline void append(const Team& team, int32* list, uint32 Counts::* count, int32 item) {
    const uint32 place = take_place(team, count, item >= 0);
    if (item >= 0) list[place] = item;
}
// A count as it stands after a barrier; every thread of the team gets it.
template <class T>
__device__ inline T present_count(const Team& team, T Counts::* count) {
    return team.wide ? __ldcg(&(team.state.counts->*count)) : team.own.*count;
}
// Sets a flag to 1. All lanes of a warp call it.
__device__ inline void raise(uint32* flag, bool raised) {
    if (__any_sync(kAllLanes, raised) && lane_index() == 0) atomicExch(flag, 1u);
}
// The counts of the present step of a run, or the next one's. A cluster that goes on by itself has others than all
// blocks had: a block that drops out may not have read those yet when the cluster is a step ahead.
template <bool wide>
__device__ inline StepCounts& counts_of(const Team& team, uint32 step) {
    if constexpr (wide)
        return team.state.counts->step[step % 2 + (team.blocks < gridDim.x ? 2 : 0)];
    else
        return team.own.step[step % 2];
}
// As they stand after a barrier, but for `waiting`; every thread gets them.
template <bool wide>
__device__ inline StepCounts read_counts(const Team& team, uint32 step) {
    const StepCounts& counts = counts_of<wide>(team, step);
    if constexpr (!wide) return counts;
    return {__ldcg(&counts.next), __ldcg(&counts.refresh), __ldcg(&counts.event), 0};
}
// Between the barriers of a step.
template <bool wide>
__device__ inline void reset_next_counts(const Team& team, uint32 step) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        StepCounts& counts = counts_of<wide>(team, step + 1);
        counts = {};
    }
}

// How many blocks are called for so many rows at work.
__device__ inline uint32 blocks_for(uint32 rows) {
    return rows > kMiddleRows ? gridDim.x : rows > kNarrowRows ? middle_blocks() : 1;
}
// run(wide, blocks) by a team, then by ever smaller ones, as rows at work get fewer, without the coordinator in
// between: while left(), the number of rows then, calls for fewer blocks; 0 if the coordinator is to decide. Each block
// writes the state of the run to its control block; a block that dropped out has the state of that time, though the
// others went on.
template <class Run, class Left>
__device__ inline void run_by_smaller_teams(bool wide, uint32 blocks, Run run, Left left) {
    for (;;) {
        run(wide, blocks);
        __syncthreads();
        const uint32 rows = left(), fewer = blocks_for(rows);
        if (rows == 0 || fewer >= blocks || blockIdx.x >= fewer) return;
        blocks = fewer;
        wide = rows > kNarrowRows;
    }
}
// Whether a team goes on with so many rows at work. It keeps them a while when it would not be called for them.
template <bool wide>
__device__ inline bool suits(const Team& team, uint32 rows) {
    if (!wide) return rows <= kNarrowRows;
    return rows > (team.blocks < gridDim.x ? kNarrowRows / 2 : kMiddleRows / 2) &&
           (rows <= kMiddleRows || team.blocks == gridDim.x);
}
