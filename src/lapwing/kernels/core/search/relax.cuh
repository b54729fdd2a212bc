// Shortest augmenting paths from all free rows at once, on the lists.
//
// Terms. Distance of a column: the least sum of reduced costs (cost - u - v) along an alternating path from a free row.
// Search radius D: larger distances are irrelevant. Bucket limit: rows beyond it wait.
//
// Distances are found by label correction. A step relaxes the candidates of all rows whose distance fell (the
// frontier), by atomicMin on the columns' distances. If a distance of the frontier falls in this very step, its row is
// on the next frontier, too; where this is seen, the row is relaxed only then. So a step relaxes distances of earlier
// steps alone, and needs no barrier between reading and writing. (Block 0 alone, with a row a warp, reads all distances
// first, since its barrier takes less time.) Whether a step relaxes a distance that is about to fall makes no
// difference at the end: each distance is the least over all paths, and was set in the step after the earliest of those
// on which it depends.
//
// The radius falls to a distance within which nearly as many free columns were reached as rows are free. Rows at that
// very distance are not relaxed, since they lead to nothing nearer. For small integers, where most distances are equal,
// this ends a search as soon as enough free columns are reached. When the frontier is empty, the bucket limit advances
// beyond the nearest waiting row, as in delta-stepping, so most rows are relaxed once.
//
// When no row waits within the radius, a row is uncertified if its list does not reach the radius (distance + tau - u
// is below D). It is listed again under the present prices. If that is insufficient, all its columns are relaxed. Then
// the update (core/search/augment.cuh)
//
//   u[i] += max(0, D - distance of i),  v[j] -= max(0, D - distance of j)
//
// keeps u + v <= cost (by the triangle inequality, which a minimum with a constant preserves), keeps matched pairs
// tight, and makes the paths to all free columns within D tight. Trees of different free rows are disjoint, so every
// tree that reached free columns matches one of them. A search therefore matches a large part of the free rows.
//
// Where columns outnumber rows, and there are no dummy rows (core/search/dummies.cuh), prices of free columns must stay
// at zero. The search is then the first half of core/search/rectangular.cuh, and the radius is the bucket limit at
// which enough free columns are reached. When few rows are left, the radius is the distance of the nearest free column,
// and a search matches one row.
//
// Cost of a step: the lists and v of the frontier, two atomics for each distance that falls, and a barrier (two for
// block 0 with a row a warp); in one step of eight a radius and one barrier more, if a free column came nearer.
//
// References: R. Jonker and A. Volgenant, Computing 38 (1987); U. Meyer and P. Sanders, "Delta-stepping: a
// parallelizable shortest path algorithm", Journal of Algorithms 49 (2003).
#pragma once
#include "core/search/radius.cuh"

// The time when a distance fell: the step, and whether the column's row was put on the frontier.
__device__ inline uint32 stamp(uint32 step, bool at_work) { return step * 2 + at_work; }
__device__ inline uint32 step_of(uint32 stamp) { return stamp / 2; }
constexpr uint32 kNoStamp = ~0u;

// Whether a row at this distance is relaxed now.
__device__ inline bool is_at_work(const SearchRun& run, uint64 key) {
    return key <= run.bucket_limit && key < run.radius;
}

