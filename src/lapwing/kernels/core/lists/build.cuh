// Candidate lists: the kListSize columns of a row with the smallest cost - v, and tau, the smallest value left out.
//
// A block lists a row in two reads of it, the second from L2. The first gives every thread its smallest value, of which each
// warp offers its few smallest; the kWanted-th smallest of these is a bound that enough values stay at or below, and few more: about
// 40 of 8000. Threads that have one of them, about 35 of 256, read their share again to collect it, and counting for each how many
// are smaller puts them in order. Where too many tie at the bound, or hide below it, the bound falls to a value that was seen, or
// the ties are taken in order of their columns, beginning at a column that differs from row to row: so rows of equal costs get
// different lists.
//
// Of a row of the host (STORED) the same is made of its store, whose bound limits tau. A list is scant if hardly a candidate
// is within that bound.
//
// Cost: a read of the row and of v, and a quarter of another; 4 barriers of the block. The list does not depend on the order of
// anything.
#pragma once
#include "core/control/commands.cuh"
#include "core/lists/rows.cuh"

constexpr uint32 kCollected = 512;  // values that fit the block's memory
constexpr uint32 kNoted = 4096;     // columns that the filter lets pass
constexpr uint32 kFewNoted = 128;   // of a piece, and more only if few of them tie
constexpr uint32 kMostWarps = 32;
constexpr uint32 kTaken = 0xffffffffu;     // more than every key of a float
constexpr uint32 kWanted = kListSize + 1;  // the list, and tau
constexpr uint32 kGapSamples = 64;
constexpr uint32 kRoom = 128;  // candidates of a row while a warp walks (core/lists/multi_row.cuh)
constexpr uint32 kSorted = THREADS < 512 ? THREADS : 512;  // distances that are ranked by comparing all

#if !defined(COMPUTED) && !defined(STORED)
// Of columns whose bounds tie at `limit`, only those with a tie_order below `width` were noted.
struct Window {
    float limit;  // infinity: all were
    uint32 width;
};
#endif

// A column that may be in the list.
struct alignas(sizeof(ListCost) == 4 ? 16 : 8) Collected {
    Dual value;   // infinity: there is none
    int32 order;  // tie_order of the column
    ListCost cost;

    __device__ bool before(const Collected& other) const {
        return (value < other.value) | ((value == other.value) & (order < other.order));
    }
};

// Of the block's shared memory; free to use before and after.
struct ListScratch {
    Collected collected[kCollected];
    Dual smallest[2 * kListSize];  // to the bound: at least kWanted, and less than as many again as there are warps
    uint32 below, tied;  // collected (more than there is room for: not all); ties with the bound that were not
    Dual next_bound;
#if !defined(COMPUTED) && !defined(STORED)
    // Of the filter (core/lists/filter.cuh).
    uint32 low_smallest[2 * kListSize], low_bound;
    uint32 noted_count;               // may exceed what there is room for
    uint32 noted_before;              // of the pieces before
    uint32 many_passing, many_below;  // of a piece, in warps that have many: within the limit, and below it
    uint32 noted_late;                // of these
    Window window;
    Dual left_out;  // what was not collected is not less
    int32 noted[kNoted];
    int32 next_turn;  // of listing all rows
#endif
    uint32 ahead[kMostWarps];
};

// A round's rows and their targets, and those of the next.
struct RoundScratch {
    int32 row[2][kNarrowRows], target[2][kNarrowRows];
};

// A step's rows, and those of the next, as far as there is room.
struct StepScratch {
    Edge at[2][kNarrowRows];
    uint64 aside[kNarrowRows];
};

// Pairs of a tree and a free column that could be matched (core/search/augment.cuh): which tree and which column, of those that there are; what
// a column picked, and what column a tree took; in how many pairs each is that are without both; which columns are matched.
constexpr uint32 kMostEnds = 2048, kMostTrees = 1024;
struct EndScratch {
    uint16 col[kMostEnds], tree[kMostEnds];
    uint32 picked[kMostTrees];
    int32 taken[kMostTrees];
    uint32 col_degree[kMostTrees], tree_degree[kMostTrees];
    bool matched[kMostTrees];
};

// Of a block that puts a row into its store.
struct RowCacheScratch {
    uint32 counts[256];  // of a digit
    uint32 kept, tied;
    uint32 ahead[kMostWarps];
};

