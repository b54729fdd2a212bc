// Row caches of a matrix that stays on the host (costs/host_rows.cuh), filled when a row is on the GPU; and requests
// for rows.
//
// A row cache holds the columns with the smallest cost - v: all below some value and, of those with exactly that value,
// as many as fit, beginning at a column that differs from row to row. The value is found digit by digit, in base 256,
// by counting. Any value that fills at least half of the cache suffices. The least value left out is the cache's bound.
//
// A process that has other rows makes the caches of those in the same way, and sends them as records.
//
// Cost: three to nine reads of the row and of v by a block, far less than its transfer from the host.
#pragma once
#include "costs/host_rows.cuh"

#include "core/lists/ties.cuh"
#include "core/shared.cuh"

// Puts row i, which begins at `row`, into row cache number `place` under the present prices. All threads of a block
// call it. True if a cost of the row is invalid.
LAPWING_NOINLINE __device__ bool cache_row(int32 i, const Cost* row, int64 place) {
    const State& state = shared().state;
    RowCacheScratch& scratch = shared().scratch.row_cache;
    const Matrix& matrix = state.matrix;
    const Costs::Data& data = *matrix.costs.data;
    const int32 cols = matrix.real_cols();
    const uint32 depth = static_cast<uint32>(data.depth);
    uint64 chosen = 0;    // the value, in order (common/numbers.cuh)
    uint32 room = depth;  // places for columns that have it
    bool invalid = false, all = false;
    for (int32 shift = 56; shift >= 0 && !all && room > depth / 2; shift -= 8) {
        __syncthreads();
        for (uint32 k = threadIdx.x; k < 256; k += blockDim.x) scratch.counts[k] = 0;
        __syncthreads();
        for (int32 j = threadIdx.x; j < cols; j += blockDim.x) {
            const Dual cost = matrix.minimised(row[j]), x = cost - __ldcg(state.v + j);
            invalid |= !matrix.valid(cost);
            const uint64 value = ordered(x);
            const bool counts = shift == 56 || value >> (shift + 8) == chosen >> (shift + 8);
            if (counts && x < infinity<Dual>()) atomicAdd(scratch.counts + (value >> shift & 255), 1u);
        }
        __syncthreads();
        uint32 digit = 0, below = 0;
        while (digit < 256 && below + scratch.counts[digit] <= room) below += scratch.counts[digit++];
        all = digit == 256;  // only in the first turn: later there are too many
        room -= below;
        chosen |= static_cast<uint64>(digit & 255) << shift;
    }
    __syncthreads();
    if (threadIdx.x == 0) scratch.kept = scratch.tied = 0;
    __syncthreads();
    const int64 cached = place * data.depth;
    const int32 first = first_tie(matrix, i) % cols;
    const uint32 warp = threadIdx.x / kWarp;
    uint64 left = kFar;  // the least of what is left out
    for (int32 base = 0; base < cols; base += blockDim.x) {
        const int32 order = base + static_cast<int32>(threadIdx.x);
        const bool there = order < cols;
        const int32 j = !there ? 0 : order < cols - first ? order + first : order + first - cols;
        const Cost cost = row[j];
        const Dual x = matrix.minimised(cost) - __ldcg(state.v + j);
        const uint64 value = ordered(x);
        const bool usable = there && x < infinity<Dual>(), tie = usable && !all && value == chosen;
        const uint32 ties = __ballot_sync(kAllLanes, tie);
        if (lane_index() == 0) scratch.ahead[warp] = __popc(ties);
        __syncthreads();
        uint32 before = scratch.tied + __popc(ties & ((1u << lane_index()) - 1)), together = 0;
        for (uint32 w = 0; w < blockDim.x / kWarp; ++w) {
            if (w < warp) before += scratch.ahead[w];
            together += scratch.ahead[w];
        }
        __syncthreads();
        if (threadIdx.x == 0) scratch.tied += together;
        if (usable && (all || value < chosen || (tie && before < room))) {
            const int64 at = cached + atomicAdd(&scratch.kept, 1u);
            data.cached_col[at] = j;
            data.cached_cost[at] = cost;
        } else if (usable) {
            left = value < left ? value : left;
        }
    }
    left = best_in_block(shared().scratch.keys, left, true);
    if (threadIdx.x == 0) {
        data.cached_count[place] = static_cast<int32>(scratch.kept);
        data.cached_bound[place] = left == kFar ? infinity<Dual>() : from_order<Dual>(left);
    }
    return __syncthreads_or(invalid);
}

// Makes a record that came the row cache of row i. All threads of a block call it.
__device__ inline void adopt_cache(const Costs::Data& data, int32 i, const CacheRecord* record) {
    const int32 count = static_cast<int32>(record->count);
    const int32* cols = reinterpret_cast<const int32*>(record + 1);
    const Cost* costs = reinterpret_cast<const Cost*>(cols + (data.depth + 1) / 2 * 2);
    const int64 cached = i * data.depth;
    for (int32 k = threadIdx.x; k < count; k += blockDim.x) {
        data.cached_col[cached + k] = cols[k];
        data.cached_cost[cached + k] = costs[k];
    }
    if (threadIdx.x == 0) {
        data.cached_count[i] = count;
        data.cached_bound[i] = record->bound;
    }
    __syncthreads();
}
