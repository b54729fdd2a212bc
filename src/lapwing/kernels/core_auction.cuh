// Epsilon phases by auction on the lists: prices that are nearly right, and most of the matching.
//
// In a round every free row offers for its nearest column as much more as makes its second nearest as near, and epsilon;
// the best offer for a column wins, the lowest row among equal ones, and displaces who held the column. A phase begins with
// all rows free, and ends when few are left; epsilon then falls, at last to zero, where every matched pair attains its row's
// minimum exactly. Offers are counted in units of a grid (a power of two), rounded down, so that offer and row fit one
// word for atomicMax: a row may always offer less.
//
// D. P. Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of
// Operations Research 14 (1988): the Jacobi version. Deviations: lists instead of rows (a row whose list does not prove its
// minimum waits until it is listed again), rounds stop while some rows are free, and zero is an epsilon: the searches do
// the rest. Cost of a round: lists and v of the free rows, one atomic each, two barriers.
#pragma once
#include "core_lists.cuh"

constexpr uint32 kRowBits = 24;
constexpr uint64 kMostUnits = (1ull << (64 - kRowBits - 1)) - 1;
constexpr uint64 kRowMask = (1ull << kRowBits) - 1;

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

// The nearest candidate of a row and the distance of the second nearest, by the kRowLanes lanes of the row.
struct Nearest {
    Dual first, second;
    uint32 place;  // of the first in the list
};
__device__ inline Nearest nearest_of_lanes(Nearest mine) {
#pragma unroll
    for (uint32 d = kRowLanes / 2; d > 0; d /= 2) {
        const Dual first = __shfl_xor_sync(kAllLanes, mine.first, d),
                   second = __shfl_xor_sync(kAllLanes, mine.second, d);
        const uint32 place = __shfl_xor_sync(kAllLanes, mine.place, d);
        const bool theirs = first < mine.first || (first == mine.first && place < mine.place);
        const Dual loser = theirs ? mine.first : first;
        mine.second = second < mine.second ? second : mine.second;
        mine.second = loser < mine.second ? loser : mine.second;
        mine.first = theirs ? first : mine.first;
        mine.place = theirs ? place : mine.place;
    }
    return mine;
}

// x[k] = cost - v of the lane's candidates (infinity where the list has ended), and the nearest of the whole list.
__device__ inline Nearest nearest_candidate(const State& state, const Candidates& mine, uint32 part, Dual* x) {
#pragma unroll
    for (uint32 k = 0; k < kLaneCandidates; ++k) {
        x[k] = mine.col[k] >= 0 ? mine.cost[k] - settled(state.v + mine.col[k]) : infinity<Dual>();
    }
    Nearest best = {x[0], infinity<Dual>(), part * kLaneCandidates};
#pragma unroll
    for (uint32 k = 1; k < kLaneCandidates; ++k) {
        const bool nearer = x[k] < best.first;
        const Dual loser = nearer ? best.first : x[k];
        best.second = loser < best.second ? loser : best.second;
        best.place = nearer ? part * kLaneCandidates + k : best.place;
        best.first = nearer ? x[k] : best.first;
    }
    return nearest_of_lanes(best);
}

// The place of the first free column at distance `first`, or `place` if there is none.
__device__ inline uint32 free_among_ties(const State& state, const Candidates& mine, uint32 part, const Dual* x,
                                         Dual first, uint32 place) {
    uint32 found = kListSize;
#pragma unroll
    for (uint32 k = 0; k < kLaneCandidates; ++k) {
        if (x[k] != first || found < kListSize || mine.col[k] < 0) continue;
        if (settled(state.col_to_row + mine.col[k]) < 0) found = part * kLaneCandidates + k;
    }
#pragma unroll
    for (uint32 d = kRowLanes / 2; d > 0; d /= 2) {
        const uint32 other = __shfl_xor_sync(kAllLanes, found, d);
        found = other < found ? other : found;
    }
    return found < kListSize ? found : place;
}

