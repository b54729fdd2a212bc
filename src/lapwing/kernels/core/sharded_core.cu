// The core method (core/core.cu) for a matrix in shards on several GPUs of one host (costs/sharded.cuh). Each GPU has a
// workspace of the whole problem. `solve` runs on the first GPU; a pass over the whole matrix (column_minima,
// lower_prices and list_rows) runs on every GPU, over its own rows, after copies of the prices. The lists of the others
// are copied to the first GPU, to the same places, some 270 bytes a row: so the solve is the same, to the last bit, as
// that of the matrix in one piece.
//
// While `solve` runs, it may order lists of many rows from the GPUs that have them (core/lists/owners.cuh).
//
//   join_reports   what the others' listings found                                          one block
//   take_prices    the first GPU's prices, at an order
//   list_ordered   the lists of ordered rows that this GPU has, to the first GPU
#include "costs/sharded.cuh"

#include "core/lists/owners.cuh"
#include "core/lists/pass.cuh"

#include "core/complete.cuh"
#include "core/solve.cuh"
#include "core/start/minima.cuh"
#include "core/ties.cuh"

// others: the reports of so many other GPUs, one behind the other.
extern "C" __global__ void __launch_bounds__(256) join_reports(LAPWING_PROBLEM, const Report* others, int64 count) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    for (int64 k = threadIdx.x; k < count; k += blockDim.x) {
        atomicMin(&state.report->invalid_row, others[k].invalid_row);
        atomicMin(&state.report->empty_row, others[k].empty_row);
    }
}

// from: the first GPU's v, read over the link; null where the kernel is only to be loaded.
extern "C" __global__ void __launch_bounds__(256) take_prices(LAPWING_PROBLEM, const Dual* from) {
    if (from == nullptr) return;
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    for (int64 j = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; j < cols; j += gridDim.x * blockDim.x) {
        v[j] = from[j];
        state.listing_price[j] = lowered(v[j]);
    }
}
// After take_prices. ordered [count]: rows of all GPUs; to_col, to_cost, to_tau: the first GPU's arrays.
extern "C" __global__ void __launch_bounds__(THREADS)
    list_ordered(LAPWING_PROBLEM, const int32* ordered, int64 count, int32* to_col, ListCost* to_cost, Dual* to_tau) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const Matrix matrix = LAPWING_MATRIX;
    for (int64 at = blockIdx.x; at < count; at += gridDim.x) {
        const int32 i = ordered[at];
        if (!matrix.costs.owns(i)) continue;
        make_list<true>(matrix, i);
        __syncthreads();
        const int64 list = static_cast<int64>(i) * Tuning::list_size;
        for (uint32 k = threadIdx.x; k < Tuning::list_size; k += blockDim.x) {
            to_col[list + k] = state.list_col[list + k];
            to_cost[list + k] = state.list_cost[list + k];
        }
        if (threadIdx.x == 0) to_tau[i] = state.tau[i];
        __syncthreads();
    }
}
