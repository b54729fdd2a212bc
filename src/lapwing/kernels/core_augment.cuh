// What a search is for: the duals move, and free rows are matched along disjoint paths.
//
// Who leads to a column is found after the search: a row i at whose distance + reduced cost the column lies, with a smaller distance,
// or the same and fallen in an earlier step. That order makes cycles impossible; the lowest such row leads, so
// nothing depends on the order of threads.
//
// Of a square problem, trees whose free rows stay free are kept: all their paths are tight now, so their columns are at distance zero
// in the next search, which begins with all their rows (the forest of a Hungarian method that grows on, J. Munkres 1957). Only
// what the matched trees held is searched again: without that, of 100,000 points in the plane, every search would look at each row's list
// some 190 times, since distances of zero spread slowly, behind others.
#pragma once
#include "core_search.cuh"

// Of a row that may lead somewhere: its distance, and the step in which it fell.
struct Origin {
    int32 row;
    uint32 step;
    Dual distance, u;
};
// Whether a row leads to column j at distance `key`, which is `cost` away from it; see the top.
__device__ inline void lead(const State& state, const Origin& from, int32 j, uint64 key, Dual cost, Dual v, uint64 cap) {
    if (key > cap || key == kFar || as_key(from.distance + reduced(cost, v, from.u)) != key) return;
    if (as_key(from.distance) < key || from.step < step_of(__ldcg(state.stamp + j)))
        atomicMin(state.leader + j, from.row);
}

// Leaders among the candidates of the rows of reached columns, and of free rows; and the free columns within the cap. A warp takes several
// at once.
__device__ inline void find_leaders(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols, count = cols + run.free_count;
    for (uint32 base = team.warp(); base < count; base += kWarpRows * team.warps()) {
        int32 i[kWarpRows], through[kWarpRows];  // kNone: there is none
        uint64 key[kWarpRows];
#pragma unroll
        for (uint32 r = 0; r < kWarpRows; ++r) {
            const uint32 index = base + r * team.warps();
            through[r] = index < cols ? static_cast<int32>(index) : kNone;
            key[r] = index < cols ? __ldcg(state.distance + index) : index < count ? 0 : kFar;
            i[r] = index < cols    ? settled(state.col_to_row + index)
                   : index < count ? settled(state.free_rows + index - cols)
                                   : kNone;
        }
        Candidate mine[kWarpRows];
        Origin from[kWarpRows];
#pragma unroll
        for (uint32 r = 0; r < kWarpRows; ++r) {
            const bool reached = key[r] <= run.cap && key[r] != kFar;
            if (reached && i[r] < 0) append(team, state.met_cols, &Counts::met, lane_index() == 0 ? through[r] : kNone);
            const bool leads = reached && i[r] >= 0;
            mine[r] = leads ? load_candidate(state, i[r]) : Candidate{kNone, ListCost(0)};
            const uint32 step = leads && through[r] >= 0 ? step_of(__ldcg(state.stamp + through[r])) : run.born;
            from[r] = {i[r], step, from_key<Dual>(key[r]), leads ? settled(state.u + i[r]) : Dual(0)};
        }
        uint64 known[kWarpRows];
        Dual v[kWarpRows];
#pragma unroll
        for (uint32 r = 0; r < kWarpRows; ++r) {
            if (mine[r].col == through[r]) mine[r].col = kNone;
            known[r] = mine[r].col >= 0 ? __ldcg(state.distance + mine[r].col) : kFar;
            v[r] = mine[r].col >= 0 ? settled(state.v + mine[r].col) : Dual(0);
        }
#pragma unroll
        for (uint32 r = 0; r < kWarpRows; ++r)
            lead(state, from[r], mine[r].col, known[r], Dual(mine[r].cost), v[r], run.cap);
    }
}
// The same for rows all of whose columns were looked at, a block each; of the host, for those that are here.
__device__ inline void find_leaders_in_full(const Team& team, const SearchRun& run, uint32 count) {
    State& state = team.state;
    for (uint32 index = team.block(); index < count; index += team.blocks) {
#ifdef STORED
        const int32 i = __ldcg(state.matrix.costs.data->owner + index);
        if (threadIdx.x == 0) state.matrix.costs.data->place[i] = static_cast<int32>(index);
        __syncthreads();
#else
        const int32 i = settled(state.full_rows + index);
#endif
        const int32 own = settled(state.row_to_col + i);
        const Origin from = {i, own < 0 ? run.born : step_of(__ldcg(state.stamp + own)),
                             own < 0 ? Dual(0) : from_key<Dual>(__ldcg(state.distance + own)), settled(state.u + i)};
        for_every_col(state, i, [&](int32 j, Dual cost, Dual) {
            if (j != own && cost < infinity<Dual>())
                lead(state, from, j, __ldcg(state.distance + j), cost, settled(state.v + j), run.cap);
        });
    }
}

