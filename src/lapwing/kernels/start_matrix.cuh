// Row and column minima of a matrix, of samples or the whole; included by core_start.cu.
#pragma once
#include "costs.cuh"

// out[r, c] = the cost of row r and column c of the sample. A block for each of `rows`, or several.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const Cost* cost, int64 row_stride, int64 col_stride, int64 rows, int64 cols, int64 run, Cost* out) {
    for (int64 r = blockIdx.x; r < rows; r += gridDim.x) {
        const Cost* row = cost + sampled_row(r, run) * row_stride;
        for (int64 c = threadIdx.x; c < cols; c += kThreads) out[r * cols + c] = row[sampled_col(c, run) * col_stride];
    }
}

// u[r] = min over c < cols of cost[r, c] - v[c], of row r of one sample and column c of another; a warp a row. Infinite if
// all are forbidden.
extern "C" __global__ void __launch_bounds__(THREADS)
    row_bounds(const Cost* cost, int64 row_stride, int64 maximize, int64 rows, int64 row_run, int64 cols, int64 col_run,
               const Dual* v, Dual* u) {
    const int64 warp = (static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x) / kWarp,
                warps = static_cast<int64>(gridDim.x) * kThreads / kWarp;
    for (int64 r = warp; r < rows; r += warps) {
        const Cost* row = cost + sampled_row(r, row_run) * row_stride;
        Dual least = infinity<Dual>();
#pragma unroll 8
        for (int64 c = lane_index(); c < cols; c += kWarp) {
            const Dual x = minimised(row[sampled_col(c, col_run)], maximize) - v[c];
            least = x < least ? x : least;
        }
        least = warp_reduce(least, [](Dual a, Dual b) { return a < b ? a : b; });
        if (lane_index() == 0) u[r] = least;
    }
}

// Lowers a column's key, the order of the least bound yet (common.cuh), to that of `least`; when all `bands` blocks of these
// THREADS columns have done so, the last of them sets v: 0 for columns that nobody may have. All threads of a block call it, those
// without a column with c >= size. `keys` [size], and a count of blocks for every THREADS columns, begin as all ones.
__device__ inline void lower_price(uint64* keys, int64 c, int64 size, Dual least, int64 bands, Dual* v) {
    __shared__ bool last;
    if (c < size) atomicMin(keys + c, ordered(least));
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint64 others = atomicAdd(keys + size + c / kThreads, 1ull) + 1;
        last = others == static_cast<uint64>(bands - 1);
        __threadfence();
    }
    __syncthreads();
    if (!last || c >= size) return;
    const Dual bound = from_order<Dual>(__ldcg(keys + c));
    v[c] = bound < infinity<Dual>() && bound > -infinity<Dual>() ? bound : Dual(0);
}

// v[c] = the least cost[r, c] - u[r] over the rows of a sample of `size` (u null: zero); see lower_price for `keys`. A block takes
// THREADS columns of every bands-th row.
extern "C" __global__ void __launch_bounds__(THREADS)
    column_bounds(const Cost* cost, int64 row_stride, int64 maximize, int64 size, int64 run, int64 bands, const Dual* u,
                  uint64* keys, Dual* v) {
    const int64 chunk = blockIdx.x / bands, band = blockIdx.x % bands;
    const int64 c = chunk * kThreads + threadIdx.x;
    const Cost* column = cost + sampled_col(c < size ? c : size - 1, run);
    Dual least = infinity<Dual>();
#pragma unroll 8
    for (int64 r = band; r < size; r += bands) {
        const Dual bound = u ? u[r] : Dual(0);
        const Dual x = minimised(column[sampled_row(r, run) * row_stride], maximize) -
                       (bound < infinity<Dual>() ? bound : Dual(0));
        least = x < least ? x : least;
    }
    lower_price(keys, c, size, least, bands, v);
}
