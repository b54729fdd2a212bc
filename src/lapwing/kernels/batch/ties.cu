// More matches of a batch whose rows may stay free, where they cost nothing (matching/ties.cuh): a block a problem,
// after the engines, whose code it does not share. u and v must be there. Shared memory: 12 bytes a row and a column.
#include "batch/batch.cuh"
#include "matching/ties.cuh"

// A problem in the user's orientation, with its answer.
struct TiedProblem {
    const Batch& batch;
    const int64 b;
    const Dual sign;
    const Cost* const costs;
    int64* const row_to_col;
    const Dual *const u, *const v;
    int32* const col_to_row;  // [cols], in shared memory
    const int32 rows, cols;

    __device__ TiedProblem(const Batch& whole, int64 number, int32 row_count, int32 col_count, int32* owners)
        : batch(whole), b(number), sign(whole.maximize != 0 ? -1 : 1), costs(whole.costs + b * whole.problem_stride),
          row_to_col(whole.row_to_col + b * whole.rows), u(whole.u + b * whole.rows), v(whole.v + b * whole.cols),
          col_to_row(owners), rows(row_count), cols(col_count) {}

    __device__ int32 column_of(int32 i) const { return static_cast<int32>(row_to_col[i]); }
    __device__ int32 row_of(int32 j) const { return col_to_row[j]; }
    __device__ void match(int32 i, int32 j) const {
        row_to_col[i] = j;
        col_to_row[j] = i;
    }
    __device__ Dual cost(int32 i, int32 j) const {
        return sign * Dual(widened(costs[i * batch.row_stride + j * batch.col_stride]));
    }
    __device__ Dual price(int32 i) const {
        return sign * (batch.prices == nullptr
                           ? batch.price
                           : batch.prices[b * batch.price_problem_stride + i * batch.price_row_stride]);
    }
    __device__ bool is_open(int32 j) const { return is_nearly_tight(Dual(0), sign * v[j], Dual(0)); }

    template <class Visit>
    __device__ void each_tight(int32 i, Visit visit) const {
        const Dual dual = sign * u[i];
        for (int32 j = static_cast<int32>(lane_index()); j < cols; j += kWarp)
            if (is_nearly_tight(cost(i, j), sign * v[j], dual)) visit(j);
    }
};

struct BlockTeam {
    __device__ uint32 thread() const { return threadIdx.x; }
    __device__ uint32 threads() const { return blockDim.x; }
    __device__ uint32 warp() const { return threadIdx.x / kWarp; }
    __device__ uint32 warps() const { return blockDim.x / kWarp; }
    __device__ void sync() const { __syncthreads(); }
};

__device__ inline void match_ties_of(const Batch& batch) {
    LAPWING_DYNAMIC_SHARED(memory);
    __shared__ uint32 votes[3];
    const int64 b = blockIdx.x;
    if (batch.status[b] != kSolved && batch.status[b] != kDoubtful) return;
    const int64 m = batch.row_counts == nullptr ? batch.rows : read_count(batch.row_counts, batch.row_count_bytes, b);
    const int64 n = batch.col_counts == nullptr ? batch.cols : read_count(batch.col_counts, batch.col_count_bytes, b);
    int32* const by_row = reinterpret_cast<int32*>(memory + 8 * batch.cols);
    const TieSearch search{reinterpret_cast<uint64*>(memory), by_row, by_row + batch.rows, by_row + 2 * batch.rows,
                           votes};
    const TiedProblem problem(batch, b, static_cast<int32>(m), static_cast<int32>(n), search.end + batch.rows);
    for (int32 j = static_cast<int32>(threadIdx.x); j < problem.cols; j += static_cast<int32>(blockDim.x))
        problem.col_to_row[j] = kFree;
    __syncthreads();
    for (int32 i = static_cast<int32>(threadIdx.x); i < problem.rows; i += static_cast<int32>(blockDim.x))
        if (const int32 j = problem.column_of(i); j >= 0) problem.col_to_row[j] = i;
    __syncthreads();
    const BlockTeam team;
    TieMatcher<BlockTeam, TiedProblem>(team, problem, search).run();
}

extern "C" __global__ void __launch_bounds__(THREADS) match_ties(BATCH_PARAMETERS) {
    match_ties_of(Batch{BATCH_ARGUMENTS});
}
