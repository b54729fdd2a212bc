// Costs of whole rows, read by warps of the whole grid: shared by the reference methods.
#pragma once
#include "core/state.cuh"
#include "reference/tuning.cuh"

namespace costs {

// A chunk is the part of a row that a warp reads at once: so many packs per lane.
constexpr uint32 kChunkPacks = CHUNK_BYTES / (kWarp * sizeof(Pack<Cost>));
constexpr int32 kPackCols = Pack<Cost>::size;
constexpr int32 kChunkCols = kChunkPacks * kWarp * kPackCols;

// --- the grid -----------------------------------------------------------------------------------------------------

__device__ inline uint32 grid_warp() { return threadIdx.x / kWarp * gridDim.x + blockIdx.x; }
__device__ inline uint32 grid_warps() { return gridDim.x * (blockDim.x / kWarp); }
__device__ inline uint32 grid_thread() { return grid_warp() * kWarp + lane_index(); }
__device__ inline uint32 grid_threads() { return gridDim.x * blockDim.x; }
__device__ inline bool is_first_thread() { return blockIdx.x == 0 && threadIdx.x == 0; }

// body(index) for each index below count, one thread of the grid each.
template <class Body>
__device__ void each_thread(uint32 count, Body body) {
#pragma unroll 1
    for (uint32 index = grid_thread(); index < count; index += grid_threads()) body(index);
}
// The same by whole warps; index may be count or more.
template <class Body>
__device__ void each_thread_converged(uint32 count, Body body) {
#pragma unroll 1
    for (uint32 index = grid_thread(); index - lane_index() < count; index += grid_threads()) body(index);
}
// The same, one warp each.
template <class Body>
__device__ void each_warp(uint64 count, Body body) {
#pragma unroll 1
    for (uint64 index = grid_warp(); index < count; index += grid_warps()) body(index);
}

// --- costs --------------------------------------------------------------------------------------------------------

// The given costs of columns j, j + 1, ... of a row; those past its end are not set.
__device__ inline void load_costs(const Matrix& matrix, const Cost* row, bool aligned, int32 j, Pack<Cost>& pack) {
    if (aligned && j + kPackCols <= matrix.real_cols()) {
        pack = load_pack(row + j);
        return;
    }
#pragma unroll
    for (int32 k = 0; k < kPackCols; ++k) {
        if (j + k < matrix.real_cols()) pack.values[k] = row[j + k];
    }
}

// Loads the numbers of a pack's columns from an array of `cols` numbers. No thread writes them before the next barrier
// of the grid.
template <int32 width>
__device__ inline void load_by_col(const Dual* from, int32 j, int32 cols, Dual (&to)[width]) {
    if (j + width <= cols) {
#pragma unroll
        for (int32 k = 0; k < width; k += 2) {
            const longlong2 two = __ldca(reinterpret_cast<const longlong2*>(from + j + k));
            memcpy(to + k, &two, sizeof two);
        }
        return;
    }
#pragma unroll
    for (int32 k = 0; k < width; ++k) to[k] = j + k < cols ? __ldca(from + j + k) : Dual(0);
}

// f(first column, minimised costs minus by_col) for the packs of row i from column `begin`, the start of a pack, to
// `end`, `step` columns apart. Several loads are in flight. Lanes differ only in `begin`, and call f together, also
// past `end`.
template <class F>
__device__ void for_packs(const Matrix& matrix, int32 i, int32 begin, int32 end, int32 step, const Dual* by_col, F f) {
    constexpr int32 ahead = 4;
    const Cost* row = matrix.costs.row(i);
    const bool aligned = matrix.costs.aligned();
    const int32 lane_begin = begin + static_cast<int32>(lane_index()) * kPackCols;
#pragma unroll 1
    for (int32 base = 0; begin + base < end; base += ahead * step) {
        Pack<Cost> pack[ahead];
#pragma unroll
        for (int32 a = 0; a < ahead; ++a) load_costs(matrix, row, aligned, lane_begin + base + a * step, pack[a]);
#pragma unroll
        for (int32 a = 0; a < ahead; ++a) {
            const int32 j = lane_begin + base + a * step;
            Dual reduced[kPackCols];
            if (by_col != nullptr) load_by_col(by_col, j, matrix.real_cols(), reduced);
#pragma unroll
            for (int32 k = 0; k < kPackCols; ++k) {
                const Dual cost = matrix.minimised(pack[a].values[k]);
                reduced[k] = by_col != nullptr ? cost - reduced[k] : cost;
            }
            f(j, reduced);
        }
    }
}
// The same column by column, for a chunk of a row: f(j, cost minus by_col), by all lanes together; past the end j is
// -1.
template <class F>
__device__ void for_chunk_converged(const Matrix& matrix, int32 i, int32 chunk, const Dual* by_col, F f) {
    const int32 first = chunk * kChunkCols, last = first + kChunkCols, cols = matrix.real_cols();
    for_packs(matrix, i, first, last < cols ? last : cols, kWarp * kPackCols, by_col,
              [&](int32 j, const Dual(&reduced)[kPackCols]) {
#pragma unroll
                  for (int32 k = 0; k < kPackCols; ++k) f(j + k < cols ? j + k : kNone, reduced[k]);
              });
}
// The same where f needs no other lane.
template <class F>
__device__ void for_chunk(const Matrix& matrix, int32 i, int32 chunk, const Dual* by_col, F f) {
    for_chunk_converged(matrix, i, chunk, by_col, [&](int32 j, Dual reduced) {
        if (j >= 0) f(j, reduced);
    });
}
__device__ inline int32 chunks_of(const Matrix& matrix) { return (matrix.real_cols() + kChunkCols - 1) / kChunkCols; }

// Whether row i may stay free, at its price.
__device__ inline bool has_unmatched_column(const Matrix& matrix, int32 i) {
    return matrix.prices != nullptr && matrix.prices[i] < infinity<Dual>();
}
// No pair, or a pair with a column of the forest (whose v is -infinity).
__device__ inline bool is_far(Dual slack) { return !(slack < infinity<Dual>() / 2); }

// The sum of x(k) for k < count, by one block; the result is in every thread.
template <class X>
__device__ double sum_in_block(uint32 count, X x) {
    __shared__ double sums[kMostBlocks / kWarp];
    double mine = 0;
    for (uint32 k = threadIdx.x; k < count; k += blockDim.x) mine += x(k);
    mine = warp_reduce(mine, [](double a, double b) { return a + b; });
    __syncthreads();
    if (lane_index() == 0) sums[threadIdx.x / kWarp] = mine;
    __syncthreads();
    mine = 0;
    for (uint32 w = 0; w < blockDim.x / kWarp; ++w) mine += sums[w];
    __syncthreads();
    return mine;
}

}  // namespace costs
