// Row and column minima of a matrix less prices, of samples or the whole; included by core/start/start.cu.
#pragma once
#include "common/column_keys.cuh"
#include "core/start/sorted.cuh"
#include "costs/matrix.cuh"

// Row or column `index` of a sample: of a list (gpu/core/stratified.py) or, where that is null, as a hash says.
__device__ inline int64 member(int64 index, int64 run, uint32 salt, const int32* list) {
    return list == nullptr ? sampled(index, run, salt) : list[index];
}

// out[r, c] = the cost of row r and column c of the sample. A block for each of `rows`, or several.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const Cost* cost, int64 row_stride, int64 col_stride, int64 rows, int64 cols, int64 run,
           const int32* row_list, const int32* col_list, Cost* out) {
    for (int64 r = blockIdx.x; r < rows; r += gridDim.x) {
        const Cost* row = cost + member(r, run, kRowSalt, row_list) * row_stride;
        for (int64 c = threadIdx.x; c < cols; c += kThreads)
            out[r * cols + c] = row[member(c, run, kColSalt, col_list) * col_stride];
    }
}

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

// u[r] = min over c < cols of cost[r, c] - v[c], of row r of one sample and column c of another; a warp a row. Infinite
// if all are forbidden.
extern "C" __global__ void __launch_bounds__(THREADS)
    row_bounds(const Cost* cost, int64 row_stride, int64 maximize, int64 rows, int64 row_run, int64 cols, int64 col_run,
               const int32* row_list, const int32* col_list, const Dual* v, Dual* u) {
    const int64 warp = (static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x) / kWarp,
                warps = static_cast<int64>(gridDim.x) * kThreads / kWarp;
    for (int64 r = warp; r < rows; r += warps) {
        const Cost* row = cost + member(r, row_run, kRowSalt, row_list) * row_stride;
        Dual least = infinity<Dual>();
#pragma unroll 8
        for (int64 c = lane_index(); c < cols; c += kWarp) {
            const Dual x = minimised(row[member(c, col_run, kColSalt, col_list)], maximize) - v[c];
            least = x < least ? x : least;
        }
        least = warp_reduce(least, [](Dual a, Dual b) { return a < b ? a : b; });
        if (lane_index() == 0) u[r] = least;
    }
}

// v[c] = the least cost[r, c] - u[r] over the rows of a sample of `size` (u null: zero), 0 if there is none; see
// common/column_keys.cuh. A block takes THREADS columns of every bands-th row.
extern "C" __global__ void __launch_bounds__(THREADS)
    column_bounds(const Cost* cost, int64 row_stride, int64 maximize, int64 size, int64 run, int64 bands,
                  const int32* row_list, const int32* col_list, const Dual* u, uint64* keys, Dual* v) {
    const int64 chunk = blockIdx.x / bands, band = blockIdx.x % bands;
    const int64 c = chunk * kThreads + threadIdx.x;
    const Cost* column = cost + member(c < size ? c : size - 1, run, kColSalt, col_list);
    Dual least = infinity<Dual>();
#pragma unroll 8
    for (int64 r = band; r < size; r += bands) {
        const Dual bound = u ? u[r] : Dual(0);
        const Dual x = minimised(column[member(r, run, kRowSalt, row_list) * row_stride], maximize) -
                       (bound < infinity<Dual>() ? bound : Dual(0));
        least = x < least ? x : least;
    }
    lower_keys<1, kThreads>(keys, c, size, {least}, chunk, bands, [&](int64 at, Dual bound) {
        v[at] = bound < infinity<Dual>() && bound > -infinity<Dual>() ? bound : Dual(0);
    });
}
