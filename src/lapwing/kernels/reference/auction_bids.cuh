// Bids of method "auction" on the GPU (reference/auction.cu): the cheapest column of a row and the value of the second,
// from the row's list by a warp, or from all of its costs by a block, which then lists the row anew.
//
// Both are exact, so lists change no bid. If a list does not prove the two values, the row is read once: each thread
// keeps the two cheapest of its columns, which make the list, and the value of the third, which bounds the others.
//
// Cost: a bid from a list takes two dependent loads and a barrier of the block; a bid from a row takes a read of the
// row and three or five barriers.
#pragma once
#include "reference/ssp_state.cuh"

namespace auction {

using namespace costs;

constexpr uint32 kWarps = THREADS / kWarp;

// Among equally cheap columns a row chooses the one of least rank, so that rows with equal costs for all columns choose
// different ones.
__device__ inline uint32 rank_of(int32 i, int32 j) {
    return static_cast<uint32>(j) ^ static_cast<uint32>(i) * 0x9e3779b1u;
}
__device__ inline int32 col_of(int32 i, uint32 rank) {
    return static_cast<int32>(rank ^ static_cast<uint32>(i) * 0x9e3779b1u);
}

// The two least values of a row, and the rank of the column of the least.
struct Choice {
    Dual least, second;
    uint32 rank;

    __device__ static Choice none() { return {infinity<Dual>(), infinity<Dual>(), ~0u}; }
    // Combines the choices of a warp's lanes, which are from different columns; the result is in every lane.
    __device__ Choice of_warp() const {
        const uint64 key = ordered(least + Dual(0)), first = warp_min(key);  // -0 is 0
        const uint32 at = warp_min(key == first ? rank : ~0u);
        const bool is_it = key == first && rank == at;
        return {from_order<Dual>(first), from_order<Dual>(warp_min(ordered(is_it ? second : least))), at};
    }
};

// The three least values of a thread in a row, with the columns' ranks and the costs of the first two.
struct Cheapest {
    Dual value[3];
    uint32 rank[2];
    ListCost cost[2];

    __device__ void consider(uint32 other, Dual x, Dual other_cost) {
        const bool first = x < value[0] || (x == value[0] && other < rank[0]), second = x < value[1];
        value[2] = first || second ? value[1] : x < value[2] ? x : value[2];
        value[1] = first ? value[0] : second ? x : value[1];
        value[0] = first ? x : value[0];
        rank[1] = first ? rank[0] : second ? other : rank[1];
        rank[0] = first ? other : rank[0];
        cost[1] = first ? cost[0] : second ? static_cast<ListCost>(other_cost) : cost[1];
        cost[0] = first ? static_cast<ListCost>(other_cost) : cost[0];
    }
};

// A row's bid: the column's v after it. col: kNone if there is no column, kUndecided if the list does not prove one.
constexpr int32 kUndecided = -2;
struct Bid {
    int32 row, col;
    int32 owner;  // of the column: a row, or kNone
    Dual v;

    __device__ static Bid of(int32 row, int32 col) { return {row, col, kNone, Dual(0)}; }
};

// In the shared memory of every block. Its threads use it between barriers of the block.
struct SharedBids {
    Bid bids[kWarps];  // of the warps
    Choice choices[kWarps];
    uint64 groups[AuctionTuning::list_groups];  // least values, ordered; kFar where no row is being listed
    uint64 threshold, left_out;
    uint32 listed;
};
__device__ inline SharedBids& shared_bids() {
    __shared__ SharedBids memory;
    return memory;
}

// The data for bids, the same in all threads of a grid.
struct Bidder {
    const Matrix matrix;
    const Dual* v;  // scaled
    const int32* col_to_row;
    Dual scale;  // of costs; 1 for floating-point costs
    Dual range;  // of scaled costs: the most that one bid lowers v by, beside epsilon
    Dual epsilon;
    bool listed;      // whether rows have lists
    uint64 read = 0;  // rows, by this block

    // Called before the first bid, with a barrier of the block after it.
    __device__ static void prepare() {
        for (uint32 group = threadIdx.x; group < AuctionTuning::list_groups; group += blockDim.x)
            shared_bids().groups[group] = kFar;
    }

    // Computes bids. Every warp of a block has a row, or kNone, and gets its bid in every lane; all bids are also in
    // SharedBids::bids. Before the next call, all threads must have read them there and passed a barrier of the block.
    __device__ Bid bid(int32 row) {
        const uint32 warp = threadIdx.x / kWarp, lane = lane_index();
        Bid mine = row < 0 ? Bid::of(kNone, kNone) : listed ? from_list(row) : Bid::of(row, kUndecided);
        if (lane == 0) shared_bids().bids[warp] = mine;
        __syncthreads();
        uint32 undecided =
            __ballot_sync(kAllLanes, lane < blockDim.x / kWarp && shared_bids().bids[lane].col == kUndecided);
        if (undecided == 0) return mine;
        for (; undecided != 0; undecided &= undecided - 1) {
            const uint32 next = __ffs(static_cast<int>(undecided)) - 1;
            const int32 i = shared_bids().bids[next].row;
            const Choice found = from_row(i);
            if (next == warp) mine = bid_of(i, found);
        }
        __syncthreads();  // all have read the bids
        if (lane == 0) shared_bids().bids[warp] = mine;
        __syncthreads();
        return mine;
    }

