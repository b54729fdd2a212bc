// Finds the columns of a row that can be in its list, by one read of the row and a filter in float.
//
// Every thread keeps lower bounds of cost - v of its columns in registers. They are floats, computed by two or three
// instructions each from prices that were rounded once, so no 64-bit arithmetic is needed. Each warp contributes the
// least bounds of a few threads. At least kWanted columns are at or below the kWanted-th least contribution, the limit.
// Every thread notes its columns within the limit, about 45 in total per piece of kHeld columns a thread. If very many
// columns tie at the limit, only the ties of a window are noted (struct Window). Noted columns are tested exactly.
// Enough values below the next float prove that no column is missing. Otherwise, for example if more columns than can
// be noted share one float, the whole row is read exactly (core/lists/build.cuh).
//
// The limit is found in the first piece of a row. Further pieces are read several at a time: every warp notes what is
// within the limit so far, without waiting for others, and the least bounds of all these columns lower the limit of the
// next ones. If a warp finds very many, they are read again one at a time, as is the rest of the row.
//
// A row is read in packs, aligned 16 bytes. It may begin or end within one: those columns, at most two packs less two
// columns, are noted whatever they cost.
//
// Cost: one read of the row and of the prices, 4 barriers for the first piece and 3 for several others, and one more
// for a piece where very many columns tie. Every run notes the same columns.
#pragma once
#include "core/lists/bounds.cuh"

// Notes this thread's columns in `mask`, from place `begin` on, as far as there is room, and counts them in `count`.
template <bool frozen>
__device__ inline void note(ListScratch& scratch, Piece<frozen> piece, uint32 mask, uint32 begin, uint32& count) {
    if (mask == 0) return;
    uint32 at = begin + atomicAdd(&count, static_cast<uint32>(__popc(mask)));
    for (; mask != 0 && at < Tuning::noted; mask &= mask - 1, ++at)
        scratch.noted[at] = piece.col_of(__ffs(static_cast<int>(mask)) - 1);
}

// The least number of the duals' type that is not below x.
__device__ inline double not_below(float x, double) { return x; }
__device__ inline int64 not_below(float x, int64) { return __float2ll_ru(x); }

