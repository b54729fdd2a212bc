// Which columns of a row can be in its list, by one read of the row: a filter in float.
//
// Every thread keeps lower bounds of cost - v of its columns in registers: floats, of two or three instructions each, against prices
// that were rounded once; so no number of 64 bits is needed. Each warp offers the least bounds of a few threads, so that kWanted columns
// are known at or below the greatest of the kWanted least offers; who holds a bound as low as that notes its column: some 45 of
// a piece of kHeld columns a thread. Where a mass of them ties at that bound, the ties of a window alone are noted (struct Window).
// What is noted is looked at exactly. Enough values below the next float prove that nothing is missing; otherwise, as when more
// values than are noted are one to a float, the whole row is looked at exactly (core_lists.cuh).
//
// Cost: one read of the row and of the prices, 5 barriers. What is noted is the same on every run.
#pragma once
#include "core_bounds.cuh"

#ifndef COMPUTED
#ifndef STORED

// A thread with more of them does not note them before all are counted: where a mass ties, that would take as long as the rest.
constexpr int32 kManyPassing = 4;

// Notes this thread's columns in `mask` behind `begin`, counted in `count`, as far as there is room for `most`.
template <bool frozen, bool packed>
__device__ inline void note(ListScratch& scratch, Piece<frozen, packed> piece, uint32 mask, uint32 begin, uint32& count,
                            uint32 most) {
    if (mask == 0) return;
    uint32 at = begin + atomicAdd(&count, static_cast<uint32>(__popc(mask)));
    for (; mask != 0 && at < most; mask &= mask - 1, ++at)
        scratch.noted[at] = piece.col_of(__ffs(static_cast<int>(mask)) - 1);
}

// What is left of `mask` for the columns for which f holds.
template <bool frozen, bool packed, class F>
__device__ inline uint32 mask_where(Piece<frozen, packed> piece, uint32 mask, F f) {
    for (uint32 left = mask; left != 0; left &= left - 1) {
        if (!f(piece.col_of(__ffs(static_cast<int>(left)) - 1))) mask &= ~(left & -left);
    }
    return mask;
}
// A bit for each of this thread's columns of which the tie_order may be below `width`, by whole packs.
template <bool frozen, bool packed>
__device__ inline uint32 mask_of_window(Piece<frozen, packed> piece, int32 first, int32 cols, uint32 width) {
    using P = Piece<frozen, packed>;
    constexpr int32 step = kListers<frozen> * P::size;
    uint32 mask = 0;
    int32 order = tie_order(first, cols, piece.col(0));
#pragma unroll
    for (int32 pack = 0; pack < P::packs; ++pack) {
        const bool meets = static_cast<uint32>(order) < width || order + P::size > cols;
        mask |= meets ? ~0u >> (32 - P::size) << (pack * P::size) : 0u;
        order += order + step < cols ? step : step - cols;
    }
    return mask;
}

// The least number of the duals' type that is not below x.
__device__ inline double not_below(float x, double) { return x; }
__device__ inline int64 not_below(float x, int64) { return __float2ll_ru(x); }

// What is noted, as a part of its row that can be collected.
struct Noted {
    uint32 count;
    template <class F>
    __device__ void operator()(const State& state, int32 i, F f) const {
        constexpr uint32 kAhead = 4;  // on their way at once
        for (uint32 base = threadIdx.x; base < count; base += kAhead * blockDim.x) {
            int32 j[kAhead];
            Dual cost[kAhead], v[kAhead];
#pragma unroll
            for (uint32 q = 0; q < kAhead; ++q) {
                const uint32 k = base + q * blockDim.x;
                j[q] = shared().scratch.list.noted[k < count ? k : base];
                cost[q] = state.matrix.at(i, j[q]);
                v[q] = __ldcg(state.v + j[q]);
            }
#pragma unroll
            for (uint32 q = 0; q < kAhead; ++q) {
                if (base + q * blockDim.x < count) f(j[q], cost[q], cost[q] - v[q]);
            }
        }
    }
};
LAPWING_NOINLINE __device__ void collect_noted(int32 i, uint32 count) { collect_from(i, count, Noted{count}); }

// The least value that what has a bound above `limit` can have.
__device__ inline Dual value_beyond(float limit) {
    return limit < kMostFloat ? not_below(next_above(limit), Dual()) : infinity<Dual>();
}

