// The pass that lists every row of a matrix in memory, in one piece or in shards.
#pragma once
#include "core/lists/matrix.cuh"
#include "core/problem.cuh"

// Runs before every listing, when prices are set. column_minima includes this step.
extern "C" __global__ void __launch_bounds__(256) lower_prices(LAPWING_PROBLEM) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    for (int64 j = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; j < cols; j += gridDim.x * blockDim.x)
        state.listing_price[j] = lowered(v[j]);
}
// The lists of the rows that this GPU has. Each block takes the next row when it has finished one. The last rows come
// first: column_minima ended with them, and the certificate begins with the first rows, so each pass finds a part of
// the matrix in L2.
extern "C" __global__ void __launch_bounds__(256, 4) list_rows(LAPWING_PROBLEM) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const Matrix matrix = LAPWING_MATRIX;
    ListScratch& scratch = shared().scratch.list;
    const int32 end = matrix.costs.own_end(matrix.rows), count = end - matrix.costs.own_first();
    for (int32 turn = static_cast<int32>(blockIdx.x); turn < count; turn = scratch.next_turn) {
        const uint32 taken = threadIdx.x == 0 ? atomicAdd(&state.counts->listed, 1u) : 0;
        const int32 i = end - 1 - turn;
        bool invalid = make_list<true>(matrix, i);
        if (threadIdx.x == 0) scratch.next_turn = static_cast<int32>(gridDim.x + taken);
        invalid = __syncthreads_or(invalid);
        if (threadIdx.x == 0) {
            if (invalid) atomicMin(&state.report->invalid_row, static_cast<int64>(i));
            if (scratch.below == 0) atomicMin(&state.report->empty_row, static_cast<int64>(i));
        }
    }
}
