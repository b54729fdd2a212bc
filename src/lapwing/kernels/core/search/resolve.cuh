// Uncertified rows of a search: their lists do not include all columns below the search radius (core/search/relax.cuh).
// They are listed again under the present prices. If that is insufficient, all their columns are relaxed.
#pragma once
#include "core/lists/full_row.cuh"
#include "core/lists/full_rows.cuh"
#include "core/search/relax.cuh"

// Finds the uncertified rows among free rows and the rows of reached columns, and counts the latter.
__device__ inline void find_uncertified(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols, count = cols + run.free_count;
    uint32 reached = 0, latest = 0;
    team.each_converged(count, [&](uint32 index) {
        int32 i = kNone;
        uint64 key = kFar;
        if (index < cols) {
            key = __ldcg(state.distance + index);
            if (key < run.radius) i = load_stable(state.col_to_row + index);
            if (i >= 0) {
                const uint32 step = step_of(__ldcg(state.stamp + index));
                latest = step > latest ? step : latest;
                ++reached;
            }
        } else if (index < count) {
            key = 0;
            i = load_stable(state.free_rows + index - cols);
        }
        bool uncertified = false;
        if (i >= 0 && key < run.radius) {
            const Dual distance = from_key<Dual>(key), tau = load_stable(state.tau + i);
            uncertified = tau < infinity<Dual>() &&
                          as_key(distance + reduced(tau, Dual(0), load_stable(state.u + i))) < run.radius &&
                          !is_certified(state, run, i, distance);
            if (uncertified) state.row_distance[i] = distance;
        }
        append(team, state.refresh_rows, &Counts::refresh, uncertified ? i : kNone);
    });
    reached = warp_reduce(reached, [](uint32 a, uint32 b) { return a + b; });
    latest = warp_reduce(latest, [](uint32 a, uint32 b) { return a < b ? b : a; });
    if (lane_index() != 0 || reached == 0) return;
    Counts& counts = team.wide ? *state.counts : team.own;
    atomicAdd(&counts.reached, reached);
    atomicMax(&counts.latest, latest);
}

// Adds up the tight pairs in the lists of all rows.
__device__ inline void count_tight(const Team& team) {
    const State& state = team.state;
    uint64 tight = 0;
    team.each_by_warp(state.matrix.rows, [&](uint32 i) {
        const Candidate mine = load_candidate(state, static_cast<int32>(i));
        const Dual v = mine.col >= 0 ? load_stable(state.v + mine.col) : Dual(0);
        const bool is_tight = mine.col >= 0 && reduced(Dual(mine.cost), v, load_stable(state.u + i)) == Dual(0);
        tight += __popc(__ballot_sync(kAllLanes, is_tight));
    });
    if (lane_index() == 0 && tight > 0) atomicAdd(&(team.wide ? *team.state.counts : team.own).answer, tight);
}

// The rows whose lists are insufficient, all of whose columns a team relaxes together. Backward searches, which come
// later, have the array for their own use.
__device__ inline int32* whole_rows(const State& state) { return state.successor; }