// The bound of a column that was noted; of an exit, which has none, no number.
template <bool frozen>
__device__ inline float noted_bound(const State& state, const Cost* row, int32 j) {
    if (j >= state.matrix.real_cols()) return -key_float(kUnbounded);
    FilterPrice price[1];
    load_filter_prices<frozen, false>(state, j, price);
    return Filter(state.matrix.maximize).below(row[j], price[0]);
}
// What is left of each lane's `mask` for columns whose bound is below the limit: few lanes have any, and for each of them all look at one
// column. All lanes of a warp call it.
template <bool frozen, bool packed>
__device__ inline uint32 mask_below(const State& state, Piece<frozen, packed> piece, int32 i, float limit, uint32 mask) {
    const Cost* const row = state.matrix.costs.row(i);
    const uint32 lane = lane_index();
    uint32 below = 0;
    for (uint32 left = __ballot_sync(kAllLanes, mask != 0); left != 0; left &= left - 1) {
        const int32 source = __ffs(static_cast<int>(left)) - 1;
        const uint32 its_mask = __shfl_sync(kAllLanes, mask, source);
        const bool mine = (its_mask >> lane & 1) != 0;
        const int32 j = mine ? piece.col_of(static_cast<int32>(lane), threadIdx.x - lane + source) : 0;
        const uint32 its_below = __ballot_sync(kAllLanes, mine && noted_bound<frozen>(state, row, j) < limit);
        if (static_cast<int32>(lane) == source) below = its_below;
    }
    return below;
}
// Instead of a mass of ties at the limit, which was counted, those of a window by tie_order: so wide that some more ties than
// are still wanted can be expected there. Of this thread's columns `passing` are within the limit, the least of them `least`.
template <bool frozen, bool packed>
LAPWING_NOINLINE __device__ void note_window(int32 i, int32 begin, float limit, float least, uint32 passing) {
    constexpr uint32 kMore = 24;
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const Matrix& matrix = state.matrix;
    const Piece<frozen, packed> piece = {begin, matrix.real_cols()};
    const uint32 below = mask_below(state, piece, i, limit, least < limit ? passing : 0);
    note(scratch, piece, below, scratch.noted_before, scratch.noted_below, kNoted);
    __syncthreads();
    const uint32 found = scratch.noted_below, before = scratch.noted_before + found,
                 ties = scratch.noted_count + scratch.unnoted - before;
    const uint32 meant = (found < kWanted ? kWanted - found : 0) + kMore;
    const uint32 size = min(piece.cols - begin, piece.held * kListers<frozen>);
    const uint32 width = ties > meant ? size * meant / ties : kTaken;
    const int32 first = first_tie(matrix, i);
    const uint32 near = (passing & ~below) & mask_of_window(piece, first, matrix.cols, width);
    const auto within = [&](int32 j) { return static_cast<uint32>(tie_order(first, matrix.cols, j)) < width; };
    note(scratch, piece, mask_where(piece, near, within), before, scratch.noted_ties, kNoted);
    __syncthreads();
    if (threadIdx.x == 0) {
        scratch.noted_count = before + scratch.noted_ties;
        Window& window = scratch.window;
        if (width < kTaken) window = {limit, window.limit == limit && window.width < width ? window.width : width};
    }
    __syncthreads();
}

// A limit within which there are kWanted of the columns that were noted, or more, where there are many: as when a row's nearest columns lie
// side by side, and few warps had them all.
template <bool frozen>
__device__ inline float tightened(const State& state, const Cost* row, ListScratch& scratch, uint32 noted) {
    const uint32 spread = lane_index() * (blockDim.x / kWarp) + threadIdx.x / kWarp;  // what lies side by side goes to different warps
    float least = key_float(kUnbounded);
    for (uint32 k = spread; k < noted; k += blockDim.x)
        least = fminf(least, noted_bound<frozen>(state, row, scratch.noted[k]));
    lower_bound<frozen>(scratch, least, kListers<frozen>);
    return scratch.low_bound >= kUnbounded - 1 ? kMostFloat : key_float(scratch.low_bound);
}
// Collects what was noted within the limit; of ties at the limit, those in its window. False if these are too few, or too many. Numbers
// that tie as floats may be no ties, and greater than what is beyond the window: then the list is shorter.
template <bool frozen>
__device__ inline bool collect_within(const State& state, int32 i, const Cost* row, ListScratch& scratch, uint32 noted,
                                      float limit) {
    const Matrix& matrix = state.matrix;
    const Window window = scratch.window;
    const bool windowed = window.limit == limit;
    const Dual beyond = windowed ? not_below(limit, Dual()) : value_beyond(limit);
    constexpr uint32 kFewest = kWanted / 2;
    if (threadIdx.x == 0) scratch.rest = windowed ? beyond : infinity<Dual>();
    for (uint32 k = threadIdx.x; k < noted; k += blockDim.x) {
        const int32 j = scratch.noted[k];
        if (noted > blockDim.x && noted_bound<frozen>(state, row, j) > limit) continue;
        const Dual cost = matrix.at(i, j), x = cost - __ldcg(state.v + j);
        const bool tie = windowed && x == beyond &&
                         static_cast<uint32>(tie_order(first_tie(matrix, i), matrix.cols, j)) < window.width;
        if (!(x < beyond) && !tie) continue;
        const uint32 at = atomicAdd(&scratch.below, 1u);
        if (at >= kCollected) continue;
        scratch.value[at] = x;
        scratch.cost[at] = static_cast<ListCost>(cost);
        scratch.order[at] = tie_order(first_tie(matrix, i), matrix.cols, j);
    }
    __syncthreads();
    const uint32 fewest = windowed && noted >= kWanted ? kFewest : kWanted;
    return scratch.below <= kCollected && (beyond == infinity<Dual>() || scratch.below >= fewest);
}

