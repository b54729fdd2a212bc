// The core method on one GPU: candidate lists, epsilon phases by auction, shortest augmenting paths; see the files included.
//
//   prepare     the workspace                                    a grid of any size
//   list_rows   the list of every row under the prices v         256 threads a row
//   solve       all the rest, in one cooperative launch: u, v, row_to_col, and a Report
//
// All of it is deterministic: lists and prices depend on sets, maxima and minima alone, never on the order of threads.
#include "core_leader.cuh"

__device__ inline Matrix make_matrix(const Cost* cost, int64 row_stride, int64 rows, int64 cols, int64 maximize) {
    return {cost, row_stride, static_cast<int32>(rows), static_cast<int32>(cols), maximize != 0};
}
// All arrays of the state, the same for every thread of the block. All of them call it.
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

// cost: rows x cols elements, rows <= cols, rows `row_stride` elements apart; u: (rows,), v: (cols,), the prices to start from.
extern "C" __global__ void __launch_bounds__(256) prepare(const Cost* cost, int64 row_stride, int64 rows, int64 cols,
                                                          int64 maximize, Dual* u, Dual* v, unsigned char* workspace) {
    State& state = set_state(make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    if (first == 0) {
        state.barrier[0] = state.barrier[kLine] = 0;
        *state.counts = Counts{};
        *state.report = Report{};
        state.report->invalid_row = rows;
    }
    for (int64 j = first; j < cols; j += step) {
        state.distance[j] = kFar;
        state.stamp[j] = 0;
    }
    for (int64 i = first; i < rows; i += step) state.full_search[i] = 0;
}

extern "C" __global__ void __launch_bounds__(256)
    list_rows(const Cost* cost, int64 row_stride, int64 rows, int64 cols, int64 maximize, Dual* u, Dual* v,
              unsigned char* workspace) {
    State& state = set_state(make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    for (int64 i = blockIdx.x; i < rows; i += gridDim.x) {
        if (list_row<true>(static_cast<int32>(i)) && threadIdx.x == 0) {
            atomicMin(&state.report->invalid_row, i);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    solve(const Cost* cost, int64 row_stride, int64 rows, int64 cols, int64 maximize, Dual* u, Dual* v,
          unsigned char* workspace, double first_epsilon, double last_epsilon, double epsilon_factor,
          int64 phase_rounds, int64 most_left) {
    set_state(make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    if (threadIdx.x == 0) shared().desk.counts = Counts{};
    __syncthreads();
    if (blockIdx.x > 0) {
        serve();
    } else if (threadIdx.x >= kWarp) {
        assist();
    } else {
        const Epsilons epsilons = {first_epsilon, last_epsilon, epsilon_factor};
        Leader(epsilons, static_cast<uint32>(phase_rounds), static_cast<uint32>(most_left)).solve();
    }
}

// What the user gets: the column of each row and the row of each column, -1 where there is none; the duals in the user's
// sense; and for each row its matched cost, as it is given.
extern "C" __global__ void __launch_bounds__(256)
    deliver(const Cost* cost, int64 row_stride, int64 rows, int64 cols, int64 maximize, Dual* u, Dual* v,
            unsigned char* workspace, int64* row_to_col, int64* col_to_row, Dual* picked) {
    const State& state = set_state(make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    for (int64 i = first; i < rows; i += step) {
        const int32 j = state.row_to_col[i];
        row_to_col[i] = j;
        picked[i] = j >= 0 ? Dual(widened(state.matrix.row(i)[j])) : Dual(0);
        if (maximize) u[i] = -u[i];
    }
    for (int64 j = first; j < cols; j += step) {
        col_to_row[j] = state.col_to_row[j];
        if (maximize) v[j] = -v[j];
    }
}

// If there is no assignment: 1 for the rows that have too few columns, and for the columns that they have; 0 for the rest.
extern "C" __global__ void __launch_bounds__(256)
    violator(const Cost* cost, int64 row_stride, int64 rows, int64 cols, int64 maximize, Dual* u, Dual* v,
             unsigned char* workspace, uint8* of_rows, uint8* of_cols) {
    State& state = set_state(make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    for (int64 k = first; k < state.report->free_rows; k += step) of_rows[state.free_rows[k]] = 1;
    for (int64 j = first; j < cols; j += step) {
        if (state.distance[j] == kFar) continue;
        of_cols[j] = 1;
        of_rows[state.col_to_row[j]] = 1;
    }
}
