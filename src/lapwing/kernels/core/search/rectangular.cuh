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
// Each row pulls its backward distance: in a sweep every reached row reads its list and writes its own distance, so no
// two threads write the same word. Sweeps repeat until nothing changes.
//
// Cost of a sweep: the lists, v and backward distances of all reached rows, 2 barriers.
#pragma once
#include "core/search/augment.cuh"

// The place of the backward distance of row i, which is free or matched to `own`.
__device__ inline int64 backward_place(const State& state, int32 i, int32 own) {
    return own >= 0 ? own : static_cast<int64>(state.matrix.cols) + i;
}
// The backward distance of a row through column j at reduced cost; kFar if no path from j to a free column is known.
__device__ inline uint64 backward_by(Dual cost, Dual v, Dual u, uint64 backward) {
    return backward == kFar ? kFar : as_key(reduced(cost, v, u) + from_key<Dual>(backward));
}
// The backward part of a path from a row at distance d, if the whole path is within the search radius; otherwise kFar.
__device__ inline uint64 within(uint64 onward, Dual d, uint64 radius) {
    return onward == kFar || as_key(d + from_key<Dual>(onward)) > radius ? kFar : onward;
}

// Lists the reached rows in frontier[0], with unknown backward distances. Reached free columns have backward distance
// zero.
__device__ inline void begin_backward(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols, count = cols + run.free_count;
    team.each_converged(count, [&](uint32 index) {
        Edge at = {kNone, kNone};
        if (index < cols) {
            const uint64 key = __ldcg(state.distance + index);
            const bool reached = key != kFar && key <= run.radius;
            at.col = static_cast<int32>(index);
            if (reached) at.row = load_stable(state.col_to_row + index);
            const bool root = reached && at.row < 0;
            __stcg(state.backward_distance + index, root ? uint64(0) : kFar);
            if (root) __stcg(state.stamp + index, 0u);
        } else if (index < count) {
            at.row = load_stable(state.free_rows + index - cols);
            __stcg(state.backward_distance + cols + at.row, kFar);
        }
        const uint32 place = take_place(team, &Counts::met, at.row >= 0);
        if (at.row >= 0) state.frontier[0][place] = at;
    });
}

// Lowers a row's backward distance in this step. Called by one thread.
__device__ inline void shorten(const State& state, const SearchRun& run, Edge at, uint64 backward) {
    __stcg(state.backward_distance + backward_place(state, at.row, at.col), backward);
    if (at.col >= 0) __stcg(state.stamp + at.col, stamp(run.number, false));
}

// The counts in which a sweep records a change.
__device__ inline StepCounts& sweep_counts(const Team& team, uint32 sweep) {
    return team.wide ? counts_of<true>(team, sweep) : counts_of<false>(team, sweep);
}

// One sweep over the lists of all rows, one candidate per lane. All new backward distances are computed before any is
// written, so that their order has no effect.
__device__ inline void sweep_lists(const Team& team, const SearchRun& run) {
    const State& state = team.state;
    uint64* const found = state.best_bid[0];  // by place in the frontier; the auction is over
    for (uint32 base = team.warp(); base < run.count; base += Tuning::warp_rows * team.warps()) {
        const auto there = [&](uint32 r) { return base + r * team.warps() < run.count; };
        Edge at[Tuning::warp_rows];
        Candidate mine[Tuning::warp_rows];
        Dual u[Tuning::warp_rows], v[Tuning::warp_rows];
        uint64 distance[Tuning::warp_rows], onward[Tuning::warp_rows];
#pragma unroll
        for (uint32 r = 0; r < Tuning::warp_rows; ++r) {
            if (there(r)) at[r] = load_stable(state.frontier[0] + base + r * team.warps());
        }
#pragma unroll
        for (uint32 r = 0; r < Tuning::warp_rows; ++r) {
            if (!there(r)) continue;
            mine[r] = load_candidate(state, at[r].row);
            u[r] = load_stable(state.u + at[r].row);
            distance[r] = at[r].col >= 0 ? __ldcg(state.distance + at[r].col) : 0;
        }
#pragma unroll
        for (uint32 r = 0; r < Tuning::warp_rows; ++r) {
            onward[r] = kFar;
            if (!there(r) || mine[r].col < 0 || mine[r].col == at[r].col) continue;
            v[r] = load_stable(state.v + mine[r].col);
            onward[r] = __ldcg(state.backward_distance + mine[r].col);
        }
#pragma unroll
        for (uint32 r = 0; r < Tuning::warp_rows; ++r) {
            if (!there(r)) break;
            const uint64 distance_back =
                onward[r] == kFar ? kFar : backward_by(Dual(mine[r].cost), v[r], u[r], onward[r]);
            onward[r] = warp_min(within(distance_back, from_key<Dual>(distance[r]), run.radius));
            if (lane_index() == 0) __stcg(found + base + r * team.warps(), onward[r]);
        }
    }
    team.sync();
    team.each_converged(run.count, [&](uint32 index) {
        const Edge at = load_stable(state.frontier[0] + (index < run.count ? index : 0));
        const uint64 distance_back = index < run.count ? __ldcg(found + index) : kFar;
        const bool falls = distance_back < __ldcg(state.backward_distance + backward_place(state, at.row, at.col));
        if (falls) shorten(state, run, at, distance_back);
        raise(&sweep_counts(team, run.present).event, falls);
    });
    if (blockIdx.x == 0 && threadIdx.x == 0) sweep_counts(team, run.present + 1).event = 0;
    team.sync();
}

