// Column minima of a square matrix, which are starting prices.
//
// A large matrix is read in two parts: a sample of its rows (in `prepare`), then the others. The second part is skipped
// if the sample shows that it would change prices only by a constant, which has no effect. There are two such cases:
//   - A quarter of the columns have the sample's least cost, as for small integers: nearly all columns will have it.
//     Prices are zero.
//   - A row outside the sample exceeds its minima by a constant, up to rounding and except for some columns, as
//     for sums of a row's and a column's part with a discount for few pairs. Prices are the sample's minima.
// Prices only determine where a solve starts: a wrong decision costs time, never the optimum.
#pragma once
#include "common/column_keys.cuh"
#include "core/lists/bounds.cuh"
#include "core/problem.cuh"

// The given costs, in a narrow type for which a minimum is one instruction.
template <class C>
struct NarrowOf {
    using type = int32;
};
template <>
struct NarrowOf<uint32> {
    using type = int64;
};
template <>
struct NarrowOf<int64> {
    using type = int64;
};
template <>
struct NarrowOf<double> {
    using type = double;
};
template <>
struct NarrowOf<float> {
    using type = float;
};
template <>
struct NarrowOf<float16> {
    using type = float;
};
template <>
struct NarrowOf<bfloat16> {
    using type = float;
};
using Narrow = NarrowOf<Cost>::type;

// Converts between the order of given costs and of minimised ones: ~x is -x - 1.
__device__ inline float turned(float x, bool negated) { return negated ? -x : x; }
__device__ inline double turned(double x, bool negated) { return negated ? -x : x; }
__device__ inline int32 turned(int32 x, bool negated) { return x ^ -static_cast<int32>(negated); }
__device__ inline int64 turned(int64 x, bool negated) { return x ^ -static_cast<int64>(negated); }
template <class T>
__device__ inline T lesser(T a, T b) {
    return a < b ? a : b;
}
__device__ inline float lesser(float a, float b) { return fminf(a, b); }
__device__ inline double as_minimised(double x, bool) { return x; }
__device__ inline int64 as_minimised(int64 x, bool negated) { return x + negated; }

constexpr uint32 kMinimaThreads = 256;

// The least cost of every column in the sample, in memory that searches use later.
__device__ inline Dual* sampled_minima(const State& state) { return reinterpret_cast<Dual*>(state.backward_distance); }
// Called by all blocks of a grid.
__device__ inline void take_sample(const State& state) {
    const Matrix& matrix = state.matrix;
    constexpr int32 warps = kMinimaThreads / kWarp, kAhead = Tuning::sample_ahead;
    __shared__ Narrow lows[warps][kWarp];
    const int32 size = matrix.cols, lane = static_cast<int32>(lane_index()),
                warp = static_cast<int32>(threadIdx.x / kWarp);
    for (int32 begin = static_cast<int32>(blockIdx.x * kWarp); begin < size;
         begin += static_cast<int32>(gridDim.x * kWarp)) {
        const int32 c = begin + lane < size ? begin + lane : size - 1;
        Narrow least = turned(static_cast<Narrow>(widened(matrix.costs.at(0, c))), matrix.maximize);
        for (int32 first = warp * Tuning::sample_step; first < matrix.rows;
             first += kAhead * warps * Tuning::sample_step) {
            Cost cost[kAhead];
#pragma unroll
            for (int32 a = 0; a < kAhead; ++a) {
                const int32 r = first + a * warps * Tuning::sample_step;
                cost[a] = matrix.costs.at(r < matrix.rows ? r : first, c);
            }
#pragma unroll
            for (int32 a = 0; a < kAhead; ++a)
                least = lesser(turned(static_cast<Narrow>(widened(cost[a])), matrix.maximize), least);
        }
        lows[warp][lane] = least;
        __syncthreads();
        if (warp == 0) {
            for (int32 other = 1; other < warps; ++other) least = lesser(lows[other][lane], least);
            if (begin + lane < size) sampled_minima(state)[c] = as_minimised(Dual(least), matrix.maximize);
        }
        __syncthreads();
    }
}

// Number of fraction bits of a number.
template <class C>
constexpr int kFractionBits = 0;
template <>
constexpr int kFractionBits<double> = 52;
template <>
constexpr int kFractionBits<float> = 23;
template <>
constexpr int kFractionBits<float16> = 10;
template <>
constexpr int kFractionBits<bfloat16> = 7;