// Lowers the distances of columns col[k], known to be known[k], to x[k]; kNone: no column. All lanes of a warp call it.
// Slow accesses are in flight together, and the frontier grows once. `in_order`: others read distances meanwhile, which
// fall after their stamps have risen (find_relaxations).
template <bool wide, bool in_order, uint32 n>
__device__ inline void relax(const Team& team, const SearchRun& run, const int32 (&col)[n], const Dual (&x)[n],
                             const uint64 (&known)[n]) {
    const State& state = team.state;
    uint32 last[n];   // stamp of the previous fall
    int32 holder[n];  // kNoRow: the distance did not fall
#pragma unroll
    for (uint32 k = 0; k < n; ++k) {
        const uint64 key = as_key(x[k]);
        holder[k] = kNoRow;
        last[k] = 0;
        if (col[k] < 0 || key > run.radius || key >= known[k]) continue;  // it falls, by this thread or another
        if constexpr (!in_order) min_in_global(state.distance + col[k], key);
        last[k] = max_in_global(state.stamp + col[k], stamp(run.number, is_at_work(run, key)));
        holder[k] = load_stable(state.col_to_row + col[k]);
    }
#pragma unroll
    for (uint32 k = 0; k < n && in_order; ++k) {  // when the stamp is there; it is never kNoStamp
        if (holder[k] != kNoRow && last[k] != kNoStamp) min_in_global(state.distance + col[k], as_key(x[k]));
    }
    bool adds[n];
#pragma unroll
    for (uint32 k = 0; k < n; ++k) {
        const uint64 key = as_key(x[k]);
        adds[k] = holder[k] != kNoRow && is_at_work(run, key) && holder[k] >= 0 &&
                  (step_of(last[k]) < run.number || last[k] % 2 == 0);
        if (run.wanted > 1 || holder[k] >= 0) continue;
        if constexpr (wide)
            min_in_global(&state.counts->nearest, key);
        else
            atomicMin(&team.own.nearest, key);
    }
    bool free = false;
    uint32 adding[n], all = 0;
#pragma unroll
    for (uint32 k = 0; k < n; ++k) {
        free |= holder[k] < 0;
        adding[k] = __ballot_sync(kAllLanes, adds[k]);
        all += __popc(adding[k]);
    }
    StepCounts& counts = counts_of<wide>(team, run.number);
    raise(&counts.event, free);
    if (all == 0) return;
    const uint32 lane = lane_index(), before = (1u << lane) - 1;
    uint32 base = 0;
    if (lane == 0) base = add_count<wide>(&counts.next, all);
    base = __shfl_sync(kAllLanes, base, 0);
    Edge* next = pick(state.frontier, !run.present);
#pragma unroll
    for (uint32 k = 0; k < n; ++k) {
        const uint32 place = base + __popc(adding[k] & before);
        base += __popc(adding[k]);
        if ((adding[k] >> lane & 1) == 0) continue;
        next[place] = {holder[k], col[k]};
        if (wide || place >= kNarrowRows) continue;
        shared().scratch.steps.at[!run.present][place] = {holder[k], col[k]};
        prefetch_list(state, holder[k]);
    }
}

template <bool wide>
__device__ inline Edge frontier_at(const Team& team, uint32 present, uint32 index) {
    if constexpr (wide) return load_stable(pick(team.state.frontier, present) + index);
    return shared().scratch.steps.at[present][index];
}
// Loads the first rows of a warp before the length of the frontier is known.
template <bool wide>
__device__ inline Edge load_frontier(const Team& team, uint32 present) {
    const uint32 most = wide ? 2 * team.state.matrix.rows : kNarrowRows, index = team.warp();
    const UnstableLoads unsettled;  // by now, for a block that drops out
    return frontier_at<wide>(team, present, index < most ? index : most - 1);
}

// The candidates of n rows of a frontier, one per lane, with their distances. (Everything is assigned even if it is not
// needed, since the compiler would keep unassigned values in memory.)
template <uint32 n>
struct Relaxations {
    int32 col[n];
    Dual x[n];
    uint64 known[n];
};
// The relaxations of rows of the frontier at their distances before this step; kNone: no row or, if `in_order`, its
// distance falls in this step. Of the loads, two depend on each other at most.
//
// `in_order`: distances may fall meanwhile. A thread that lowers one raises its stamp first, and waits for the old
// stamp. Here the distance is read first, and waited for. So no distance of this step is read with the stamp of an
// earlier one. (This is an order of accesses to L2, which hardware keeps where one waits for another, without a fence.)
template <bool in_order, uint32 n>
__device__ inline Relaxations<n> find_relaxations(const State& state, const SearchRun& run, const Edge (&at)[n]) {
    Relaxations<n> relaxations;
    Candidate mine[n];
    Dual u[n], v[n];
    uint64 own[n];
    uint32 last[n];
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {
        const bool is_there = at[r].row >= 0;
        mine[r] = is_there ? load_candidate(state, at[r].row) : Candidate{kNone, ListCost(0)};
        u[r] = is_there ? load_stable(state.u + at[r].row) : Dual(0);
        own[r] = !is_there ? kFar : at[r].col >= 0 ? __ldcg(state.distance + at[r].col) : as_key(Dual(0));
    }
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {
        // never kFar where there is a column, but the stamp waits for it
        last[r] = in_order && own[r] != kFar && at[r].col >= 0 ? __ldcg(state.stamp + at[r].col) : 0;
        relaxations.col[r] = mine[r].col != at[r].col ? mine[r].col : kNone;
        v[r] = relaxations.col[r] >= 0 ? load_stable(state.v + relaxations.col[r]) : Dual(0);
        relaxations.known[r] = relaxations.col[r] >= 0 ? __ldcg(state.distance + relaxations.col[r]) : 0;
    }
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {
        if (!(own[r] < run.radius && step_of(last[r]) < run.number)) relaxations.col[r] = kNone;
        relaxations.x[r] = from_key<Dual>(own[r]) + reduced(Dual(mine[r].cost), v[r], u[r]);
    }
    return relaxations;
}
// Relaxes n rows of the frontier, while other warps relax others.
template <bool wide, uint32 n>
__device__ inline void relax_rows(const Team& team, const SearchRun& run, const Edge (&at)[n]) {
    const Relaxations<n> relaxations = find_relaxations<true>(team.state, run, at);
    relax<wide, true>(team, run, relaxations.col, relaxations.x, relaxations.known);
}
// Relaxes one row a warp when all distances were read: for block 0, whose barrier takes less time than distances that
// wait for stamps.
__device__ inline void relax_when_read(const Team& team, const SearchRun& run, Edge mine) {
    const Edge at[1] = {team.warp() < run.count ? mine : Edge{kNone, kNone}};
    const Relaxations<1> relaxations = find_relaxations<false>(team.state, run, at);
    team.sync();
    if (team.warp() < run.count) relax<false, false>(team, run, relaxations.col, relaxations.x, relaxations.known);
}
// One step: relaxes all rows of the frontier. `first`: that of the warp.
template <bool wide>
__device__ inline void take_step(const Team& team, const SearchRun& run, Edge first) {
    if (run.count <= team.warps()) {  // mostly
        const Edge at[1] = {first};
        if constexpr (!wide)
            relax_when_read(team, run, first);
        else if (team.warp() < run.count)
            relax_rows<wide>(team, run, at);
    } else {
        for (uint32 base = team.warp(); base < run.count; base += Tuning::warp_rows * team.warps()) {
            Edge at[Tuning::warp_rows];
#pragma unroll
            for (uint32 r = 0; r < Tuning::warp_rows; ++r) {
                const uint32 index = base + r * team.warps();
                at[r] = index < run.count ? frontier_at<wide>(team, run.present, index) : Edge{kNone, kNone};
            }
            relax_rows<wide>(team, run, at);
        }
    }
    reset_next_counts<wide>(team, run.number);
    team.sync();
}

