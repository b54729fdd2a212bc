// The certificate on the GPU: how far duals are from feasible over *all* pairs, and the exact sums that make it a proof.
//
// What is proven, and by what arithmetic, is told in cpp/include/lapwing/certificate.hpp; this computes the same numbers,
// and shares nothing with the methods. Everything is as minimised: costs and duals are negated when `maximize` is set.
//
//   certify_packed, certify_strided   the pass over the matrix: rows * cols costs, each read once (16 bytes a lane where
//                      they are aligned and contiguous), four loads in flight; one block keeps the cross duals of its
//                      tile in registers for up to 32 lines. No barrier.
//   certify_vectors    O(rows + cols): is it a matching, are the duals numbers, primal and dual sums
//   certify_place      where in one line its worst violation stands; only launched if there is one
//
// A line is a row, or a column where columns are contiguous; a position is a place in it. `violations` [lines] (bits of a
// non-negative double, or an int64), `owners` [cols] and `summary` are zero before the first kernel.
#include "exact_sum.cuh"

constexpr bool kIsFloat = Dual(0.5) != Dual(0);

// The arithmetic of the quick test: that of the duals, or 32 bits for costs of one or two bytes.
template <bool, class A, class B>
struct Choose {
    using type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
    using type = B;
};
constexpr bool kIsSmall = !kIsFloat && sizeof(Cost) <= 2;
using Quick = Choose<kIsSmall, int32, Dual>::type;
constexpr int64 kSafe = kIsSmall ? 1ll << 29 : 1ll << 61;  // integers up to this are subtracted without overflow in it

// The words of `summary`; after kTotals come the parts of Totals but the last two, then those two of every block.
enum SummaryWord { kFault = 0, kInvalidCost = 1, kPlace = 2, kTotals = 3 };
// kFault holds stage << 40 | row or column << 2 | one of these; stages in the order in which faults are named.
enum FaultKind { kColumnRange = 0, kColumnTwice = 1, kForbiddenPair = 2, kInvalidRowDual = 0, kInvalidColDual = 1 };

// Keys for atomicMax on zeroed memory: 0 is "none", the smallest number wins.
__device__ inline void report_first(uint64* key, uint64 number) { atomicMax(key, ~number); }

// --- one pair -----------------------------------------------------------------------------------------------------

struct TwoSum {  // sum + error == a + b exactly, unless it overflows (Knuth, TAOCP volume 2, 4.2.2)
    double sum, error;
    __device__ TwoSum(double a, double b) : sum(a + b) {
        const double virtual_b = sum - a;
        error = (a - (sum - virtual_b)) + (b - virtual_b);
    }
};

__device__ inline bool is_finite(double x) { return x - x == 0; }
__device__ inline bool is_finite(int64) { return true; }
__device__ inline bool is_valid_cost(double c) { return c > -infinity<double>(); }
__device__ inline bool is_valid_cost(int64) { return true; }

__device__ inline Dual negated(Dual x, bool negate) { return negate ? -x : x; }
__device__ inline Dual minimised(Cost cost, bool maximize) {  // without overflow at the most negative integer
    const Dual c = widened(cost);
    if constexpr (!kIsFloat && sizeof(Cost) == 8) {
        if (c == -0x7fffffffffffffffll - 1) return maximize ? 0x7fffffffffffffffll : c;
    }
    return negated(c, maximize);
}

// max(0, a + b - c), rounded up; infinity for NaN and on overflow.
__device__ inline double excess(double c, double a, double b) {
    const TwoSum first(a, -c);
    const TwoSum second(first.sum, b);
    if (!is_finite(second.sum) || !is_finite(first.error) || !is_finite(second.error)) {
        return second.sum == -infinity<double>() ? 0 : infinity<double>();
    }
    const TwoSum low(first.error, second.error);
    const TwoSum high(second.sum, low.sum);
    const TwoSum rest(high.error, low.error);
    const TwoSum all(high.sum, rest.sum);
    const bool is_more = all.error > 0 || rest.error > 0;
    if (!(all.sum > 0 || (all.sum == 0 && is_more))) return 0;
    const double sum = all.sum + 0.0;  // no -0
    return is_more ? __longlong_as_double(__double_as_longlong(sum) + 1) : sum;
}
__device__ inline int64 excess(int64 c, int64 a, int64 b) {
    const __int128 amount = static_cast<__int128>(a) + b - c, most = infinity<int64>();
    return amount <= 0 ? 0 : static_cast<int64>(amount < most ? amount : most);
}

__device__ inline uint64 to_bits(double x) { return static_cast<uint64>(__double_as_longlong(x)); }
__device__ inline uint64 to_bits(int64 x) { return static_cast<uint64>(x); }
template <class D>
__device__ D from_bits(uint64 bits) {
    if constexpr (D(0.5) != D(0)) {
        return __longlong_as_double(static_cast<int64>(bits));
    } else {
        return static_cast<D>(bits);
    }
}

