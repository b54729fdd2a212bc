// Lower bounds, in float, of cost - v for the columns of a row: the columns that a block holds in registers, and a
// limit within which enough columns lie (core/lists/filter.cuh).
#pragma once
#include "core/lists/build.cuh"
#include "costs/packs.cuh"

// For the listing of a row: threads of the block, and columns per thread at one time.
template <bool frozen>
constexpr int32 kListers = frozen ? Tuning::first_listers : kTeamThreads;
constexpr int32 kHeld = Tuning::held_columns;

// Costs of 8 bytes are compared with unrounded prices.
constexpr bool kNarrowCosts = sizeof(Cost) < 8;

constexpr float kMostFloat = 3.4028234663852886e38f;

// The number that a filter subtracts from costs.
template <bool narrow>
struct FilterPriceOf {
    using type = float;
};
template <>
struct FilterPriceOf<false> {
    using type = Dual;
};
using FilterPrice = FilterPriceOf<kNarrowCosts>::type;

// -v, rounded down to a float.
__device__ inline float lowered(double v) { return __double2float_rd(-v); }
__device__ inline float lowered(int64 v) { return __ll2float_rd(-v); }

// Turns given costs into lower bounds of the minimised cost - v. For narrow costs `v` is -v, rounded down.
struct Filter {
    float factor;  // -1 if negated, else 1
    int32 as_factor;

    __device__ explicit Filter(bool negated) : factor(negated ? -1.0f : 1.0f), as_factor(negated ? -1 : 1) {}
    __device__ float below(float c, float v) const { return __fmaf_rd(c, factor, v); }
    __device__ float below(float16 c, float v) const { return below(static_cast<float>(widened(c)), v); }
    __device__ float below(bfloat16 c, float v) const { return below(static_cast<float>(widened(c)), v); }
    __device__ float below(uint32 c, float v) const {
        return __fmaf_rd(as_factor < 0 ? -__uint2float_ru(c) : __uint2float_rd(c), 1.0f, v);
    }
    __device__ float below(int32 c, float v) const {
        const uint32 turned =
            static_cast<uint32>(c) * static_cast<uint32>(as_factor);  // -2^31 remains, which is less than 2^31
        return __fmaf_rd(__int2float_rd(static_cast<int32>(turned)), 1.0f, v);
    }
    template <class Small>
    __device__ float below(Small c, float v) const {
        return below(static_cast<float>(c), v);
    }
    __device__ float below(double c, double v) const { return __double2float_rd((as_factor < 0 ? -c : c) - v); }
    __device__ float below(int64 c, int64 v) const { return __ll2float_rd((as_factor < 0 ? -c : c) - v); }
};

// The float of a key (float_key).
__device__ inline float key_float(uint32 key) {
    const int32 bits = static_cast<int32>(key);
    return __int_as_float(bits < 0 ? bits ^ (1 << 31) : ~bits);
}
constexpr uint32 kUnbounded = 0xff800000u;  // the key of infinity

// The next float above a finite x.
__device__ inline float next_above(float x) { return x == 0 ? __int_as_float(1) : key_float(float_key(x) + 1); }

// A piece of the whole packs of a row, aligned 16 bytes, which end at column `cols`: from column `begin` on, kHeld
// columns per thread.
template <bool frozen>
struct Piece {
    static constexpr int32 size = kPackSize, packs = kHeld / size;
    int32 begin, cols;

    // The first column of a pack of the given thread.
    __device__ int32 col(int32 pack, uint32 thread) const {
        return begin + static_cast<int32>(thread) * size + pack * (kListers<frozen> * size);
    }
    __device__ int32 col(int32 pack) const { return col(pack, threadIdx.x); }
    // The column of a bit in a mask.
    __device__ int32 col_of(int32 bit, uint32 thread) const { return col(bit / size, thread) + bit % size; }
    __device__ int32 col_of(int32 bit) const { return col_of(bit, threadIdx.x); }
    // Number of threads that hold columns.
    __device__ uint32 sharing() const {
        const int32 shares = (cols - begin) / size;
        return shares < kListers<frozen> ? shares : kListers<frozen>;
    }
    // A bit for each column that this thread holds.
    __device__ uint32 mask() const {
        constexpr int32 step = kListers<frozen> * size;
        const int32 left = cols - col(0), there = left <= 0 ? 0 : (left + step - 1) / step * size;
        return there >= kHeld ? ~0u >> (32 - kHeld) : (1u << there) - 1;
    }
};

