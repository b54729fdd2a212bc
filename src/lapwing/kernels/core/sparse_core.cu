// The core method (core/core.cu) for sparse costs. The list of a short row is the row itself (core/lists/sparse.cuh).
//
//   column_minima   keys of the least cost of every column's entries                    a grid of any size
//   take_minima     v from these keys                                               a grid of any size
//   list_rows       the list of every short row under the prices v; notes the long rows      a warp a row
//   list_long_rows  the lists of the long rows                                      a block a row
//   pair_free       of capped costs, after `deliver`: free rows and free columns in pairs      one block
#include "core/lists/sparse.cuh"

#include "core/complete.cuh"
#include "core/solve.cuh"
#include "core/ties.cuh"

extern "C" __global__ void __launch_bounds__(256) column_minima(LAPWING_PROBLEM, uint64* keys) {
    const Matrix matrix = LAPWING_MATRIX;
    const int64 entries = costs->ends[rows];
    for (int64 k = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; k < entries;
         k += gridDim.x * blockDim.x) {
        const Dual cost = matrix.minimised(costs->cost[k]);
        if (!(cost < infinity<Dual>() && cost > -infinity<Dual>())) continue;
        const uint64 key = ordered(cost);
        uint64* const least = keys + costs->col[k];
        if (key < __ldcg(least)) atomicMin(least, key);
    }
}
// For a square problem, in which a column without entries leaves some row without a column.
extern "C" __global__ void __launch_bounds__(256) take_minima(LAPWING_PROBLEM, const uint64* keys) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    for (int64 j = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; j < cols; j += gridDim.x * blockDim.x) {
        const uint64 key = keys[j];
        v[j] = key == ~0ull ? Dual(0) : from_order<Dual>(key);
        if (key == ~0ull) atomicMin(&state.report->empty_row, int64(0));
    }
}

// Notes long rows in refresh_rows.
extern "C" __global__ void __launch_bounds__(256) list_rows(LAPWING_PROBLEM) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const int64 warp = (static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp,
                warps = static_cast<int64>(gridDim.x) * blockDim.x / kWarp;
    for (int64 row = warp; row < rows; row += warps) {
        const int32 i = static_cast<int32>(row);
        if (is_long(state.matrix, i)) {
            if (lane_index() == 0) state.refresh_rows[atomicAdd(&state.counts->listed, 1u)] = i;
            continue;
        }
        const Listed listed = list_short_row(state, i);
        if (lane_index() != 0) continue;
        if (listed.invalid) atomicMin(&state.report->invalid_row, row);
        if (listed.empty) atomicMin(&state.report->empty_row, row);
    }
}
extern "C" __global__ void __launch_bounds__(THREADS) list_long_rows(LAPWING_PROBLEM) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const uint32 count = state.counts->listed;
    for (uint32 at = blockIdx.x; at < count; at += gridDim.x) {
        const int32 i = state.refresh_rows[at];
        const bool invalid = list_long_row(i);
        if (threadIdx.x == 0) note_listed(state, i, invalid);
    }
}

// Threads of a block: where each of those that have `mine` goes in a list that has `count`, in order. All call it.
__device__ inline uint32 place_in_list(bool mine, uint32& count) {
    __shared__ uint32 of_warp[kMostBlockWarps];
    const uint32 ballot = __ballot_sync(kAllLanes, mine), warp = threadIdx.x / kWarp;
    if (lane_index() == 0) of_warp[warp] = __popc(ballot);
    __syncthreads();
    uint32 place = count + __popc(ballot & ((1u << lane_index()) - 1));
    for (uint32 w = 0; w < blockDim.x / kWarp; ++w) {
        if (w < warp) place += of_warp[w];
        count += of_warp[w];
    }
    __syncthreads();
    return place;
}

// Costs capped at `cap` were solved without the pairs at the cap (gpu/core/capped.py). Rows that stay free at the cap
// get free columns, both in order, if the solve came to its end.
extern "C" __global__ void __launch_bounds__(256)
    pair_free(LAPWING_PROBLEM, Dual cap, int64* row_to_col, int64* col_to_row) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    if (state.report->status != static_cast<int64>(SolveStatus::optimal)) return;
    uint32 free_rows = 0, free_cols = 0;
    for (int64 base = 0; base < rows; base += blockDim.x) {
        const int64 i = base + threadIdx.x;
        const bool is_free = i < rows && row_to_col[i] == kNone && prices[i] == cap;
        const uint32 place = place_in_list(is_free, free_rows);
        if (is_free) state.target[0][place] = static_cast<int32>(i);
    }
    for (int64 base = 0; base < state.matrix.real_cols() && free_cols < free_rows; base += blockDim.x) {
        const int64 j = base + threadIdx.x;
        const bool is_free = j < state.matrix.real_cols() && col_to_row[j] == kNone;
        const uint32 place = place_in_list(is_free, free_cols);
        if (!is_free || place >= free_rows) continue;
        const int32 i = state.target[0][place];
        row_to_col[i] = j;
        col_to_row[j] = i;
    }
}
