// Shared by the engines of batches: the place of a problem, reads of its costs, and the place of its answer.
//
// A problem is solved with rows <= cols. A tall one is solved as the transposed view of the given one, unless unmatched
// rows have prices. Costs are minimised. When maximising, floats are negated; integers are complemented, which shifts
// them by 1 and cannot overflow, and the prices and row duals are shifted by the same amount.
#pragma once
#include "batch/tuning.cuh"

#include "common/common.cuh"

// The values of `status` (gpu/batch/check.py). Doubtful: there is an answer, but rounding of large prices may hide a
// better assignment.
enum BatchStatus : int32 {
    kSolved = 0,
    kInfeasible = 1,
    kInvalidCost = 2,
    kTooLarge = 3,
    kBadCounts = 4,
    kDoubtful = 5
};

constexpr int32 kFree = -1;            // a row or column without a partner
constexpr int32 kUnmatched = -2;       // a row that stays free at its price
constexpr uint32 kMatched = 1u << 31;  // in a tag: the column is held by a row; the rest is the column's number

// The smallest type that holds a cost and its negation or complement.
template <class T>
struct StoredOf {
    using type = int32;
};
template <>
struct StoredOf<float16> {
    using type = float;
};
template <>
struct StoredOf<bfloat16> {
    using type = float;
};
template <>
struct StoredOf<float> {
    using type = float;
};
template <>
struct StoredOf<double> {
    using type = double;
};
template <>
struct StoredOf<uint32> {
    using type = int64;
};
template <>
struct StoredOf<int64> {
    using type = int64;
};
using Stored = StoredOf<Cost>::type;
constexpr bool kFloating = Dual(0.5) != Dual(0);

__device__ inline Dual magnitude(Dual x) { return x < 0 ? -x : x; }
__device__ constexpr Dual larger(Dual a, Dual b) { return a < b ? b : a; }

// The number that is minimised instead when maximising.
__device__ inline float opposite(float x) { return -x; }
__device__ inline double opposite(double x) { return -x; }
__device__ inline int32 opposite(int32 x) { return ~x; }
__device__ inline int64 opposite(int64 x) { return ~x; }

// The parameters of every kernel here, and the struct of them. Strides count elements. With `priced`, each row may stay
// free at its price: `price`, or that in `prices` if this is not null. Pointers to counts, u and v may be null. Each
// count has row_count_bytes or col_count_bytes, 4 or 8. Outputs by row have `rows` as pitch, outputs by column `cols`.
// Outputs of problems without an answer are -1 and 0, and NaN where the objective is a float.
#define BATCH_PARAMETERS                                                                                              \
    const Cost *costs, int64 problem_stride, int64 row_stride, int64 col_stride, int64 count, int64 rows, int64 cols, \
        int64 maximize, int64 priced, Dual price, const Dual *prices, int64 price_problem_stride,                     \
        int64 price_row_stride, const void *row_counts, const void *col_counts, int64 row_count_bytes,                \
        int64 col_count_bytes, int64 *row_to_col, Dual *objective, Dual *u, Dual *v, int32 *status
#define BATCH_ARGUMENTS                                                                                               \
    costs, problem_stride, row_stride, col_stride, count, rows, cols, maximize, priced, price, prices,                \
        price_problem_stride, price_row_stride, row_counts, col_counts, row_count_bytes, col_count_bytes, row_to_col, \
        objective, u, v, status

struct Batch {
    const Cost* costs;
    int64 problem_stride, row_stride, col_stride, count, rows, cols, maximize, priced;
    Dual price;
    const Dual* prices;
    int64 price_problem_stride, price_row_stride;
    const void* row_counts;
    const void* col_counts;
    int64 row_count_bytes, col_count_bytes;
    int64* row_to_col;
    Dual* objective;
    Dual* u;
    Dual* v;
    int32* status;
};

__device__ inline int64 read_count(const void* counts, int64 bytes, int64 b) {
    return bytes == 4 ? static_cast<const int32*>(counts)[b] : static_cast<const int64*>(counts)[b];
}

// One problem in the orientation in which it is solved.
struct Problem {
    const Cost* costs;
    int64 row_stride, col_stride;
    int32 rows, cols;
    bool transposed, maximize, bad_counts;

    __device__ static Problem of(const Batch& batch, int64 b) {
        int64 rows = batch.rows, cols = batch.cols;
        if (batch.row_counts != nullptr) rows = read_count(batch.row_counts, batch.row_count_bytes, b);
        if (batch.col_counts != nullptr) cols = read_count(batch.col_counts, batch.col_count_bytes, b);
        const bool bad = rows < 0 || cols < 0 || rows > batch.rows || cols > batch.cols;
        if (bad) rows = cols = 0;
        const bool transposed = batch.priced == 0 && rows > cols;
        return {batch.costs + b * batch.problem_stride,
                transposed ? batch.col_stride : batch.row_stride,
                transposed ? batch.row_stride : batch.col_stride,
                static_cast<int32>(transposed ? cols : rows),
                static_cast<int32>(transposed ? rows : cols),
                transposed,
                batch.maximize != 0,
                bad};
    }
    __device__ Stored minimised(Cost cost) const {
        const Stored x = static_cast<Stored>(widened(cost));
        return maximize ? opposite(x) : x;
    }
    __device__ Stored at(int32 i, int32 j) const { return minimised(costs[i * row_stride + j * col_stride]); }
    // Whether adjacent costs of a row are adjacent in memory.
    __device__ bool rows_are_contiguous() const {
        const int64 along = col_stride < 0 ? -col_stride : col_stride,
                    across = row_stride < 0 ? -row_stride : row_stride;
        return along <= across;
    }
    __device__ bool is_square() const { return rows == cols; }
};

