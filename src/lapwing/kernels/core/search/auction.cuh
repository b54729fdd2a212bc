// Epsilon phases by auction on the lists. They find nearly optimal prices and most of the matching.
//
// In a round every free row bids for its nearest column, the one with the least cost - v. The bid makes the second
// nearest column equally near, plus epsilon. The highest bid for a column wins (among equal bids, that of the lowest
// row) and displaces the row matched to the column. A phase begins with all rows free and ends when few are left.
// Epsilon then falls, finally to zero, where every matched pair attains its row's minimum exactly. Bids are counted in
// units of a grid (a power of two), rounded down, so that a bid and its row fit one word for atomicMax. Rounding down
// is safe: a row may always bid less.
//
// Without epsilon a bid may be zero. Among several nearest columns, the row then chooses a free one. If there is none,
// it chooses another column in every round and displaces its row, which may then find a free column. For small integer
// costs, half as many rows stay free as if the row waited.
//
// Invariant: after a round every matched pair is within epsilon of its row's minimum (epsilon-optimality). Cost of a
// round: lists and v of the free rows, one atomic each, two barriers.
//
// Reference: D. P. Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem",
// Annals of Operations Research 14 (1988), the Jacobi version. Deviations: lists replace rows (a row whose list does
// not prove its minimum to within epsilon waits until it is listed again); rounds stop while some rows are free; zero
// is an epsilon, since the searches do the rest.
#pragma once
#include "core/shared.cuh"

constexpr uint64 kMostUnits = (1ull << (64 - Tuning::row_bits - 1)) - 1;
constexpr uint64 kRowMask = (1ull << Tuning::row_bits) - 1;

__device__ inline uint64 in_units(double x, double units_in_one) {
    const double units = floor(x * units_in_one);  // exactly: a power of two
    return units < static_cast<double>(kMostUnits) ? static_cast<uint64>(units) : kMostUnits;
}
__device__ inline uint64 in_units(int64 x, double) {
    return static_cast<uint64>(x) < kMostUnits ? static_cast<uint64>(x) : kMostUnits;
}
__device__ inline Dual of_units(uint64 units, double unit) {
    return static_cast<Dual>(static_cast<double>(units) * unit);
}

// The nearest of a row's candidates and the distance of the second nearest. Called by the warp of the row. x: cost - v
// of the lane's candidate, infinity after the end of the list.
struct Nearest {
    Dual first, second;
    uint32 ties;  // lanes whose candidates are nearest
};
__device__ inline Dual present_cost(Candidate mine, Dual v) {
    return mine.col >= 0 ? Dual(mine.cost) - v : infinity<Dual>();
}
__device__ inline Nearest find_nearest(Dual x) {
    const uint64 key = ordered(x), first = warp_min(key);
    const uint32 ties = __ballot_sync(kAllLanes, key == first);
    const uint64 second = warp_min(lane_index() == __ffs(ties) - 1 ? ~0ull : key);
    return {from_order<Dual>(first), from_order<Dual>(second), ties};
}

// A run's rows, and the columns for which they bid: block 0 alone keeps them in shared memory.
template <bool wide>
__device__ inline int32& row_at(const State& state, uint32 which, uint32 index) {
    if constexpr (wide) return pick(state.rows_at_work, which)[index];
    return shared().scratch.rounds.row[which][index];
}
template <bool wide>
__device__ inline int32& target_at(const State& state, uint32 which, uint32 index) {
    if constexpr (wide) return pick(state.target, which)[index];
    return shared().scratch.rounds.target[which][index];
}

// Chooses one of several lanes. In the first round it is the first lane, since ties are listed in a different order for
// each row; later it varies pseudo-randomly by row and round. All lanes of a warp call it.
__device__ inline uint32 any_lane(uint32 lanes, int32 i, uint32 round) {
    if (round == 0) return __ffs(static_cast<int>(lanes)) - 1;
    const uint32 drawn = (static_cast<uint32>(i) * 0x9e3779b9u ^ round * 0x85ebca6bu) * 0xc2b2ae35u;
    const uint32 place = __umulhi(drawn, __popc(lanes)), before = __popc(lanes & ((1u << lane_index()) - 1));
    return __ffs(__ballot_sync(kAllLanes, (lanes >> lane_index() & 1) != 0 && before == place)) - 1;
}

