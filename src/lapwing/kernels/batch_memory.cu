// A block a problem (batch_block.cuh), its matrix in global memory, where L2 keeps it: to 4096 columns.
// COST is the type that costs are kept as: float32, float64, int32 or int64. Dynamic shared memory: what the state takes
// (gpu/batch.py's state_bytes).
#include "batch_answer.cuh"

struct GlobalMatrix {
    const Stored* costs;
    int64 pitch;
    __device__ const Stored* row(int32 i) const { return costs + i * pitch; }
};

// `staged`: the problems as solved, batch.rows * batch.cols apart, each with its own number of columns as pitch; or null
// if the costs can be used as they lie: Cost is Stored, minimised, with neighbours in a row as solved side by side.
template <int32 K>
__device__ void solve_block_in_memory(const Batch& batch, const Stored* staged) {
    LAPWING_DYNAMIC_SHARED(memory);
    const int64 b = blockIdx.x;
    const Problem problem = Problem::of(batch, b);
    BlockState state;
    state.carve(memory, problem.rows, problem.cols);
    const GlobalMatrix matrix = staged != nullptr
                                    ? GlobalMatrix{staged + b * batch.rows * batch.cols, problem.cols}
                                    : GlobalMatrix{reinterpret_cast<const Stored*>(problem.costs), problem.row_stride};
    const Dual limit = cost_limit(problem.rows, problem.cols);
    uint32 faults = 0;
    for (int32 i = static_cast<int32>(threadIdx.x) / 32; i < problem.rows; i += static_cast<int32>(blockDim.x) / 32) {
        const Stored* const costs = matrix.row(i);
#pragma unroll 4
        for (int32 j = static_cast<int32>(lane_index()); j < problem.cols; j += 32) faults |= fault_of(costs[j], limit);
    }
    solve_and_write<K>(batch, b, problem, state, matrix, faults);
}

extern "C" __global__ void __launch_bounds__(512, 1) solve_in_memory_1(BATCH_PARAMETERS, const Stored* staged) {
    solve_block_in_memory<1>(Batch{BATCH_ARGUMENTS}, staged);
}
extern "C" __global__ void __launch_bounds__(512, 1) solve_in_memory_2(BATCH_PARAMETERS, const Stored* staged) {
    solve_block_in_memory<2>(Batch{BATCH_ARGUMENTS}, staged);
}
extern "C" __global__ void __launch_bounds__(512, 1) solve_in_memory_4(BATCH_PARAMETERS, const Stored* staged) {
    solve_block_in_memory<4>(Batch{BATCH_ARGUMENTS}, staged);
}
extern "C" __global__ void __launch_bounds__(512, 1) solve_in_memory_8(BATCH_PARAMETERS, const Stored* staged) {
    solve_block_in_memory<8>(Batch{BATCH_ARGUMENTS}, staged);
}
