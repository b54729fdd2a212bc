// Shortest augmenting paths from all free rows at once, on the lists.
//
// One search: distances of columns (reduced costs along alternating paths) from the nearest free row, by label correction. A
// step looks at the candidates of all rows whose distance fell (the frontier): atomicMin on the columns' distances. Distances
// beyond `cap` are of no interest: the cap falls to where about half as many free columns are reached as rows are free. When
// nothing changes, a row whose list does not reach as far as the cap (its distance + tau - u) is listed again under today's
// prices; if that is not enough, all its columns are looked at. Then, with D the cap:
//
//   u[i] += max(0, D - distance of i),  v[j] -= max(0, D - distance of j)
//
// keeps u + v <= cost (the triangle inequality, and a minimum with a constant keeps it) and matched pairs tight, and makes the
// paths to all free columns within D tight. Trees of different free rows have no node in common: every tree that reached free
// columns matches one of them. So a search matches a good part of the free rows, not one.
//
// Where columns outnumber rows, the prices of free columns must stay at zero: the cap is then the nearest free column's.
//
// Who leads to a column is found afterwards: a row i at whose distance + reduced cost the column lies, with a smaller distance,
// or the same and fallen in an earlier step. That order makes cycles impossible; the lowest such row leads, so
// nothing depends on the order of threads.
//
// Cost: a step takes the lists and v of the frontier, one atomic for each distance that falls, 2 barriers.
#pragma once
#include "core_lists.cuh"

__device__ inline Dual reduced(Dual cost, Dual v, Dual u) {
    const Dual x = cost - v - u;  // rounding may leave it below 0
    return x > Dual(0) ? x : Dual(0);
}

// Columns col[k] are at distance x[k] or nearer, where they were at known[k]; those of kNone are not meant. All lanes of a warp
// call it. What takes long is on its way at once, and each list grows once.
template <uint32 n>
__device__ inline void reach(const Team& team, const SearchStep& step, const int32 (&col)[n], const Dual (&x)[n],
                             const uint64 (&known)[n]) {
    State& state = team.state;
    uint64 before[n];
    uint32 last[n];  // step in which it fell before this one
    int32 holder[n];
#pragma unroll
    for (uint32 k = 0; k < n; ++k) {
        const uint64 key = as_key(x[k]);
        const bool falls =
            col[k] >= 0 && key <= step.cap && key < known[k];  // perhaps not through us, but in this step
        before[k] = falls ? atomicMin(state.distance + col[k], key) : 0;
        last[k] = falls ? atomicExch(state.step + col[k], step.number) : step.number;
        holder[k] = falls ? settled(state.col_to_row + col[k]) : 0;
    }
    constexpr uint32 kChanged = 1, kReached = 1 << 10, kMet = 1 << 20;  // three counts in one word
    uint32 mine = 0;
#pragma unroll
    for (uint32 k = 0; k < n; ++k) {
        mine += last[k] != step.number ? kChanged : 0;
        if (before[k] != kFar) continue;
        mine += holder[k] < 0 ? kReached + kMet : kReached;
        state.leader[col[k]] = kNoRow;
    }
    if (!__any_sync(kAllLanes, mine != 0)) return;
    uint32 sum = mine;
    const uint32 lane = lane_index();
#pragma unroll
    for (uint32 d = 1; d < kWarp; d *= 2) {
        const uint32 other = __shfl_up_sync(kAllLanes, sum, d);
        if (lane >= d) sum += other;
    }
    const uint32 all = __shfl_sync(kAllLanes, sum, kWarp - 1);
    uint32 base = 0;
    if (lane == 0) base = add_count(team, &Counts::changed, all % kReached);
    if (lane == 1) base = add_count(team, &Counts::reached, all / kReached % kReached);
    if (lane == 2) base = add_count(team, &Counts::met, all / kMet);
    const uint32 begin = sum - mine;
    uint32 changed = __shfl_sync(kAllLanes, base, 0) + begin % kReached;
    uint32 reached = __shfl_sync(kAllLanes, base, 1) + begin / kReached % kReached;
    uint32 met = __shfl_sync(kAllLanes, base, 2) + begin / kMet;
#pragma unroll
    for (uint32 k = 0; k < n; ++k) {
        if (last[k] != step.number) state.changed_cols[changed++] = col[k];
        if (before[k] != kFar) continue;
        state.reached_cols[reached++] = col[k];
        if (holder[k] < 0) state.met_cols[met++] = col[k];
    }
}

