// A copy of a matrix without costs far above all others (gpu/core/large_costs.py); included by core/start/start.cu.
#pragma once
#include "core/start/sorted.cuh"

// A cost of a pair that is forbidden; integers have none.
__device__ inline double forbidden(double, bool maximize) {
    return maximize ? -infinity<double>() : infinity<double>();
}
__device__ inline float forbidden(float, bool maximize) { return static_cast<float>(forbidden(0.0, maximize)); }
__device__ inline float16 forbidden(float16, bool maximize) { return {maximize ? uint16(0xfc00) : uint16(0x7c00)}; }
__device__ inline bfloat16 forbidden(bfloat16, bool maximize) { return {maximize ? uint16(0xff80) : uint16(0x7f80)}; }
template <class T>
__device__ T forbidden(T c, bool) {
    return c;
}

// out[i, j] = the cost of row i and column j, but forbidden where it is above `most` (maximising: below).
extern "C" __global__ void __launch_bounds__(THREADS)
    forbid_large(const Cost* cost, int64 row_stride, int64 col_stride, int64 rows, int64 cols, int64 maximize,
                 double most, Cost* out) {
    for (int64 i = blockIdx.x; i < rows; i += gridDim.x) {
        for (int64 j = threadIdx.x; j < cols; j += kThreads) {
            const Cost c = cost[i * row_stride + j * col_stride];
            const auto x = static_cast<double>(widened(c));
            out[i * cols + j] = (maximize != 0 ? x < most : x > most) ? forbidden(c, maximize != 0) : c;
        }
    }
}
