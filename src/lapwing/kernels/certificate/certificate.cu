// The certificate on the GPU: how far duals are from feasible over *all* pairs, and the exact sums that make it a
// proof.
//
// cpp/include/lapwing/certificate/certificate.hpp defines what is proven, and by what arithmetic. These kernels compute
// the same numbers and share nothing with the methods. All values are as minimised: costs and duals are negated if
// `maximize`.
//
//   certify_packed, certify_strided   the pass over a matrix (certificate/matrix.cuh): rows * cols costs, each read
//   once
//                      (16 bytes a lane where they are aligned and contiguous), four loads in flight; a block keeps the
//                      duals of its tile's positions in registers for up to 32 lines. No barrier.
//   certify_lines      the pass over computed costs (certificate/computed.cuh)
//   certify_vectors    O(rows + cols): whether it is a matching, whether the duals are numbers, the primal and dual
//   sums; it
//                      may write the summary to pinned memory of the host, which saves a copy
//   certify_pick       the matched costs of a matrix that arrives in parts
//   certify_place      where in a line its worst violation stands; launched only if there is one
//
// A line is a row, or a column where columns are contiguous; a position is a place in it. `violations` [lines] (bits of
// a non-negative double, or an int64), `owners` [cols] and `summary` are zero before the first kernel.
#include "certificate/pair.cuh"

// The words of `summary`. kDone counts the blocks of certify_vectors that are done. From kTotals on there are the words
// of Totals but the last two, then these two words of every block.
enum SummaryWord { kFault = 0, kInvalidCost = 1, kPlace = 2, kDone = 3, kTotals = 4 };
// kFault holds stage << 40 | row or column << 2 | one of these; stages in the order in which faults are named.
enum FaultKind { kColumnRange = 0, kColumnTwice = 1, kForbiddenPair = 2, kInvalidRowDual = 0, kInvalidColDual = 1 };

// Keys for atomicMax on zeroed memory: 0 is "none", the smallest number wins.
__device__ inline void report_first(uint64* key, uint64 number) { atomicMax(key, ~number); }

// What the pass over all pairs finds.
struct Found {
    uint64* violations;  // [lines]
    uint64* invalid;     // key: line << 32 | position
};
// A pair that the quick test left in doubt, exactly.
__device__ inline void examine(const Found& found, Dual c, Dual a, Dual b, int64 line, int64 position) {
    if (is_certain_tie(c, a, b)) return;
    if (!is_valid_cost(c)) report_first(found.invalid, static_cast<uint64>(line) << 32 | static_cast<uint64>(position));
    const uint64 amount = to_bits(excess(c, a, b));
    if (amount > __ldcg(found.violations + line)) atomicMax(found.violations + line, amount);
}

// Enters every row with its column, for certify_vectors: owners[j] = rows - i of the first row i that has column j.
__device__ inline void claim_columns(const int64* row_to_col, int64 rows, int64 cols, uint32* owners) {
    for (int64 i = blockIdx.x * int64{THREADS} + threadIdx.x; i < rows; i += gridDim.x * int64{THREADS}) {
        const int64 j = row_to_col[i];
        if (j >= 0 && j < cols) atomicMax(owners + j, static_cast<uint32>(rows - i));
    }
}

#ifdef COMPUTED
#include "certificate/computed.cuh"
#else
#include "certificate/matrix.cuh"
#endif

// --- O(rows + cols) -----------------------------------------------------------------------------------------------

struct Vectors {
    const Costs::Data* cost;
    int64 rows, cols, row_stride, col_stride;  // strides of a matrix
    bool maximize;
    const int64* row_to_col;   // [rows], -1 where a row is free; any values
    const Dual* u;             // [rows]
    const Dual* v;             // [cols]
    const Dual* prices;        // [rows], of staying free, as minimised, infinity() where a row must not; or nullptr
    const uint32* owners;      // [cols], of claim_columns
    const uint64* violations;  // [lines]
    uint64* summary;
};

// What a block adds up in shared memory.
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
            const bool twice = in.owners[j] != static_cast<uint32>(in.rows - i);
            if (twice) report_fault(in, 0, i, kColumnTwice);
            const Dual c = minimised(cost_at(in.cost, i, j, in.row_stride, in.col_stride), in.maximize);
            if (kIsFloat && c == infinity<Dual>()) {
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

// The duals of one side: are they numbers, their sum, and their own constraints. `prices` or `is_signed` or neither.
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

// The last block to arrive sees the words of all blocks, and writes them to memory of the host.
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
