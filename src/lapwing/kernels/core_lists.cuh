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
#include "core_orders.cuh"
#include "core_rows.cuh"

constexpr uint32 kCollected = 512;  // values that fit the block's memory
constexpr uint32 kNoted = 4096;     // columns that the filter lets pass
constexpr uint32 kFewNoted = 128;   // of a piece, and more only if few of them tie
constexpr uint32 kMostWarps = 32;
constexpr uint32 kTaken = 0xffffffffu;     // coarser than every number
constexpr uint32 kWanted = kListSize + 1;  // the list, and tau
constexpr uint32 kWidthSamples = 64;
constexpr uint32 kRoom = 128;              // candidates of a row while a warp walks (core_tiles.cuh)
constexpr uint32 kSorted = THREADS < 512 ? THREADS : 512;  // distances that are ranked by comparing all

#if !defined(COMPUTED) && !defined(STORED)
// Of columns whose bounds tie at `limit`, only those with a tie_order below `width` were noted.
struct Window {
    float limit;  // infinity: all were
    uint32 width;
};
#endif

// Of the block's shared memory; free to use before and after.
struct ListScratch {
    Dual value[kCollected];
    ListCost cost[kCollected];
    int32 order[kCollected];     // tie_order of its column
    Dual offers[2 * kListSize];  // to the bound: at least kWanted, and less than as many again as there are warps
    uint32 below, tied;          // collected, and how many values tie with the bound
    Dual next_bound;
#if !defined(COMPUTED) && !defined(STORED)
    // Of the filter (core_filter.cuh).
    uint32 low_offers[2 * kListSize], low_bound;
    uint32 noted_count;   // may exceed what there is room for
    uint32 noted_before;  // of the pieces before
    uint32 noted_below, noted_ties, unnoted;  // of a piece: where a mass ties, below and within its window; not noted yet
    Window window;
    Dual rest;  // what was not collected is not less
    int32 noted[kNoted];
    int32 next_row;  // to list
#endif
    uint32 ahead[kMostWarps];
};

// A round's rows and their targets, and those of the next.
struct RoundScratch {
    int32 row[2][kNarrowRows], target[2][kNarrowRows];
};

// A step's rows, and those of the next, as far as there is room.
struct StepScratch {
    Reached at[2][kNarrowRows];
    uint64 aside[kNarrowRows];
};

// Pairs of a tree and a free column that could be matched (core_augment.cuh): which tree and which column, of those that there are; what
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
struct StockScratch {
    uint32 counts[256];  // of a digit
    uint32 stored, tied;
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
        StockScratch stock;
#endif
        RoundScratch rounds;
        StepScratch steps;
        EndScratch ends;
        uint64 sorted[kSorted];
        Dual widths[kWidthSamples];
        double sums[kMostWarps];
    };
    uint64 keys[2][kMostWarps];  // of use beside the rest
};

// The static shared memory of a block.
struct Shared {
    State state;
    Desk desk;
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
// A coarser number of 32 bits in the same order, for warp reductions.
__device__ inline uint32 coarse(Dual x) { return float_key(static_cast<float>(x)); }
// A value below which, or at which, there are at least kWanted of the block's `least`, one a thread, of the first `sharing`
// threads; infinity if they are fewer. Every thread gets it.
__device__ inline Dual list_bound(ListScratch& scratch, Dual least, uint32 sharing) {
    const uint32 warps = blockDim.x / kWarp, warp = threadIdx.x / kWarp, lane = lane_index();
    const uint32 share = (sharing + kWarp - 1) / kWarp, offering = share < warps ? share : warps;
    const uint32 turns = (kWanted + offering - 1) / offering, offers = turns * offering;
    uint32 mine = coarse(least);
    for (uint32 turn = 0; turn < turns && warp < offering; ++turn) {
        const uint32 smallest = warp_min(mine);
        const uint32 at = __ffs(__ballot_sync(kAllLanes, mine == smallest)) - 1;
        const Dual value = smallest == kTaken ? infinity<Dual>() : __shfl_sync(kAllLanes, least, at);
        if (lane == at) mine = kTaken;
        if (lane == 0) scratch.offers[turn * offering + warp] = value;
    }
    __syncthreads();
    for (uint32 k = warp; k < offers; k += warps) {
        const Dual x = scratch.offers[k];
        const uint32 before = warp_count(offers, [&](uint32 other) {
            return scratch.offers[other] < x || (scratch.offers[other] == x && other < k);
        });
        if (before == kWanted - 1 && lane == 0) scratch.next_bound = x;
    }
    __syncthreads();
    return scratch.next_bound;
}

// The place of a collected value among `count`. All lanes of a warp call it for the same.
__device__ inline uint32 place_among(const ListScratch& scratch, uint32 count, uint32 mine) {
    const Dual x = scratch.value[mine];
    const int32 order = scratch.order[mine];
    return warp_count(
        count, [&](uint32 k) { return scratch.value[k] < x || (scratch.value[k] == x && scratch.order[k] < order); });
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
            scratch.value[at] = bound;
            scratch.cost[at] = its_cost;
            scratch.order[at] = static_cast<int32>(next);
            scratch.below = at + 1;
        }
        least = next + 1;
    }
    __syncthreads();
}
#else
LAPWING_NOINLINE __device__ void collect_ties(int32 i, Dual bound) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const Matrix& matrix = state.matrix;
    const uint32 warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    const int32 first = first_tie(matrix, i);
    for (int32 base = 0; base < matrix.cols; base += blockDim.x) {
        __syncthreads();
        const uint32 begin = scratch.below;
        if (begin >= kWanted) return;
        const int32 order = base + static_cast<int32>(threadIdx.x);
        const int32 j = order < matrix.cols - first ? order + first : order + first - matrix.cols;
        const Dual cost = order < matrix.cols ? matrix.at(i, j) : infinity<Dual>();
        const bool tie = order < matrix.cols && cost - __ldcg(state.v + j) == bound;
        const uint32 ties = __ballot_sync(kAllLanes, tie);
        if (lane_index() == 0) scratch.ahead[warp] = __popc(ties);
        __syncthreads();
        uint32 at = begin + __popc(ties & ((1u << lane_index()) - 1)), all = begin;
        for (uint32 w = 0; w < warps; ++w) {
            if (w < warp) at += scratch.ahead[w];
            all += scratch.ahead[w];
        }
        if (tie && at < kCollected) {
            scratch.value[at] = bound;
            scratch.cost[at] = static_cast<ListCost>(cost);
            scratch.order[at] = order;
        }
        __syncthreads();
        if (threadIdx.x == 0) scratch.below = all < kCollected ? all : kCollected;
    }
    __syncthreads();
}
#endif