// The prices of a pack's columns. `frozen`: no thread writes prices while the kernel runs, so that L1 may keep them.
template <bool frozen>
__device__ inline void load_prices(const Dual* from, Dual* to) {
#pragma unroll
    for (uint32 k = 0; k < Pack<Cost>::size; k += 2) {
        using Two = longlong2;
        const Two* two = reinterpret_cast<const Two*>(from + k);
        const Two x = frozen ? *two : __ldcg(two);
        memcpy(to + k, &x, 16);
    }
}
// The number that the filter subtracts from a cost: the price, or -v rounded down.
template <bool frozen>
__device__ inline FilterPrice load_filter_price(const State& state, int64 j) {
    if constexpr (kNarrowCosts)
        return state.listing_price[j];
    else
        return frozen ? state.v[j] : __ldcg(state.v + j);
}
// Numbers of the filter from an aligned address on, in whole packs.
template <bool frozen, int32 size>
__device__ inline void load_listing_prices(const float* from, float (&to)[size]) {
#pragma unroll
    for (int32 k = 0; k < size; k += 4) {
        const Pack<float> four = frozen ? load_pack_again(from + k) : *reinterpret_cast<const Pack<float>*>(from + k);
#pragma unroll
        for (int32 q = 0; q < 4; ++q) to[k + q] = four.values[q];
    }
}
// Those of one pack of costs. `shifted`: it may begin at any column.
template <bool frozen, bool shifted, int32 size>
__device__ inline void load_filter_prices(const State& state, int64 j, FilterPrice (&to)[size]) {
    if constexpr (!kNarrowCosts && shifted) {
#pragma unroll
        for (int32 k = 0; k < size; ++k) to[k] = load_filter_price<frozen>(state, j + k);
    } else if constexpr (!kNarrowCosts) {
        load_prices<frozen>(state.v + j, to);
    } else if constexpr (!shifted) {
        load_listing_prices<frozen>(state.listing_price + j, to);
    } else {  // four more, from the aligned address before them, of which they begin with the one of index `by`
        const uint32 by = j % 4;
        float around[size + 4];
        load_listing_prices<frozen>(state.listing_price + (j - by), around);
#pragma unroll
        for (int32 k = 0; k < size + 1; ++k) around[k] = by & 2 ? around[k + 2] : around[k];
#pragma unroll
        for (int32 k = 0; k < size; ++k) to[k] = by & 1 ? around[k + 1] : around[k];
    }
}