// Chooses among the lanes whose candidates are nearest. Without epsilon it prefers a free column. All lanes of a warp
// call it.
__device__ inline uint32 lane_chosen(const State& state, const AuctionRun& run, int32 i, int32 col, uint32 ties) {
    if (run.epsilon != 0) return __ffs(static_cast<int>(ties)) - 1;
    const bool tie = (ties >> lane_index() & 1) != 0 && col >= 0;
    const uint32 free = __ballot_sync(kAllLanes, tie && load_stable(state.col_to_row + col) < 0);
    return any_lane(free != 0 ? free : ties, i, run.rounds);
}

// A bid of row i for column j. `index`: the row's place in rows_at_work.
struct Bid {
    int32 i, j;
    uint32 index;
    Dual first, second, tau;  // of the row's list
};
// Called by one lane; does nothing if there is no row. The column is near enough if no column outside the list is
// nearer by more than half of epsilon. Then the row stays within epsilon of its minimum, and the price rises by at
// least the other half.
template <bool wide>
__device__ inline void make_bid(const Team& team, const AuctionRun& run, const Bid& bid) {
    if (bid.i < 0) return;
    const State& state = team.state;
    const bool proven = bid.first - run.epsilon / 2 <= bid.tau, bids = proven && bid.j >= 0;
    target_at<wide>(state, run.present, bid.index) = bids ? bid.j : kNone;
    if (!proven) state.refresh_rows[add_count<wide>(&counts_of<wide>(team, run.rounds).refresh, 1)] = bid.i;
    if (!bids) return;
    const Dual second = bid.second < bid.tau ? bid.second : bid.tau;
    const Dual more = second < infinity<Dual>() ? second - bid.first : Dual(0);  // no other column: no rise is needed
    const uint64 units = in_units(more + run.epsilon, run.units_in_one);
    max_in_global(pick(state.best_bid, run.present) + bid.j,
                  units << Tuning::row_bits | (kRowMask - static_cast<uint64>(bid.i)));
}

// Loads the first free rows of a warp before their number is known.
template <bool wide>
__device__ inline void load_first(const Team& team, uint32 present, int32 (&first)[Tuning::warp_rows]) {
    const uint32 most = wide ? team.state.matrix.rows : kNarrowRows;
    const UnstableLoads unsettled;  // by now, for a block that drops out
#pragma unroll
    for (uint32 r = 0; r < Tuning::warp_rows; ++r) {
        const uint32 index = team.warp() + r * team.warps();
        first[r] = row_at<wide>(team.state, present, index < most ? index : most - 1);
    }
}
// Bids for n rows of a warp, the first of them at `base`; kNone: no row. The warp does the slow stages for all rows
// together: first their loads, then their minima. At the end one lane bids for each. (Every variable is assigned even
// if it is not needed, since the compiler would keep an unassigned one in memory.)
template <bool wide, uint32 n>
__device__ inline void bid_for_rows(const Team& team, const AuctionRun& run, uint32 base, const int32 (&i)[n]) {
    const State& state = team.state;
    Candidate mine[n];
    Dual tau[n], v[n];
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {
        mine[r] = i[r] >= 0 ? load_candidate(state, i[r]) : Candidate{kNone, ListCost(0)};
        tau[r] = i[r] >= 0 ? load_stable(state.tau + i[r]) : Dual(0);
    }
#pragma unroll
    for (uint32 r = 0; r < n; ++r) v[r] = mine[r].col >= 0 ? load_stable(state.v + mine[r].col) : Dual(0);
    Nearest nearest[n];
#pragma unroll
    for (uint32 r = 0; r < n; ++r) nearest[r] = find_nearest(present_cost(mine[r], v[r]));
    Bid bid = {kNone, kNone, 0, Dual(0), Dual(0), Dual(0)};
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {
        const int32 j =
            __shfl_sync(kAllLanes, mine[r].col, lane_chosen(state, run, i[r], mine[r].col, nearest[r].ties));
        const uint32 index = base + r * team.warps();
        if (lane_index() == r) bid = {i[r], j, index, nearest[r].first, nearest[r].second, tau[r]};
    }
    make_bid<wide>(team, run, bid);
}
// All free rows bid. A row whose list does not prove its minimum is appended to refresh_rows instead.
template <bool wide>
__device__ inline void bid(const Team& team, const AuctionRun& run, const int32 (&first)[Tuning::warp_rows]) {
    const State& state = team.state;
    team.each(run.previous, [&](uint32 index) {
        const int32 j = target_at<wide>(state, !run.present, index);
        if (j >= 0) __stcg(pick(state.best_bid, !run.present) + j, uint64(0));  // several may
    });
    uint32 base = team.warp();
    if (run.count <= team.warps()) {  // mostly, and a third of the instructions
        const int32 i[1] = {base < run.count ? first[0] : kNone};
        return bid_for_rows<wide, 1>(team, run, base, i);
    }
    for (; base < run.count; base += Tuning::warp_rows * team.warps()) {
        int32 i[Tuning::warp_rows];
#pragma unroll
        for (uint32 r = 0; r < Tuning::warp_rows; ++r) {
            const uint32 index = base + r * team.warps();
            i[r] = index >= run.count    ? kNone
                   : base == team.warp() ? first[r]
                                         : row_at<wide>(state, run.present, index);
        }
        bid_for_rows<wide, Tuning::warp_rows>(team, run, base, i);
    }
}

