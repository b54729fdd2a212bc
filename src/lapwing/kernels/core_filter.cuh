// Which columns of a row can be in its list, by one read of the row: a filter in float.
//
// Every thread keeps lower bounds of cost - v of its columns in registers, floats rounded down: few instructions each, and
// of integers and doubles sharp to a part in 2^24. Each warp offers the least bounds of a few threads, so that kWanted
// columns are known at or below the greatest of the kWanted least offers; who holds a bound as low as that notes its column: some 45 of
// a piece of kHeld columns a thread. What is noted is looked at exactly. Enough values within the limit prove that nothing is missing;
// otherwise, as when nearly all values are one to a float, the row is listed without a filter (core_lists.cuh). Where too many
// columns tie at the limit, columns below it are noted alone, and the ties are taken in order.
//
// Cost: one read of the row and of v, 5 barriers. The noted set is the same on every run.
#pragma once
#include "core_lists.cuh"

#ifndef COMPUTED
#ifndef STORED

// Of a row's listing: threads of the block, and columns that each of them has at work at once.
template <bool frozen>
constexpr int32 kListers = frozen ? 256 : kTeamThreads;
template <bool frozen>
constexpr int32 kHeld = frozen ? 32 : 16;

constexpr float kMostFloat = 3.4028234663852886e38f;

// Costs as they are given become lower bounds of cost - v, as minimised: floats, of floats by two instructions, of integers by
// two, one of which converts.
struct Filter {
    float factor;      // -1 if negated, else 1
    int32 own_factor;  // the other way round

    __device__ explicit Filter(bool negated) : factor(negated ? -1.0f : 1.0f), own_factor(negated ? 1 : -1) {}
    __device__ float below(float c, double v) const { return __fmaf_rd(c, factor, -__double2float_ru(v)); }
    __device__ float below(float16 c, double v) const { return below(static_cast<float>(widened(c)), v); }
    __device__ float below(bfloat16 c, double v) const { return below(static_cast<float>(widened(c)), v); }
    __device__ float below(double c, double v) const { return __double2float_rd((own_factor > 0 ? -c : c) - v); }
    __device__ float below(int64 c, int64 v) const { return __ll2float_rd((own_factor > 0 ? -c : c) - v); }
    template <class Integer>
    __device__ float below(Integer c, int64 v) const {
        return -__ll2float_ru(v + static_cast<int64>(own_factor) * static_cast<int64>(c));
    }
};

// Floats as keys whose unsigned order is theirs.
__device__ inline uint32 float_key(float x) {
    const int32 bits = __float_as_int(x);
    return static_cast<uint32>(bits < 0 ? ~bits : bits ^ (1 << 31));
}
__device__ inline float key_float(uint32 key) {
    const int32 bits = static_cast<int32>(key);
    return __int_as_float(bits < 0 ? bits ^ (1 << 31) : ~bits);
}
constexpr uint32 kUnbounded = 0xff800000u;  // the key of infinity

// The floats next to a finite x.
__device__ inline float next_above(float x) { return x == 0 ? __int_as_float(1) : key_float(float_key(x) + 1); }
__device__ inline float next_below(float x) { return x == 0 ? -__int_as_float(1) : key_float(float_key(x) - 1); }

// A piece of a row, from column `begin` on: of each thread kHeld columns, `packed` in packs of 16 bytes side by side, else one by one.
template <bool frozen, bool packed>
struct Piece {
    static constexpr int32 size = packed ? Pack<Cost>::size : 1, held = kHeld<frozen>, packs = held / size;
    int32 begin, cols;

    // The first column of a pack.
    __device__ int32 col(int32 pack) const {
        return begin + static_cast<int32>(threadIdx.x) * size + pack * (kListers<frozen> * size);
    }
    // How many threads hold something.
    __device__ uint32 sharing() const {
        const int32 shares = (cols - begin) / size;
        return shares < kListers<frozen> ? shares : kListers<frozen>;
    }
    // A bit for each column that this thread holds.
    __device__ uint32 mask() const {
        constexpr int32 step = kListers<frozen> * size;
        const int32 left = cols - col(0), there = left <= 0 ? 0 : (left + step - 1) / step * size;
        return there >= held ? ~0u >> (32 - held) : (1u << there) - 1;
    }
};

