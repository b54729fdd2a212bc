// The answer of a problem that padding made square (gpu/core/padded.py).
//
// Rows of padding, the last ones, cost 0 with every column. Let p be the greatest price: their dual is -p, and the
// columns that they hold, which stay free, have the price p. So u + p and v - p are feasible duals of the other rows:
// no v - p is above 0, and that of each free column is 0.
//
// The last columns may be exits: there row i stays free, at unmatched[i]. They are so many that a row of padding has
// one. So their v - p is 0, and no u + p is above the price.
#pragma once
#include "core/problem.cuh"

// As `deliver` (core/solve.cuh), without the last `padding` rows and the last `exits` columns.
extern "C" __global__ void __launch_bounds__(256)
    deliver_padded(LAPWING_PROBLEM, int64 always, int64 padding, int64 exits, const Dual* unmatched, int64* row_to_col,
                   int64* col_to_row, Dual* picked, Dual* given_u, Dual* given_v) {
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
    const int64 real_rows = rows - padding, real_cols = cols - exits,
                first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    for (int64 i = first; i < real_rows; i += step) {
        const int32 j = state.row_to_col[i];
        const bool matched = j >= 0 && j < real_cols, leaves = exits > 0 && !matched;
        Dual dual = u[i] + price;
        if (exits > 0 && (leaves || dual > unmatched[i])) dual = unmatched[i];  // to the last digit
        row_to_col[i] = matched ? j : kNone;
        picked[i] = matched  ? Dual(widened(state.matrix.costs.at(static_cast<int32>(i), j)))
                    : leaves ? (maximize ? -dual : dual)
                             : Dual(0);
        given_u[i] = maximize ? -dual : dual;
    }
    for (int64 j = first; j < real_cols; j += step) {
        const int32 i = state.col_to_row[j];
        col_to_row[j] = i < real_rows ? i : kNone;
        given_v[j] = maximize ? -(v[j] - price) : v[j] - price;
    }
}
