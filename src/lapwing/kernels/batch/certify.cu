// The proof of each problem of a batch: one block per problem, one pass over its costs. The code shares with the
// engines only the names of the parameters and the sums that are rounded up. All values are as the user gave them; a
// sign turns them into a minimisation.
//
//   fault      0, or the first of: 1 no answer, 2 a column out of range, 3 a column taken twice, 4 a forbidden pair, or
//              a row that stays free but must not, 5 a row without a column while a column is free
//   violation  the largest u[i] + v[j] - c[i,j], at least 0, over all pairs that are not forbidden, and of u over
//              prices
//   gap        primal minus dual objective, as the sum of its terms: c - u - v over matched pairs, price - u over free
//              rows, -u or -v over lines that need no partner
//
// Floats: each c - u - v is computed exactly as a sum of three doubles, and sums are rounded up. So violation and gap
// are upper bounds, and are 0 only if the exact values are 0. The status of an answer becomes kSolved if these prove
// the objective to an ulp for each pair, otherwise kDoubtful. Shared memory: one bit per column, one double per warp.
// Barriers: two for each reduction, and three more.
#include "batch/proof.cuh"
#include "common/require.cuh"

constexpr uint32 kMostColumns = 1u << 16;
enum Fault : int32 {
    kNoFault = 0,
    kNoAnswer = 1,
    kColumnRange = 2,
    kColumnTwice = 3,
    kForbiddenPair = 4,
    kIncomplete = 5
};

template <class T, class Combine>
__device__ T block_reduce(T value, T* places, Combine combine) {
    value = warp_reduce(value, combine);
    __syncthreads();
    if (lane_index() == 0) places[threadIdx.x / kWarp] = value;
    __syncthreads();
    T all = places[0];
    for (uint32 w = 1; w < blockDim.x / kWarp; ++w) all = combine(all, places[w]);
    return all;
}

// Invariants of a proof without a fault, asserted on the emulator. Every matched row has its own column. Weak duality
// holds: each of at most `terms` terms of the gap is at least -violation.
__device__ inline void require_proof(Dual gap, Dual violation, Dual matched_rows, Dual matched_cols, int64 terms) {
    if (!kChecksInvariants) return;
    require(matched_rows == matched_cols, "as many columns as rows are matched");
    require(!(violation < 0), "a violation is not negative");
    const auto least = -static_cast<double>(violation) * static_cast<double>(terms);
    require(!(static_cast<double>(gap) < least * (1 + 1e-9)), "weak duality");
}

