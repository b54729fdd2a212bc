// The costs of a matrix below a cap, as the entries of sparse costs (costs/sparse.cuh); see gpu/core/capped.py. The
// matrix is read twice, once by each kernel; a warp takes a row.
#pragma once
#include "core/start/sorted.cuh"

// Calls f(j, cost as minimised) for 32 columns of a row at a time, by all lanes; beyond the row: with the cap.
template <class F>
__device__ void each_cost(const Cost* row, int64 col_stride, int64 cols, int64 maximize, Dual cap, F f) {
    for (int64 base = 0; base < cols; base += 8 * kWarp) {
        Cost c[8];
#pragma unroll
        for (int64 k = 0; k < 8; ++k) {
            const int64 j = base + k * kWarp + lane_index();
            if (j < cols) c[k] = row[j * col_stride];
        }
#pragma unroll
        for (int64 k = 0; k < 8; ++k) {
            const int64 j = base + k * kWarp + lane_index();
            f(j, j < cols ? minimised(c[k], maximize) : cap, c[k]);
        }
    }
}

// counts: [rows], how many costs of the row are below the cap. unfit[0] becomes 1 if some cost is above it, NaN, or
// minus infinity.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_below(const Cost* cost, int64 row_stride, int64 col_stride, int64 rows, int64 cols, int64 maximize, Dual cap,
                uint32* counts, uint64* unfit) {
    const int64 warp = (static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x) / kWarp,
                warps = static_cast<int64>(gridDim.x) * kThreads / kWarp;
    for (int64 i = warp; i < rows; i += warps) {
        uint32 below = 0;
        bool is_unfit = false;
        each_cost(cost + i * row_stride, col_stride, cols, maximize, cap, [&](int64, Dual x, Cost) {
            below += x < cap;
            is_unfit |= !(x <= cap && x > -infinity<Dual>());
        });
        below = warp_sum(below);
        if (lane_index() == 0) counts[i] = below;
        if (__any_sync(kAllLanes, is_unfit) && lane_index() == 0) atomicExch(unfit, 1ull);
    }
}

// Row i gets its columns and costs below the cap, columns rising, from entry ends[i] on.
extern "C" __global__ void __launch_bounds__(THREADS)
    keep_below(const Cost* cost, int64 row_stride, int64 col_stride, int64 rows, int64 cols, int64 maximize, Dual cap,
               const int64* ends, int32* col, Cost* kept) {
    const int64 warp = (static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x) / kWarp,
                warps = static_cast<int64>(gridDim.x) * kThreads / kWarp;
    const uint32 before = (1u << lane_index()) - 1;
    for (int64 i = warp; i < rows; i += warps) {
        int64 at = ends[i];
        each_cost(cost + i * row_stride, col_stride, cols, maximize, cap, [&](int64 j, Dual x, Cost c) {
            const uint32 below = __ballot_sync(kAllLanes, x < cap);
            if (x < cap) {
                const int64 place = at + __popc(below & before);
                col[place] = static_cast<int32>(j);
                kept[place] = c;
            }
            at += __popc(below);
        });
    }
}
