// Teams of blocks: division of work, barriers and counts.
//
// The team of a command is block 0 where few rows are active, its cluster where there are more, and otherwise all
// blocks. Rounds of the auction and steps of a search, of which there are thousands, are grouped in runs. During a run
// the team proceeds from one to the next without the coordinator, and all its threads take the same decisions.
//
// Cost of a round: two barriers, of a step one to three (0.04 us for a block, 0.4 to 0.7 us for a cluster, 1 to 2 us
// for the grid), and some dependent loads.
#pragma once
#include "core/state.cuh"

__device__ inline uint32 middle_blocks() { return gridDim.x < kMiddleBlocks ? gridDim.x : kMiddleBlocks; }
// A barrier of the first blocks, as grid_barrier is one of all blocks.
__device__ inline void middle_barrier(uint32* arrivals) {
#if !defined(LAPWING_EMULATION) && __CUDA_ARCH__ >= 900
    __syncwarp();
    cluster_barrier();
#else
    grid_barrier(arrivals, middle_blocks());
#endif
}

// The team that carries out a command: the first `blocks` blocks. `wide` is false if it is block 0 alone, which counts
// in its shared memory. The references point to shared memory; the compiler sees this after inlining.
struct Team {
    State& state;
    Counts& own;  // of block 0
    bool wide;
    uint32 blocks;

    // Neighbouring warps belong to different blocks, so that a small amount of work spreads over all multiprocessors.
    __device__ uint32 warp() const {
        const uint32 mine = threadIdx.x / kWarp;
        return wide ? mine * blocks + blockIdx.x : mine;
    }
    __device__ uint32 warps() const { return wide ? blocks * kTeamWarps : kTeamWarps; }
    __device__ uint32 thread() const { return warp() * kWarp + threadIdx.x % kWarp; }
    __device__ uint32 threads() const { return warps() * kWarp; }
    __device__ uint32 block() const { return wide ? blockIdx.x : 0; }
    // A barrier: afterwards every thread of the team sees everything that the team wrote before.
    __device__ void sync() const {
        if (!wide) {
            __syncthreads();
        } else if (blocks < gridDim.x) {
            middle_barrier(state.barrier + kLine);
        } else {
            grid_barrier(state.barrier, blocks);
        }
    }
    // body(index) for each index below count, one thread each.
    template <class Body>
    __device__ void each(uint32 count, Body body) const {
#pragma unroll 1
        for (uint32 index = thread(); index < count; index += threads()) body(index);
    }
    // body(index) by whole warps, so that body may use warp operations; index may be count or more.
    template <class Body>
    __device__ void each_converged(uint32 count, Body body) const {
#pragma unroll 1
        for (uint32 index = thread(); index - lane_index() < count; index += threads()) body(index);
    }
    // body(index) for each index below count, one warp each.
    template <class Body>
    __device__ void each_by_warp(uint32 count, Body body) const {
#pragma unroll 1
        for (uint32 index = warp(); index < count; index += warps()) body(index);
    }
};

// Adds to a count and returns its previous value. `wide`: the count is in global memory.
template <bool wide>
__device__ inline uint32 add_count(uint32* count, uint32 more) {
    return wide ? add_in_global(count, more) : add_in_shared(count, more);
}
// Reserves places in a list for the lanes that want one. All lanes of a warp call it. The order of a list is not
// deterministic, but no result depends on it.
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
// A count after a barrier. Every thread of the team gets it.
template <class T>
__device__ inline T present_count(const Team& team, T Counts::* count) {
    return team.wide ? __ldcg(&(team.state.counts->*count)) : team.own.*count;
}
// Sets a flag to 1. All lanes of a warp call it.
__device__ inline void raise(uint32* flag, bool raised) {
    if (__any_sync(kAllLanes, raised) && lane_index() == 0) atomicExch(flag, 1u);
}
// The counts of a round or step of a run, or of the next one. A cluster that continues a run uses other counts than the
// whole grid did: a block that drops out may not have read the grid's counts yet when the cluster is one step ahead.
template <bool wide>
__device__ inline StepCounts& counts_of(const Team& team, uint32 step) {
    if constexpr (wide)
        return team.state.counts->step[step % kStepCounts + (team.blocks < gridDim.x ? kStepCounts : 0)];
    else
        return team.own.step[step % kStepCounts];
}
// The counts after a barrier, without `waiting`. Every thread gets them.
template <bool wide>
__device__ inline StepCounts read_counts(const Team& team, uint32 step) {
    const StepCounts& counts = counts_of<wide>(team, step);
    if constexpr (!wide) return counts;
    return {__ldcg(&counts.next), __ldcg(&counts.refresh), __ldcg(&counts.event), 0};
}
// Called before the last barrier of a step.
template <bool wide>
__device__ inline void reset_next_counts(const Team& team, uint32 step) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        StepCounts& counts = counts_of<wide>(team, step + 1);
        counts = {};
    }
}

// Number of blocks for so many active rows.
__device__ inline uint32 blocks_for(uint32 rows) {
    return rows > kMiddleRows ? gridDim.x : rows > kNarrowRows ? middle_blocks() : 1;
}
// Calls run(wide, blocks) with a team, then with ever smaller teams as the number of active rows falls, without the
// coordinator. left() returns the number of active rows after a run, or 0 if the coordinator is to decide; the loop
// continues while that number calls for fewer blocks. Each block writes the state of the run to its control block. A
// block that dropped out keeps the state of that time, while the others continue.
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
// Whether a team continues with so many active rows. The thresholds have hysteresis: a team stays larger for a while
// than blocks_for would choose.
template <bool wide>
__device__ inline bool suits(const Team& team, uint32 rows) {
    if (!wide) return rows <= kNarrowRows;
    return rows > (team.blocks < gridDim.x ? kNarrowRows / 2 : kMiddleRows / 2) &&
           (rows <= kMiddleRows || team.blocks == gridDim.x);
}
