// The core method (core/core.cu) for a matrix in shards on several GPUs of one host (costs/sharded.cuh). Each GPU has a
// workspace of the whole problem. `solve` runs on the first GPU; a pass over the whole matrix (column_minima,
// lower_prices and list_rows) runs on every GPU, over its own rows, after copies of the prices. The lists of the others
// are copied to the first GPU, to the same places, some 270 bytes a row: so the solve is the same, to the last bit, as
// that of the matrix in one piece. While `solve` runs, the others list their rows again when it orders that.
//
//   serve          lists rows of this GPU again on orders, until the solve ends             one cooperative grid
//   join_reports   what the others' listings found                                          one block
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