// One sweep over rows whose lists are insufficient: all their columns, one block each.
__device__ inline void sweep_full_rows(const Team& team, const SearchRun& run, uint32 full) {
    State& state = team.state;
    for (uint32 index = team.block(); index < full; index += team.blocks) {
        const int32 i = load_stable(state.full_rows + index), own = load_stable(state.row_to_col + i);
        const Dual u = load_stable(state.u + i), d = own >= 0 ? from_key<Dual>(__ldcg(state.distance + own)) : Dual(0);
        uint64 least = kFar;
        for (int32 place = threadIdx.x; place < state.matrix.places(i); place += kTeamThreads) {
            const int32 j = state.matrix.col_of(i, place);
            const uint64 onward = j == own ? kFar : __ldcg(state.backward_distance + j);
            if (onward == kFar) continue;
            const uint64 distance_back = within(
                backward_by(state.matrix.at_place(i, place), load_stable(state.v + j), u, onward), d, run.radius);
            least = distance_back < least ? distance_back : least;
        }
        least = best_in_block(shared().scratch.keys, least, true);
        if (threadIdx.x == 0) state.full_backward_distance[index] = least;
    }
    team.sync();
    bool falls = false;
    for (uint32 index = team.block(); index < full && threadIdx.x == 0; index += team.blocks) {
        const int32 i = load_stable(state.full_rows + index), own = load_stable(state.row_to_col + i);
        const uint64 least = __ldcg(state.full_backward_distance + index);
        if (least >= __ldcg(state.backward_distance + backward_place(state, i, own))) continue;
        shorten(state, run, {i, own}, least);
        falls = true;
    }
    raise(&sweep_counts(team, run.present).event, falls);
    team.sync();
}

// Sweeps until nothing changes.
LAPWING_NOINLINE __device__ void run_backward_sweeps() {
    State& state = shared().state;
    const Team team{state, shared().control.counts, shared().control.command.wide, shared().control.command.blocks};
    SearchRun run = shared().control.command.search;
    const uint32 full = team.wide ? __ldcg(&state.counts->full) : team.own.full;
    for (bool changed = true; changed; ++run.present) {
        ++run.number;
        sweep_lists(team, run);
        if (full > 0) {
            ++run.number;
            sweep_full_rows(team, run, full);
        }
        changed = (team.wide ? read_counts<true>(team, run.present) : read_counts<false>(team, run.present)).event != 0;
    }
    run.count = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) shared().control.command.search = run;
}

// Whether column j can be the successor of row i; `cost`: the cost of the pair, `mine`: the row's backward distance,
// which was set in `step`. Along successors, backward distances fall, or stay equal and were set earlier, so there are
// no cycles.
__device__ inline bool is_successor(const State& state, int32 j, Dual cost, Dual u, uint64 mine, uint32 step) {
    const uint64 backward = __ldcg(state.backward_distance + j);
    if (backward > mine || backward_by(cost, load_stable(state.v + j), u, backward) != mine) return false;
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
// The lowest successor of each reached row; kNoRow if there is none.
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
// The same for rows that were relaxed completely, over all their columns, one block each.
__device__ inline void find_full_successors(const Team& team, uint32 count) {
    const State& state = team.state;
    for (uint32 index = team.block(); index < count; index += team.blocks) {
        const int32 i = load_stable(state.full_rows + index), own = load_stable(state.row_to_col + i);
        const Backward mine = load_backward(state, i, own);
        const Dual u = load_stable(state.u + i);
        uint64 lowest = kNoRow;
        const int32 places = mine.backward != kFar ? state.matrix.places(i) : 0;
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