// Whether c - a - b >= 0 is certain: the CPU's test (certificate.inc.hpp), which ties of exact numbers pass too.
__device__ inline bool is_certain(double c, double a, double b) {
    const double d = c - a, slack = d - b;
    return slack >= fabs(d) * 0x1p-52;
}
__device__ inline bool is_certain_tie(double c, double a, double b) {
    const TwoSum first(c, -a);
    return first.error == 0 && first.sum - b >= 0;
}
__device__ inline bool is_safe(int64 x) { return x <= kSafe && x >= -kSafe; }
__device__ inline bool is_certain(int64 c, int64 a, int64 b) {
    return (sizeof(Cost) < 8 || is_safe(c)) && c - a - b >= 0;
}
__device__ inline bool is_certain(int32 c, int32 a, int32 b) { return c - a - b >= 0; }
__device__ inline bool is_certain_tie(int64, int64, int64) { return false; }

// --- the pass over the matrix -------------------------------------------------------------------------------------

struct Lines {
    const Cost* cost;
    int64 lines, positions, line_stride, position_stride;
    bool maximize;
    const Dual* line_duals;   // [lines]
    const Dual* cross_duals;  // [positions]
    uint64* violations;       // [lines]
    uint64* invalid;          // key: line << 32 | position
};

// A pair that the quick test left in doubt, exactly.
__device__ inline void examine(const Lines& in, Dual c, Dual a, Dual b, int64 line, int64 position) {
    if (is_certain_tie(c, a, b)) return;
    if (!is_valid_cost(c)) report_first(in.invalid, static_cast<uint64>(line) << 32 | static_cast<uint64>(position));
    const uint64 amount = to_bits(excess(c, a, b));
    if (amount > __ldcg(in.violations + line)) atomicMax(in.violations + line, amount);
}

// What a thread reads of a line: 16 aligned bytes, or costs that are `step` apart; the first again for any that it has not.
// `in_flight` lines are loaded before the first is looked at.
struct Packed {
    static constexpr uint32 size = Pack<Cost>::size, in_flight = 4;
    static constexpr bool adjacent = true;
    Cost values[size];
    __device__ void load(const Cost* from, int64, uint32) {
        const Pack<Cost> pack = load_pack(from);
        for (uint32 k = 0; k < size; ++k) values[k] = pack.values[k];
    }
};
template <bool kAdjacent, uint32 kSize, uint32 kInFlight>
struct Single {
    static constexpr uint32 size = kSize, in_flight = kInFlight;
    static constexpr bool adjacent = kAdjacent;
    Cost values[size];
    __device__ void load(const Cost* from, int64 step, uint32 count) {
        for (uint32 k = 0; k < size; ++k) values[k] = from[(k < count ? k : 0) * step];
    }
};

// A thread's share: `lines` lines from `begin` on, `sides` apart (past the last one: the last again), and in each of them
// `count` positions from `first` on, `step` apart.
struct Share {
    int64 begin, sides, first, step;
    uint32 lines, count;
    __device__ int64 line(const Lines& in, uint32 n) const {
        const int64 line = begin + n * sides;
        return line < in.lines ? line : in.lines - 1;
    }
};

// Which of the lines hold a pair in doubt, one bit each. Duals of the thread's positions stay in registers.
template <class Group>
__device__ uint32 doubtful_lines(const Lines& in, const Share& share) {
    Quick cross[Group::size];
    bool safe = true;
    for (uint32 k = 0; k < Group::size; ++k) {
        const int64 position = share.first + (k < share.count ? k : 0) * share.step;
        const Dual b = negated(in.cross_duals[position], in.maximize);
        if constexpr (!kIsFloat) safe = safe && is_safe(b);
        cross[k] = static_cast<Quick>(b);
    }
    const Cost* const from = in.cost + share.first * in.position_stride;
    const int64 step = share.step * in.position_stride;
    uint32 doubtful = 0;
    for (uint32 n = 0; n < share.lines; n += Group::in_flight) {
        Group groups[Group::in_flight];
        Dual duals[Group::in_flight];
#pragma unroll
        for (uint32 q = 0; q < Group::in_flight; ++q) {
            const int64 line = share.line(in, n + q);
            groups[q].load(from + line * in.line_stride, step, share.count);
            duals[q] = in.line_duals[line];
        }
#pragma unroll
        for (uint32 q = 0; q < Group::in_flight; ++q) {
            const Dual a = negated(duals[q], in.maximize);
            bool certain = safe;
            if constexpr (!kIsFloat) certain = certain && is_safe(a);
#pragma unroll
            for (uint32 k = 0; k < Group::size; ++k) {
                const Quick c = static_cast<Quick>(minimised(groups[q].values[k], in.maximize));
                certain = certain & is_certain(c, static_cast<Quick>(a), cross[k]);
            }
            doubtful |= (certain ? 0u : 1u) << (n + q);
        }
    }
    return doubtful;
}

