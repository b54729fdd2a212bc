// Who has orders carried out, and who carries them out: block 0 beside its leader, and the other blocks.
#pragma once
#include "core/control/tasks.cuh"

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

// The blocks of an order wait for it: the first of them at their own barrier, which takes little, the others for the count of orders to all
// blocks. Nobody who waits is waited for.
__device__ inline uint32* call_count() { return shared().state.barrier + 2 * kLine; }
// By the leader's warp: calls the others, if the order on the desk is to all.
__device__ inline void call_all() {
    __syncwarp();
    if (lane_index() == 0 && shared().desk.order.blocks == gridDim.x) add_release(call_count(), 1);
    __syncwarp();
}
// All threads of a block call it; `answered` calls came before.
__device__ inline void wait_for_call(uint32 answered) {
    if (threadIdx.x == 0) {
        while (load_acquire(call_count()) == answered) {
        }
    }
    __syncthreads();
}

// The order on the desk, by the threads of block 0 that call it, and the other blocks that it names.
__device__ inline void execute() {
    State& state = shared().state;
    const Order& order = shared().desk.order;
    const Team team{state, shared().desk.counts, order.wide, order.blocks};
    const bool wide = order.wide;
    if (wide) middle_barrier(state.barrier + kLine);
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
    middle_barrier(shared().state.barrier + kLine);
}
// The other blocks.
__device__ void serve() {
    State& state = shared().state;
    const Order& order = shared().desk.order;
    const bool first = blockIdx.x < middle_blocks();
    for (uint32 answered = 0;; ++answered) {
        if (first)
            middle_barrier(state.barrier + kLine);
        else
            wait_for_call(answered);
        if (threadIdx.x < kWarp) copy_words(&shared().desk.order, state.order);
        __syncthreads();
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
        call_all();
    }
    __syncthreads();
    execute();
    __syncthreads();
    if (wide) copy_words(&desk.counts, state.counts);
    __syncwarp();
}