__device__ constexpr int32 smaller(int32 a, int32 b) { return a < b ? a : b; }
__device__ constexpr int32 larger(int32 a, int32 b) { return a < b ? b : a; }

// The largest magnitude that a cost may have, so that no sum overflows (cpp/include/lapwing/numbers/range.hpp).
__device__ inline Dual cost_limit(int32 rows, int32 cols) {
    const int32 n = smaller(rows, cols);
    if constexpr (kFloating) {
        return 1.7976931348623157e308 / (2.0 * n + 4.0);
    } else {
        return ((1ll << 62) - 1) / (2 * (static_cast<int64>(n) + 1)) - 1;
    }
}

// The faults of a cost as bits, 0 if it has none. They are combined by |.
constexpr uint32 kFaultInvalid = 1, kFaultTooLarge = 2;
__device__ inline uint32 fault_of(Stored x, Dual limit) {
    if constexpr (kFloating) {
        if (!(x > -infinity<double>())) return kFaultInvalid;
        if (sizeof(Stored) == 8 && !(x >= -limit && x <= limit) && x < infinity<double>()) return kFaultTooLarge;
    } else if constexpr (sizeof(Stored) == 8) {
        if (x > limit || x < -limit) return kFaultTooLarge;
    }
    return 0;
}
__device__ inline int32 status_of(uint32 faults) {
    return (faults & kFaultInvalid) != 0 ? kInvalidCost : faults != 0 ? kTooLarge : kSolved;
}

// The price at which row i stays free, as minimised; infinity if it must be matched. Faults as of a cost.
__device__ inline Dual price_of(const Batch& batch, int64 b, int32 i, Dual limit, uint32& faults) {
    if (batch.priced == 0) return infinity<Dual>();
    const Dual p = batch.prices == nullptr ? batch.price
                                           : batch.prices[b * batch.price_problem_stride + i * batch.price_row_stride];
    const Dual x = batch.maximize != 0 ? opposite(p) : p;
    if (!(x > -infinity<Dual>())) faults |= kFaultInvalid;
    if (x >= infinity<Dual>() - 1) return infinity<Dual>();
    if (!(x >= -limit && x <= limit)) faults |= kFaultTooLarge;
    return x;
}

// Conversions back to the user's sense: a cost or price, the dual of a solved row, the dual of a solved column.
__device__ inline Dual user_cost(Dual x, bool maximize) { return maximize ? opposite(x) : x; }
__device__ inline Dual user_row_dual(Dual x, bool maximize) { return maximize ? opposite(x) : x; }
__device__ inline Dual user_col_dual(Dual x, bool maximize) { return maximize ? -x : x; }
__device__ inline Dual no_objective() {
    if constexpr (kFloating) {
        return __longlong_as_double(0x7ff8000000000000ll);
    } else {
        return 0;
    }
}

// A reduced cost, clamped to 0 if rounding makes it negative. So a label is never below the label of its parent row,
// and parent edges have no cycle.
__device__ inline double reduced(double cost, double price, double dual) {
    const double x = (cost - price) - dual;
    return __hiloint2double(larger(__double2hiint(x), 0), __double2loint(x));
}
__device__ inline int64 reduced(int64 cost, int64 price, int64 dual) { return cost - price - dual; }

// --- the smallest of a warp ---------------------------------------------------------------------------------------

// Two words, the first signed and the second unsigned, whose lexicographic order is the order of the numbers.
__device__ inline int32 high_word(double x) {
    const int32 high = __double2hiint(x);
    return high ^ ((high >> 31) & 0x7fffffff);
}
__device__ inline uint32 low_word(double x) {
    return static_cast<uint32>(__double2loint(x) ^ (__double2hiint(x) >> 31));
}
__device__ inline int32 high_word(int64 x) { return static_cast<int32>(x >> 32); }
__device__ inline uint32 low_word(int64 x) { return static_cast<uint32>(x); }

__device__ inline double from_words(double, int32 high, uint32 low) {
    const int32 sign = high >> 31;
    return __hiloint2double(high ^ (sign & 0x7fffffff), static_cast<int32>(low) ^ sign);
}
__device__ inline int64 from_words(int64, int32 high, uint32 low) {
    return static_cast<int64>(static_cast<uint64>(static_cast<uint32>(high)) << 32 | low);
}

__device__ inline int32 warp_min(int32 x) {
#if defined(LAPWING_EMULATION) || __CUDA_ARCH__ >= 800
    return __reduce_min_sync(kAllLanes, x);
#else
    return warp_reduce(x, [](int32 a, int32 b) { return a < b ? a : b; });
#endif
}

// Integers in the same order as the floats, and back.
__device__ inline int32 order_of(float x) {
    const int32 bits = static_cast<int32>(__float_as_uint(x));
    return bits ^ ((bits >> 31) & 0x7fffffff);
}
__device__ inline float of_order(int32 order) {
    return __uint_as_float(static_cast<uint32>(order ^ ((order >> 31) & 0x7fffffff)));
}

// The smallest value, in every lane.
template <class D>
__device__ inline D warp_least(D value) {
    const int32 high = high_word(value), least = warp_min(high);
    return from_words(D(0), least, warp_min(high == least ? low_word(value) : ~0u));
}
