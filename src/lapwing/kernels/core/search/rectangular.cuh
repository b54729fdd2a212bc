// The end of a search where columns outnumber rows. It matches many rows while free columns keep their prices.
//
// After a search with radius D, let d be the distance of a row, and `backward` its backward distance: the least sum of
// reduced costs from it to a free column, within the reached part. Along a pair, d and the backward distance each
// change by at most the reduced cost (d forwards, the backward distance backwards), and so does
//
//   change = max(0, min(backward, D - d)):   u[i] += change of i,  v[j] -= change of j's row
//
// Therefore it keeps u + v <= cost. It leaves free columns unchanged, keeps matched pairs tight, and makes tight the
// least path from every free row that has one within D. Following successors, these paths form trees, each with a free
// column as root. Every root is matched to one of the free rows in its tree. (Without backward distances the largest
// allowed D is the distance of the nearest free column, and a search matches little more than one row.)
//
// core/search/backward.cuh finds the backward distances.
#pragma once
#include "core/search/backward.cuh"

// Whether column j can be the successor of row i; `cost`: the cost of the pair, `mine`: the row's backward distance,
// which was set in `step`. Along successors, backward distances fall, or stay equal and were set earlier, so there are
// no cycles.
__device__ inline bool is_successor(const State& state, int32 j, Dual cost, Dual u, uint64 mine, uint32 step) {
    const uint64 backward = __ldcg(state.backward_distance + j);
    if (backward > mine || backward_by(reduced(cost, load_stable(state.v + j), u), backward) != mine) return false;
    return backward < mine || step_of(__ldcg(state.stamp + j)) < step;
}
// The backward distance of row i, and the step in which it was set. A free row is no row's successor and needs no step.
struct Backward {
    uint64 backward;
    uint32 step;
};
__device__ inline Backward load_backward(const State& state, int32 i, int32 own) {
    return {__ldcg(state.backward_distance + backward_place(state, i, own)),
            own >= 0 ? step_of(__ldcg(state.stamp + own)) : ~0u};
}
// The lowest successor of each reached row among its candidates; kNoRow if there is none.
__device__ inline void find_successors(const Team& team, uint32 count) {
    const State& state = team.state;
    team.each_by_warp(count, [&](uint32 index) {
        const Edge at = load_stable(state.frontier[0] + index);
        const Backward mine = load_backward(state, at.row, at.col);
        const Candidate candidate = load_candidate(state, at.row);
        const Dual u = load_stable(state.u + at.row);
        const bool goes = mine.backward != kFar && candidate.col >= 0 && candidate.col != at.col &&
                          is_successor(state, candidate.col, Dual(candidate.cost), u, mine.backward, mine.step);
        const uint32 col = warp_min(static_cast<uint32>(goes ? candidate.col : kNoRow));
        if (lane_index() == 0) state.successor[at.row] = static_cast<int32>(col);
    });
}
// The same for full rows that have none there, over all their columns, one block each.
__device__ inline void find_full_successors(const Team& team, uint32 count) {
    const State& state = team.state;
    for (uint32 index = team.block(); index < count; index += team.blocks) {
        const int32 i = load_stable(state.full_rows + index), own = load_stable(state.row_to_col + i);
        const Backward mine = load_backward(state, i, own);
        if (mine.backward == kFar || load_stable(state.successor + i) != kNoRow) continue;
        const Dual u = load_stable(state.u + i);
        uint64 lowest = kNoRow;
        const int32 places = state.matrix.places(i);
        for (int32 place = threadIdx.x; place < places; place += kTeamThreads) {
            const int32 j = state.matrix.col_of(i, place);
            if (j == own || static_cast<uint64>(j) >= lowest || __ldcg(state.backward_distance + j) > mine.backward)
                continue;
            if (is_successor(state, j, state.matrix.at_place(i, place), u, mine.backward, mine.step))
                lowest = static_cast<uint64>(j);
        }
        lowest = best_in_block(shared().scratch.keys, lowest, true);
        if (threadIdx.x == 0) state.successor[i] = static_cast<int32>(lowest);
    }
}

// Finds the free column at the end of each free row's path. It takes the lowest of the free rows that reach it.
__device__ inline void claim_ends(const Team& team, const SearchRun& run) {
    State& state = team.state;
    team.each(run.free_count, [&](uint32 index) {
        const int32 start = load_stable(state.free_rows + index);
        int32 i = start, j = kNoRow;
        for (int32 length = 0; i >= 0 && length <= state.matrix.rows; ++length) {
            j = load_stable(state.successor + i);
            i = j == kNoRow ? kNone : load_stable(state.col_to_row + j);
        }
        const bool ends = i < 0 && j != kNoRow;
        if (ends) atomicMin(state.parent_row + j, start);
        state.roots[index] = ends ? j : kNone;
    });
}

// Updates the duals and resets distances.
__device__ inline void update_duals_by_backward(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const auto change = [&](uint64 distance, uint64 backward) {
        const Dual left = from_key<Dual>(run.radius) - from_key<Dual>(distance);
        return backward == kFar || from_key<Dual>(backward) > left ? left : from_key<Dual>(backward);
    };
    team.each(state.matrix.cols, [&](uint32 j) {
        const uint64 key = __ldcg(state.distance + j);
        if (key == kFar) return;
        __stcg(state.distance + j, kFar);
        const int32 i = load_stable(state.col_to_row + j);
        if (key >= run.radius || i < 0) return;
        const Dual by = change(key, __ldcg(state.backward_distance + j));
        state.v[j] = load_stable(state.v + j) - by;
        state.u[i] = load_stable(state.u + i) + by;
    });
    team.each(run.free_count, [&](uint32 index) {
        const int32 i = load_stable(state.free_rows + index);
        state.u[i] =
            load_stable(state.u + i) + change(0, __ldcg(state.backward_distance + backward_place(state, i, kNone)));
    });
}

// Matches free rows along their paths if the column at the end took them.
__device__ inline void match_successors(const Team& team, uint32 free_count) {
    State& state = team.state;
    team.each(free_count, [&](uint32 index) {
        const int32 end = load_stable(state.roots + index);
        int32 i = load_stable(state.free_rows + index);
        if (end < 0 || __ldcg(state.parent_row + end) != i) return;
        while (i >= 0) {
            const int32 j = load_stable(state.successor + i), next = load_stable(state.col_to_row + j);
            state.row_to_col[i] = j;
            state.col_to_row[j] = i;
            i = next;
        }
    });
}
