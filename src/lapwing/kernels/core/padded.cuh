// The answer of a problem whose last rows are padding, which makes it square (gpu/core/padded.py).
//
// Rows of padding cost 0 with every column. Let p be the greatest price: their dual is -p, and the columns that they
// hold, which stay free, have the price p. So u + p and v - p are feasible duals of the other rows: no v - p is above
// 0, and that of each free column is 0.
#pragma once
#include "core/problem.cuh"

// As `deliver` (core/solve.cuh), without the last `padding` rows.
extern "C" __global__ void __launch_bounds__(256)
    deliver_padded(LAPWING_PROBLEM, int64 always, int64 padding, int64* row_to_col, int64* col_to_row, Dual* picked,
                   Dual* given_u, Dual* given_v) {
    __shared__ uint64 greatest;
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    if (always == 0 && state.report->status != static_cast<int64>(SolveStatus::optimal)) return;
    if (threadIdx.x == 0) greatest = 0;
    __syncthreads();
    uint64 mine = 0;
    for (int64 j = threadIdx.x; j < cols; j += blockDim.x) {
        const uint64 key = ordered(v[j]);
        mine = key > mine ? key : mine;
    }
    mine = warp_reduce(mine, [](uint64 a, uint64 b) { return a > b ? a : b; });
    if (lane_index() == 0) atomicMax(&greatest, mine);
    __syncthreads();
    const Dual price = from_order<Dual>(greatest);
    const int64 real = rows - padding, first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    for (int64 i = first; i < real; i += step) {
        const int32 j = state.row_to_col[i];
        row_to_col[i] = j;
        picked[i] = j >= 0 ? Dual(widened(state.matrix.costs.at(static_cast<int32>(i), j))) : Dual(0);
        given_u[i] = maximize ? -(u[i] + price) : u[i] + price;
    }
    for (int64 j = first; j < cols; j += step) {
        const int32 i = state.col_to_row[j];
        col_to_row[j] = i < real ? i : kNone;
        given_v[j] = maximize ? -(v[j] - price) : v[j] - price;
    }
}