// The lists of a run: block 0 alone has its own in shared memory.
struct RoundLists {
    int32 *row[2], *target[2];  // the present round's and the other's
};
template <bool wide>
__device__ inline RoundLists round_lists(State& state) {
    if constexpr (wide) {
        return {{state.rows_at_work[0], state.rows_at_work[1]}, {state.target[0], state.target[1]}};
    } else {
        RoundScratch& scratch = shared().scratch.rounds;
        return {{scratch.row[0], scratch.row[1]}, {scratch.target[0], scratch.target[1]}};
    }
}

// All free rows offer. Rows whose list does not prove their minimum go to refresh_rows instead.
template <bool wide>
__device__ inline void offer(const Team& team, const RoundLists& lists, const AuctionRun& run) {
    State& state = team.state;
    team.each(run.previous, [&](uint32 index) {
        const int32 j = lists.target[!run.present][index];
        if (j >= 0) __stcg(state.offer[!run.present] + j, uint64(0));  // several may
    });
    team.each_by_lanes(run.count, [&](uint32 index, uint32 part) {
        const bool there = index < run.count;
        const int32 i = there ? lists.row[run.present][index] : 0;
        const Candidates mine = load_candidates(state, i, part);
        const Dual tau = settled(state.tau + i);
        Dual x[kLaneCandidates];
        Nearest nearest = nearest_candidate(state, mine, part, x);
        if (run.epsilon == 0) nearest.place = free_among_ties(state, mine, part, x, nearest.first, nearest.place);
        const bool proven = nearest.first <= tau, waits = there && !proven && part == 0;
        if (const uint32 place = take_place(&counts_of<wide>(team, run.rounds).refresh, waits); waits)
            state.refresh_rows[place] = i;
        if (!there || part != nearest.place / kLaneCandidates) return;
        int32 j = kNone;
#pragma unroll
        for (uint32 k = 0; k < kLaneCandidates; ++k) j = nearest.place % kLaneCandidates == k ? mine.col[k] : j;
        const bool offers = proven && j >= 0;
        lists.target[run.present][index] = offers ? j : kNone;
        if (!offers) return;
        const Dual second = nearest.second < tau ? nearest.second : tau;
        const uint64 units =
            second < infinity<Dual>() ? in_units(second - nearest.first + run.epsilon, run.units_in_one) : kMostUnits;
        atomicMax(state.offer[run.present] + j, units << kRowBits | (kRowMask - static_cast<uint64>(i)));
    });
}

// The best offers are taken; who lost or was displaced goes on.
template <bool wide>
__device__ inline void settle_offers(const Team& team, const RoundLists& lists, const AuctionRun& run) {
    State& state = team.state;
    team.each_converged(run.count, [&](uint32 index) {
        const bool there = index < run.count;
        const int32 i = there ? lists.row[run.present][index] : kNone;
        const int32 j = there ? lists.target[run.present][index] : kNone;
        int32 goes_on = i;
        const uint64 best = j >= 0 ? __ldcg(state.offer[run.present] + j) : 0;
        const int32 holder = j >= 0 ? __ldcg(state.col_to_row + j) : kNone;  // of use to the winner alone, as is v
        const Dual v = j >= 0 ? __ldcg(state.v + j) : Dual(0);
        const uint64 units = best >> kRowBits;
        const bool won = j >= 0 && kRowMask - (best & kRowMask) == static_cast<uint64>(i) && (units > 0 || holder < 0);
        if (won) {
            __stcg(state.v + j, v - of_units(units, run.unit));
            __stcg(state.col_to_row + j, i);
            state.row_to_col[i] = j;
            if (holder >= 0) state.row_to_col[holder] = kNone;
            goes_on = holder;
        }
        StepCounts& counts = counts_of<wide>(team, run.rounds);
        raise(&counts.event, won);
        if (const uint32 place = take_place(&counts.next, goes_on >= 0); goes_on >= 0)
            lists.row[!run.present][place] = goes_on;
    });
}