// From every column within the cap to the free row whose tree it is in; of the free columns there it takes the lowest. Columns
// go up to what those go up to that lead to them, all at once, so that it takes the logarithm of a path's length.
__device__ inline void claim_roots(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols;
    team.each(cols, [&](uint32 j) {
        if (__ldcg(state.distance + j) > run.cap) return;
        const int32 i = __ldcg(state.leader + j), above = i == kNoRow ? kNone : settled(state.row_to_col + i);
        state.link[j] = {i, above};
        __stcg(state.roots + j, above >= 0 ? above : ~i);
    });
    team.sync();
    team.each_converged(cols, [&](uint32 j) {
        const bool there = j < cols && __ldcg(state.distance + j) <= run.cap;
        int32 at = there ? __ldcg(state.roots + j) : ~0;
        for (int32 length = 0; at >= 0 && length <= state.matrix.rows; ++length) {
            at = __ldcg(state.roots + at);
            __stcg(state.roots + j, at);
        }
        const bool sound = at < 0 && at != ~kNoRow;
        if (there && sound && settled(state.col_to_row + j) < 0) atomicMin(state.claim + ~at, static_cast<int32>(j));
        raise(team.wide ? &state.counts->unsound : &team.own.unsound, !sound);
    });
}

// New duals; distances are forgotten, or zero where the tree is kept.
__device__ inline void update_duals(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const bool keeps = state.matrix.rows == state.matrix.cols;
    const Dual cap = from_key<Dual>(run.cap);
    team.each(state.matrix.cols, [&](uint32 j) {
        const uint64 key = __ldcg(state.distance + j);
        if (key == kFar) return;
        const bool kept = keeps && key <= run.cap && __ldcg(state.claim + ~settled(state.roots + j)) == kNoRow;
        __stcg(state.distance + j, kept ? uint64(0) : kFar);
        if (kept) __stcg(state.stamp + j, stamp(run.number, true));
        if (key >= run.cap) return;
        const Dual change = cap - from_key<Dual>(key);
        const int32 i = settled(state.col_to_row + j);
        state.v[j] = settled(state.v + j) - change;
        if (i >= 0) state.u[i] = settled(state.u + i) + change;
    });
    team.each(run.free_count, [&](uint32 index) {
        const int32 i = settled(state.free_rows + index);
        state.u[i] = settled(state.u + i) + cap;
    });
}

// Matches the roots along the paths to the columns that they took. To walk a path is to wait for one link after the other: block 0 does so
// alone, when it has all links in its L1.
__device__ inline void match_paths(const Team& team, uint32 met) {
    constexpr uint32 kLinksInL1 = 1 << 14;
    State& state = team.state;
    const auto match = [&](uint32 index) {
        int32 j = settled(state.met_cols + index);
        if (__ldcg(state.claim + ~settled(state.roots + j)) != j) return;
        while (j >= 0) {
            const Reached at = settled(state.link + j);
            state.row_to_col[at.row] = j;
            state.col_to_row[j] = at.row;
            j = at.col;
        }
    };
    if (state.matrix.cols > kLinksInL1) return team.each(met, match);
    if (team.block() != 0) return;
    constexpr uint32 kLineLinks = 128 / sizeof(Reached);
    for (uint32 j = threadIdx.x * kLineLinks; j < state.matrix.cols; j += kTeamThreads * kLineLinks)
        prefetch(state.link + j);
    for (uint32 index = threadIdx.x; index < met; index += kTeamThreads) match(index);
}

// Free rows and columns, and where the next search begins: with free rows, and those of trees that were kept. No other column
// has a leader.
__device__ inline void gather_free(const Team& team) {
    State& state = team.state;
    const uint32 rows = state.matrix.rows, cols = state.matrix.cols;
    const auto begin_at = [&](Reached at) {
        const uint32 place = take_place(team, &Counts::at_start, at.row >= 0);
        if (at.row >= 0) state.frontier[0][place] = at;
    };
    team.each_converged(cols, [&](uint32 index) {
        const int32 i = static_cast<int32>(index);
        const bool row = index < rows && settled(state.row_to_col + index) < 0;
        const bool kept = index < cols && __ldcg(state.distance + index) != kFar;
        const uint32 place = take_place(team, &Counts::free_rows, row);
        if (row) {
            state.free_rows[place] = i;
            state.claim[i] = kNoRow;
        }
        begin_at({row ? i : kNone, kNone});
        begin_at({kept ? settled(state.col_to_row + index) : kNone, i});
        if (index < cols && !kept) state.leader[index] = kNoRow;
        if (rows == cols)
            append(team, state.free_cols, &Counts::free_cols,
                   index < cols && settled(state.col_to_row + index) < 0 ? i : kNone);
    });
}

// When columns have their leaders: new duals and pairs, and where the next search begins; nothing if there is a contradiction.
__device__ inline void augment(const Team& team, const SearchRun& run) {
    const uint32 met = present_count(team, &Counts::met);
    if (met == 0) return;
    claim_roots(team, run);
    team.sync();
    if (present_count(team, &Counts::unsound) != 0) return;
    update_duals(team, run);
    team.sync();
    match_paths(team, met);
    team.sync();
    gather_free(team);
}
