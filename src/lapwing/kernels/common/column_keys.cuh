// Minima over columns that many blocks compute together, by one key per column: the order of its least bound so far
// (common/numbers.cuh). `keys` [size] are followed by counts of blocks. All of it begins as ones.
#pragma once
#include "common/common.cuh"

// Lowers the keys of `width` columns from c on to those of `least`.
template <int32 width>
__device__ inline void lower_keys(uint64* keys, int64 c, const Dual (&least)[width]) {
#pragma unroll
    for (int32 k = 0; k < width; ++k) atomicMin(keys + c + k, ordered(least[k]));
}
// Whether a block is the last of `blocks` to be done with the keys that it lowers, which are then the minima; all
// threads of a block call it. `count` begins as ones.
__device__ inline bool is_last_block(uint64* count, int64 blocks) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint64 others = atomicAdd(count, 1ull) + 1;
        last = others == static_cast<uint64>(blocks - 1);
        __threadfence();
    }
    __syncthreads();
    return last;
}
// The minimum of a column; infinite if there is none.
__device__ inline Dual minimum_of(const uint64* keys, int64 c) { return from_order<Dual>(__ldcg(keys + c)); }