// Notes that all columns of row i are relaxed in this search. By one warp.
__device__ inline void note_full_row(const Team& team, const SearchRun& run, int32 i, Dual distance) {
    const State& state = team.state;
    const bool mine = lane_index() == 0, is_new = mine && load_stable(state.full_search + i) != run.search;
    append(team, state.full_rows, &Counts::full, is_new ? i : kNone);
    if constexpr (Costs::is_in_memory) append(team, whole_rows(state), &Counts::whole, mine ? i : kNone);
    if (!mine) return;
    state.full_search[i] = run.search;
    state.full_distance[i] = distance;
}
// Lists an uncertified row again (unless all were listed together). If the list is still insufficient, all columns of
// the row are relaxed, of a matrix in memory together with those of other rows. All threads of a block call it.
template <bool wide>
__device__ inline void resolve_uncertified_row(const Team& team, const SearchRun& run, int32 i) {
    State& state = team.state;
    Listing::refresh_one(state, run, i);
    const int32 own = load_stable(state.row_to_col + i);
    const Dual u = load_stable(state.u + i), distance = load_stable(state.row_distance + i);
    if (list_suffices(state, run, i)) {
        if (threadIdx.x == 0)
            pick(state.frontier, !run.present)[add_count<wide>(&counts_of<wide>(team, run.number).next, 1)] = {i, own};
        return;
    }
    if (threadIdx.x < kWarp) note_full_row(team, run, i, distance);
    if constexpr (Costs::is_in_memory) return;
    FullRow(state.matrix, i).each_part(state, own, {run.radius, distance, u, true}, [&](FullRow::Part& part) {
        Dual x[FullRow::kAtOnce];
#pragma unroll
        for (uint32 k = 0; k < FullRow::kAtOnce; ++k) {
            if (!(part.cost[k] < infinity<Dual>())) part.col[k] = kNone;
            x[k] = distance + reduced(part.cost[k], part.v[k], u);
        }
        relax<wide, false>(team, run, part.col, x, part.known);
    });
}
// Relaxes all columns of the first `count` of whole_rows.
template <bool wide>
__device__ inline void relax_whole_rows(const Team& team, const SearchRun& run, uint32 count) {
    const State& state = team.state;
    int32 col[1] = {kNone};
    Dual v = 0, x[1] = {Dual(0)};
    uint64 known[1] = {0};
    const auto row_at = [&](uint32 index) {
        const int32 i = load_stable(whole_rows(state) + index);
        return ReadRow{i,       load_stable(state.row_to_col + i),   0,
                       nullptr, load_stable(state.row_distance + i), load_stable(state.u + i)};
    };
    const auto open = [&](int32 j) {
        col[0] = j;
        x[0] = infinity<Dual>();
        v = j >= 0 ? load_stable(state.v + j) : Dual(0);
        known[0] = j >= 0 ? __ldcg(state.distance + j) : 0;
        return j >= 0;
    };
    const auto take = [&](const ReadRow& row, Dual cost) {
        const Dual through = row.distance + reduced(cost, v, row.u);
        if (cost < infinity<Dual>() && through < x[0]) x[0] = through;
        return false;
    };
    const auto note = [](const ReadRow&, Dual) {};
    const auto close = [&] {
        if (!(x[0] < infinity<Dual>())) col[0] = kNone;
        relax<wide, false>(team, run, col, x, known);
    };
    read_full_rows(state.matrix.costs, team, count, row_at, open, take, note, close, [&](const ReadRow& row) {
        const Dual cost = row.row >= 0 ? state.matrix.unmatched_cost(row.row) : infinity<Dual>();
        const int32 j = state.matrix.real_cols() + row.row;
        const bool wanted = cost < infinity<Dual>() && row.own != j;
        open(wanted ? j : kNone);
        if (wanted) take(row, cost);
        close();
    });
}
template <bool wide>
LAPWING_NOINLINE __device__ void resolve_uncertified() {
    State& state = shared().state;
    const Team team{state, shared().control.counts, wide, shared().control.command.blocks};
    SearchRun run = shared().control.command.search;
    run.count = 0;
    ++run.number;
    run.exhausted = false;
    const uint32 count = run.listed = Listing::leave_open(team, run, shared().control.command.count);
    Listing::refresh_all(team, count);
    for (uint32 at = team.block(); at < count; at += team.blocks)
        resolve_uncertified_row<wide>(team, run, load_stable(state.refresh_rows + at));
    team.sync();
    if constexpr (Costs::is_in_memory) {
        if (const uint32 whole = present_count(team, &Counts::whole)) {
            relax_whole_rows<wide>(team, run, whole);
            team.sync();
        }
    }
    conclude_step<wide>(team, run);
    if (blockIdx.x == 0 && threadIdx.x == 0) shared().control.command.search = run;
}
