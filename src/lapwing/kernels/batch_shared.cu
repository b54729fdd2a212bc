// A block a problem (batch_block.cuh), its matrix in shared memory: to about 240 x 240 for float32 in 227 KiB.
// The matrix is read once, in any layout and type, and converted on the way. Blocks are started by the hardware as others
// end, so problems of unequal difficulty need no other queue. Dynamic shared memory: what the state takes
// (gpu/batch.py's state_bytes), and (cols | 1) rows sizeof(Stored), cols and rows as solved.
#include "batch_answer.cuh"

struct SharedMatrix {
    Stored* costs;
    int32 pitch;  // odd, so that columns are free of bank conflicts
    __device__ const Stored* row(int32 i) const { return costs + i * pitch; }
};

template <int32 K>
__device__ void solve_block_in_shared(const Batch& batch) {
    LAPWING_DYNAMIC_SHARED(memory);
    const int64 b = blockIdx.x;
    const Problem problem = Problem::of(batch, b);
    BlockState state;
    const SharedMatrix matrix{reinterpret_cast<Stored*>(state.carve(memory, problem.rows, problem.cols)),
                              problem.cols | 1};
    // A warp a line of memory, a lane a cost.
    const bool along_rows = problem.rows_are_contiguous();
    const int32 lines = along_rows ? problem.rows : problem.cols, length = along_rows ? problem.cols : problem.rows;
    const int32 warp = static_cast<int32>(threadIdx.x) / 32, warps = static_cast<int32>(blockDim.x) / 32;
    const Dual limit = cost_limit(problem.rows, problem.cols);
    uint32 faults = 0;
    for (int32 line = warp; line < lines; line += warps) {
#pragma unroll 4
        for (int32 k = static_cast<int32>(lane_index()); k < length; k += 32) {
            const int32 i = along_rows ? line : k, j = along_rows ? k : line;
            const Stored x = problem.at(i, j);
            faults |= fault_of(x, limit);
            matrix.costs[i * matrix.pitch + j] = x;
        }
    }
    solve_and_write<K>(batch, b, problem, state, matrix, faults);
}

// At most 64 to 256 columns, as many as threads; at most 512.
extern "C" __global__ void __launch_bounds__(256, 1) solve_in_shared_1(BATCH_PARAMETERS) {
    solve_block_in_shared<1>(Batch{BATCH_ARGUMENTS});
}
extern "C" __global__ void __launch_bounds__(256, 1) solve_in_shared_2(BATCH_PARAMETERS) {
    solve_block_in_shared<2>(Batch{BATCH_ARGUMENTS});
}