// Lower bounds of this thread's columns, and the least of them; NaN if a cost is not a number. Beyond the end of the row the last
// columns are loaded again, so that nothing is to be asked.
template <bool frozen, bool packed>
__device__ inline float load_bounds(const Matrix& matrix, const Cost* row, const Dual* prices,
                                    Piece<frozen, packed> piece, float (&low)[kHeld<frozen>], bool& doubtful) {
    using P = Piece<frozen, packed>;
    constexpr int32 size = P::size, most = packed ? 4 : 8, together = P::packs < most ? P::packs : most;
    const Filter filter(matrix.maximize);
    const int32 last = piece.cols - size;
    float least = key_float(kUnbounded);
#pragma unroll
    for (int32 first = 0; first < P::packs; first += together) {
        Cost cost[together][size];
        Dual v[together][size];
        int32 at[together];
#pragma unroll
        for (int32 a = 0; a < together; ++a) {
            const int32 j = piece.col(first + a);
            at[a] = j < last ? j : last;
            if constexpr (packed) {
                const Pack<Cost> pack = load_pack(row + at[a]);
#pragma unroll
                for (int32 k = 0; k < size; ++k) cost[a][k] = pack.values[k];
                if (!frozen) load_prices<frozen>(prices + at[a], v[a]);  // from afar, so early
            } else {
                cost[a][0] = row[at[a]];
                if (!frozen) v[a][0] = __ldcg(prices + at[a]);
            }
        }
#pragma unroll
        for (int32 a = 0; a < together; ++a) {
            if constexpr (packed && frozen) load_prices<frozen>(prices + at[a], v[a]);
            if constexpr (!packed && frozen) v[a][0] = prices[at[a]];
#pragma unroll
            for (int32 k = 0; k < size; ++k) {
                if constexpr (sizeof(Cost) == 8) doubtful |= !matrix.valid(matrix.minimised(cost[a][k]));
                float& bound = low[(first + a) * size + k];
                bound = filter.below(cost[a][k], v[a][k]);
                least = min_or_nan(least, bound);
            }
        }
    }
    return least;
}

// Lowers the block's bound, a key, so far that kWanted of the threads' least are known to be at or below it, if there are as many.
// The first `sharing` threads have some. All threads of the block call it.
__device__ inline void lower_bound(ListScratch& scratch, float least, uint32 sharing) {
    const uint32 warps = blockDim.x / kWarp, warp = threadIdx.x / kWarp, lane = lane_index();
    const uint32 offering = (sharing + kWarp - 1) / kWarp, turns = (kWanted + offering - 1) / offering;
    const uint32 offers = turns * offering;
    uint32 mine = float_key(least);
    for (uint32 turn = 0; turn < turns && warp < offering; ++turn) {
        const uint32 smallest = warp_min(mine);
        const uint32 at = __ffs(__ballot_sync(kAllLanes, mine == smallest)) - 1;
        if (lane == at) mine = kTaken;
        if (lane == 0) scratch.low_offers[turn * offering + warp] = smallest;
    }
    __syncthreads();
    const uint32 first = lane < offers ? scratch.low_offers[lane] : kTaken;
    const uint32 second = lane + kWarp < offers ? scratch.low_offers[lane + kWarp] : kTaken;
    for (uint32 k = warp; k < offers; k += warps) {
        const uint32 offer = scratch.low_offers[k];
        const uint32 within = __popc(__ballot_sync(kAllLanes, first <= offer)) +
                              __popc(__ballot_sync(kAllLanes, second <= offer));
        if (within >= kWanted && lane == 0) atomicMin(&scratch.low_bound, offer);
    }
    __syncthreads();
}

// Notes this thread's columns whose bounds are at most `limit`, as far as there is room.
template <bool frozen, bool packed>
__device__ inline void note(ListScratch& scratch, Piece<frozen, packed> piece, const float (&low)[kHeld<frozen>],
                            float limit) {
    uint32 mask = 0;
#pragma unroll
    for (int32 k = 0; k < kHeld<frozen>; ++k) mask |= static_cast<uint32>(low[k] <= limit) << k;
    mask &= piece.mask();
    uint32 at = atomicAdd(&scratch.noted_count, static_cast<uint32>(__popc(mask)));
    for (; mask != 0 && at < kNoted; mask &= mask - 1, ++at) {
        const int32 place = __ffs(static_cast<int>(mask)) - 1;
        scratch.noted[at] = piece.col(place / piece.size) + place % piece.size;
    }
}

// A limit as a number of the duals' type; of integers, those at or below it are the same.
__device__ inline double as_dual(float limit, double) { return limit; }
__device__ inline int64 as_dual(float limit, int64) { return __float2ll_rd(limit); }

