// certify_vectors: the O(rows + cols) part of the certificate, after the pass. It checks that the assignment is a
// matching, and that the duals are numbers and satisfy their own constraints; and it computes the exact sums. The
// header of the pass defines find_cost, which returns false for a pair that does not exist.
#pragma once
#include "certificate/invariants.cuh"

struct Vectors {
    const Costs::Data* cost;
    int64 rows, cols, row_stride, col_stride;  // strides of a matrix
    bool maximize;
    const int64* row_to_col;  // [rows], -1 where a row is free; any values
    const Dual* u;            // [rows]
    const Dual* v;            // [cols]
    // [rows], prices of free rows, as minimised, infinity() where a row must be matched; or nullptr
    const Dual* prices;
    const uint32* owners;      // [cols], of claim_columns
    const uint64* violations;  // [lines]
    uint64* summary;
};

// The sums of a block, in shared memory.
struct Totals {
    int64 primal[kLimbs<Dual>], dual[kLimbs<Dual>], excess[kLimbs<Dual>];
    uint64 matched, missing;
    uint64 worst, place;  // the worst violation of a constraint, and the smallest number of such a constraint
};

// A violated constraint. Numbers: u[i] > prices[i] is i; a sign of u[i] or v[j] is rows + index; a line is
// 2 rows + cols + line.
struct Worst {
    uint64 amount = 0;
    int64 place = 0;
    __device__ void meet(uint64 other, int64 where) {  // called with growing `where`
        if (other > amount) {
            amount = other;
            place = where;
        }
    }
};

// Calls `visit(index)` for every index below `count`, by whole warps; lanes without an index call `visit(-1)`.
template <class Visit>
__device__ void for_each(int64 count, Visit visit) {
    for (int64 base = blockIdx.x * int64{THREADS}; base < count; base += gridDim.x * int64{THREADS}) {
        visit(base + threadIdx.x < count ? base + threadIdx.x : -1);
    }
}

__device__ inline void report_fault(const Vectors& in, uint64 stage, int64 index, uint64 kind) {
    report_first(in.summary + kFault, stage << 40 | static_cast<uint64>(index) << 2 | kind);
}

__device__ inline void check_matching(const Vectors& in, Totals& totals) {
    for_each(in.rows, [&](int64 i) {
        Dual amount = 0;
        const int64 j = i < 0 ? -1 : in.row_to_col[i];
        bool matched = false;
        if (i >= 0 && j == -1) {
            const bool priced = in.prices != nullptr && in.prices[i] < infinity<Dual>();
            if (priced) amount = in.prices[i];
            if (!priced) atomicAdd(&totals.missing, 1);
        } else if (i >= 0 && (j < 0 || j >= in.cols)) {
            report_fault(in, 0, i, kColumnRange);
        } else if (i >= 0) {
            require_owner(in.owners, in.rows, i, j);
            const bool twice = in.owners[j] != static_cast<uint32>(in.rows - i);
            if (twice) report_fault(in, 0, i, kColumnTwice);
            Cost cost = {};
            const bool there = find_cost(in.cost, i, j, in.row_stride, in.col_stride, cost);
            const Dual c = minimised(cost, in.maximize);
            if (!there || (kIsFloat && c == infinity<Dual>())) {
                report_fault(in, 0, i, kForbiddenPair);
            } else if (is_valid_cost(c)) {
                amount = c;
                matched = !twice;
            }
        }
        add_exactly(totals.primal, amount);
        const uint32 count = __popc(__ballot_sync(kAllLanes, matched));
        if (lane_index() == 0) atomicAdd(&totals.matched, count);
    });
}

// Checks that the duals of one side are numbers, adds them up, and checks their own constraints: `prices`, or their
// sign if `is_signed`, or none.
__device__ inline void check_duals(const Vectors& in, const Dual* duals, int64 count, const Dual* prices,
                                   bool is_signed, uint64 stage, uint64 kind, Totals& totals, Worst& worst) {
    for_each(count, [&](int64 k) {
        Dual x = k < 0 ? 0 : negated(duals[k], in.maximize), amount = 0;
        if (!is_finite(x)) {
            report_fault(in, stage, k, kind);
            x = 0;
        }
        if (k >= 0 && prices != nullptr && prices[k] < infinity<Dual>()) amount = excess(prices[k], x, Dual(0));
        if (is_signed && x > 0) amount = x;
        worst.meet(to_bits(amount), is_signed ? in.rows + k : k);
        add_exactly(totals.dual, x);
        add_exactly(totals.excess, amount);
    });
}

// The last block to arrive has all blocks' words, and writes them to host memory.
__device__ inline void send(uint64* summary, uint32 words, uint64* mail) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(summary + kDone, 1ull) + 1 == gridDim.x;
        __threadfence();
    }
    __syncthreads();
    for (uint32 k = threadIdx.x; last && k < words; k += THREADS) mail[k] = __ldcg(summary + k);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    certify_vectors(const Costs::Data* cost, int64 rows, int64 cols, int64 row_stride, int64 col_stride, int64 maximize,
                    const int64* row_to_col, const Dual* u, const Dual* v, const Dual* prices, const uint32* owners,
                    const uint64* violations, int64 lines, uint64* summary, uint64* mail) {
    const Vectors in{cost, rows, cols,   row_stride, col_stride, maximize != 0, row_to_col,
                     u,    v,    prices, owners,     violations, summary};
    __shared__ Totals totals;
    for (uint32 k = threadIdx.x; k < sizeof totals / 8 - 1; k += THREADS) reinterpret_cast<int64*>(&totals)[k] = 0;
    if (threadIdx.x == 0) totals.place = ~0ull;  // the last word
    __syncthreads();

    Worst worst;
    const bool tall = prices == nullptr && rows > cols;
    check_matching(in, totals);
    check_duals(in, u, rows, prices, tall, tall ? 2 : 1, kInvalidRowDual, totals, worst);
    check_duals(in, v, cols, nullptr, prices != nullptr || rows < cols, tall ? 1 : 2, kInvalidColDual, totals, worst);
    for_each(lines, [&](int64 line) {
        const uint64 amount = line < 0 ? 0 : violations[line];
        worst.meet(amount, 2 * rows + cols + line);
        add_exactly(totals.excess, from_bits<Dual>(amount));
    });

    atomicMax(&totals.worst, worst.amount);
    __syncthreads();
    if (worst.amount > 0 && worst.amount == totals.worst) atomicMin(&totals.place, static_cast<uint64>(worst.place));
    __syncthreads();
    for (uint32 k = threadIdx.x; k < (sizeof totals - 16) / 8; k += THREADS) {
        const uint64 part = reinterpret_cast<uint64*>(&totals)[k];
        if (part != 0) atomicAdd(summary + kTotals + k, part);
    }
    if (threadIdx.x == 0) {
        uint64* const mine = summary + kTotals + (sizeof totals - 16) / 8 + 2 * blockIdx.x;
        mine[0] = totals.worst;
        mine[1] = totals.place;
    }
    if (mail != nullptr) send(summary, kTotals + (sizeof totals - 16) / 8 + 2 * gridDim.x, mail);
}
