// Collects the exponents of a few costs, which show whether some costs are far above all others.
#pragma once
#include "core/problem.cuh"

constexpr uint32 kGlancedRows = 16, kExponents = 2048;

// Reads pieces of some rows, which move to the right from row to row in the upper half of the matrix, and to the left
// in the lower half. mail[1 + e / 32] gets bit e % 32 if a cost has the exponent e as a double; finally mail[0] becomes
// 1. One block; mail is host memory.
extern "C" __global__ void __launch_bounds__(256) exponents(LAPWING_PROBLEM, uint32* mail) {
    __shared__ uint32 seen[kExponents / 32];
    for (uint32 k = threadIdx.x; k < kExponents / 32; k += blockDim.x) seen[k] = 0;
    __syncthreads();
    const int64 real_cols = prices != nullptr ? cols - rows : cols;
    const int64 count = rows < kGlancedRows ? rows : kGlancedRows, upper = count / 2;
    const int64 width = real_cols < blockDim.x ? real_cols : blockDim.x, room = real_cols - width;
    const int64 shift = room / (count - upper > 1 ? count - upper - 1 : 1);
    const int64 step = rows / count;
    double x[kGlancedRows];
#pragma unroll
    for (uint32 t = 0; t < kGlancedRows; ++t) {
        const int64 first = t < upper ? t * shift : room - (t - upper) * shift;
        const bool is_there = t < count && threadIdx.x < width;
        x[t] = is_there ? static_cast<double>(widened(costs[t * step * pitch + first + threadIdx.x])) : 0;
    }
    uint32 word = 0, bits = 0;  // this thread's exponents in one word
#pragma unroll
    for (uint32 t = 0; t < kGlancedRows; ++t) {
        const uint32 e = static_cast<uint32>(__double_as_longlong(x[t]) >> 52) & (kExponents - 1);
        if (e / 32 != word) {
            atomicOr(&seen[word], bits);
            word = e / 32, bits = 0;
        }
        bits |= 1u << e % 32;
    }
    atomicOr(&seen[word], bits);
    __syncthreads();
    for (uint32 k = threadIdx.x; k < kExponents / 32; k += blockDim.x) mail[1 + k] = seen[k];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *static_cast<volatile uint32*>(mail) = 1;
}