// Ends a step: sets the next frontier, and now and then lowers the search radius, if a free column came nearer. To find
// a radius takes as long as a step, and most free columns come nearer one after the other. No distance falls before all
// blocks have found the radius from the same distances.
template <bool wide>
__device__ inline void conclude_step(const Team& team, SearchRun& run) {
    const StepCounts counts = read_counts<wide>(team, run.number);
    run.nearer |= counts.event != 0;
    const bool is_time = run.wanted == 1 || counts.next == 0 || run.number % Tuning::steps_of_radius == 0;
    if (run.nearer && is_time && finds_radius(team.state, run)) {
        run.radius = shrink_radius<wide>(team, run);
        run.nearer = false;
        team.sync();
    }
    run.count = run.radius == as_key(Dual(0)) ? 0 : counts.next;  // at radius zero no column is nearer
    run.present ^= 1;
}

// f(column, distance) for several columns at once, by whole warps; beyond the last column the distance is kFar.
template <class F>
__device__ inline void each_distance(const Team& team, F f) {
    const State& state = team.state;
    const uint32 cols = state.matrix.cols;
    for (uint32 base = team.thread(); base - lane_index() < cols; base += Tuning::cols_ahead * team.threads()) {
        uint64 key[Tuning::cols_ahead];
#pragma unroll
        for (uint32 k = 0; k < Tuning::cols_ahead; ++k) {
            const uint32 j = base + k * team.threads();
            key[k] = j < cols ? __ldcg(state.distance + j) : kFar;
        }
#pragma unroll
        for (uint32 k = 0; k < Tuning::cols_ahead; ++k) f(base + k * team.threads(), key[k]);
    }
}
// The distance of the nearest column beyond the bucket limit, which is free or has a waiting row; of a block's share.
__device__ inline uint64 nearest_waiting(const Team& team, const SearchRun& run) {
    uint64 nearest = kFar;
    each_distance(team, [&](uint32, uint64 key) { nearest = key > run.bucket_limit && key < nearest ? key : nearest; });
    return best_in_block(shared().scratch.keys, nearest, true);
}
// Advances the bucket limit beyond `nearest`. Rows between the previous and the new bucket limit are the next frontier,
// counted in `count`.
template <bool wide>
__device__ inline void extend_bucket(const Team& team, SearchRun& run, uint64 nearest, uint32* count) {
    const State& state = team.state;
    run.previous_limit = run.bucket_limit;
    run.bucket_limit = as_key(from_key<Dual>(nearest) + run.bucket_width);
    each_distance(team, [&](uint32 j, uint64 key) {
        const bool within = key > run.previous_limit && is_at_work(run, key);
        const int32 i = within ? load_stable(state.col_to_row + j) : kNone;
        const uint32 place = take_place<wide>(count, i >= 0);
        if (i < 0) return;
        const Edge at = {i, static_cast<int32>(j)};
        pick(state.frontier, run.present)[place] = at;
        if (!wide && place < kNarrowRows) shared().scratch.steps.at[run.present][place] = at;
    });
}
// Widens the bucket if it brought few rows.
__device__ inline void widen_bucket(SearchRun& run) {
    constexpr uint32 few_ahead = Tuning::few_ahead * kMiddleRows;
    if (run.count <= few_ahead && run.bucket_width < infinity<Dual>() / 4) run.bucket_width *= 2;
}
// With an empty frontier: advances the bucket limit beyond the nearest waiting row, if one waits within the search
// radius. Returns whether there is a frontier now.
template <bool wide>
__device__ inline bool advance_bucket(const Team& team, SearchRun& run) {
    run.exhausted = run.bucket_limit >= run.radius;
    if (run.exhausted) return false;
    StepCounts& counts = counts_of<wide>(team, run.number);  // of the last step, which left the frontier empty
    const uint64 mine = nearest_waiting(team, run);
    if (threadIdx.x == 0 && mine != kFar) atomicMax(&counts.waiting, ~mine);
    team.sync();
    const uint64 nearest = ~(wide ? __ldcg(&counts.waiting) : counts.waiting);
    run.exhausted = nearest == kFar || nearest >= run.radius;
    if (run.exhausted) return false;
    extend_bucket<wide>(team, run, nearest, &counts.next);
    team.sync();
    run.count = wide ? __ldcg(&counts.next) : counts.next;
    widen_bucket(run);
    return run.count > 0;
}