// The best bids win. Rows that lost or were displaced stay free for the next round.
template <bool wide>
__device__ inline void assign_bids(const Team& team, const AuctionRun& run) {
    const State& state = team.state;
    StepCounts& counts = counts_of<wide>(team, run.rounds);
    team.each_converged(run.count, [&](uint32 index) {
        const bool there = index < run.count;
        const int32 i = there ? row_at<wide>(state, run.present, index) : kNone;
        const int32 j = there ? target_at<wide>(state, run.present, index) : kNone;
        int32 goes_on = i;
        const uint64 best = j >= 0 ? __ldcg(pick(state.best_bid, run.present) + j) : 0;
        const int32 holder = j >= 0 ? __ldcg(state.col_to_row + j) : kNone;  // needed by the winner only, as is v
        const Dual v = j >= 0 ? __ldcg(state.v + j) : Dual(0);
        const uint64 units = best >> Tuning::row_bits;
        const bool won = j >= 0 && kRowMask - (best & kRowMask) == static_cast<uint64>(i) &&
                         (units > 0 || holder < 0 || run.epsilon == 0);
        if (won) {
            const bool stays = run.has_dummies && j >= state.matrix.real_cols();  // no other row wants it
            if (!stays) __stcg(state.v + j, v - of_units(units, run.unit));
            __stcg(state.col_to_row + j, i);
            __stcg(state.row_to_col + i, j);
            if (holder >= 0) __stcg(state.row_to_col + holder, kNone);
            goes_on = holder;
        }
        raise(&counts.event, won);
        const uint32 place = take_place<wide>(&counts.next, goes_on >= 0);
        if (goes_on < 0) return;
        row_at<wide>(state, !run.present, place) = goes_on;
        if (!wide) prefetch_list(state, goes_on);
    });
}

// All rows are free again; prices stay.
__device__ inline void free_all(const Team& team) {
    State& state = team.state;
    team.each(state.matrix.cols, [&](uint32 j) {
        state.col_to_row[j] = kNone;
        state.best_bid[0][j] = state.best_bid[1][j] = 0;
    });
    team.each(state.matrix.rows, [&](uint32 i) {
        state.row_to_col[i] = kNone;
        state.rows_at_work[0][i] = static_cast<int32>(i);
    });
}