// Whether a - b equals c - d, up to rounding of costs; invalid integer costs may wrap.
__device__ inline bool differ_alike(double a, double b, double c, double d) {
    const double scale = fabs(a) + fabs(b) + fabs(c) + fabs(d);
    return fabs(a - b - (c - d)) <= scale * (4.0 / (1ll << kFractionBits<Cost>)) && scale < infinity<double>();
}
__device__ inline bool differ_alike(int64 a, int64 b, int64 c, int64 d) {
    return static_cast<uint64>(a) - static_cast<uint64>(b) == static_cast<uint64>(c) - static_cast<uint64>(d);
}

// Decides from the sample's minima whether the other rows matter; see the top. Every block evaluates a part of the
// columns.
enum class Verdict : uint32 { unknown, constant, zero };
LAPWING_NOINLINE __device__ Verdict judge(const State& state) {
    const Matrix& matrix = state.matrix;
    constexpr int32 warps = kMinimaThreads / kWarp, kJudged = Tuning::judged_cols;  // columns of a thread
    __shared__ Dual lows[warps], any_cost, any_least;
    __shared__ uint32 lowest, alike;
    const int32 size = matrix.cols, step = size / (kJudged * static_cast<int32>(kMinimaThreads)) + 1;
    const uint32 judged = static_cast<uint32>((size + step - 1) / step);
    Dual cost[kJudged], lowest_cost[kJudged], least = infinity<Dual>();
#pragma unroll
    for (int32 q = 0; q < kJudged; ++q) {
        const int32 c = (q * static_cast<int32>(kMinimaThreads) + static_cast<int32>(threadIdx.x)) * step;
        lowest_cost[q] = c < size ? sampled_minima(state)[c] : infinity<Dual>();
        cost[q] = c < size ? matrix.at(1, c) : infinity<Dual>();
    }
#pragma unroll
    for (int32 q = 0; q < kJudged; ++q) least = lowest_cost[q] < least ? lowest_cost[q] : least;
    const auto less = [](Dual a, Dual b) { return a < b ? a : b; };
    least = warp_reduce(least, less);
    if (lane_index() == 0) lows[threadIdx.x / kWarp] = least;
    if (threadIdx.x == 0) {
        any_cost = cost[0];
        any_least = lowest_cost[0];
        lowest = alike = 0;
    }
    __syncthreads();
    least = warp_reduce(lows[lane_index() % warps], less);
    uint32 at_least = 0, by_as_much = 0;
#pragma unroll
    for (int32 q = 0; q < kJudged; ++q) {
        const bool there = lowest_cost[q] < infinity<Dual>();
        at_least += there && lowest_cost[q] == least;
        by_as_much += there && differ_alike(cost[q], lowest_cost[q], any_cost, any_least);
    }
    at_least = warp_sum(at_least);
    by_as_much = warp_sum(by_as_much);
    if (lane_index() == 0) {
        atomicAdd(&lowest, at_least);
        atomicAdd(&alike, by_as_much);
    }
    __syncthreads();
    return lowest * Tuning::zero_share >= judged                ? Verdict::zero
           : alike >= judged - judged / Tuning::exception_share ? Verdict::constant
                                                                : Verdict::unknown;
}

// Sets the price and the listing price of column c.
__device__ inline void set_price(const State& state, int64 c, Dual bound) {
    const Dual price = bound < infinity<Dual>() && bound > -infinity<Dual>() ? bound : Dual(0);
    state.v[c] = price;
    state.listing_price[c] = lowered(price);
}
// The row with index k among the rows that are read.
__device__ inline int32 row_behind(int32 k, bool sampled) {
    return sampled ? k + k / (Tuning::sample_step - 1) + 1 : k;
}

// A thread's part of the columns of a block's rows: `width` of them, side by side, in every step-th row from `first`
// on, before `last`. See column_minima.
template <int32 width>
struct Strip {
    static constexpr int32 ahead = width <= 4 ? 8 : 4;
    const Cost* column;  // of row 0
    int64 pitch;
    int32 first, step, last;
    bool behind;