struct Scratch {
    union {
        ListScratch list;
#ifdef COMPUTED
        struct {  // by warp and line
            int32 room[kTeamWarps * kLines][kRoom];
            uint32 met[kTeamWarps * kLines];
            uint32 invalid[kTeamWarps];
        };
#endif
#ifdef STORED
        RowCacheScratch row_cache;
#endif
        RoundScratch rounds;
        StepScratch steps;
        EndScratch ends;
        uint64 sorted[kSorted];
        Dual gaps[kGapSamples];
        double sums[kMostWarps];
    };
    uint64 keys[2][kMostWarps];  // of use beside the rest
};

// The static shared memory of a block.
struct Shared {
    State state;
    ControlBlock control;
    Scratch scratch;
};
__device__ inline Shared& shared() {
    __shared__ Shared memory;
    return memory;
}

// The best of all threads' keys (the least, or the greatest), in every thread of the block.
__device__ inline uint64 best_in_block(uint64 (&keys)[2][kMostWarps], uint64 mine, bool least) {
    const auto better = [least](uint64 a, uint64 b) { return (a < b) == least ? a : b; };
    mine = warp_reduce(mine, better);
    __syncthreads();
    if (lane_index() == 0) keys[0][threadIdx.x / kWarp] = mine;
    __syncthreads();
    for (uint32 w = 0; w < blockDim.x / kWarp; ++w) mine = better(mine, keys[0][w]);
    __syncthreads();
    return mine;
}
// The sum of all threads' numbers, in every thread of the block. `turn` alternates from call to call.
__device__ inline uint64 sum_in_block(Scratch& scratch, uint64 mine, uint32 turn) {
    mine = warp_reduce(mine, [](uint64 a, uint64 b) { return a + b; });
    if (lane_index() == 0) scratch.keys[turn % 2][threadIdx.x / kWarp] = mine;
    __syncthreads();
    uint64 sum = 0;
    for (uint32 w = 0; w < kTeamWarps; ++w) sum += scratch.keys[turn % 2][w];
    return sum;
}

// The column at which row i's ties begin, and where column j stands among them.
__device__ inline int32 first_tie(const Matrix& matrix, int32 i) {
    if (matrix.rows == matrix.cols) return i;
    return static_cast<int32>(static_cast<int64>(i) * matrix.cols / matrix.rows);
}
__device__ inline int32 tie_order(int32 first, int32 cols, int32 j) {
    return j >= first ? j - first : j - first + cols;
}

#ifndef COMPUTED

// Floats as keys whose unsigned order is theirs.
__device__ inline uint32 float_key(float x) {
    const int32 bits = __float_as_int(x);
    return static_cast<uint32>(bits < 0 ? ~bits : bits ^ (1 << 31));
}
// A value below which, or at which, there are at least kWanted of the block's `least`, one a thread, of the first `sharing`
// threads; infinity if they are fewer. Every thread gets it.
__device__ inline Dual list_bound(ListScratch& scratch, Dual least, uint32 sharing) {
    const uint32 warps = blockDim.x / kWarp, warp = threadIdx.x / kWarp, lane = lane_index();
    const uint32 share = (sharing + kWarp - 1) / kWarp, filled_warps = share < warps ? share : warps;
    const uint32 turns = (kWanted + filled_warps - 1) / filled_warps, offered = turns * filled_warps;
    uint64 mine = ordered(least);  // exactly: where numbers are hardly different, many would hide below a coarser bound
    for (uint32 turn = 0; turn < turns && warp < filled_warps; ++turn) {
        const uint64 least_key = warp_min(mine);
        const uint32 at = __ffs(__ballot_sync(kAllLanes, mine == least_key)) - 1;
        const Dual value = least_key == kFar ? infinity<Dual>() : __shfl_sync(kAllLanes, least, at);
        if (lane == at) mine = kFar;
        if (lane == 0) scratch.smallest[turn * filled_warps + warp] = value;
    }
    __syncthreads();
    for (uint32 k = warp; k < offered; k += warps) {
        const Dual x = scratch.smallest[k];
        const uint32 before = warp_count(offered, [&](uint32 other) {
            return scratch.smallest[other] < x || (scratch.smallest[other] == x && other < k);
        });
        if (before == kWanted - 1 && lane == 0) scratch.next_bound = x;
    }
    __syncthreads();
    return scratch.next_bound;
}