  private:
    __device__ Dual scaled(Dual cost) const { return Dual(0.5) != Dual(0) ? cost : cost * scale; }
    __device__ Bid bid_of(int32 row, const Choice& choice) const {
        if (is_far(choice.least)) return Bid::of(row, kNone);
        const int32 col = col_of(row, choice.rank);
        const Dual more = choice.second - choice.least;
        return {row, col, load_stable(col_to_row + col),
                load_stable(v + col) - ((more < range ? more : range) + epsilon)};
    }

    // Undecided if a column outside the list may be as cheap.
    __device__ Bid from_list(int32 i) const {
        const Dual bound = load_stable(ssp::self().core.tau + i);
        const Candidate mine = load_candidate(ssp::self().core, i);
        Choice choice = Choice::none();
        if (bound > -infinity<Dual>() && mine.col >= 0)
            choice = {scaled(mine.cost) - load_stable(v + mine.col), infinity<Dual>(), rank_of(i, mine.col)};
        choice = choice.of_warp();
        return choice.least < bound && choice.second <= bound ? bid_of(i, choice) : Bid::of(i, kUndecided);
    }

    // Called by all threads of the block; the result is in all of them.
    __device__ Choice from_row(int32 i) {
        ++read;
        const Dual far = infinity<Dual>();
        Cheapest mine = {{far, far, far}, {~0u, ~0u}, {0, 0}};
        for_values(i, [&](int32 j, Dual cost, Dual x) { mine.consider(rank_of(i, j), x, cost); });
        if (listed) atomicMin(&shared_bids().groups[threadIdx.x % AuctionTuning::list_groups], ordered(mine.value[0]));
        const Choice of_warp = Choice{mine.value[0], mine.value[1], mine.rank[0]}.of_warp();
        if (lane_index() == 0) shared_bids().choices[threadIdx.x / kWarp] = of_warp;
        __syncthreads();
        const Choice all =
            (lane_index() < blockDim.x / kWarp ? shared_bids().choices[lane_index()] : Choice::none()).of_warp();
        if (listed) find_threshold();
        __syncthreads();
        if (listed) list(i, mine);
        return all;
    }

    // f(column, cost, value) for the allowed columns of row i, one thread of the block each.
    template <class F>
    __device__ void for_values(int32 i, F f) const {
        const int32 cols = matrix.real_cols();
        const int32 first = static_cast<int32>(threadIdx.x - lane_index()) * kPackCols;
        for_packs(matrix, i, first, cols, static_cast<int32>(blockDim.x) * kPackCols, nullptr,
                  [&](int32 j, const Dual(&cost)[kPackCols]) {
                      Dual price[kPackCols];
                      load_by_col(v, j, cols, price);
#pragma unroll
                      for (int32 k = 0; k < kPackCols; ++k)
                          if (j + k < cols && !is_far(cost[k])) f(j + k, cost[k], scaled(cost[k]) - price[k]);
                  });
    }

    __device__ static void find_threshold() {
        SharedBids& d = shared_bids();
        if (threadIdx.x == 0) {
            d.left_out = kFar;
            d.listed = 0;
        }
        for (uint32 group = threadIdx.x; group < AuctionTuning::list_groups; group += blockDim.x) {
            const uint64 mine = d.groups[group];
            uint32 before = 0;
#pragma unroll 16
            for (uint32 g = 0; g < AuctionTuning::list_groups; ++g) {
                const uint64 other = d.groups[g];
                before += other < mine || (other == mine && g < group) ? 1 : 0;
            }
            if (before == AuctionTuning::list_rank) d.threshold = mine;
        }
    }
    // Makes the row's list from the columns that its threads know up to the threshold.
    __device__ static void list(int32 i, const Cheapest& mine) {
        const State& core = ssp::self().core;
        SharedBids& d = shared_bids();
        for (uint32 group = threadIdx.x; group < AuctionTuning::list_groups; group += blockDim.x)
            d.groups[group] = kFar;
        const uint64 threshold = d.threshold;
        const int64 begin = static_cast<int64>(i) * Tuning::list_size;
        uint64 left_out = ordered(mine.value[2]);
#pragma unroll
        for (uint32 k = 0; k < 2; ++k) {
            if (is_far(mine.value[k]) || ordered(mine.value[k]) > threshold) continue;
            const uint32 place = add_in_shared(&d.listed, 1);
            if (place < Tuning::list_size) {
                __stcg(core.list_col + begin + place, col_of(i, mine.rank[k]));
                __stcg(core.list_cost + begin + place, mine.cost[k]);
            } else if (ordered(mine.value[k]) < left_out) {
                left_out = ordered(mine.value[k]);
            }
        }
        if (left_out <= threshold) atomicMin(&d.left_out, left_out);
        __syncthreads();
        const uint32 place = threadIdx.x;
        if (place < Tuning::list_size && place >= d.listed) __stcg(core.list_col + begin + place, int32(kNone));
        if (place != 0) return;
        const uint64 bound = d.left_out < threshold ? d.left_out : threshold;
        __stcg(core.tau + i, bound < ordered(infinity<Dual>()) ? from_order<Dual>(bound) : infinity<Dual>());
    }
};

}  // namespace auction