    __device__ Pack<Cost> load(int32 k) const {
        const Cost* const from = column + row_behind(k, behind) * pitch;
        if constexpr (width == kPackSize) return load_pack(from);
        Pack<Cost> pack;
        pack.values[0] = *from;
        return pack;
    }
    // Needs a row.
    __device__ void lower(Narrow (&least)[width], bool negated) const {
        const Pack<Cost> begun = load(first);
#pragma unroll
        for (int32 k = 0; k < width; ++k) least[k] = turned(static_cast<Narrow>(widened(begun.values[k])), negated);
        for (int32 base = first; base < last; base += ahead * step) {
            Pack<Cost> pack[ahead];
#pragma unroll
            for (int32 a = 0; a < ahead; ++a) {
                const int32 k = base + a * step;
                pack[a] = load(k < last ? k : first);
            }
#pragma unroll
            for (int32 a = 0; a < ahead; ++a) {
#pragma unroll
                for (int32 k = 0; k < width; ++k) {
                    const Narrow x = turned(static_cast<Narrow>(widened(pack[a].values[k])), negated);
                    least[k] = lesser(x, least[k]);
                }
            }
        }
    }
    __device__ void lower_keys_to(uint64* keys, int64 c, bool negated) const {
        Narrow least[width];
        lower(least, negated);
        Dual bounds[width];
#pragma unroll
        for (int32 k = 0; k < width; ++k) bounds[k] = as_minimised(Dual(least[k]), negated);
        lower_keys<width>(keys, c, bounds);
    }
};
// The columns that rows begin and end with, outside whole packs. The lanes of a warp take one each, its warps the
// block's rows by turns.
LAPWING_NOINLINE __device__ void lower_edges(uint64* keys, Strip<1> rows, int32 head, int32 end, int32 cols,
                                             bool negated) {
    constexpr int32 warps = kMinimaThreads / kWarp;
    const int32 lane = static_cast<int32>(lane_index()), c = lane < head ? lane : end + lane - head;
    rows.column += c;
    rows.first += static_cast<int32>(threadIdx.x / kWarp) * rows.step;
    rows.step *= warps;
    if (c < cols && rows.first < rows.last) rows.lower_keys_to(keys, c, negated);
}

// v[c] = the least cost[r, c] over all rows, or what is as good if a sample says so (prepare was told to take one).
// Rows may come in parts, a launch for each: those from `begin` to `end` of the ones that are read, all of one shard;
// the last launch to end sets prices. A thread takes the columns of a pack, a block those of its threads' packs, of
// every bands-th row. Where rows are not whole packs, all of them are read, there are as many bands as make the rows of
// a block begin alike, and the blocks of one more chunk take the columns outside packs. See common/column_keys.cuh.
extern "C" __global__ void __launch_bounds__(256, 4)
    column_minima(LAPWING_PROBLEM, uint64* keys, int64 sampled, int64 begin, int64 end, int64 bands, int64 parts) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const Matrix& matrix = state.matrix;
    const bool negated = matrix.maximize, shifted = !are_whole_packs(matrix.costs, matrix.cols);
    const auto set = [&](int64 c, Dual bound) {
        set_price(state, c, sampled != 0 ? lesser(sampled_minima(state)[c], bound) : bound);
    };
    const Verdict verdict = sampled != 0 ? judge(state) : Verdict::unknown;
    if (verdict != Verdict::unknown) {
        for (int64 c = static_cast<int64>(blockIdx.x) * kMinimaThreads + threadIdx.x; c < cols;
             c += gridDim.x * kMinimaThreads)
            set_price(state, c, verdict == Verdict::zero ? Dual(0) : sampled_minima(state)[c]);
        return;
    }
    const int64 chunk = blockIdx.x / bands, chunks = gridDim.x / bands;
    const int32 first = static_cast<int32>(begin + blockIdx.x % bands), step = static_cast<int32>(bands),
                last = static_cast<int32>(end);
    const Cost* const origin = LAPWING_MATRIX.costs.origin(begin);
    const bool behind = sampled != 0 && !shifted;
    const int32 head = shifted ? before_pack(origin + first * pitch) : 0,
                whole = shifted ? end_of_packs(head, matrix.cols) : matrix.cols;
    const int64 c = head + (chunk * kMinimaThreads + threadIdx.x) * kPackSize;
    if (shifted && chunk == chunks - 1)
        lower_edges(keys, Strip<1>{origin, pitch, first, step, last, behind}, min(head, matrix.cols),
                    max(whole, min(head, matrix.cols)), matrix.cols, negated);
    else if (c < whole && first < last)
        Strip<kPackSize>{origin + c, pitch, first, step, last, behind}.lower_keys_to(keys, c, negated);
    if (!is_last_block(keys + cols + (shifted ? 0 : chunk), (shifted ? gridDim.x : bands) * parts)) return;
    const int64 of_chunk = kMinimaThreads * kPackSize, from = shifted ? 0 : chunk * of_chunk,
                to = shifted || from + of_chunk > cols ? cols : from + of_chunk;
#pragma unroll 4
    for (int64 at = from + threadIdx.x; at < to; at += kMinimaThreads) set(at, minimum_of(keys, at));
}
