// A barrier of the first blocks of a cooperative grid.
#pragma once
#include "common/ptx.cuh"

// Waits for all threads of the first `blocks` blocks of a cooperative launch; what they wrote to global memory before
// is seen after. Every thread of these blocks calls it. `arrivals` is one word of global memory for this number of
// blocks, zero before its first use ever; it needs no reset. Block 0 adds what the others leave out to 2^31, so that
// the top bit flips once all have arrived.
__device__ inline void grid_barrier(uint32* arrivals, uint32 blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32 step = blockIdx.x == 0 ? 0x80000000u - (blocks - 1) : 1u;
        const uint32 before = add_release(arrivals, step);
        while (((before ^ load_acquire(arrivals)) & 0x80000000u) == 0) {
        }
    }
    __syncthreads();
}
