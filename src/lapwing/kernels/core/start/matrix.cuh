// Row and column minima of a matrix less prices, of samples or the whole; included by core/start/start.cu and, for a
// matrix in shards, by core/start/sharded_start.cu: there every GPU takes the minima over its own rows.
#pragma once
#include "common/column_keys.cuh"
#include "core/start/sorted.cuh"

// Row or column `index` of a sample: of a list (gpu/core/stratified.py) or, where that is null, as a hash says.
__device__ inline int64 member(int64 index, int64 run, uint32 salt, const int32* list) {
    return list == nullptr ? sampled(index, run, salt) : list[index];
}

__device__ inline const Cost* row_of(const Costs& costs, int64 i) { return costs.origin(i) + i * costs.pitch; }

// out[r, c] = the cost of row r and column c of the sample. A block for each of `rows`, or several.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const Costs::Data* cost, int64 row_stride, int64 col_stride, int64 rows, int64 cols, int64 run,
           const int32* row_list, const int32* col_list, Cost* out) {
    for (int64 r = blockIdx.x; r < rows; r += gridDim.x) {
        const Cost* row = row_of(Costs{cost, row_stride}, member(r, run, kRowSalt, row_list));
        for (int64 c = threadIdx.x; c < cols; c += kThreads)
            out[r * cols + c] = row[member(c, run, kColSalt, col_list) * col_stride];
    }
}

// u[r] = min over c < cols of cost[r, c] - v[c], of row r of one sample and column c of another; a warp a row, from row
// `begin` to `end`. Infinite if all are forbidden.
extern "C" __global__ void __launch_bounds__(THREADS)
    row_bounds(const Costs::Data* cost, int64 row_stride, int64 maximize, int64 begin, int64 end, int64 row_run,
               int64 cols, int64 col_run, const int32* row_list, const int32* col_list, const Dual* v, Dual* u) {
    const int64 warp = (static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x) / kWarp,
                warps = static_cast<int64>(gridDim.x) * kThreads / kWarp;
    for (int64 r = begin + warp; r < end; r += warps) {
        const Cost* row = row_of(Costs{cost, row_stride}, member(r, row_run, kRowSalt, row_list));
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

// v[c] = the least cost[r, c] - u[r] over the rows from `begin` to `end` of a sample of `size` (u null: zero), 0 if
// there is none; see common/column_keys.cuh. A block takes THREADS columns of every bands-th row.
extern "C" __global__ void __launch_bounds__(THREADS)
    column_bounds(const Costs::Data* cost, int64 row_stride, int64 maximize, int64 begin, int64 end, int64 size,
                  int64 run, int64 bands, const int32* row_list, const int32* col_list, const Dual* u, uint64* keys,
                  Dual* v) {
    const int64 chunk = blockIdx.x / bands, band = blockIdx.x % bands;
    const int64 c = chunk * kThreads + threadIdx.x;
    const Costs costs{cost, row_stride};
    // All these rows are in one shard.
    const Cost* column =
        costs.origin(member(begin, run, kRowSalt, row_list)) + member(c < size ? c : size - 1, run, kColSalt, col_list);
    Dual least = infinity<Dual>();
#pragma unroll 8
    for (int64 r = begin + band; r < end; r += bands) {
        const Dual bound = u ? u[r] : Dual(0);
        const Dual x = minimised(column[member(r, run, kRowSalt, row_list) * row_stride], maximize) -
                       (bound < infinity<Dual>() ? bound : Dual(0));
        least = x < least ? x : least;
    }
    if (c < size) lower_keys<1>(keys, c, {least});
    if (!is_last_block(keys + size + chunk, bands) || c >= size) return;
    const Dual bound = minimum_of(keys, c);
    v[c] = bound < infinity<Dual>() && bound > -infinity<Dual>() ? bound : Dual(0);
}
