// Row and column minima of a matrix less prices, of samples or the whole; included by core/start/start.cu and, for a
// matrix in shards, by core/start/sharded_start.cu: there every GPU takes the minima over its own rows.
#pragma once
#include "common/column_keys.cuh"
#include "core/start/sorted.cuh"
#include "core/tuning.cuh"

// Row or column `index` of a sample: of a list (gpu/core/stratified.py) or, where that is null, as a hash says.
__device__ inline int64 member(int64 index, int64 run, uint32 salt, const int32* list) {
    return list != nullptr ? list[index] : run == 1 ? index : sampled(index, run, salt);
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

// u[r] = min over c < cols of cost[r, c] - v[c], of row r of one sample and column c of another, from row `begin` to
// `end`. Infinite if all are forbidden. A warp takes several rows, so that it reads columns and v once for all of them.
extern "C" __global__ void __launch_bounds__(THREADS)
    row_bounds(const Costs::Data* cost, int64 row_stride, int64 maximize, int64 begin, int64 end, int64 row_run,
               int64 cols, int64 col_run, const int32* row_list, const int32* col_list, const Dual* v, Dual* u) {
    const Costs costs{cost, row_stride};
    const int64 warp = (static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x) / kWarp,
                warps = static_cast<int64>(gridDim.x) * kThreads / kWarp;
    for (int64 first = begin + warp * Tuning::bound_rows; first < end; first += warps * Tuning::bound_rows) {
        const Cost* row[Tuning::bound_rows];
        Dual least[Tuning::bound_rows];
#pragma unroll
        for (uint32 k = 0; k < Tuning::bound_rows; ++k) {  // past the end: the last one again
            row[k] = row_of(costs, member(first + k < end ? first + k : end - 1, row_run, kRowSalt, row_list));
            least[k] = infinity<Dual>();
        }
#pragma unroll 1
        for (int32 c = static_cast<int32>(lane_index()); c < cols; c += kWarp) {
            const int64 col = member(c, col_run, kColSalt, col_list);
            const Dual price = v[c];
#pragma unroll
            for (uint32 k = 0; k < Tuning::bound_rows; ++k) {
                const Dual x = minimised(row[k][col], maximize) - price;
                least[k] = x < least[k] ? x : least[k];
            }
        }
#pragma unroll
        for (uint32 k = 0; k < Tuning::bound_rows; ++k) {
            least[k] = warp_reduce(least[k], [](Dual a, Dual b) { return a < b ? a : b; });
            if (lane_index() == 0 && first + k < end) u[first + k] = least[k];
        }
    }
}

// v[c] = the least cost[r, c] - u[r] over the rows from `begin` to `end` of a sample of `size` (u null: zero), 0 if
// there is none; see common/column_keys.cuh. A block takes several times THREADS columns of every bands-th row.
extern "C" __global__ void __launch_bounds__(THREADS)
    column_bounds(const Costs::Data* cost, int64 row_stride, int64 maximize, int64 begin, int64 end, int64 size,
                  int64 run, int64 bands, const int32* row_list, const int32* col_list, const Dual* u, uint64* keys,
                  Dual* v) {
    const int64 chunk = blockIdx.x / bands, band = blockIdx.x % bands;
    const int64 first = chunk * Tuning::bound_cols * kThreads + threadIdx.x;
    // All these rows are in one shard.
    const Cost* const origin = Costs{cost, row_stride}.origin(member(begin, run, kRowSalt, row_list));
    const Cost* column[Tuning::bound_cols];
    Dual least[Tuning::bound_cols];
#pragma unroll
    for (uint32 k = 0; k < Tuning::bound_cols; ++k) {  // past the end: the last one again
        const int64 c = first + k * kThreads;
        column[k] = origin + member(c < size ? c : size - 1, run, kColSalt, col_list);
        least[k] = infinity<Dual>();
    }
#pragma unroll 4
    for (int64 r = begin + band; r < end; r += bands) {
        const Dual known = u ? u[r] : Dual(0), bound = known < infinity<Dual>() ? known : Dual(0);
        const int64 from = member(r, run, kRowSalt, row_list) * row_stride;
#pragma unroll
        for (uint32 k = 0; k < Tuning::bound_cols; ++k) {
            const Dual x = minimised(column[k][from], maximize) - bound;
            least[k] = x < least[k] ? x : least[k];
        }
    }
#pragma unroll
    for (uint32 k = 0; k < Tuning::bound_cols; ++k) {
        if (first + k * kThreads < size) lower_keys<1>(keys, first + k * kThreads, {least[k]});
    }
    if (!is_last_block(keys + size + chunk, bands)) return;
#pragma unroll
    for (uint32 k = 0; k < Tuning::bound_cols; ++k) {
        const int64 c = first + k * kThreads;
        if (c >= size) continue;
        const Dual bound = minimum_of(keys, c);
        v[c] = bound < infinity<Dual>() && bound > -infinity<Dual>() ? bound : Dual(0);
    }
}
