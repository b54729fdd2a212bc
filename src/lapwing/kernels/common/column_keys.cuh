// Minima over columns that many blocks compute together, by one key per column: the order of its least bound so far
// (common/numbers.cuh).
#pragma once
#include "common/common.cuh"

// Lowers the keys of `width` columns from c on to those of `least`. When all `bands` blocks of a chunk of columns have
// done so, the last of them calls set(column, bound) for each column; bound is infinite if there is none. All threads
// of a block call it, threads without a column with c >= size. `keys` [size] is followed by a count of blocks for every
// chunk. All of it begins as ones.
template <int32 width, uint32 threads, class Set>
__device__ inline void lower_keys(uint64* keys, int64 c, int64 size, const Dual (&least)[width], int64 chunk,
                                  int64 bands, Set set) {
    __shared__ bool last;
#pragma unroll
    for (int32 k = 0; k < width; ++k) {
        if (c < size) atomicMin(keys + c + k, ordered(least[k]));
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint64 others = atomicAdd(keys + size + chunk, 1ull) + 1;
        last = others == static_cast<uint64>(bands - 1);
        __threadfence();
    }
    __syncthreads();
    if (!last || c >= size) return;
#pragma unroll
    for (int32 k = 0; k < width; ++k) set(c + k, from_order<Dual>(__ldcg(keys + c + k)));
}