__device__ inline void certify_problem(const Batch& batch, Dual* violation, Dual* gap, int32* fault) {
    __shared__ uint32 taken[kMostColumns / 32];
    __shared__ Dual places[THREADS / kWarp];
    __shared__ int32 fault_places[THREADS / kWarp];
    const int64 b = blockIdx.x;
    const int64 m = batch.row_counts == nullptr ? batch.rows : read_count(batch.row_counts, batch.row_count_bytes, b);
    const int64 n = batch.col_counts == nullptr ? batch.cols : read_count(batch.col_counts, batch.col_count_bytes, b);
    const bool answered = batch.status[b] == kSolved || batch.status[b] == kDoubtful;
    const Dual sign = batch.maximize != 0 ? -1 : 1;
    const Cost* const costs = batch.costs + b * batch.problem_stride;
    const int64* const row_to_col = batch.row_to_col + b * batch.rows;
    const Dual *const u = batch.u + b * batch.rows, *const v = batch.v + b * batch.cols;
    const auto smaller_fault = [](int32 x, int32 y) { return x == kNoFault || (y != kNoFault && y < x) ? y : x; };
    const auto larger_of = [](Dual x, Dual y) { return x < y ? y : x; };

    for (int64 w = threadIdx.x; w < (n + 31) / 32; w += blockDim.x) taken[w] = 0;
    __syncthreads();
    int32 wrong = answered ? kNoFault : kNoAnswer;
    Dual worst = 0, part = 0;
    int64 free_rows = 0;
    for (int64 i = threadIdx.x; answered && i < m; i += blockDim.x) {
        const int64 j = row_to_col[i];
        if (j >= n || j < -1) wrong = smaller_fault(wrong, kColumnRange);
        if (j >= n || j < 0) {
            ++free_rows;
            if (batch.priced == 0) {
                part = add_up(part, -sign * u[i]);
                continue;
            }
            const Dual price = sign * (batch.prices == nullptr
                                           ? batch.price
                                           : batch.prices[b * batch.price_problem_stride + i * batch.price_row_stride]);
            if (price >= infinity<Dual>()) wrong = smaller_fault(wrong, kForbiddenPair);
            part = add_up(part, sum_up(price, -sign * u[i], 0));
            continue;
        }
        if ((atomicOr(&taken[j / 32], 1u << j % 32) >> j % 32 & 1) != 0) wrong = smaller_fault(wrong, kColumnTwice);
        const Dual c = sign * Dual(widened(costs[i * batch.row_stride + j * batch.col_stride]));
        if (c >= infinity<Dual>()) wrong = smaller_fault(wrong, kForbiddenPair);
        part = add_up(part, sum_up(c, -sign * u[i], -sign * v[j]));
    }
    __syncthreads();
    int64 free_cols = 0;
    for (int64 j = threadIdx.x; answered && j < n; j += blockDim.x) {
        if ((taken[j / 32] >> j % 32 & 1) != 0) continue;
        ++free_cols;
        part = add_up(part, -sign * v[j]);
    }
    const auto add = [](Dual x, Dual y) { return add_up(x, y); };
    const Dual rows_left = block_reduce(Dual(free_rows), places, add),
               cols_left = block_reduce(Dual(free_cols), places, add);
    if (batch.priced == 0 && rows_left > 0 && cols_left > 0) wrong = smaller_fault(wrong, kIncomplete);

    // Adjacent lanes read adjacent costs. Several warps share a long row.
    const bool along_rows = (batch.col_stride < 0 ? -batch.col_stride : batch.col_stride) <=
                            (batch.row_stride < 0 ? -batch.row_stride : batch.row_stride);
    const int64 lines = along_rows ? m : n, length = along_rows ? n : m;
    for (int64 line = threadIdx.x / kWarp; answered && line < lines; line += blockDim.x / kWarp) {
        for (int64 k = lane_index(); k < length; k += kWarp) {
            const int64 i = along_rows ? line : k, j = along_rows ? k : line;
            const Dual c = sign * Dual(widened(costs[i * batch.row_stride + j * batch.col_stride]));
            if (c < infinity<Dual>()) worst = larger_of(worst, sum_up(sign * u[i], sign * v[j], -c));
        }
    }
    for (int64 i = threadIdx.x; answered && batch.priced != 0 && i < m; i += blockDim.x) {
        const Dual price = sign * (batch.prices == nullptr
                                       ? batch.price
                                       : batch.prices[b * batch.price_problem_stride + i * batch.price_row_stride]);
        if (price < infinity<Dual>()) worst = larger_of(worst, sum_up(sign * u[i], -price, 0));
    }
    // If lines of one side may stay free at no cost, the duals of that side are at most 0.
    const bool rows_bounded = batch.priced == 0 && m > n, cols_bounded = batch.priced != 0 || n > m;
    for (int64 i = threadIdx.x; answered && rows_bounded && i < m; i += blockDim.x)
        worst = larger_of(worst, sign * u[i]);
    for (int64 j = threadIdx.x; answered && cols_bounded && j < n; j += blockDim.x)
        worst = larger_of(worst, sign * v[j]);

    worst = block_reduce(worst, places, larger_of);
    part = block_reduce(part, places, add);
    wrong = block_reduce(wrong, fault_places, smaller_fault);
    if (threadIdx.x != 0) return;
    if (answered && wrong == kNoFault) require_proof(part, worst, m - rows_left, n - cols_left, m + n);
    violation[b] = answered ? worst : no_objective();
    gap[b] = answered ? part : no_objective();
    fault[b] = wrong;
    const int64 pairs = batch.priced != 0 || m < n ? m : n;
    if (answered && wrong == kNoFault) batch.status[b] = proven_status(part, worst, pairs, batch.objective[b], 1);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    certify_batch(BATCH_PARAMETERS, Dual* violation, Dual* gap, int32* fault) {
    certify_problem(Batch{BATCH_ARGUMENTS}, violation, gap, fault);
}