// The noted columns, as a part of their row that can be collected.
struct Noted {
    uint32 count;
    template <class F>
    __device__ void operator()(const State& state, int32 i, F f) const {
        constexpr uint32 kAhead = 4;  // in flight
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

// A lower bound of all values whose float bound exceeds `limit`.
__device__ inline Dual value_beyond(float limit) {
    return limit < kMostFloat ? not_below(next_above(limit), Dual()) : infinity<Dual>();
}

// The bound of a noted column; NaN for an unmatched column, which has none.
template <bool frozen>
__device__ inline float noted_bound(const State& state, const Cost* row, int32 j) {
    if (j >= state.matrix.real_cols()) return -key_float(kUnbounded);
    return Filter(state.matrix.maximize).below(row[j], load_filter_price<frozen>(state, j));
}
// The columns of a mass of `ties` at the limit (a bit for each of this thread's columns, by whole packs) that lie in a
// window by tie_order. It is so wide that some more can be expected there than are still wanted, where `below` columns
// are below the limit.
template <bool frozen>
LAPWING_NOINLINE __device__ uint32 mask_of_window(int32 i, Piece<frozen> piece, float limit, uint32 ties,
                                                  uint32 below) {
    using P = Piece<frozen>;
    constexpr int32 step = kListers<frozen> * P::size;
    const Matrix& matrix = shared().state.matrix;
    const uint32 meant = (below < kWanted ? kWanted - below : 0) + Tuning::more_ties;
    const uint32 size = min(piece.cols - piece.begin, kHeld * kListers<frozen>);
    const uint32 width = ties > meant ? size * meant / ties : kTaken;
    if (threadIdx.x == 0 && width < kTaken) {
        Window& window = shared().scratch.list.window;
        window = {limit, window.limit == limit && window.width < width ? window.width : width};
    }
    uint32 mask = 0;
    int32 order = tie_order(first_tie(matrix, i), matrix.cols, piece.col(0));
#pragma unroll
    for (int32 pack = 0; pack < P::packs; ++pack) {
        const bool meets = static_cast<uint32>(order) < width || order + P::size > matrix.cols;
        mask |= meets ? ~0u >> (32 - P::size) << (pack * P::size) : 0u;
        order += order + step < matrix.cols ? step : step - matrix.cols;
    }
    return mask;
}

// A lower limit that still includes at least kWanted of the noted columns, for rows with many. A row has many if its
// nearest columns are adjacent, so that few warps hold all of them.
template <bool frozen>
__device__ inline float tightened(const State& state, const Cost* row, ListScratch& scratch, uint32 noted) {
    const uint32 spread =
        lane_index() * (blockDim.x / kWarp) + threadIdx.x / kWarp;  // what lies side by side goes to different warps
    float least = key_float(kUnbounded);
    for (uint32 k = spread; k < noted; k += blockDim.x)
        least = fminf(least, noted_bound<frozen>(state, row, scratch.noted[k]));
    lower_bound<frozen>(scratch, least, kListers<frozen>);
    return scratch.low_bound >= kUnbounded - 1 ? kMostFloat : key_float(scratch.low_bound);
}
// Collects the noted columns within the limit; of ties at the limit, those in its window. False if these are too few or
// too many. Numbers that tie as floats may differ exactly. If values are excluded by the window, tau is the least value
// that they can have, and candidates above tau prove nothing. A first list includes such candidates if at least one
// candidate is not above tau; a later list leaves them out.
template <bool frozen>
__device__ inline bool collect_within(const State& state, int32 i, const Cost* row, ListScratch& scratch, uint32 noted,
                                      float limit) {
    const Matrix& matrix = state.matrix;
    const Window window = scratch.window;
    const bool windowed = window.limit == limit;
    const Dual next = value_beyond(limit), beyond = windowed ? not_below(limit, Dual()) : next;
    constexpr uint32 kFewest = kWanted / 2;
    if (threadIdx.x == 0) scratch.left_out = windowed ? beyond : infinity<Dual>();
    bool proves = false;
    for (uint32 k = threadIdx.x; k < noted; k += blockDim.x) {
        const int32 j = scratch.noted[k];
        if (noted > blockDim.x && noted_bound<frozen>(state, row, j) > limit) continue;
        const Dual cost = matrix.at(i, j), x = cost - __ldcg(state.v + j);
        const int32 order = tie_order(first_tie(matrix, i), matrix.cols, j);
        const bool tie = windowed && static_cast<uint32>(order) < window.width && (frozen ? x < next : x == beyond);
        if (!(x < beyond) && !tie) continue;
        proves |= x <= beyond;
        collect_at(scratch, atomicAdd(&scratch.below, 1u), x, order, cost);
    }
    proves = __syncthreads_or(proves);
    const uint32 fewest = windowed && noted >= kWanted ? kFewest : kWanted;
    return scratch.below <= Tuning::collected && (beyond == infinity<Dual>() || (scratch.below >= fewest && proves));
}

// Goes on behind the first piece, several pieces at a time. Returns where the rest of the row, which ends at column
// `end`, is to be read piece by piece, or `end`; then low_bound is the key of the limit, and noted_before columns are
// noted. All threads of the block call it.
template <bool shifted>
LAPWING_NOINLINE __device__ int32 note_pieces(const Cost* row, int32 begin, int32 end) {
    const State& state = shared().state;
    const Matrix& matrix = state.matrix;
    ListScratch& scratch = shared().scratch.list;
    constexpr int32 width = kHeld * kListers<false>, most = Tuning::most_pieces * width;
    __syncthreads();
    for (int32 together = width, next = begin; begin < end; begin = next) {
        const float limit = key_float(scratch.low_bound);
        float least = key_float(kUnbounded);
        bool stops = false;
        for (; next < end && next < begin + together && !stops; next += width) {
            const Piece<false> piece = {next, end};
            float low[kHeld];
            float its_least = load_bounds<false, shifted>(state, matrix, row, piece, low, stops);
            stops |= !(its_least > -key_float(kUnbounded));
            if (piece.col(0) >= end) its_least = key_float(kUnbounded);
            const uint32 passing = its_least <= limit ? mask_within(piece, low, limit) : 0;
            stops |= warp_sum(static_cast<uint32>(__popc(passing))) > Tuning::many_passing;
            stops = __any_sync(kAllLanes, stops);  // alike in all lanes
            note(scratch, piece, passing, 0, scratch.noted_count);
            least = fminf(least, its_least);
        }
        stops = __syncthreads_or(stops);
        const uint32 noted = scratch.noted_count;
        if (stops || noted > Tuning::noted) {
            __syncthreads();
            if (threadIdx.x == 0) scratch.noted_count = scratch.noted_before;
            __syncthreads();
            return begin;
        }
        if (threadIdx.x == 0) scratch.noted_before = noted;
        lower_bound<false>(scratch, least, Piece<false>{begin, end}.sharing());
        together = min(2 * together, most);
    }
    return end;
}

// Collects the candidates of row i's list for write_list. Every column that is not noted has a bound above the limit,
// so its value is at least that of the next float. False if the filter cannot decide, or a cost may be invalid. All
// threads of the block call it, and get the same result. `shifted`: the row may begin or end within a pack.
template <bool frozen, bool shifted>
__device__ bool filter_row(const Matrix& matrix, int32 i) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const Cost* const row = matrix.costs.row(i);
    const int32 real = matrix.real_cols(), head = shifted ? before_pack(row) : 0,
                end = shifted ? end_of_packs(head, real) : real;
    if (shifted && head >= end) return false;
    clear_collected(scratch);
    const uint32 exits = matrix.prices != nullptr && matrix.unmatched_cost(i) < infinity<Dual>();
    const uint32 edges = head + (real - end);
    bool maybe_invalid = false;
    if (shifted && threadIdx.x < edges) {
        const int32 t = static_cast<int32>(threadIdx.x), j = t < head ? t : end + t - head;
        scratch.noted[exits + threadIdx.x] = j;
        maybe_invalid = !matrix.valid(matrix.minimised(row[j]));
    }
    if (threadIdx.x == 0) {
        scratch.low_bound = kUnbounded;
        if (exits > 0) scratch.noted[0] = real + i;
        scratch.noted_before = scratch.noted_count = exits + edges;
        scratch.noted_late = scratch.many_passing = scratch.many_below = 0;
        scratch.window.limit = key_float(kUnbounded);
    }
    float limit = kMostFloat;
    uint32 noted = 0;
    for (int32 begin = head; begin < end; begin += kHeld * kListers<frozen>) {
        if (!frozen && begin == head + kHeld * kListers<frozen> && limit < kMostFloat) {
            begin = note_pieces<shifted>(row, begin, end);
            limit = key_float(scratch.low_bound);
            noted = scratch.noted_before;
            if (begin >= end) break;
        }
        const Piece<frozen> piece = {begin, end};
        float low[kHeld];
        float least = load_bounds<frozen, shifted>(state, matrix, row, piece, low, maybe_invalid);
        maybe_invalid |= !(least > -key_float(kUnbounded));
        if (piece.col(0) >= end) least = key_float(kUnbounded);
        lower_bound<frozen>(scratch, least, piece.sharing());
        const uint32 bound = scratch.low_bound, before = scratch.noted_before;
        limit = bound >= kUnbounded - 1 ? kMostFloat : key_float(bound);
        const uint32 passing = least <= limit ? mask_within(piece, low, limit) : 0;
        const uint32 of_warp = warp_sum(static_cast<uint32>(__popc(passing)));
        const bool many = of_warp > Tuning::many_passing;
        uint32 below = 0;
        if (!many) {
            note(scratch, piece, passing, 0, scratch.noted_count);
        } else {
            below = mask_below(low, limit) & passing;
            const uint32 of_warp_below = warp_sum(static_cast<uint32>(__popc(below)));
            if (lane_index() == 0) {
                atomicAdd(&scratch.many_passing, of_warp);
                atomicAdd(&scratch.many_below, of_warp_below);
            }
        }
        if (__syncthreads_or(maybe_invalid)) return false;
        noted = scratch.noted_count;
        if (scratch.many_passing > 0) {
            uint32 mask = many ? passing : 0;
            if (noted + scratch.many_passing > before + Tuning::few_noted && limit < kMostFloat) {
                const uint32 ties = scratch.many_passing - scratch.many_below;
                mask &= below | mask_of_window<frozen>(i, piece, limit, ties, scratch.many_below);
            }
            note(scratch, piece, mask, noted, scratch.noted_late);
            __syncthreads();
            noted += scratch.noted_late;
        }
        if (noted > Tuning::noted) return false;
        if (begin + kHeld * kListers<frozen> < end) {
            __syncthreads();
            if (threadIdx.x == 0) {
                scratch.noted_before = scratch.noted_count = noted;
                scratch.noted_late = scratch.many_passing = scratch.many_below = 0;
            }
        }
    }
    const float noted_limit = limit;
    if (noted > blockDim.x) limit = tightened<frozen>(state, row, scratch, noted);
    if (collect_within<frozen>(state, i, row, scratch, noted, limit)) return true;
    if (noted <= blockDim.x || scratch.window.limit == noted_limit) return false;
    const Dual beyond = value_beyond(noted_limit);
    collect_noted(i, noted);
    return beyond == infinity<Dual>() || scratch.next_bound < beyond;
}

// Such rows have a function of their own, so that they cost others no registers.
template <bool frozen>
LAPWING_NOINLINE __device__ bool filter_shifted_row(int32 i) {
    return filter_row<frozen, true>(shared().state.matrix, i);
}