// Runs steps until nothing changes, or the number of active rows no longer suits the team of `blocks` blocks.
template <bool wide>
LAPWING_NOINLINE __device__ void run_steps(uint32 blocks) {
    const uint32 most_cols = Tuning::cols_of_block * kTeamThreads * blocks;  // that the team looks through
    State state = shared().state;                                            // its pointers in registers
    const Team team{state, shared().control.counts, wide, blocks};
    SearchRun run = shared().control.command.search;
    const bool square = state.matrix.rows == state.matrix.cols || run.from_dummies;
    if (!wide) {
        for (uint32 k = threadIdx.x; k < run.count; k += kTeamThreads)
            shared().scratch.steps.at[run.present][k] = load_stable(pick(state.frontier, run.present) + k);
        __syncthreads();
    }
    Edge first = load_frontier<wide>(team, run.present);
    for (uint32 extensions = 0;;) {
        ++run.number;
        run.scans += run.count;
        take_step<wide>(team, run, first);
        first = load_frontier<wide>(team, run.present ^ 1);
        conclude_step<wide>(team, run);
        if (run.count == 0) {
            const bool decides = square || run.wanted == 1 || run.radius != kFar;  // otherwise the coordinator does
            if (!decides || ++extensions > Tuning::most_extensions || state.matrix.cols > most_cols) break;
            if (!advance_bucket<wide>(team, run)) break;
            first = load_frontier<wide>(team, run.present);
        }
        if (!suits<wide>(team, run.count)) break;
    }
    if (threadIdx.x == 0) shared().control.command.search = run;
}
// The distance of the nearest column beyond the bucket limit. The answer must be kFar before.
__device__ inline void find_nearest_waiting(const Team& team, const SearchRun& run) {
    const uint64 nearest = nearest_waiting(team, run);
    if (threadIdx.x == 0 && nearest != kFar) atomicMin(&(team.wide ? *team.state.counts : team.own).answer, nearest);
}
// Where columns outnumber rows: the number of free columns within the search radius, and the farthest of them. The
// answer must be 0 before.
__device__ inline void count_reached(const Team& team, Scratch& scratch, const SearchRun& run) {
    uint64 count = 0, farthest = 0;
    each_distance(team, [&](uint32 j, uint64 key) {
        if (key == kFar || key > run.radius || load_stable(team.state.col_to_row + j) >= 0) return;
        ++count;
        farthest = key > farthest ? key : farthest;
    });
    farthest = best_in_block(scratch.keys, farthest, false);
    count = sum_in_block(scratch, count, 0);
    if (threadIdx.x > 0 || count == 0) return;
    Counts& counts = team.wide ? *team.state.counts : team.own;
    atomicMax(&counts.answer, farthest);
    atomicAdd(&counts.met, static_cast<uint32>(count));
}
// The same as advance_bucket, where the coordinator decides. The answer must be kFar before.
__device__ inline void advance(const Team& team) {
    SearchRun run = shared().control.command.search;
    find_nearest_waiting(team, run);
    team.sync();
    const uint64 nearest = present_count(team, &Counts::answer);
    if (nearest == kFar || nearest >= run.radius) return;
    uint32* count = &(team.wide ? *team.state.counts : team.own).step[run.number % kStepCounts].next;
    if (team.wide)
        extend_bucket<true>(team, run, nearest, count);
    else
        extend_bucket<false>(team, run, nearest, count);
    if (blockIdx.x == 0 && threadIdx.x == 0) shared().control.command.search = run;
}
