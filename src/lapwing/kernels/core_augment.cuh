// What a search is for: the duals move, and free rows are matched along disjoint paths.
//
// Who leads to a column is found after the search: a row i at whose distance + reduced cost the column lies, with a smaller distance,
// or the same and fallen in an earlier step. That order makes cycles impossible; the lowest such row leads, so
// nothing depends on the order of threads.
#pragma once
#include "core_search.cuh"

// Whether row i leads to column j, which is `cost` away from it; see the top.
__device__ inline void lead(const State& state, int32 i, int32 j, Dual cost, uint64 cap, uint32 row_step, Dual distance,
                            Dual u) {
    const uint64 key = __ldcg(state.distance + j);
    if (key > cap || key == kFar) return;
    if (as_key(distance + reduced(cost, settled(state.v + j), u)) != key) return;
    if (as_key(distance) < key || row_step < step_of(__ldcg(state.stamp + j))) atomicMin(state.leader + j, i);
}

// Leaders among the candidates of the rows of reached columns, and of free rows; and the free columns within the cap.
__device__ inline void find_leaders(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols;
    team.each_by_warp(cols + run.free_count, [&](uint32 index) {
        int32 i = kNone, through = kNone;
        uint64 key = 0;
        if (index < cols) {
            through = static_cast<int32>(index);
            key = __ldcg(state.distance + index);
            if (key > run.cap || key == kFar) return;
            i = settled(state.col_to_row + index);
        } else {
            i = settled(state.free_rows + index - cols);
        }
        if (i < 0) return append(team, state.met_cols, &Counts::met, lane_index() == 0 ? through : kNone);
        const Dual distance = from_key<Dual>(key), u = settled(state.u + i);
        const uint32 row_step = through < 0 ? 0 : step_of(__ldcg(state.stamp + through));
        const Candidate mine = load_candidate(state, i);
        if (mine.col >= 0 && mine.col != through)
            lead(state, i, mine.col, Dual(mine.cost), run.cap, row_step, distance, u);
    });
}
// The same for rows all of whose columns were looked at, a block each.
__device__ inline void find_leaders_in_full(const Team& team, const SearchRun& run, uint32 count) {
    State& state = team.state;
    for (uint32 index = team.block(); index < count; index += team.blocks) {
        const int32 i = settled(state.full_rows + index), own = settled(state.row_to_col + i);
        const Dual distance = own < 0 ? Dual(0) : from_key<Dual>(__ldcg(state.distance + own));
        const Dual u = settled(state.u + i);
        const uint32 row_step = own < 0 ? 0 : step_of(__ldcg(state.stamp + own));
        for_share<false>(state, i, [&](int32 j, Dual cost, Dual) {
            if (j != own && cost < infinity<Dual>()) lead(state, i, j, cost, run.cap, row_step, distance, u);
        });
    }
}

// From every free column within the cap to the free row whose tree it is in, which takes one of them: the lowest. First the
// leaders get their columns, so that a path takes one load a row.
__device__ inline void claim_roots(const Team& team, const SearchRun& run, uint32 met) {
    State& state = team.state;
    team.each(state.matrix.cols, [&](uint32 j) {
        const uint64 key = __ldcg(state.distance + j);
        if (key > run.cap || key == kFar) return;
        const int32 i = __ldcg(state.leader + j);
        state.link[j] = {i, i == kNoRow ? kNone : settled(state.row_to_col + i)};
    });
    team.sync();
    team.each_converged(met, [&](uint32 index) {
        const bool there = index < met;
        Reached at = {kNone, there ? settled(state.met_cols + index) : kNone};
        const int32 start = at.col;
        bool sound = true;
        for (int32 length = 0; at.col >= 0 && sound; ++length) {
            at = settled(state.link + at.col);
            sound = at.row != kNoRow && length <= state.matrix.rows;
        }
        if (there && sound) atomicMin(state.claim + at.row, start);
        raise(team.wide ? &state.counts->unsound : &team.own.unsound, !sound);
        if (there) state.roots[index] = sound ? at.row : kNone;
    });
}

// New duals; distances are forgotten.
__device__ inline void update_duals(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const Dual cap = from_key<Dual>(run.cap);
    team.each(state.matrix.cols, [&](uint32 j) {
        const uint64 key = __ldcg(state.distance + j);
        if (key == kFar) return;
        __stcg(state.distance + j, kFar);
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

// Matches the roots along the paths to the columns that they took.
__device__ inline void match_paths(const Team& team, uint32 met) {
    State& state = team.state;
    team.each(met, [&](uint32 index) {
        const int32 root = settled(state.roots + index);
        int32 j = settled(state.met_cols + index);
        if (root < 0 || __ldcg(state.claim + root) != j) return;
        while (j >= 0) {
            const Reached at = settled(state.link + j);
            state.row_to_col[at.row] = j;
            state.col_to_row[j] = at.row;
            j = at.col;
        }
    });
}

// Free rows, where the next search starts, and free columns; no leaders.
__device__ inline void gather_free(const Team& team) {
    State& state = team.state;
    const uint32 rows = state.matrix.rows, cols = state.matrix.cols;
    team.each_converged(cols, [&](uint32 index) {
        const bool row = index < rows && settled(state.row_to_col + index) < 0;
        const uint32 place = take_place(team, &Counts::free_rows, row);
        const int32 i = static_cast<int32>(index);
        if (row) {
            state.free_rows[place] = i;
            state.frontier[0][place] = {i, kNone};
            state.claim[i] = kNoRow;
        }
        if (index < cols) state.leader[index] = kNoRow;
        if (rows == cols)
            append(team, state.free_cols, &Counts::free_cols,
                   index < cols && settled(state.col_to_row + index) < 0 ? i : kNone);
    });
}
