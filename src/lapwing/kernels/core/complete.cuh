// Kernels that read single costs on the GPU. They complete the matching of an interrupted solve, and check a Hall
// violator. The program for a matrix on the host does not include them.
#pragma once
#include "core/problem.cuh"

// The cheapest free column that row i may have, or kNoRow if leaving the row unmatched costs no more. All threads of a
// block call it, and all get the result.
__device__ inline int32 cheapest_free(const State& state, int32 i) {
    const Matrix& matrix = state.matrix;
    Scratch& scratch = shared().scratch;
    Dual least = matrix.prices == nullptr ? infinity<Dual>() : matrix.prices[i];
    int32 nearest = kNoRow;
    const int32 places = matrix.costs.places(i, matrix.real_cols());
    for (int32 place = threadIdx.x; place < places; place += blockDim.x) {
        const int32 j = matrix.costs.col_of(i, place);
        if (__ldcg(state.col_to_row + j) >= 0) continue;
        const Dual cost = matrix.minimised(matrix.costs.at_place(i, place));
        if (cost < least) least = cost, nearest = j;
    }
    const uint64 best = best_in_block(scratch.keys, nearest == kNoRow ? kFar : ordered(least), true);
    const bool mine = best != kFar && nearest != kNoRow && ordered(least) == best;
    const uint64 col = best_in_block(scratch.keys, mine ? static_cast<uint64>(nearest) : kFar, true);
    return col == kFar ? kNoRow : static_cast<int32>(col);
}

// Matches rows that an interrupted solve left free. In each of a few rounds every free row bids for its cheapest free
// column, and the lowest row gets it. A cooperative launch.
extern "C" __global__ void __launch_bounds__(THREADS, 1) complete_most(LAPWING_PROBLEM) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const Team team{state, shared().control.counts, true, gridDim.x};
    for (uint32 round = 0; round < Tuning::complete_rounds; ++round) {
        team.each(state.matrix.real_cols(), [&](uint32 j) { state.parent_row[j] = kNoRow; });
        team.sync();
        for (int32 i = static_cast<int32>(blockIdx.x); i < state.matrix.rows; i += static_cast<int32>(gridDim.x)) {
            if (__ldcg(state.row_to_col + i) >= 0) continue;
            const int32 j = cheapest_free(state, i);
            if (threadIdx.x != 0) continue;
            __stcg(state.target[0] + i, j);
            if (j != kNoRow) atomicMin(state.parent_row + j, i);
        }
        team.sync();
        team.each(state.matrix.rows, [&](uint32 i) {
            if (__ldcg(state.row_to_col + i) >= 0) return;
            const int32 j = __ldcg(state.target[0] + i);
            if (j == kNoRow || __ldcg(state.parent_row + j) != static_cast<int32>(i)) return;
            __stcg(state.row_to_col + i, j);
            __stcg(state.col_to_row + j, static_cast<int32>(i));
        });
        team.sync();
    }
}
// Completes the remaining rows one after the other, for the case that many want the same column: `count` rows, from row
// `first` on. One block.
extern "C" __global__ void __launch_bounds__(THREADS) complete(LAPWING_PROBLEM, int64 first, int64 count) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    for (int64 row = first; row < first + count && row < rows; ++row) {
        const int32 i = static_cast<int32>(row);
        if (__ldcg(state.row_to_col + i) >= 0) continue;
        const int32 j = cheapest_free(state, i);
        if (threadIdx.x == 0 && j != kNoRow) {
            __stcg(state.row_to_col + i, j);
            __stcg(state.col_to_row + j, i);
        }
        __syncthreads();
    }
}
// Adds to `outside` the number of allowed pairs of rows marked in `of_rows` and columns not marked in `of_cols`,
// unmatched columns included. 0 proves the violator. One block per row.
extern "C" __global__ void __launch_bounds__(256)
    check_violator(LAPWING_PROBLEM, const uint8* of_rows, const uint8* of_cols, uint64* outside) {
    const Matrix& matrix = set_state(LAPWING_MATRIX, u, v, workspace).matrix;
    uint64 mine = 0;
    for (int64 i = blockIdx.x; i < rows; i += gridDim.x) {
        if (of_rows[i] == 0) continue;
        const int32 row = static_cast<int32>(i), places = matrix.places(row);
        for (int32 place = threadIdx.x; place < places; place += blockDim.x)
            mine += of_cols[matrix.col_of(row, place)] == 0 && matrix.at_place(row, place) < infinity<Dual>();
    }
    if (mine != 0) atomicAdd(outside, mine);
}