// Rounds, until the phase ends, rows are to be listed again, or there are too many of them or too few for the team.
template <bool wide>
LAPWING_NOINLINE __device__ void run_rounds() {
    State& state = shared().state;
    const Team team{state, shared().desk.counts, wide};
    AuctionRun run = shared().desk.order.auction;
    const RoundLists lists = round_lists<wide>(state);
    if (!wide) {
        for (uint32 k = threadIdx.x; k < run.count; k += kTeamThreads)
            lists.row[run.present][k] = settled(state.rows_at_work[run.present] + k);
        for (uint32 k = threadIdx.x; k < run.previous; k += kTeamThreads) {  // offers of the last wide round
            const int32 j = settled(state.target[!run.present] + k);
            if (j >= 0) __stcg(state.offer[!run.present] + j, uint64(0));
        }
        run.previous = 0;
        __syncthreads();
    }
    do {
        offer<wide>(team, lists, run);
        team.sync();
        settle_offers<wide>(team, lists, run);
        reset_next_counts<wide>(team, run.rounds);
        team.sync();
        const StepCounts counts = read_counts<wide>(team, run.rounds);
        run.offers += run.count;
        run.previous = run.count;
        run.count = counts.next;
        run.waiting = counts.refresh;
        run.moved = counts.event != 0;
        run.present ^= 1;
        ++run.rounds;
    } while (!run.ended() && !run.refreshes() && (wide ? run.count > kNarrowRows : run.count <= kNarrowRows));
    if (!wide) {
        for (uint32 k = threadIdx.x; k < run.count; k += kTeamThreads)
            state.rows_at_work[run.present][k] = lists.row[run.present][k];
        for (uint32 k = threadIdx.x; k < run.previous; k += kTeamThreads)
            state.target[!run.present][k] = lists.target[!run.present][k];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) shared().desk.order.auction = run;
}

// All rows are free again; prices stay.
__device__ inline void free_all(const Team& team) {
    State& state = team.state;
    team.each(state.matrix.cols, [&](uint32 j) {
        state.col_to_row[j] = kNone;
        state.offer[0][j] = state.offer[1][j] = 0;
    });
    team.each(state.matrix.rows, [&](uint32 i) {
        state.row_to_col[i] = kNone;
        state.rows_at_work[0][i] = static_cast<int32>(i);
    });
}

// u from the lists: who is matched and not at its minimum becomes free, as is who has no column. Of all rows or, the second
// time, those in refresh_rows; the first time, rows that their list does not prove go there.
__device__ inline void derive_u(const Team& team, uint32 count, bool refreshed) {
    State& state = team.state;
    team.each_by_lanes(count, [&](uint32 index, uint32 part) {
        const bool there = index < count;
        const int32 i = !there ? 0 : refreshed ? settled(state.refresh_rows + index) : static_cast<int32>(index);
        const Candidates mine = load_candidates(state, i, part);
        const int32 own = __ldcg(state.row_to_col + i);  // which one of the lanes will write
        Dual x[kLaneCandidates];
        const Nearest nearest = nearest_candidate(state, mine, part, x);
        bool tight = false;
#pragma unroll
        for (uint32 k = 0; k < kLaneCandidates; ++k) tight |= mine.col[k] == own && own >= 0 && x[k] == nearest.first;
        const uint32 lanes = ((1u << kRowLanes) - 1) << (lane_index() / kRowLanes * kRowLanes);
        const bool keeps = (__ballot_sync(kAllLanes, tight) & lanes) != 0;
        const bool speaks = there && part == 0, proven = nearest.first <= settled(state.tau + i);
        if (!refreshed) append(team, state.refresh_rows, &Counts::refresh, speaks && !proven ? i : kNone);
        if (speaks && proven) {
            state.u[i] = nearest.first < infinity<Dual>() ? nearest.first : Dual(0);
            if (!keeps && own >= 0) __stcg(state.col_to_row + own, kNone);
            if (!keeps) __stcg(state.row_to_col + i, kNone);
        }
    });
}