// The frontier's candidates.
__device__ inline void relax(const Team& team, const SearchStep& step) {
    State& state = team.state;
    team.each_by_lanes(step.count, [&](uint32 index, uint32 part) {
        const bool there = index < step.count;
        const int32 i = there ? settled(state.rows_at_work[step.present] + index) : 0;
        Candidates mine = load_candidates(state, i, part);
        const Dual u = settled(state.u + i), distance = settled(state.row_distance + i);
        const int32 own = settled(state.row_to_col + i);
        Dual x[kLaneCandidates];
        uint64 known[kLaneCandidates];
#pragma unroll
        for (uint32 k = 0; k < kLaneCandidates; ++k) {
            if (!there || mine.col[k] == own) mine.col[k] = kNone;
            x[k] = mine.col[k] >= 0 ? settled(state.v + mine.col[k]) : Dual(0);
            known[k] = mine.col[k] >= 0 ? __ldcg(state.distance + mine.col[k]) : 0;
        }
#pragma unroll
        for (uint32 k = 0; k < kLaneCandidates; ++k) x[k] = distance + reduced(mine.cost[k], x[k], u);
        reach(team, step, mine.col, x, known);
    });
}

// Distances that fell: to the rows of the columns, which make the next frontier.
__device__ inline void settle_changes(const Team& team, const SearchStep& step) {
    State& state = team.state;
    const uint32 count = team.wide ? __ldcg(&team.state.counts->changed) : team.own.changed;
    team.each_converged(count, [&](uint32 index) {
        const bool there = index < count;
        const int32 j = there ? settled(state.changed_cols + index) : 0;
        const int32 i = there ? settled(state.col_to_row + j) : kNone;
        if (i >= 0) state.row_distance[i] = from_key<Dual>(__ldcg(state.distance + j));
        raise(team, &Counts::nearer, there && i < 0);
        append(team, state.rows_at_work[!step.present], &Counts::next, i);
    });
}

// Rows whose lists leave columns below the cap in doubt; of free rows, or of the rows of reached columns.
__device__ inline void find_doubtful(const Team& team, const SearchStep& step, bool free) {
    State& state = team.state;
    team.each_converged(step.count, [&](uint32 index) {
        int32 i = kNone;
        if (index < step.count)
            i = free ? settled(state.free_rows + index)
                     : settled(state.col_to_row + settled(state.reached_cols + index));
        bool doubtful = false;
        if (i >= 0) {
            const Dual distance = settled(state.row_distance + i), tau = settled(state.tau + i);
            doubtful = tau < infinity<Dual>() && as_key(distance) < step.cap &&
                       as_key(distance + reduced(tau, Dual(0), settled(state.u + i))) < step.cap &&
                       !(settled(state.full_search + i) == step.search && settled(state.full_distance + i) == distance);
        }
        append(team, state.refresh_rows, &Counts::refresh, doubtful ? i : kNone);
    });
}

// Lists a doubtful row again, and looks at all its columns if that does not help. All threads of a block call it.
__device__ inline void resolve_doubt(const Team& team, const SearchStep& step, int32 i) {
    State& state = team.state;
    list_row<false>(i);
    const Dual u = settled(state.u + i), distance = settled(state.row_distance + i), tau = settled(state.tau + i);
    // Beyond the cap, not at it: what the old list led to there must be in the new one.
    const bool helps = tau == infinity<Dual>() || as_key(distance + reduced(tau, Dual(0), u)) > step.cap;
    if (threadIdx.x < kWarp)
        append(team, state.rows_at_work[!step.present], &Counts::next, helps && threadIdx.x == 0 ? i : kNone);
    if (helps) return;
    if (threadIdx.x < kWarp) {
        const bool mine = threadIdx.x == 0 && settled(state.full_search + i) != step.search;
        append(team, state.full_rows, &Counts::full, mine ? i : kNone);
    }
    if (threadIdx.x == 0) {
        state.full_search[i] = step.search;
        state.full_distance[i] = distance;
    }
    const int32 own = settled(state.row_to_col + i);
    for (int32 base = 0; base < state.matrix.cols; base += blockDim.x) {
        const int32 j = base + static_cast<int32>(threadIdx.x);
        const bool there = j < state.matrix.cols && j != own;
        const Dual cost = there ? state.matrix.minimised(state.matrix.row(i)[j]) : infinity<Dual>();
        const int32 col[] = {cost < infinity<Dual>() ? j : kNone};
        const Dual x[] = {distance + reduced(cost, there ? settled(state.v + j) : Dual(0), u)};
        const uint64 known[] = {there ? __ldcg(state.distance + j) : 0};
        reach(team, step, col, x, known);
    }
}

// Whether row i leads to column j, which is `cost` away from it; see the top.
__device__ inline void lead(const State& state, int32 i, int32 j, Dual cost, uint64 cap, uint32 row_step, Dual distance,
                            Dual u) {
    const uint64 key = __ldcg(state.distance + j);
    if (key > cap || key == kFar) return;
    if (as_key(distance + reduced(cost, settled(state.v + j), u)) != key) return;
    if (as_key(distance) < key || row_step < __ldcg(state.step + j)) atomicMin(state.leader + j, i);
}

