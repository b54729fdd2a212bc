// Before and after a block's solve: the check of the costs, and the answer in the user's orientation and sense.
#pragma once

#include "batch/block.cuh"
#include "batch/invariants.cuh"
#include "batch/proof.cuh"

// Combines the faults of all threads and of the prices, and stores the prices; the result is in every thread.
__device__ inline int32 checked(const Batch& batch, int64 b, const Problem& problem, const BlockState& state,
                                uint32 faults) {
    const Dual limit = cost_limit(problem.rows, problem.cols);
    for (int32 i = static_cast<int32>(threadIdx.x); i < problem.rows; i += static_cast<int32>(blockDim.x)) {
        state.unmatched_price[i] = price_of(batch, b, i, limit, faults);
    }
    const int32 any = __syncthreads_or(faults != 0);
    if (problem.bad_counts) return kBadCounts;
    if (any == 0) return kSolved;
    return status_of(__syncthreads_or((faults & kFaultInvalid) != 0) != 0 ? kFaultInvalid : kFaultTooLarge);
}

// Combines all threads' values in an order that is the same in every run; the result is in every thread.
template <class Combine>
__device__ Dual block_reduce(Dual value, const BlockState& state, Combine combine) {
    value = warp_reduce(value, combine);
    __syncthreads();
    if (lane_index() == 0) state.parts[threadIdx.x / 32] = value;
    __syncthreads();
    Dual all = state.parts[0];
    for (uint32 w = 1; w < blockDim.x / 32; ++w) all = combine(all, state.parts[w]);
    return all;
}

// The status of an answer whose prices are large; in every thread.
template <class Matrix>
__device__ inline int32 status_by_proof(Problem problem, BlockState state, Matrix matrix, bool priced, Dual objective) {
    const bool all_match = problem.is_square() && !priced;
    const int32 me = static_cast<int32>(threadIdx.x), threads = static_cast<int32>(blockDim.x);
    Dual violation = 0, gap = 0;
#pragma unroll 1
    for (int32 j = me; j < problem.cols; j += threads) {
        const Dual price = state.price[j];
        if (state.row_of[j] < 0) gap = add_up(gap, -price);
        if (!all_match) violation = larger(violation, price);
#pragma unroll 1
        for (int32 i = 0; i < problem.rows; ++i) {
            const Dual c = *matrix.at(matrix.start(i), j);
            if (c < infinity<Dual>()) violation = larger(violation, sum_up(state.row_dual[i], price, -c));
        }
    }
#pragma unroll 1
    for (int32 i = me; i < problem.rows; i += threads) {
        const int32 j = state.column_of[i];
        const Dual dual = state.row_dual[i], unmatched_price = state.unmatched_price[i];
        const Dual cost = j >= 0 ? Dual(*matrix.at(matrix.start(i), j)) : unmatched_price;
        gap = add_up(gap, sum_up(cost, -dual, j >= 0 ? -state.price[j] : Dual(0)));
        if (unmatched_price < infinity<Dual>()) violation = larger(violation, sum_up(dual, -unmatched_price, 0));
    }
    gap = block_reduce(gap, state, [](Dual x, Dual y) { return add_up(x, y); });
    violation = block_reduce(violation, state, [](Dual x, Dual y) { return larger(x, y); });
    return proven_status(gap, violation, problem.rows, objective, kTrusted);
}

// The answer in the user's orientation and sense.
template <class Matrix>
__device__ void write(const Batch& batch, int64 b, const Problem& problem, const BlockState& state,
                      const Matrix& matrix, int32 status) {
    const bool solved = status == kSolved, maximize = problem.maximize;
    const int32 me = static_cast<int32>(threadIdx.x), threads = static_cast<int32>(blockDim.x);
    Dual part = 0;
    for (int32 i = me; solved && i < problem.rows; i += threads) {
        const int32 j = state.column_of[i];
        part += user_cost(j >= 0 ? Dual(*matrix.at(matrix.start(i), j)) : state.unmatched_price[i], maximize);
    }
    const Dual sum = block_reduce(part, state, [](Dual x, Dual y) { return x + y; });
    Dual largest = 0;
    if constexpr (kFloating) {
        for (int32 j = me; solved && j < problem.cols; j += threads) {
            largest = larger(largest, magnitude(state.price[j]));
        }
        largest = block_reduce(largest, state, [](Dual x, Dual y) { return larger(x, y); });
    }
    if constexpr (kFloating) {
        if (solved && !are_small(largest, sum))
            status = status_by_proof(problem, state, matrix, batch.priced != 0, sum);
    }
    if (me == 0) {
        batch.objective[b] = solved ? sum : no_objective();
        batch.status[b] = status;
    }
    const int32 lines = solved ? problem.rows : 0, columns = solved ? problem.cols : 0;
    const int32 own = problem.transposed ? columns : lines, other = problem.transposed ? lines : columns;
    for (int32 i = me; i < batch.rows; i += threads) {
        int32 partner = kFree;
        Dual dual = 0;
        if (i < own) {
            partner = problem.transposed ? state.row_of[i] : state.column_of[i];
            dual = problem.transposed ? user_col_dual(state.price[i], maximize)
                                      : user_row_dual(state.row_dual[i], maximize);
        }
        batch.row_to_col[b * batch.rows + i] = partner >= 0 ? partner : kFree;
        if (batch.u != nullptr) batch.u[b * batch.rows + i] = dual;
    }
    for (int32 j = me; batch.v != nullptr && j < batch.cols; j += threads) {
        Dual dual = 0;
        if (j < other) {
            dual = problem.transposed ? user_row_dual(state.row_dual[j], maximize)
                                      : user_col_dual(state.price[j], maximize);
        }
        batch.v[b * batch.cols + j] = dual;
    }
}

// Solves and writes problem b, whose costs are in `matrix`. `faults`: the known faults of the costs. K T >= cols.
template <int32 K, int32 T, class Matrix>
__device__ void solve_and_write(const Batch& batch, int64 b, const Problem& problem, const BlockState& state,
                                const Matrix& matrix, uint32 faults) {
    const Team<Matrix, T> team(state, matrix, problem.rows, problem.cols, batch);
    BlockSolver<Matrix, K, T> solver(team);
    faults |= solver.reduce_columns(cost_limit(problem.rows, problem.cols));
    int32 status = checked(batch, b, problem, state, faults);
    if (status == kSolved && !solver.solve()) status = kInfeasible;
#ifdef LAPWING_CHECK_INVARIANTS
    __syncthreads();
    if (status == kSolved && threadIdx.x == 0) check_invariants(team);
    __syncthreads();
#endif
    write(batch, b, problem, state, matrix, status);
}

// The shape of a block for problems of at most kColumns columns.
template <int32 kColumns>
struct BlockForm {
    static constexpr int32 threads = smaller(kColumns / COLUMNS_A_THREAD, BatchTuning::most_threads);
    static constexpr int32 columns_a_thread = kColumns / threads;
    // Number of blocks for which a multiprocessor should have registers.
    static constexpr int32 blocks = (columns_a_thread == 1                          ? 1024
                                     : columns_a_thread == 2 && sizeof(Stored) == 4 ? 768
                                                                                    : 512) /
                                    threads;
};