// Before candidates are collected; by all threads of the block, with barriers before and after.
__device__ inline void clear_collected(ListScratch& scratch) {
    for (uint32 k = threadIdx.x; k < kCollected; k += blockDim.x) scratch.collected[k] = {infinity<Dual>(), 0, 0};
    if (threadIdx.x == 0) scratch.below = scratch.tied = 0;
}
__device__ inline void collect_at(ListScratch& scratch, uint32 at, Dual value, int32 order, Dual cost) {
    if (at < kCollected) scratch.collected[at] = {value, order, static_cast<ListCost>(cost)};
}

// Adds ties with `bound` to what was collected until there are kWanted, in tie_order.
#ifdef STORED
LAPWING_NOINLINE __device__ void collect_ties(int32 i, Dual bound) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const int32 first = first_tie(state.matrix, i), cols = state.matrix.cols;
    uint64 least = 0;  // of the orders that are left
    for (uint32 at = scratch.below; at < kWanted; ++at) {
        uint64 mine = kFar;
        ListCost its_cost = 0;
        for_share<false>(state, i, [&](int32 j, Dual cost, Dual x) {
            const auto order = static_cast<uint64>(tie_order(first, cols, j));
            if (!(x == bound) || order < least || order >= mine) return;
            mine = order;
            its_cost = static_cast<ListCost>(cost);
        });
        const uint64 next = best_in_block(shared().scratch.keys, mine, true);
        if (next == kFar) break;
        if (mine == next) {
            scratch.collected[at] = {bound, static_cast<int32>(next), its_cost};
            scratch.below = at + 1;
        }
        least = next + 1;
    }
    __syncthreads();
}
#else
LAPWING_NOINLINE __device__ void collect_ties(int32 i, Dual bound) {
    constexpr uint32 kAtOnce = 4;  // columns of a thread, side by side
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const Matrix& matrix = state.matrix;
    const uint32 warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp, lanes_before = (1u << lane_index()) - 1;
    const int32 first = first_tie(matrix, i);
    for (int32 base = 0; base < matrix.cols; base += kAtOnce * blockDim.x) {
        __syncthreads();
        const uint32 begin = scratch.below;
        if (begin >= kWanted) return;
        const int32 order = base + static_cast<int32>(kAtOnce * threadIdx.x);
        Dual cost[kAtOnce], v[kAtOnce];
#pragma unroll
        for (uint32 q = 0; q < kAtOnce; ++q) {
            const int32 its = order + q, j = its < matrix.cols - first ? its + first : its + first - matrix.cols;
            cost[q] = its < matrix.cols ? matrix.at(i, j) : infinity<Dual>();
            v[q] = its < matrix.cols ? __ldcg(state.v + j) : Dual(0);
        }
        uint32 at = begin, of_warp = 0;
#pragma unroll
        for (uint32 q = 0; q < kAtOnce; ++q) {
            const uint32 ties = __ballot_sync(kAllLanes, cost[q] - v[q] == bound);
            at += __popc(ties & lanes_before);
            of_warp += __popc(ties);
        }
        if (lane_index() == 0) scratch.ahead[warp] = of_warp;
        __syncthreads();
        uint32 all = begin;
        for (uint32 w = 0; w < warps; ++w) {
            if (w < warp) at += scratch.ahead[w];
            all += scratch.ahead[w];
        }
#pragma unroll
        for (uint32 q = 0; q < kAtOnce; ++q) {
            if (cost[q] - v[q] == bound && at < kWanted) collect_at(scratch, at++, bound, order + q, cost[q]);
        }
        __syncthreads();
        if (threadIdx.x == 0) scratch.below = all < kWanted ? all : kWanted;
    }
    __syncthreads();
}
#endif

