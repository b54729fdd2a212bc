// Who has orders carried out, and who carries them out: block 0 beside its leader, and the other blocks.
#pragma once
#include "core_tasks.cuh"

// From and to global memory, past L1, by one warp.
template <class T>
__device__ void copy_words(T* to, const T* from) {
    const uint32* words = reinterpret_cast<const uint32*>(from);
    for (uint32 k = lane_index(); k < sizeof(T) / 4; k += kWarp) reinterpret_cast<uint32*>(to)[k] = __ldcg(words + k);
}
template <class T>
__device__ void store_words(T* to, const T& from) {
    const uint32* words = reinterpret_cast<const uint32*>(&from);
    for (uint32 k = lane_index(); k < sizeof(T) / 4; k += kWarp) __stcg(reinterpret_cast<uint32*>(to) + k, words[k]);
}

// The blocks of an order wait for it: the first of them at their own barrier, the others at that of the grid.
__device__ inline void meet(bool all) {
    State& state = shared().state;
    middle_barrier(state.barrier + kLine);
    if (all) grid_barrier(state.barrier, gridDim.x);
}
// The order on the desk, by the threads of block 0 that call it, and the other blocks that it names.
__device__ inline void execute() {
    const Order& order = shared().desk.order;
    const Team team{shared().state, shared().desk.counts, order.wide, order.blocks};
    const bool wide = order.wide;
    if (wide) meet(order.blocks == gridDim.x);
    carry_out();
    if (wide) team.sync();
}

// The rest of block 0, one of which keeps an eye on the host.
__device__ void assist() {
    for (uint32 orders = 1;; ++orders) {
        __syncthreads();
        if (shared().desk.order.task == Task::finish) break;
        if (threadIdx.x == kWarp && orders % kOrdersBetweenLooks == 0) shared().desk.lookout.look(orders);
        execute();
        __syncthreads();
    }
    meet(true);
}
// The other blocks.
__device__ void serve() {
    State& state = shared().state;
    const Order& order = shared().desk.order;
    const bool first = blockIdx.x < middle_blocks();
    for (;;) {
        if (first)
            meet(false);
        else
            grid_barrier(state.barrier, gridDim.x);
        if (threadIdx.x < kWarp) copy_words(&shared().desk.order, state.order);
        __syncthreads();
        if (first && order.blocks == gridDim.x) grid_barrier(state.barrier, gridDim.x);
        if (order.task == Task::finish) return;
        carry_out();
        Team{state, shared().desk.counts, true, order.blocks}.sync();
    }
}

// By the leader's warp: has the order on the desk carried out.
LAPWING_NOINLINE __device__ void give_out() {
    State& state = shared().state;
    Desk& desk = shared().desk;
    const bool wide = desk.order.wide;
    if (wide) {
        store_words(state.counts, desk.counts);
        store_words(state.order, desk.order);
    }
    __syncthreads();
    execute();
    __syncthreads();
    if (wide) copy_words(&desk.counts, state.counts);
    __syncwarp();
}