// Puts the smallest of what was collected into row i's list, in order; the first that is left out gives tau, or `rest` does. Several
// lanes count for each value how many are smaller.
__device__ inline void write_list(const State& state, int32 i, const ListScratch& scratch, uint32 count, Dual rest) {
    constexpr uint32 kTogether = 4, kAtOnce = 4;
    const int64 list = static_cast<int64>(i) * kListSize;
    const int32 first = first_tie(state.matrix, i), cols = state.matrix.cols;
    const uint32 part = threadIdx.x % kTogether, step = blockDim.x / kTogether;
    for (uint32 base = threadIdx.x / kWarp * (kWarp / kTogether); base < count; base += step) {
        const uint32 place = base + lane_index() / kTogether, mine = place < count ? place : 0;
        const Dual x = scratch.value[mine];
        const int32 order = scratch.order[mine];
        uint32 rank = 0;
#pragma unroll 1
        for (uint32 begin = part; begin - part < count; begin += kTogether * kAtOnce) {
            Dual other[kAtOnce];
            int32 its_order[kAtOnce];
#pragma unroll
            for (uint32 q = 0; q < kAtOnce; ++q) {
                const uint32 k = begin + q * kTogether, at = k < count ? k : mine;  // which is not before itself
                other[q] = scratch.value[at];
                its_order[q] = scratch.order[at];
            }
#pragma unroll
            for (uint32 q = 0; q < kAtOnce; ++q) rank += (other[q] < x) | ((other[q] == x) & (its_order[q] < order));
        }
        rank += __shfl_xor_sync(kAllLanes, rank, 1);
        rank += __shfl_xor_sync(kAllLanes, rank, 2);
        if (part != 0 || place >= count) continue;
        if (rank < kListSize) {
            state.list_col[list + rank] = order < cols - first ? order + first : order + first - cols;
            state.list_cost[list + rank] = scratch.cost[mine];
        }
        if (rank == kListSize) state.tau[i] = x;
    }
    for (uint32 rank = count + threadIdx.x; rank < kListSize; rank += blockDim.x) {
        state.list_col[list + rank] = kNone;
        state.list_cost[list + rank] = 0;
    }
    if (threadIdx.x == 0 && count <= kListSize) state.tau[i] = rest;
}

#ifdef STORED
// Lowers tau to the bound of the store. True if too few candidates are within it. All threads of a block call it.
__device__ inline bool heed_store(const State& state, int32 i, const ListScratch& scratch) {
    constexpr int kEnough = 4;
    const Dual bound = state.matrix.costs.data->store_bound[i];
    const bool mine = threadIdx.x < scratch.below && scratch.value[threadIdx.x] <= bound;
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
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) scratch.below = scratch.tied = 0;
        __syncthreads();
        const auto take = [&](int32 j, Dual cost, Dual x) {
            if (!(x <= bound) || !(x < infinity<Dual>())) return;
            if (x == bound) {
                atomicAdd(&scratch.tied, 1u);
            } else if (const uint32 at = atomicAdd(&scratch.below, 1u); at < kCollected) {
                scratch.value[at] = x;
                scratch.cost[at] = static_cast<ListCost>(cost);
                scratch.order[at] = tie_order(first, cols, j);
            }
        };
        if (least <= bound) part(state, i, take);
        __syncthreads();
        if (scratch.below <= kCollected) break;
        // Too many: the kWanted-th smallest of those that fitted is a lower bound that still has enough at or below it.
        for (uint32 mine = threadIdx.x / kWarp; mine < kCollected; mine += blockDim.x / kWarp) {
            if (place_among(scratch, kCollected, mine) == kWanted - 1 && lane_index() == 0)
                scratch.next_bound = scratch.value[mine];
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