// Puts the smallest of what was collected into row i's list, in order; the first that is left out gives tau, or `rest`, which all that was
// not collected is not less than. Several lanes count for two candidates together how many are before them.
LAPWING_NOINLINE __device__ void write_list(int32 i, Dual left_out) {
    constexpr uint32 kTogether = 8,
                     kHere = kWarp / kTogether;  // lanes for two candidates; candidates of a warp, and as many again
    static_assert(kCollected % kTogether == 0);
    const State& state = shared().state;
    const ListScratch& scratch = shared().scratch.list;
    const uint32 count = scratch.below;
    const int64 list = static_cast<int64>(i) * kListSize;
    const int32 first = first_tie(state.matrix, i), cols = state.matrix.cols;
    const uint32 part = threadIdx.x % kTogether, step = 2 * blockDim.x / kTogether;
    for (uint32 base = threadIdx.x / kWarp * (2 * kHere); base < count; base += step) {
        const uint32 place = base + lane_index() / kTogether;
        const Collected one = scratch.collected[place], other = scratch.collected[place + kHere];
        uint32 ranks = 0;  // of one; of the other, 16 bits up
        for (const Collected* at = scratch.collected; at < scratch.collected + count; at += kTogether)
            ranks += (at[part].before(one) ? 1u : 0u) + (at[part].before(other) ? 1u << 16 : 0u);
        for (uint32 distance = 1; distance < kTogether; distance *= 2)
            ranks += __shfl_xor_sync(kAllLanes, ranks, distance);
        if (part > 1 || place + part * kHere >= count) continue;
        const Collected mine = part == 0 ? one : other;
        const uint32 rank = part == 0 ? ranks & 0xffff : ranks >> 16;
        if (rank < kListSize) {
            state.list_col[list + rank] = mine.order < cols - first ? mine.order + first : mine.order + first - cols;
            state.list_cost[list + rank] = mine.cost;
        }
        if (rank == kListSize) state.tau[i] = mine.value < left_out ? mine.value : left_out;
    }
    for (uint32 rank = count + threadIdx.x; rank < kListSize; rank += blockDim.x) {
        state.list_col[list + rank] = kNone;
        state.list_cost[list + rank] = 0;
    }
    if (threadIdx.x == 0 && count <= kListSize) state.tau[i] = left_out;
}

#ifdef STORED
// Lowers tau to the bound of the store. True if too few candidates are within it. All threads of a block call it.
__device__ inline bool apply_cache_bound(const State& state, int32 i, const ListScratch& scratch) {
    constexpr int kEnough = 4;
    const Dual bound = state.matrix.costs.data->cached_bound[i];
    const bool mine = threadIdx.x < scratch.below && scratch.collected[threadIdx.x].value <= bound;
    const int within = __syncthreads_count(mine);
    if (threadIdx.x == 0 && bound < state.tau[i]) state.tau[i] = bound;
    __syncthreads();
    return within < kEnough && bound < infinity<Dual>();
}
#endif

// Collects the kWanted smallest of a part of row i, and perhaps more, whatever the costs are; next_bound is not less than they are.
// part(state, i, f) calls f(col, cost as minimised, cost - v) for a thread's share; `sharing` threads have one. True if a cost that this
// thread has seen is not valid.
template <class Part>
__device__ inline bool collect_from(int32 i, uint32 sharing, Part part) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const int32 first = first_tie(state.matrix, i), cols = state.matrix.cols;
    Dual least = infinity<Dual>();
    bool invalid = false;
    part(state, i, [&](int32, Dual cost, Dual x) {
        invalid |= !state.matrix.valid(cost);
        least = x < least ? x : least;
    });
    Dual bound = list_bound(scratch, least, sharing);
    for (bool with_ties = true;; with_ties = false) {  // unless a mass of them ties
        __syncthreads();
        clear_collected(scratch);
        __syncthreads();
        const auto take = [&](int32 j, Dual cost, Dual x) {
            if (!(x <= bound) || !(x < infinity<Dual>())) return;
            if (x == bound && !with_ties)
                atomicAdd(&scratch.tied, 1u);
            else
                collect_at(scratch, atomicAdd(&scratch.below, 1u), x, tie_order(first, cols, j), cost);
        };
        if (least <= bound) part(state, i, take);
        __syncthreads();
        if (scratch.below <= (with_ties ? kFewNoted : kCollected)) break;
        if (with_ties) continue;
        // Too many: the kWanted-th smallest of those that fitted is a lower bound that still has enough at or below it.
        for (uint32 mine = threadIdx.x / kWarp; mine < kCollected; mine += blockDim.x / kWarp) {
            const Collected its = scratch.collected[mine];
            const uint32 before = warp_count(kCollected, [&](uint32 k) { return scratch.collected[k].before(its); });
            if (before == kWanted - 1 && lane_index() == 0) scratch.next_bound = its.value;
        }
        __syncthreads();
        bound = scratch.next_bound;
    }
    if (scratch.tied > 0 && scratch.below < kWanted) collect_ties(i, bound);
    return invalid;
}

// The same of the whole row.
template <bool frozen>
struct WholeRow {
    template <class F>
    __device__ void operator()(const State& state, int32 i, F f) const {
        for_share<frozen>(state, i, f);
    }
};
template <bool frozen>
LAPWING_NOINLINE __device__ bool collect(int32 i) {
    return collect_from(i, sharing_threads(shared().state.matrix), WholeRow<frozen>());
}

#endif
