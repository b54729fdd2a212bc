// One block per problem (batch/block.cuh), with its matrix in shared memory: up to about 240 x 240 of float32 in 227
// KiB.
//
// Cost in bytes: the matrix is read once, in any layout and type, and converted while it is stored. The hardware starts
// a block when another ends, so problems of unequal difficulty need no queue. Dynamic shared memory: the state
// (`state_bytes` of gpu/batch/plan.py), and (cols | 1) * rows * sizeof(Stored), rows and columns as solved.
#include "batch/answer.cuh"

struct SharedMatrix {
    static constexpr bool kChecked = true;  // checked while it is filled
    Stored* costs;
    int32 pitch;  // odd, so that columns are free of bank conflicts
    __device__ int64 start(int32 i) const { return i * pitch; }
    __device__ const Stored* at(int64 start, int32 j) const { return costs + static_cast<int32>(start) + j; }
};

// Every thread copies costs that are blockDim.x apart in the order of memory, so that adjacent threads read adjacent
// costs. Returns the faults of this thread's costs, as bits.
__device__ inline uint32 fill(const SharedMatrix& matrix, const Problem& problem) {
    constexpr int32 kLoads = BatchTuning::fill_loads;
    const bool along_rows = problem.rows_are_contiguous();
    const int32 lines = along_rows ? problem.rows : problem.cols, length = along_rows ? problem.cols : problem.rows;
    const int32 me = static_cast<int32>(threadIdx.x), threads = static_cast<int32>(blockDim.x), total = lines * length;
    if (total == 0) return 0;
    const int64 across = along_rows ? problem.row_stride : problem.col_stride,
                along = along_rows ? problem.col_stride : problem.row_stride;
    const int32 to_across = along_rows ? matrix.pitch : 1, to_along = along_rows ? 1 : matrix.pitch;
    // A step advances by step_lines lines and step_places places, and wraps to the next line past the last place.
    const int32 step_lines = threads / length, step_places = threads % length;
    const int64 step = step_lines * across + step_places * along, wrap = across - length * along;
    const int32 to_step = step_lines * to_across + step_places * to_along, to_wrap = to_across - length * to_along;
    const Dual limit = cost_limit(problem.rows, problem.cols);
    int32 place = me % length, to = me / length * to_across + place * to_along;
    const Cost* from = problem.costs + (me / length * across + place * along);
    uint32 faults = 0;
    for (int32 first = me; first - me < total; first += threads * kLoads) {
        Cost costs[kLoads];
        int32 targets[kLoads];
#pragma unroll
        for (int32 k = 0; k < kLoads; ++k) {
            const bool present = first + k * threads < total;
            targets[k] = present ? to : kFree;
            costs[k] = *(present ? from : problem.costs);
            from += step;
            to += to_step;
            place += step_places;
            if (place >= length) {
                place -= length;
                from += wrap;
                to += to_wrap;
            }
        }
        __syncwarp();  // keeps the compiler from loading later, so that all loads are in flight together
#pragma unroll
        for (int32 k = 0; k < kLoads; ++k) {
            const Stored cost = problem.minimised(costs[k]);
            if (targets[k] < 0) continue;
            faults |= fault_of(cost, limit);
            matrix.costs[targets[k]] = cost;
        }
    }
    return faults;
}

template <int32 kColumns>
__device__ void solve_block_in_shared(const Batch& batch) {
    LAPWING_DYNAMIC_SHARED(memory);
    const int64 b = blockIdx.x;
    const Problem problem = Problem::of(batch, b);
    BlockState state;
    const SharedMatrix matrix{reinterpret_cast<Stored*>(state.carve(memory, problem.rows, problem.cols)),
                              problem.cols | 1};
    const uint32 faults = fill(matrix, problem);
    solve_and_write<BlockForm<kColumns>::columns_a_thread, BlockForm<kColumns>::threads>(batch, b, problem, state,
                                                                                         matrix, faults);
}

extern "C" __global__ void __launch_bounds__(BlockForm<COLUMNS>::threads, BlockForm<COLUMNS>::blocks)
    solve_in_shared(BATCH_PARAMETERS) {
    solve_block_in_shared<COLUMNS>(Batch{BATCH_ARGUMENTS});
}
