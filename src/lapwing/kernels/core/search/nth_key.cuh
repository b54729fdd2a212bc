// The n-th least of many keys, by a block: distances of free columns.
//
// Few keys are ranked, each by counting those before it. Of more, the interval that contains the key is halved, until
// as many keys as wanted are at most its middle.
#pragma once
#include "core/control/commands.cuh"
#include "core/shared.cuh"

// kFar past the end.
template <class Key>
__device__ inline uint64 key_at(const State& state, uint32 k, uint32 count) {
    return k < count ? Key::at(state, k) : kFar;
}
// The keys of a list; of them, a thread's share, the first in registers. Key::at(state, k) is the k-th.
template <class Key>
struct Keys {
    uint32 count;
    uint64 kept[Tuning::kept_keys];

    __device__ Keys(const State& state, uint32 count) : count(count) {
#pragma unroll
        for (uint32 q = 0; q < Tuning::kept_keys; ++q)
            kept[q] = key_at<Key>(state, threadIdx.x + q * blockDim.x, count);
    }
    // f(key) for each; kFar for unused registers.
    template <class F>
    __device__ void each(const State& state, F f) const {
#pragma unroll
        for (uint32 q = 0; q < Tuning::kept_keys; ++q) f(kept[q]);
        for (uint32 k = threadIdx.x + Tuning::kept_keys * blockDim.x; k < count; k += blockDim.x)
            f(key_at<Key>(state, k, count));
    }
    // Number of keys that are at most `limit` and less than kFar. All threads of a block call it and get the result.
    __device__ uint32 within(const State& state, uint64 limit) const {
        uint32 all = 0;
#pragma unroll
        for (uint32 q = 0; q < Tuning::kept_keys; ++q) {
            if (q * blockDim.x < count) all += __syncthreads_count(kept[q] <= limit);
        }
        for (uint32 base = Tuning::kept_keys * blockDim.x; base < count; base += blockDim.x)
            all += __syncthreads_count(key_at<Key>(state, base + threadIdx.x, count) <= limit);
        return all;
    }
};

// The wanted-th least key; kFar if fewer are below kFar. All threads of a block call it and get the result.
template <class Key>
__device__ inline uint64 nth_key(const State& state, Scratch& scratch, uint32 wanted, const Keys<Key>& keys) {
    if (keys.count <= Tuning::sorted) {  // every key counts those before it
        const uint64 mine = keys.kept[0];
        __syncthreads();
        if (threadIdx.x < keys.count) scratch.sorted[threadIdx.x] = mine;
        __syncthreads();
        uint32 rank = 0;
#pragma unroll 8
        for (uint32 k = 0; k < keys.count; ++k)
            rank += scratch.sorted[k] < mine || (scratch.sorted[k] == mine && k < threadIdx.x);
        if (threadIdx.x < keys.count && rank == wanted - 1) scratch.keys[0][0] = mine;
        __syncthreads();
        return scratch.keys[0][0];
    }
    uint64 reached = 0, nearest = kFar, farthest = 0;
    keys.each(state, [&](uint64 key) {
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
        keys.each(state, [&](uint64 key) { below += key <= middle; });
        const uint64 all = sum_in_block(scratch, below, turn);
        if (all >= wanted)
            farthest = middle;
        else
            nearest = middle + 1;
        if (all == wanted) break;
    }
    // The bound becomes one of the keys, so that prices stay on the costs' grid.
    uint64 largest = 0;
    keys.each(state, [&](uint64 key) { largest = key <= farthest && key > largest ? key : largest; });
    return best_in_block(scratch.keys, largest, false);
}