// Block b takes tile b % tiles of positions and lines [b / tiles * sides * lines_per_thread, ...). `across` threads (a
// power of two) stand along a line, each with Group::size positions; sides = THREADS / across lines are taken side by
// side. A thread takes at most 32 lines, a multiple of in_flight; what is in doubt is looked at when it has read them all.
template <class Group>
__device__ void check_lines(const Lines& in, uint32 across, uint32 lines_per_thread) {
    const uint32 sides = THREADS / across;
    const int64 tile = static_cast<int64>(across) * Group::size;
    const int64 tiles = (in.positions + tile - 1) / tile;
    Share share;
    share.begin = blockIdx.x / tiles * sides * lines_per_thread + threadIdx.x / across;
    share.sides = sides;
    share.first = blockIdx.x % tiles * tile + threadIdx.x % across * (Group::adjacent ? Group::size : 1);
    share.step = Group::adjacent ? 1 : across;
    share.lines = lines_per_thread;
    const int64 left = (in.positions - share.first + share.step - 1) / share.step;
    if (left <= 0 || share.begin >= in.lines) return;
    share.count = left < Group::size ? static_cast<uint32>(left) : Group::size;
    uint32 doubtful = share.count == Group::size ? doubtful_lines<Group>(in, share)
                                                 : doubtful_lines<Single<Group::adjacent, Group::size, 1>>(in, share);
    for (; doubtful != 0; doubtful &= doubtful - 1) {
        const int64 line = share.line(in, __ffs(static_cast<int>(doubtful)) - 1);
        const Dual a = negated(in.line_duals[line], in.maximize);
        for (uint32 k = 0; k < share.count; ++k) {
            const int64 position = share.first + k * share.step;
            const Cost c = in.cost[line * in.line_stride + position * in.position_stride];
            const Dual b = negated(in.cross_duals[position], in.maximize);
            examine(in, minimised(c, in.maximize), a, b, line, position);
        }
    }
}

// Enters every row with its column, for certify_vectors: owners[j] = rows - i of the first row i that has column j.
__device__ inline void claim_columns(const int64* row_to_col, int64 rows, int64 cols, uint32* owners) {
    for (int64 i = blockIdx.x * int64{THREADS} + threadIdx.x; i < rows; i += gridDim.x * int64{THREADS}) {
        const int64 j = row_to_col[i];
        if (j >= 0 && j < cols) atomicMax(owners + j, static_cast<uint32>(rows - i));
    }
}

#define LAPWING_LINE_KERNEL(name, group)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS, 3)                                                           \
        name(const Cost* cost, int64 lines, int64 positions, int64 line_stride, int64 position_stride, int64 maximize, \
             const Dual* line_duals, const Dual* cross_duals, uint64* violations, uint64* summary, int64 across,       \
             int64 lines_per_thread, const int64* row_to_col, int64 rows, int64 cols, uint32* owners) {                \
        claim_columns(row_to_col, rows, cols, owners);                                                                 \
        const Lines in{cost,          lines,      positions,   line_stride, position_stride,                           \
                       maximize != 0, line_duals, cross_duals, violations,  summary + kInvalidCost};                   \
        check_lines<group>(in, static_cast<uint32>(across), static_cast<uint32>(lines_per_thread));                    \
    }
LAPWING_LINE_KERNEL(certify_packed, Packed)
using Strided = Single<false, 4, 4>;
LAPWING_LINE_KERNEL(certify_strided, Strided)

// --- O(rows + cols) -----------------------------------------------------------------------------------------------

struct Vectors {
    const Cost* cost;
    int64 rows, cols, row_stride, col_stride;
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

// Calls `visit(index)` for every index below `count`, and `visit(-1)` for lanes that have none: whole warps together.
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
            const Dual c = minimised(in.cost[i * in.row_stride + j * in.col_stride], in.maximize);
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

extern "C" __global__ void __launch_bounds__(THREADS)
    certify_vectors(const Cost* cost, int64 rows, int64 cols, int64 row_stride, int64 col_stride, int64 maximize,
                    const int64* row_to_col, const Dual* u, const Dual* v, const Dual* prices, const uint32* owners,
                    const uint64* violations, int64 lines, uint64* summary) {
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
}

// The first position of one line whose violation is `amount`, as a key for report_first. One block.
extern "C" __global__ void __launch_bounds__(THREADS)
    certify_place(const Cost* cost, int64 positions, int64 position_stride, int64 maximize, const Dual* line_dual,
                  const Dual* cross_duals, const uint64* amount, uint64* place) {
    const Dual a = negated(*line_dual, maximize != 0);
    for (int64 k = threadIdx.x; k < positions; k += THREADS) {
        const Dual c = minimised(cost[k * position_stride], maximize != 0);
        if (to_bits(excess(c, a, negated(cross_duals[k], maximize != 0))) == *amount) report_first(place, k);
    }
}
