// A square copy of a matrix (gpu/core/padded.py); included by core/start/start.cu.
#pragma once
#include "core/start/sorted.cuh"

// out: [size, size]. The costs of the matrix; beside them, in row i, exits[i]; below them, zero.
template <class To>
__device__ void square(const Cost* cost, int64 row_stride, int64 rows, int64 cols, int64 size, const To* exits,
                       To* out) {
    const auto converted = [](Cost c) {
        if constexpr (sizeof(To) == sizeof(Cost))
            return c;
        else
            return To(widened(c));
    };
    for (int64 i = blockIdx.x; i < size; i += gridDim.x) {
        const bool is_real = i < rows;
        const To exit = is_real && cols < size ? exits[i] : To{};
        for (int64 j = threadIdx.x; j < size; j += kThreads)
            out[i * size + j] = is_real && j < cols ? converted(cost[i * row_stride + j]) : exit;
    }
}
extern "C" __global__ void __launch_bounds__(THREADS)
    make_square(const Cost* cost, int64 row_stride, int64 rows, int64 cols, int64 size, const Cost* exits, Cost* out) {
    square(cost, row_stride, rows, cols, size, exits, out);
}
// The same in the type of duals, for exits that the type of the costs cannot hold.
extern "C" __global__ void __launch_bounds__(THREADS)
    make_wide_square(const Cost* cost, int64 row_stride, int64 rows, int64 cols, int64 size, const Dual* exits,
                     Dual* out) {
    square(cost, row_stride, rows, cols, size, exits, out);
}
