// One block per problem (batch/block.cuh), with its matrix in global memory and L2: up to 4096 columns. COST is the
// type in which costs are stored: float32, float64, int32 or int64.
//
// Cost in bytes: a step reads a row a warp from L2. Dynamic shared memory: the state (`state_bytes` of
// gpu/batch/plan.py).
#include "batch/answer.cuh"

struct GlobalMatrix {
    static constexpr bool kChecked = false;
    const Stored* costs;
    int64 pitch;
    __device__ int64 start(int32 i) const { return i * pitch * static_cast<int64>(sizeof(Stored)); }
    __device__ const Stored* at(int64 start, int32 j) const {
        return reinterpret_cast<const Stored*>(reinterpret_cast<const char*>(costs + j) + start);
    }
};

// `staged`: the problems as solved, batch.rows * batch.cols apart, each with its own number of columns as pitch. It is
// null if the given costs can be used in place: Cost is Stored, minimised, and the costs of a row as solved are
// adjacent.
template <int32 kColumns>
__device__ void solve_block_in_memory(const Batch& batch, const Stored* staged) {
    LAPWING_DYNAMIC_SHARED(memory);
    const int64 b = blockIdx.x;
    const Problem problem = Problem::of(batch, b);
    BlockState state;
    state.carve(memory, problem.rows, problem.cols);
    const GlobalMatrix matrix = staged != nullptr
                                    ? GlobalMatrix{staged + b * batch.rows * batch.cols, problem.cols}
                                    : GlobalMatrix{reinterpret_cast<const Stored*>(problem.costs), problem.row_stride};
    solve_and_write<BlockForm<kColumns>::columns_a_thread, BlockForm<kColumns>::threads>(batch, b, problem, state,
                                                                                         matrix, 0);
}

extern "C" __global__ void __launch_bounds__(BlockForm<COLUMNS>::threads, BlockForm<COLUMNS>::blocks)
    solve_in_memory(BATCH_PARAMETERS, const Stored* staged) {
    solve_block_in_memory<COLUMNS>(Batch{BATCH_ARGUMENTS}, staged);
}
