// The problem and the workspace, which are the first arguments of every kernel of the core, and the function that sets
// up the state in a block's shared memory.
#pragma once
#include "core/shared.cuh"

__device__ inline Matrix make_matrix(const Costs::Data* costs, int64 pitch, int64 rows, int64 cols, int64 maximize,
                                     const Dual* prices) {
    return {{costs, pitch}, static_cast<int32>(rows), static_cast<int32>(cols), maximize != 0, prices};
}
// Sets up all arrays of the state, the same for every thread of the block. All threads of the block call it.
__device__ inline State& set_state(Matrix matrix, Dual* u, Dual* v, unsigned char* workspace) {
    State& state = shared().state;
    if (threadIdx.x == 0) {
        state.matrix = matrix;
        state.u = u;
        state.v = v;
        state.carve(workspace);
    }
    __syncthreads();
    return state;
}

// costs: the address of the costs (costs/costs.cuh). rows <= cols, where cols includes the unmatched columns if there
// are `prices` (struct Matrix). u: (rows,). v: (cols,), the starting prices.
#define LAPWING_PROBLEM                                                                                         \
    const Costs::Data *costs, int64 pitch, int64 rows, int64 cols, int64 maximize, const Dual *prices, Dual *u, \
        Dual *v, unsigned char *workspace
#define LAPWING_MATRIX make_matrix(costs, pitch, rows, cols, maximize, prices)

__device__ inline void note_listed(const State& state, int64 i, bool invalid) {
    if (invalid) atomicMin(&state.report->invalid_row, i);
    if (state.list_col[i * Tuning::list_size] == kNone) atomicMin(&state.report->empty_row, i);
}