// Runs rounds until the phase ends, rows are to be listed again, or the number of free rows no longer suits the team of
// `blocks` blocks. A phase begins with all rows free.
template <bool wide>
LAPWING_NOINLINE __device__ void run_rounds(uint32 blocks) {
    State state = shared().state;  // its pointers in registers
    const Team team{state, shared().control.counts, wide, blocks};
    AuctionRun run = shared().control.command.auction;
    if (run.rounds == 0) {
        free_all(team);
        team.sync();
    }
    if (!wide) {
        for (uint32 k = threadIdx.x; k < run.count; k += kTeamThreads)
            row_at<wide>(state, run.present, k) = load_stable(pick(state.rows_at_work, run.present) + k);
        for (uint32 k = threadIdx.x; k < run.previous; k += kTeamThreads) {  // bids of the last wide round
            const int32 j = load_stable(pick(state.target, !run.present) + k);
            if (j >= 0) __stcg(pick(state.best_bid, !run.present) + j, uint64(0));
        }
        run.previous = 0;
        __syncthreads();
    }
    int32 first[Tuning::warp_rows];
    load_first<wide>(team, run.present, first);
    do {
        bid<wide>(team, run, first);
        team.sync();
        assign_bids<wide>(team, run);
        reset_next_counts<wide>(team, run.rounds);
        team.sync();
        load_first<wide>(team, run.present ^ 1, first);
        const StepCounts counts = read_counts<wide>(team, run.rounds);
        run.bids += run.count;
        run.previous = run.count;
        run.count = counts.next;
        run.waiting = counts.refresh;
        run.moved = counts.event != 0;
        run.present ^= 1;
        ++run.rounds;
    } while (!run.ended() && !run.refreshes() && suits<wide>(team, run.count));
    if (!wide) {
        for (uint32 k = threadIdx.x; k < run.count; k += kTeamThreads)
            pick(state.rows_at_work, run.present)[k] = row_at<wide>(state, run.present, k);
        for (uint32 k = threadIdx.x; k < run.previous; k += kTeamThreads)
            pick(state.target, !run.present)[k] = target_at<wide>(state, !run.present, k);
    }
    if (threadIdx.x == 0) shared().control.command.auction = run;
}
// Computes u from the lists. A matched row that is not at its minimum becomes free. `refreshed` false: all rows; rows
// whose minimum their list does not prove are appended to refresh_rows. `refreshed` true: the rows in refresh_rows.
__device__ inline void derive_u(const Team& team, uint32 count, bool refreshed) {
    State& state = team.state;
    team.each_by_warp(count, [&](uint32 index) {
        const int32 i = refreshed ? load_stable(state.refresh_rows + index) : static_cast<int32>(index);
        const Candidate mine = load_candidate(state, i);
        const int32 own = __ldcg(state.row_to_col + i);  // one of the lanes writes it later
        const Dual x = present_cost(mine, mine.col >= 0 ? load_stable(state.v + mine.col) : Dual(0));
        const Nearest nearest = find_nearest(x);
        const bool keeps = __any_sync(kAllLanes, mine.col == own && own >= 0 && x == nearest.first);
        if (lane_index() != 0) return;
        if (nearest.first <= load_stable(state.tau + i)) {
            state.u[i] = nearest.first < infinity<Dual>() ? nearest.first : Dual(0);
            if (keeps) return;
            if (own >= 0) state.col_to_row[own] = kNone;
            __stcg(state.row_to_col + i, kNone);
        } else if (!refreshed) {
            state.refresh_rows[atomicAdd(team.wide ? &state.counts->refresh : &team.own.refresh, 1u)] = i;
        } else if constexpr (Costs::is_on_host) {  // the solve was stopped before the row arrived
            state.u[i] = load_stable(state.tau + i);
        } else if constexpr (Listing::has_owners) {  // or before its owner listed it
            state.u[i] = load_stable(state.tau + i);
            if (own >= 0) state.col_to_row[own] = kNone;
            __stcg(state.row_to_col + i, kNone);
        }
    });
}
