// Candidate lists: the columns of a row with the smallest cost - v, and tau, the smallest value left out.
//
// A block lists a row in two reads of it, the second from L2. In the first read every thread finds its smallest value,
// and each warp contributes a few of these. The kWanted-th smallest contribution is a bound: enough values are at or
// below it, and only a few more (about 40 of 8000). Threads with such a value, about 35 of 256, read their share again
// to collect it. Each value's rank is the number of smaller values. If too many values tie at the bound or lie below
// it, the bound falls to a value already seen, or ties are taken in order of their columns. That order begins at a
// different column in each row, so that rows of equal costs get different lists.
//
// For a row of the host the row cache takes the row's place, and its bound limits tau. A list is insufficient if fewer
// than Tuning::enough_cached candidates are within that bound.
//
// Invariant: no column outside row i's list has cost - v below tau[i]. Cost: a read of the row and of v, and a quarter
// of another; 4 barriers of the block. The list does not depend on the order of threads.
#pragma once
#include "core/lists/ties.cuh"
#include "core/shared.cuh"

// Floats as keys with the same order as unsigned numbers.
__device__ inline uint32 float_key(float x) {
    const int32 bits = __float_as_int(x);
    return static_cast<uint32>(bits < 0 ? ~bits : bits ^ (1 << 31));
}
// A bound such that at least kWanted of the block's `least`, one per thread, of the first `sharing` threads, are at or
// below it; infinity if there are fewer. Every thread gets it.
__device__ inline Dual list_bound(ListScratch& scratch, Dual least, uint32 sharing) {
    const uint32 warps = blockDim.x / kWarp, warp = threadIdx.x / kWarp, lane = lane_index();
    const uint32 share = (sharing + kWarp - 1) / kWarp, filled_warps = share < warps ? share : warps;
    const uint32 turns = (kWanted + filled_warps - 1) / filled_warps, offered = turns * filled_warps;
    uint64 mine = ordered(least);  // exact: with nearly equal numbers, many would lie below a coarser bound
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
    for (uint32 k = threadIdx.x; k < Tuning::collected; k += blockDim.x)
        scratch.collected[k] = {infinity<Dual>(), 0, 0};
    if (threadIdx.x == 0) scratch.below = scratch.tied = 0;
}
__device__ inline void collect_at(ListScratch& scratch, uint32 at, Dual value, int32 order, Dual cost) {
    if (at < Tuning::collected) scratch.collected[at] = {value, order, static_cast<ListCost>(cost)};
}

// Adds ties with `bound`, in tie_order, until kWanted candidates are collected. All threads of a block call it. Each
// kind of costs defines it (core/lists/matrix.cuh, core/lists/host.cuh, core/lists/sparse.cuh).
LAPWING_NOINLINE __device__ void collect_ties(int32 i, Dual bound);

// The same for costs whose parts come in any order: repeatedly finds the next tie.
template <class Part>
__device__ inline void collect_ties_of(Part part, int32 i, Dual bound) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const int32 first = first_tie(state.matrix, i), cols = state.matrix.cols;
    uint64 least = 0;  // of the orders that are left
    for (uint32 at = scratch.below; at < kWanted; ++at) {
        uint64 mine = kFar;
        ListCost its_cost = 0;
        part(state, i, [&](int32 j, Dual cost, Dual x) {
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

// Writes the smallest candidates into row i's list, in order. tau is the first candidate left out or `left_out`, a
// lower bound of everything not collected, whichever is less. Several lanes together count the predecessors of two
// candidates.
LAPWING_NOINLINE __device__ void write_list(int32 i, Dual left_out) {
    constexpr uint32 kTogether = Tuning::rank_lanes,
                     kHere = kWarp / kTogether;  // lanes for two candidates; candidates of a warp, and as many again
    static_assert(Tuning::collected % kTogether == 0);
    const State& state = shared().state;
    const ListScratch& scratch = shared().scratch.list;
    const uint32 count = scratch.below;
    const int64 list = static_cast<int64>(i) * Tuning::list_size;
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
        if (rank < Tuning::list_size) {
            state.list_col[list + rank] = mine.order < cols - first ? mine.order + first : mine.order + first - cols;
            state.list_cost[list + rank] = mine.cost;
        }
        if (rank == Tuning::list_size) state.tau[i] = mine.value < left_out ? mine.value : left_out;
    }
    for (uint32 rank = count + threadIdx.x; rank < Tuning::list_size; rank += blockDim.x) {
        state.list_col[list + rank] = kNone;
        state.list_cost[list + rank] = 0;
    }
    if (threadIdx.x == 0 && count <= Tuning::list_size) state.tau[i] = left_out;
}

// Collects the kWanted smallest values of a part of row i, and perhaps more, for any costs; next_bound is at least as
// large as each of them. part(state, i, f) calls f(col, cost as minimised, cost - v) for a thread's share; `sharing`
// threads have one. True if this thread found an invalid cost.
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
    for (bool with_ties = true;; with_ties = false) {  // unless very many tie
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
        if (scratch.below <= (with_ties ? Tuning::few_noted : Tuning::collected)) break;
        if (with_ties) continue;
        // Too many: the kWanted-th smallest of the stored candidates is a lower bound with enough values at or below
        // it.
        for (uint32 mine = threadIdx.x / kWarp; mine < Tuning::collected; mine += blockDim.x / kWarp) {
            const Collected its = scratch.collected[mine];
            const uint32 before =
                warp_count(Tuning::collected, [&](uint32 k) { return scratch.collected[k].before(its); });
            if (before == kWanted - 1 && lane_index() == 0) scratch.next_bound = its.value;
        }
        __syncthreads();
        bound = scratch.next_bound;
    }
    if (scratch.tied > 0 && scratch.below < kWanted) collect_ties(i, bound);
    return invalid;
}