// Computes lower bounds of this thread's columns, and returns the least of them; NaN if a cost is not a number. At the
// end of a row the last columns are loaded repeatedly, which saves bounds checks.
template <bool frozen, bool shifted>
__device__ inline float load_bounds(const State& state, const Matrix& matrix, const Cost* row, Piece<frozen> piece,
                                    float (&low)[kHeld], bool& maybe_invalid) {
    using P = Piece<frozen>;
    constexpr int32 size = P::size, together = P::packs < 4 ? P::packs : 4;
    const Filter filter(matrix.maximize);
    const int32 last = piece.cols - size;
    float least = key_float(kUnbounded);
#pragma unroll
    for (int32 first = 0; first < P::packs; first += together) {
        if (piece.begin + first * kListers<frozen> * size > last) {  // no thread has more columns
#pragma unroll
            for (int32 k = 0; k < together * size; ++k) low[first * size + k] = key_float(kUnbounded);
            continue;
        }
        Cost cost[together][size];
        FilterPrice price[together][size];
        const auto load = [&](int32 a, int64 at) {
            const Pack<Cost> pack = load_pack(row + at);
#pragma unroll
            for (int32 k = 0; k < size; ++k) cost[a][k] = pack.values[k];
            load_filter_prices<frozen, shifted>(state, at, price[a]);
        };
        // Addresses that differ by constants. This does not pay where a pack has many columns and registers are scarce.
        if (sizeof(Cost) >= 4 && piece.col(first + together, 0) <= piece.cols) {
            const int64 begin = piece.col(first);
#pragma unroll
            for (int32 a = 0; a < together; ++a) load(a, begin + a * kListers<frozen> * size);
        } else {
#pragma unroll
            for (int32 a = 0; a < together; ++a) load(a, min(piece.col(first + a), last));
        }
#pragma unroll
        for (int32 a = 0; a < together; ++a) {
#pragma unroll
            for (int32 k = 0; k < size; ++k) {
                if constexpr (!kNarrowCosts) maybe_invalid |= !matrix.valid(matrix.minimised(cost[a][k]));
                float& bound = low[(first + a) * size + k];
                bound = filter.below(cost[a][k], price[a][k]);
                least = min_or_nan(least, bound);
            }
        }
    }
    return least;
}

// Lowers the block's bound, a key, as far as kWanted of the threads' least bounds are known to be at or below it; not
// at all if there are fewer. Only the first `sharing` threads have columns. All threads of the block call it.
template <bool frozen>
__device__ inline void lower_bound(ListScratch& scratch, float least, uint32 sharing) {
    constexpr uint32 warps = kListers<frozen> / kWarp, each = (kWanted + warps - 1) / warps;
    const uint32 warp = threadIdx.x / kWarp, lane = lane_index();
    const uint32 filled_warps = (sharing + kWarp - 1) / kWarp;
    const uint32 turns = filled_warps == warps ? each : (kWanted + filled_warps - 1) / filled_warps;
    const uint32 offered = turns * filled_warps;
    uint32 mine = float_key(least);
    for (uint32 turn = 0; turn < turns && warp < filled_warps; ++turn) {
        const uint32 smallest = warp_min(mine);
        const uint32 at = __ffs(__ballot_sync(kAllLanes, mine == smallest)) - 1;
        if (lane == at) mine = kTaken;
        if (lane == 0) scratch.low_smallest[turn * filled_warps + warp] = smallest;
    }
    __syncthreads();
    const uint32 first = lane < offered ? scratch.low_smallest[lane] : kTaken;
    const uint32 second = lane + kWarp < offered ? scratch.low_smallest[lane + kWarp] : kTaken;
    uint32 bound = kUnbounded;
    for (uint32 k = warp; k < offered; k += warps) {
        const uint32 key = scratch.low_smallest[k];
        const uint32 within =
            __popc(__ballot_sync(kAllLanes, first <= key)) + __popc(__ballot_sync(kAllLanes, second <= key));
        if (within >= kWanted && key < bound) bound = key;
    }
    if (lane == 0 && bound < kUnbounded) atomicMin(&scratch.low_bound, bound);
    __syncthreads();
}

// A bit for each of this thread's columns whose bound is at most `limit`, which is not NaN: the sign of their
// difference.
template <bool frozen>
__device__ inline uint32 mask_within(Piece<frozen> piece, const float (&low)[kHeld], float limit) {
    const float most = limit + 0.0f;  // not -0, which would compare as different from 0
    uint32 above = 0;
#pragma unroll
    for (int32 k = kHeld - 1; k >= 0; --k) above = above << 1 | __float_as_uint(most - low[k]) >> 31;
    return ~above & piece.mask();
}
// The same for columns below a limit.
__device__ inline uint32 mask_below(const float (&low)[kHeld], float limit) {
    uint32 below = 0;
#pragma unroll
    for (int32 k = kHeld - 1; k >= 0; --k) below = below << 1 | __float_as_uint(low[k] - limit) >> 31;
    return below;
}