// Leaders among the candidates of free rows, or of the rows of reached columns.
__device__ inline void find_leaders(const Team& team, const SearchStep& step, bool free) {
    State& state = team.state;
    team.each_by_lanes(step.count, [&](uint32 index, uint32 part) {
        if (index >= step.count) return;
        const int32 through = free ? kNone : settled(state.reached_cols + index);
        const int32 i = free ? settled(state.free_rows + index) : settled(state.col_to_row + through);
        if (i < 0) return;
        const Dual distance = settled(state.row_distance + i), u = settled(state.u + i);
        if (as_key(distance) > step.cap) return;
        const uint32 row_step = free ? 0 : __ldcg(state.step + through);
        const Candidates mine = load_candidates(state, i, part);
#pragma unroll
        for (uint32 k = 0; k < kLaneCandidates; ++k) {
            if (mine.col[k] >= 0 && mine.col[k] != through)
                lead(state, i, mine.col[k], mine.cost[k], step.cap, row_step, distance, u);
        }
    });
}
// The same for rows all of whose columns were looked at, a block each.
__device__ inline void find_leaders_in_full(const Team& team, const SearchStep& step) {
    State& state = team.state;
    for (uint32 index = team.block(); index < step.count; index += team.blocks()) {
        const int32 i = settled(state.full_rows + index), own = settled(state.row_to_col + i);
        const Dual distance = settled(state.row_distance + i), u = settled(state.u + i);
        const uint32 row_step = own < 0 ? 0 : __ldcg(state.step + own);
        for_share<false>(state, i, [&](int32 j, Dual cost, Dual) {
            if (j != own && cost < infinity<Dual>()) lead(state, i, j, cost, step.cap, row_step, distance, u);
        });
    }
}

// From every free column within the cap to the free row whose tree it is in, which takes one of them: the lowest.
__device__ inline void claim_roots(const Team& team, const SearchStep& step) {
    State& state = team.state;
    team.each_converged(step.count, [&](uint32 index) {
        const bool there = index < step.count;
        const int32 start = there ? settled(state.met_cols + index) : kNone;
        bool sound = true;
        int32 i = kNone;
        if (there && __ldcg(state.distance + start) <= step.cap) {
            int32 length = 0;
            for (int32 j = start; j >= 0 && sound; ++length) {
                i = __ldcg(state.leader + j);
                sound = i != kNoRow && length <= state.matrix.rows;
                j = sound ? settled(state.row_to_col + i) : kNone;
            }
            if (sound) atomicMin(state.claim + i, start);
        }
        raise(team, &Counts::unsound, !sound);
        if (there) state.roots[index] = i;
    });
}
// Matches the roots along the paths to the columns that they took.
__device__ inline void augment(const Team& team, const SearchStep& step) {
    State& state = team.state;
    team.each(step.count, [&](uint32 index) {
        const int32 root = settled(state.roots + index);
        int32 j = settled(state.met_cols + index);
        if (root < 0 || __ldcg(state.claim + root) != j) return;
        for (int32 i = kNone; i != root;) {
            i = __ldcg(state.leader + j);
            const int32 before = settled(state.row_to_col + i);
            state.row_to_col[i] = j;
            state.col_to_row[j] = i;
            j = before;
        }
    });
}

// New duals; distances are forgotten. Columns that are reached, then free rows.
__device__ inline void update_duals(const Team& team, const SearchStep& step, uint32 free_count) {
    State& state = team.state;
    const Dual cap = from_key<Dual>(step.cap);
    team.each(step.count, [&](uint32 index) {
        const int32 j = settled(state.reached_cols + index), i = settled(state.col_to_row + j);
        const uint64 key = __ldcg(state.distance + j);
        state.distance[j] = kFar;
        if (key >= step.cap) return;
        const Dual change = cap - from_key<Dual>(key);
        state.v[j] = settled(state.v + j) - change;
        if (i >= 0) state.u[i] = settled(state.u + i) + change;
    });
    team.each(free_count, [&](uint32 index) {
        const int32 i = settled(state.free_rows + index);
        state.u[i] = settled(state.u + i) + cap;
    });
}

// The free rows are where a search starts.
__device__ inline void begin_search(const Team& team, uint32 count) {
    State& state = team.state;
    team.each(count, [&](uint32 index) {
        const int32 i = settled(state.free_rows + index);
        state.rows_at_work[0][index] = i;
        state.row_distance[i] = Dual(0);
        state.claim[i] = kNoRow;
    });
}
// Who is still free: to rows_at_work[0], and from there back.
__device__ inline void keep_free(const Team& team, uint32 count) {
    State& state = team.state;
    team.each_converged(count, [&](uint32 index) {
        const int32 i = index < count ? settled(state.free_rows + index) : kNone;
        append(team, state.rows_at_work[0], &Counts::next, i >= 0 && settled(state.row_to_col + i) < 0 ? i : kNone);
    });
}
__device__ inline void copy_free(const Team& team, uint32 count) {
    State& state = team.state;
    team.each(count, [&](uint32 index) { state.free_rows[index] = settled(state.rows_at_work[0] + index); });
}