// Collects what can be in row i's list, for write_list: what is not noted has a bound above the limit, and is not below the next
// float. False if the filter cannot tell, or a cost may not be valid. All threads
// of a block call it, and get the same.
template <bool frozen, bool packed>
__device__ bool filter_row(int32 i) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const Matrix& matrix = state.matrix;
    const Cost* const row = matrix.costs.row(i);
    const int32 real = matrix.real_cols();
    if (threadIdx.x == 0) {
        scratch.low_bound = kUnbounded;
        scratch.below = 0;
        scratch.noted[0] = real + i;
        scratch.noted_before = scratch.noted_count = matrix.prices != nullptr && matrix.exit_cost(i) < infinity<Dual>();
        scratch.noted_below = scratch.noted_ties = scratch.unnoted = 0;
        scratch.window.limit = key_float(kUnbounded);
    }
    float limit = kMostFloat;
    for (int32 begin = 0; begin < real; begin += kHeld<frozen> * kListers<frozen>) {
        const Piece<frozen, packed> piece = {begin, real};
        float low[kHeld<frozen>];
        bool doubtful = false;
        float least = load_bounds(state, row, piece, low, doubtful);
        doubtful |= !(least > -key_float(kUnbounded));
        if (piece.col(0) >= real) least = key_float(kUnbounded);
        lower_bound<frozen>(scratch, least, piece.sharing());
        const uint32 bound = scratch.low_bound;
        limit = bound >= kUnbounded - 1 ? kMostFloat : key_float(bound);
        const uint32 most = limit < kMostFloat ? min(scratch.noted_before + kFewNoted, kNoted) : kNoted;
        const uint32 passing = least <= limit ? mask_within(piece, low, limit) : 0;
        const bool many = __popc(passing) > kManyPassing;
        if (!many) note(scratch, piece, passing, 0, scratch.noted_count, most);
        if (__any_sync(kAllLanes, many)) {
            const uint32 unnoted = warp_reduce(many ? __popc(passing) : 0, [](uint32 a, uint32 b) { return a + b; });
            if (lane_index() == 0) atomicAdd(&scratch.unnoted, unnoted);
        }
        if (__syncthreads_or(doubtful)) return false;
        if (scratch.noted_count + scratch.unnoted > most && limit < kMostFloat) {
            note_window<frozen, packed>(i, begin, limit, least, passing);
        } else if (scratch.unnoted > 0) {
            if (many) note(scratch, piece, passing, scratch.noted_count, scratch.noted_below, most);
            __syncthreads();
            if (threadIdx.x == 0) scratch.noted_count += scratch.noted_below;
            __syncthreads();
        }
        if (scratch.noted_count > kNoted) return false;
        if (begin + kHeld<frozen> * kListers<frozen> < real) {
            __syncthreads();
            if (threadIdx.x == 0) {
                scratch.noted_before = scratch.noted_count;
                scratch.noted_below = scratch.noted_ties = scratch.unnoted = 0;
            }
        }
    }
    const uint32 noted = scratch.noted_count;
    const float noted_limit = limit;
    if (noted > blockDim.x) limit = tightened<frozen>(state, row, scratch, noted);
    if (collect_within<frozen>(state, i, row, scratch, noted, limit)) return true;
    if (noted <= blockDim.x || scratch.window.limit == noted_limit) return false;
    const Dual beyond = value_beyond(noted_limit);
    collect_noted(i, noted);
    return beyond == infinity<Dual>() || scratch.next_bound < beyond;
}

// Rows that are not aligned, apart, so that they cost the others no registers.
template <bool frozen>
LAPWING_NOINLINE __device__ bool filter_unaligned_row(int32 i) {
    return filter_row<frozen, false>(i);
}

#endif

// Lists row i under the present prices; all threads of the block call it, and the list is valid for them after its return.
// True if a cost of the row is not valid; of a row of the host, if the list is scant.
template <bool frozen>
__device__ inline bool list_row(int32 i) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
#ifdef STORED
    collect<frozen>(i);
    write_list(state, i, scratch, scratch.below, infinity<Dual>());
    __syncthreads();
    return heed_store(state, i, scratch);
#else
    const Matrix& matrix = state.matrix;
    const bool packed = matrix.costs.aligned() && matrix.real_cols() % static_cast<int32>(Pack<Cost>::size) == 0;
    bool invalid = false;
    Dual rest = infinity<Dual>();
    if (packed ? filter_row<frozen, true>(i) : filter_unaligned_row<frozen>(i))
        rest = scratch.rest;
    else
        invalid = collect<frozen>(i);
    write_list(state, i, scratch, scratch.below, rest);
    return __syncthreads_or(invalid);
#endif
}
// Before that, whenever prices have moved: what the filter takes from costs.
__device__ inline void lower_all_prices(const Team& team) {
#ifndef STORED
    if constexpr (kNarrowCosts) {
        team.each(team.state.matrix.cols, [&](uint32 j) { team.state.lowered[j] = lowered(__ldcg(team.state.v + j)); });
        team.sync();
    }
#endif
}
// The same while prices move, compiled once.
LAPWING_NOINLINE __device__ bool relist_row(int32 i) { return list_row<false>(i); }

#endif
