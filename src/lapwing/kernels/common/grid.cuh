// A barrier of the first blocks of a cooperative grid.
#pragma once
#include "common/ptx.cuh"

// A barrier of the first `blocks` blocks of a cooperative launch. Afterwards their threads see everything written to
// global memory before it. Every thread of these blocks calls it. `arrivals` is a word of global memory used only with
// this number of blocks. It is zero before its first use and needs no reset. Each other block adds 1, and block 0 adds
// the difference to 2^31, so that the top bit flips once all have arrived.
__device__ inline void grid_barrier(uint32* arrivals, uint32 blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32 step = blockIdx.x == 0 ? 0x80000000u - (blocks - 1) : 1u;
        const uint32 before = add_release(arrivals, step);
        const bool is_last = ((before ^ (before + step)) & 0x80000000u) != 0;
        while (!is_last && ((before ^ load_acquire(arrivals)) & 0x80000000u) == 0) {
        }
    }
    __syncthreads();
}
