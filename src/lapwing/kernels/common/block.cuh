// Reductions over all threads of a block.
#pragma once
#include "common/warp.cuh"

constexpr uint32 kMostBlockWarps = 32;  // of a block

// The best of all threads' keys (the least, or the greatest), in every thread of the block.
__device__ inline uint64 best_in_block(uint64 (&keys)[2][kMostBlockWarps], uint64 mine, bool least) {
    const auto better = [least](uint64 a, uint64 b) { return (a < b) == least ? a : b; };
    mine = warp_reduce(mine, better);
    __syncthreads();
    if (lane_index() == 0) keys[0][threadIdx.x / kWarp] = mine;
    __syncthreads();
    for (uint32 w = 0; w < blockDim.x / kWarp; ++w) mine = better(mine, keys[0][w]);
    __syncthreads();
    return mine;
}