// Collects what can be in row i's list, for write_list. False if the filter cannot tell, or a cost may not be valid. All threads
// of a block call it, and get the same.
template <bool frozen, bool packed>
__device__ bool filter_row(int32 i) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const Matrix& matrix = state.matrix;
    const Cost* const row = matrix.costs.row(i);
    const Dual* const prices = state.v;
    const int32 real = matrix.real_cols();
    const uint32 exits = matrix.prices != nullptr && matrix.exit_cost(i) < infinity<Dual>();
    if (threadIdx.x == 0) {
        scratch.low_bound = kUnbounded;
        scratch.below = 0;
        scratch.noted[0] = real + i;
        scratch.noted_count = exits;
    }
    bool strictly = false;  // columns below the limit alone are noted
    uint32 noted = exits;
    float limit = kMostFloat;
    for (int32 begin = 0; begin < real; begin += kHeld<frozen> * kListers<frozen>) {
        const Piece<frozen, packed> piece = {begin, real};
        float low[kHeld<frozen>];
        bool doubtful = false;
        float least = load_bounds(matrix, row, prices, piece, low, doubtful);
        doubtful |= !(least > -key_float(kUnbounded));
        if (piece.col(0) >= real) least = key_float(kUnbounded);
        lower_bound(scratch, least, piece.sharing());
        const uint32 bound = scratch.low_bound;
        const float x = key_float(bound);
        limit = bound >= kUnbounded - 1 ? kMostFloat : strictly ? x : next_above(x);
        if (least <= limit) note(scratch, piece, low, strictly ? next_below(limit) : limit);
        if (__syncthreads_or(doubtful)) return false;
        uint32 all = scratch.noted_count;
        if (all > kNoted && limit < kMostFloat && !strictly) {
            __syncthreads();
            if (threadIdx.x == 0) scratch.noted_count = noted;
            __syncthreads();
            strictly = true;
            limit = x;
            if (least < limit) note(scratch, piece, low, next_below(limit));
            __syncthreads();
            all = scratch.noted_count;
        }
        noted = all;
        if (noted > kNoted) return false;
    }
    const bool bounded = limit < kMostFloat;
    const Dual bound = bounded ? as_dual(limit, Dual()) : infinity<Dual>();
    const int32 first = first_tie(matrix, i);
    for (uint32 k = threadIdx.x; k < noted; k += blockDim.x) {
        const int32 j = scratch.noted[k];
        const Dual cost = matrix.at(i, j), x = cost - (frozen ? state.v[j] : __ldcg(state.v + j));
        if (!(x < infinity<Dual>()) || x > bound || (strictly && x == bound)) continue;
        const uint32 at = atomicAdd(&scratch.below, 1u);
        if (at >= kCollected) continue;
        scratch.value[at] = x;
        scratch.cost[at] = static_cast<ListCost>(cost);
        scratch.order[at] = tie_order(first, matrix.cols, j);
    }
    __syncthreads();
    if (strictly && scratch.below < kWanted) collect_ties(i, bound);
    const uint32 count = scratch.below;
    return count <= kCollected && (!bounded || count >= kWanted);
}

#endif

// Rows that are not aligned, apart, so that they cost the others no registers.
template <bool frozen>
LAPWING_NOINLINE __device__ bool filter_unaligned_row(int32 i) {
    return filter_row<frozen, false>(i);
}

// Lists row i under the present prices; all threads of the block call it, and the list is valid for them after its return.
// True if a cost of the row is not valid; of a row of the host, if the list is scant.
template <bool frozen>
__device__ inline bool list_row(int32 i) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
#ifdef STORED
    collect<frozen>(i);
    write_list(state, i, scratch, scratch.below);
    __syncthreads();
    return heed_store(state, i, scratch);
#else
    const Matrix& matrix = state.matrix;
    const bool packed = matrix.costs.aligned() && matrix.real_cols() % static_cast<int32>(Pack<Cost>::size) == 0;
    bool invalid = false;
    if (!(packed ? filter_row<frozen, true>(i) : filter_unaligned_row<frozen>(i))) invalid = collect<frozen>(i);
    write_list(state, i, scratch, scratch.below);
    return __syncthreads_or(invalid);
#endif
}
// The same while prices move, compiled once.
LAPWING_NOINLINE __device__ bool relist_row(int32 i) { return list_row<false>(i); }

#endif
