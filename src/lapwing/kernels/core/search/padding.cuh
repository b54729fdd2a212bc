// Rows of padding (gpu/core/padded.py), all at once.
//
// They are the last rows, and cost nothing with any column, so each wants the columns of the greatest v. As bidders
// they would all want the same column, one would get it, and its v would fall by little. Searches from them and other
// rows at the same time would match few: one tree would soon hold most columns of a great v, and all behind them. So
// they wait, and others make room for them:
//
// - Let p be their number, and level the (p + 1)-th greatest v. Columns above the level fall to it, and lose their
//   rows, which bid on. So the auction ends with the prices that it would have if the p columns of the greatest v had
//   gone to rows of padding.
// - Searches begin from the other rows; there are p more free columns than free rows.
// - When these are matched, rows of padding take free columns of the greatest v. Those that get none are free rows
//   from then on.
//
// Cost of a level: a read of few columns' v by block 0, and now and then some 10 reads of all.
//
// Reference: D. P. Bertsekas and D. A. Castanon, "The auction algorithm for the transportation problem", Annals of
// Operations Research 20 (1989), on persons who are alike.
#pragma once
#include "core/search/augment.cuh"

// Keys of columns: the greater its v, the less.
__device__ inline uint64 price_key(const State& state, uint32 j) { return ~ordered(__ldcg(state.v + j)); }
struct AnyPrice {
    __device__ static uint64 at(const State& state, uint32 j) { return price_key(state, j); }
};
struct TopPrice {
    __device__ static uint64 at(const State& state, uint32 k) {
        return price_key(state, static_cast<uint32>(__ldcg(state.free_cols + k)));
    }
};

// Lists columns of the greatest v, some times as many as rows of padding: since v only falls, the level stays among
// them for a while. Block 0 calls it.
LAPWING_NOINLINE __device__ void find_tops() {
    const State& state = shared().state;
    AuctionRun& run = shared().control.command.auction;
    uint32& count = shared().control.counts.tops;
    const uint32 cols = state.matrix.cols, wanted = min(max(Tuning::tops * run.padding, Tuning::least_tops), cols);
    const Dual least =
        from_order<Dual>(~nth_key(state, shared().scratch, wanted, 2 * wanted, Keys<AnyPrice>(state, cols)));
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (uint32 j = threadIdx.x; j - lane_index() < cols; j += kTeamThreads) {
        const bool is_top = j < cols && __ldcg(state.v + j) >= least;
        const uint32 place = take_place<false>(&count, is_top);
        if (is_top) state.free_cols[place] = static_cast<int32>(j);
    }
    __syncthreads();
    if (threadIdx.x == 0) run.tops = count, run.below_tops = least;
    __syncthreads();
}
__device__ inline Dual find_level() {
    const State& state = shared().state;
    const AuctionRun& run = shared().control.command.auction;
    const uint32 wanted = run.padding + 1;
    return from_order<Dual>(~nth_key(state, shared().scratch, wanted, wanted, Keys<TopPrice>(state, run.tops)));
}

// Brings columns down to the level. Block 0 calls it between rounds.
LAPWING_NOINLINE __device__ void level_prices() {
    const State& state = shared().state;
    Counts& counts = shared().control.counts;
    const AuctionRun& run = shared().control.command.auction;
    Dual level = Dual(0);
    for (bool known = run.tops > 0;; known = false) {
        if (!known) find_tops();
        level = find_level();
        if (!known || level >= run.below_tops) break;
    }
    for (uint32 k = threadIdx.x; k - lane_index() < run.tops; k += kTeamThreads) {
        const int32 j = k < run.tops ? __ldcg(state.free_cols + k) : kNone;
        const bool falls = j >= 0 && __ldcg(state.v + j) > level;
        const int32 holder = falls ? __ldcg(state.col_to_row + j) : kNone;
        const uint32 place = take_place<false>(&counts.displaced, holder >= 0);
        if (falls) state.v[j] = level;
        if (holder < 0) continue;
        state.row_to_col[holder] = state.col_to_row[j] = kNone;
        pick(state.rows_at_work, run.present)[run.count + place] = holder;
    }
    const uint32 rows = state.matrix.rows;
    for (uint32 i = rows - run.padding + threadIdx.x; i < rows; i += kTeamThreads) state.u[i] = -level;
}

// Gives free columns of the greatest v to rows of padding, none of which has a column. Block 0 calls it when all other
// rows have one.
LAPWING_NOINLINE __device__ void seat_padding() {
    const State& state = shared().state;
    Scratch& scratch = shared().scratch;
    const uint32 cols = state.matrix.cols, rows = state.matrix.rows;
    const int32 first = static_cast<int32>(rows - shared().control.command.auction.padding);
    const Dual level = from_order<Dual>(~nth_key(state, scratch, 1, 1, Keys<AnyPrice>(state, cols)));
    for (uint32 i = first + threadIdx.x; i < rows; i += kTeamThreads) state.u[i] = -level;
    uint64 seats = 0;
    for (uint32 base = 0; base < cols; base += kTeamThreads) {  // in the order of columns, so that answers do not vary
        const uint32 j = base + threadIdx.x;
        const bool takes = j < cols && __ldcg(state.v + j) == level && __ldcg(state.col_to_row + j) < 0;
        const uint32 taking = __ballot_sync(kAllLanes, takes), warp = threadIdx.x / kWarp;
        __syncthreads();
        if (lane_index() == 0) scratch.keys[0][warp] = __popc(taking);
        __syncthreads();
        uint64 before = seats + __popc(taking & ((1u << lane_index()) - 1));
        for (uint32 w = 0; w < kTeamWarps; ++w) {
            const uint64 count = scratch.keys[0][w];
            before += w < warp ? count : 0;
            seats += count;
        }
        if (!takes) continue;
        const int32 i = first + static_cast<int32>(before);
        state.row_to_col[i] = static_cast<int32>(j);
        state.col_to_row[j] = i;
    }
}
