// The end of a search: updates the duals, and matches free rows along disjoint paths.
//
// Parent rows are found after the search. A parent of a column is a row i with distance of i + reduced cost = distance
// of the column, and with a smaller distance, or an equal one that was set in an earlier step. That order excludes
// cycles. The lowest such row becomes the parent, so the order of threads has no effect. If so many costs tie that
// whole rows were relaxed, the lowest row's tree would hold nearly all columns, and the search would match one row. In
// that case each column uses its own pseudo-random order of rows.
//
// A tree matches one of the free columns that it reached. If costs tie, rows of several trees reach the same free
// column. If the lowest row always took it, two trees in five would get none. So free columns and trees are matched in
// rounds: each column chooses one of the trees without a column, and each tree one of the columns that chose it. Both
// choose a partner of least degree. Rounds end when no unmatched tree can be matched (after the minimum degree
// heuristic of R. M. Karp and M. Sipser, FOCS 1981). Any row at the right distance may be used here, even one whose
// distance was set in the same step as the column's. For 8192 x 8192 small integers with 87 free rows, a search leaves
// 10 rows free instead of 35. With more than Tuning::most_ends pairs, the lowest rows win.
//
// In a square problem, or with dummy rows, trees whose free rows stay free are kept. All their paths are tight now, so
// their columns have distance zero in the next search, which begins with all their rows (the growing forest of J.
// Munkres, 1957). Only columns of matched trees are searched again. Otherwise, with 100,000 points in the plane,
// searches would scan each row's list about 190 times, since distances of zero spread slowly.
//
// Cost: a pass over the candidates of reached rows, three passes over all columns, 4 to 5 barriers.
#pragma once
#include "core/search/resolve.cuh"
#include "core/search/seeds.cuh"

// A possible parent row: its distance, and the step in which that was set.
struct Origin {
    int32 row;
    uint32 step;
    Dual distance, u;
};
// The place of row i in column j's own order of rows, greater than every row number; and the row at such a place.
constexpr int32 kPlaces = 1 << 30;
__device__ inline int32 place_of_row(const Matrix& matrix, int32 i, int32 j) {
    const uint32 hash = static_cast<uint32>(j) * 0x9e3779b1u;
    return i ^ static_cast<int32>(hash >> __clz(matrix.rows)) ^ kPlaces;
}
// Notes the row as a parent of column j at distance `key` if it satisfies the condition at the top; `cost`: the cost of
// the pair. True if the column is free.
__device__ inline bool note_parent(const State& state, const SearchRun& run, const Origin& from, int32 j, uint64 key,
                                   Dual cost, Dual v) {
    if (key > run.radius || key == kFar || as_key(from.distance + reduced(cost, v, from.u)) != key) return false;
    const bool free = load_stable(state.col_to_row + j) < 0;  // no path continues from a free column
    if (!free && as_key(from.distance) >= key && from.step >= step_of(__ldcg(state.stamp + j))) return false;
    atomicMin(state.parent_row + j, run.mixes ? place_of_row(state.matrix, from.row, j) : from.row);
    return free;
}
// Pairs of a row and a free column that it reaches. As many as can be matched are noted, in the memory of a step's
// frontier.
__device__ inline Edge* ends_of(const State& state) { return state.frontier[1]; }
__device__ inline uint32 room_for_ends(const State& state) {
    const uint32 room = 2 * static_cast<uint32>(state.matrix.rows);
    return room < Tuning::most_ends ? room : Tuning::most_ends;
}

// Finds parents among the candidates of free rows and of the rows of reached columns, and the free columns within the
// search radius. A lane tests whether a column was reached. The warp takes two reached columns at once (more need more
// code, which is slower).
__device__ inline void find_parents(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols, count = cols + run.free_count, lane = lane_index();
    for (uint32 base = team.warp(); base < count; base += kWarp * team.warps()) {
        const uint32 index = base + lane * team.warps();
        const bool col = index < cols, there = index < count;
        const uint64 seen = col ? __ldcg(state.distance + index) : there ? 0 : kFar;
        const int32 row = col     ? load_stable(state.col_to_row + index)
                          : there ? load_stable(state.free_rows + index - cols)
                                  : kNone;
        const bool reached = seen <= run.radius && seen != kFar;
        const bool ends = reached && row < 0 && !is_seed(state, run, static_cast<int32>(index), seen);
        append(team, state.met_cols, &Counts::met, ends ? static_cast<int32>(index) : kNone);
        for (uint32 left = __ballot_sync(kAllLanes, reached && row >= 0); left != 0;) {
            Candidate mine[Tuning::parents_ahead];
            Origin from[Tuning::parents_ahead];
            int32 through[Tuning::parents_ahead];
#pragma unroll
            for (uint32 r = 0; r < Tuning::parents_ahead; ++r) {
                const int32 source = left != 0 ? __ffs(static_cast<int32>(left)) - 1 : kNone;
                left &= left - 1;
                const uint32 at = base + static_cast<uint32>(source) * team.warps();
                const uint64 key = __shfl_sync(kAllLanes, seen, source & 31);
                const int32 i = __shfl_sync(kAllLanes, row, source & 31);
                const bool present = source >= 0;
                through[r] = present && at < cols ? static_cast<int32>(at) : kNone;
                mine[r] = present ? load_candidate(state, i) : Candidate{kNone, ListCost(0)};
                const uint32 step = through[r] >= 0 ? step_of(__ldcg(state.stamp + through[r])) : run.born;
                from[r] = {i, step, from_key<Dual>(key), present ? load_stable(state.u + i) : Dual(0)};
            }
            uint64 known[Tuning::parents_ahead];
            Dual v[Tuning::parents_ahead];
#pragma unroll
            for (uint32 r = 0; r < Tuning::parents_ahead; ++r) {
                if (mine[r].col == through[r]) mine[r].col = kNone;
                known[r] = mine[r].col >= 0 ? __ldcg(state.distance + mine[r].col) : kFar;
                v[r] = mine[r].col >= 0 ? load_stable(state.v + mine[r].col) : Dual(0);
            }
#pragma unroll
            for (uint32 r = 0; r < Tuning::parents_ahead; ++r) {
                const bool ends = note_parent(state, run, from[r], mine[r].col, known[r], Dual(mine[r].cost), v[r]);
                const uint32 place = take_place(team, &Counts::ends, ends);
                if (ends && place < room_for_ends(state)) ends_of(state)[place] = {from[r].row, mine[r].col};
            }
        }
    }
}
// Row i, all of whose columns were relaxed.
__device__ inline ReadRow origin_of_full_row(const State& state, const SearchRun& run, int32 i) {
    const int32 own = load_stable(state.row_to_col + i);
    return {i,
            own,
            own < 0 ? run.born : step_of(__ldcg(state.stamp + own)),
            nullptr,
            own < 0 ? Dual(0) : from_key<Dual>(__ldcg(state.distance + own)),
            load_stable(state.u + i)};
}
// Notes row `from` as a parent of column j, as note_parent does, and the pair if the column is free.
__device__ inline void note_parent_of_full_row(const Team& team, const SearchRun& run, const ReadRow& from, int32 j,
                                               uint64 key, Dual cost, Dual v) {
    const State& state = team.state;
    const Origin origin = {from.row, from.step, from.distance, from.u};
    if (!(cost < infinity<Dual>()) || !note_parent(state, run, origin, j, key, cost, v)) return;
    const uint32 place = atomicAdd(team.wide ? &state.counts->ends : &team.own.ends, 1u);
    if (place < room_for_ends(state)) ends_of(state)[place] = {from.row, j};
}
// The same for rows all of whose columns were relaxed, one block each; for a matrix on the host, for the rows on the
// GPU.
__device__ inline void find_parents_in_full_rows(const Team& team, const SearchRun& run, uint32 count) {
    State& state = team.state;
    Listing::before_parents(team, run);
    for (uint32 index = team.block(); index < count; index += team.blocks) {
        const int32 i = Listing::full_row(state, index);
        const ReadRow from = origin_of_full_row(state, run, i);
        const Wanted wanted = {run.radius, from.distance, from.u, false};
        FullRow(state.matrix, i).each_part(state, from.own, wanted, [&](const FullRow::Part& part) {
#pragma unroll
            for (uint32 k = 0; k < FullRow::kAtOnce; ++k) {
                if (part.col[k] >= 0)
                    note_parent_of_full_row(team, run, from, part.col[k], part.known[k], part.cost[k], part.v[k]);
            }
        });
    }
}
// The same for a matrix in memory, whose rows are read together.
template <class CostsOfMatrix>
__device__ inline void find_parents_in_rows_of(const CostsOfMatrix& of_matrix, const Team& team, const SearchRun& run,
                                               uint32 count) {
    const State& state = team.state;
    int32 col = kNone;
    Dual v = 0;
    uint64 known = kFar;
    const auto row_at = [&](uint32 index) { return origin_of_full_row(state, run, Listing::full_row(state, index)); };
    const auto open = [&](int32 j) {
        col = j;
        v = j >= 0 ? load_stable(state.v + j) : Dual(0);
        known = j >= 0 ? __ldcg(state.distance + j) : kFar;
        return known != kFar && known <= run.radius;
    };
    const auto take = [&](const ReadRow& row, Dual cost) {
        return cost < infinity<Dual>() && as_key(row.distance + reduced(cost, v, row.u)) == known;
    };
    const auto note = [&](const ReadRow& row, Dual cost) {
        note_parent_of_full_row(team, run, row, col, known, cost, v);
    };
    const auto close = [] {};
    read_full_rows(of_matrix, team, count, row_at, open, take, note, close, [&](const ReadRow& row) {
        const int32 j = state.matrix.real_cols() + row.row;
        if (row.row >= 0 && row.own != j && open(j)) note(row, state.matrix.unmatched_cost(row.row));
    });
}

// Finds, for every column within the search radius, the free row of its tree. Pointer jumping for all columns at once
// takes a number of rounds logarithmic in the path length. Without a choice of trees, a free row takes the lowest of
// its free columns.
__device__ inline void claim_roots(const Team& team, const SearchRun& run, bool choice) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols;
    team.each(cols, [&](uint32 j) {
        const uint64 key = __ldcg(state.distance + j);
        if (key > run.radius) return;
        if (is_seed(state, run, static_cast<int32>(j), key)) {  // the row that gives it up is the root
            const int32 root = load_stable(state.col_to_row + j);
            state.parent_edge[j] = {kNoRow, kNone};
            __stcg(state.roots + j, ~(root < 0 ? kNoRoot : root));
            return;
        }
        const int32 parent = __ldcg(state.parent_row + j);
        const int32 i =
            parent < kPlaces || parent == kNoRow ? parent : place_of_row(state.matrix, parent, static_cast<int32>(j));
        const int32 above = i == kNoRow ? kNone : load_stable(state.row_to_col + i);
        state.parent_edge[j] = {i, above};
        __stcg(state.roots + j, above >= 0 ? above : ~i);
    });
    team.sync();
    team.each_converged(cols, [&](uint32 j) {
        const bool there = j < cols && __ldcg(state.distance + j) <= run.radius;
        int32 at = there ? __ldcg(state.roots + j) : ~0;
        for (int32 length = 0; at >= 0 && length <= state.matrix.rows; ++length) {
            at = __ldcg(state.roots + at);
            __stcg(state.roots + j, at);
        }
        const bool sound = at < 0 && at != ~kNoRow;
        if (!choice && there && sound && at != ~kNoRoot && load_stable(state.col_to_row + j) < 0)
            atomicMin(state.claim + ~at, static_cast<int32>(j));
        raise(team.wide ? &state.counts->unsound : &team.own.unsound, !sound);
    });
}

// A permutation of 0 .. 2^24 - 1 that depends on the round.
__device__ inline uint32 scrambled(uint32 x, uint32 round) {
    x = (x ^ round * 0x85ebcau) * 0x9e3779u & kRowMask;
    return (x ^ x >> 13) * 0xc2b2afu & kRowMask;
}
// Matches trees and free columns by pairs of a tree's row and a free column, until every pair has a matched side or the
// limit of rounds is reached. Called by block 0.
__device__ inline void match_ends(const Team& team, const SearchRun& run, uint32 count, uint32 met) {
    if (team.block() != 0) return;
    constexpr uint32 kDegreeBits = Tuning::degree_bits, kMostRounds = (1 << (32 - Tuning::row_bits - kDegreeBits)) - 1;
    State& state = team.state;
    EndScratch& scratch = shared().scratch.ends;
    uint64 *const place_of_col = state.backward_distance, *const place_of_tree =
                                                              state.backward_distance + state.matrix.cols;
    for (uint32 k = threadIdx.x; k < met; k += kTeamThreads) {
        place_of_col[load_stable(state.met_cols + k)] = k;
        scratch.picked[k] = ~0u;
        scratch.col_degree[k] = 0;
        scratch.matched[k] = false;
    }
    for (uint32 k = threadIdx.x; k < run.free_count; k += kTeamThreads) {
        place_of_tree[load_stable(state.free_rows + k)] = k;
        scratch.taken[k] = kNoRow;
        scratch.tree_degree[k] = 0;
    }
    __syncthreads();
    for (uint32 k = threadIdx.x; k < count; k += kTeamThreads) {
        const Edge end = load_stable(ends_of(state) + k);
        const int32 own = load_stable(state.row_to_col + end.row),
                    root = own < 0 ? end.row : ~load_stable(state.roots + own);
        scratch.col[k] = static_cast<uint16>(place_of_col[end.col]);
        scratch.tree[k] = static_cast<uint16>(place_of_tree[root]);
    }
    int32 wanting = 1;
    for (uint32 round = kMostRounds; round > 0 && __syncthreads_or(wanting); --round) {
        const auto is_live = [&](uint32 k) {
            return scratch.taken[scratch.tree[k]] == kNoRow && !scratch.matched[scratch.col[k]];
        };
        wanting = 0;
        for (uint32 k = threadIdx.x; k < count; k += kTeamThreads) {
            if (!is_live(k)) continue;
            atomicAdd(&scratch.col_degree[scratch.col[k]], 1u);
            atomicAdd(&scratch.tree_degree[scratch.tree[k]], 1u);
            wanting = 1;
        }
        __syncthreads();
        const auto key = [&](uint32 k) {
            const uint32 row = static_cast<uint32>(load_stable(ends_of(state) + k).row),
                         degree = scratch.tree_degree[scratch.tree[k]];
            return (round << kDegreeBits | min(degree, (1u << kDegreeBits) - 1)) << Tuning::row_bits |
                   scrambled(row, round);
        };
        const auto wish = [&](uint32 k) {
            const uint32 degree = scratch.col_degree[scratch.col[k]];
            return static_cast<int32>(min(degree, 126u) << Tuning::row_bits) | load_stable(ends_of(state) + k).col;
        };
        for (uint32 k = threadIdx.x; k < count; k += kTeamThreads) {
            if (is_live(k)) atomicMin(&scratch.picked[scratch.col[k]], key(k));
        }
        __syncthreads();
        for (uint32 k = threadIdx.x; k < count; k += kTeamThreads) {
            if (scratch.picked[scratch.col[k]] == key(k)) atomicMin(&scratch.taken[scratch.tree[k]], wish(k));
        }
        __syncthreads();
        for (uint32 k = threadIdx.x; k < count; k += kTeamThreads) {
            if (scratch.picked[scratch.col[k]] != key(k) || scratch.taken[scratch.tree[k]] != wish(k)) continue;
            scratch.matched[scratch.col[k]] = true;
            const Edge end = load_stable(ends_of(state) + k);
            const int32 root = load_stable(state.free_rows + scratch.tree[k]);
            state.claim[root] = end.col;
            state.parent_edge[end.col] = {end.row, load_stable(state.row_to_col + end.row)};
            __stcg(state.roots + end.col, ~root);
        }
        __syncthreads();
        for (uint32 k = threadIdx.x; k < met; k += kTeamThreads) scratch.col_degree[k] = 0;
        for (uint32 k = threadIdx.x; k < run.free_count; k += kTeamThreads) scratch.tree_degree[k] = 0;
    }
}

// The state of row and column number `index` after a search: whether they are free, and the row matched to the column
// if its tree is kept.
struct After {
    bool free_row, free_col;
    int32 kept;  // or kNone
};
// Lists free rows and columns, and the rows with which the next search begins: free rows and the rows of kept trees.
// All lanes of a warp call it.
__device__ inline void list_after(const Team& team, uint32 index, After after) {
    State& state = team.state;
    const uint32 rows = __ballot_sync(kAllLanes, after.free_row), cols = __ballot_sync(kAllLanes, after.free_col),
                 kept = __ballot_sync(kAllLanes, after.kept >= 0);
    if ((rows | cols | kept) == 0) return;
    const uint32 lane = lane_index(), before = (1u << lane) - 1;
    // One lane per list, so that the atomics overlap.
    Counts& counts = team.wide ? *state.counts : team.own;
    uint32* const count = lane == 0 ? &counts.free_rows : lane == 1 ? &counts.free_cols : &counts.at_start;
    const uint32 more = lane == 0   ? __popc(rows)
                        : lane == 1 ? __popc(cols)
                        : lane == 2 ? __popc(rows) + __popc(kept)
                                    : 0;
    uint32 first = 0;
    if (more > 0) first = team.wide ? add_count<true>(count, more) : add_count<false>(count, more);
    const uint32 row_place = __shfl_sync(kAllLanes, first, 0) + __popc(rows & before),
                 col_place = __shfl_sync(kAllLanes, first, 1) + __popc(cols & before),
                 start = __shfl_sync(kAllLanes, first, 2);
    const int32 own = static_cast<int32>(index);
    if (after.free_row) {
        state.free_rows[row_place] = own;
        state.frontier[0][start + __popc(rows & before)] = {own, kNone};
    }
    if (after.free_col) state.free_cols[col_place] = own;
    if (after.kept >= 0) state.frontier[0][start + __popc(rows) + __popc(kept & before)] = {after.kept, own};
}

// Updates the duals. Resets distances, or sets them to zero where the tree is kept. Lists the rows that will be free
// after the paths are matched and the rows with which the next search begins, and removes all other parents.
__device__ inline void update_duals(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 rows = state.matrix.rows, cols = state.matrix.cols;
    const bool is_square = rows == cols, keeps = (is_square || run.has_dummies) && !run.from_dummies;
    const Dual radius = from_key<Dual>(run.radius);
    team.each_converged(cols, [&](uint32 index) {
        After after = {false, false, kNone};
        if (index < cols) {
            const int32 j = static_cast<int32>(index), i = load_stable(state.col_to_row + j);
            const uint64 key = __ldcg(state.distance + j);
            const bool row = index < rows && load_stable(state.row_to_col + index) < 0, within = key <= run.radius;
            const int32 taken = within && !run.from_dummies ? __ldcg(state.claim + ~load_stable(state.roots + j))
                                                            : kNone;  // of the free row of its tree
            const bool kept = keeps && i >= 0 && taken == kNoRow;
            after = {row && __ldcg(state.claim + index) == kNoRow, is_square && i < 0 && taken != j, kept ? i : kNone};
            if (key != kFar) __stcg(state.distance + j, kept ? uint64(0) : kFar);
            if (kept) __stcg(state.stamp + j, stamp(run.number, true));
            if (!kept) state.parent_row[j] = kNoRow;
            if (row) state.u[index] = load_stable(state.u + index) + radius;
            if (key < run.radius) {
                Dual change = radius - from_key<Dual>(key), v = load_stable(state.v + j) - change;
                if (is_seed(state, run, j, key)) {  // to the last digit, it falls to the level
                    v = run.level - radius + start_price(state.matrix, j);
                    change = load_stable(state.v + j) - v;
                }
                state.v[j] = v;
                if (i >= 0) state.u[i] = load_stable(state.u + i) + change;
            }
        }
        list_after(team, index, after);
    });
}

// Matches the roots along the paths to the columns that they took. Each parent edge on a path depends on the previous
// load. Block 0 therefore does this alone if all parent edges fit its L1.
__device__ inline void match_paths(const Team& team, uint32 met) {
    State& state = team.state;
    const auto match = [&](uint32 index) {
        int32 j = load_stable(state.met_cols + index);
        if (__ldcg(state.claim + ~load_stable(state.roots + j)) != j) return;
        while (j >= 0) {
            const Edge at = load_stable(state.parent_edge + j);
            if (at.row == kNoRow) state.col_to_row[j] = kNone;  // it goes to a dummy row
            if (at.row == kNoRow) return;
            state.row_to_col[at.row] = j;
            state.col_to_row[j] = at.row;
            j = at.col;
        }
    };
    if (state.matrix.cols > Tuning::edges_in_l1) return team.each(met, match);
    if (team.block() != 0) return;
    constexpr uint32 kSectorEdges = 32 / sizeof(Edge);
    int32 any = 0;
    for (uint32 j = threadIdx.x * kSectorEdges; j < state.matrix.cols; j += kTeamThreads * kSectorEdges)
        any |= load_stable(state.parent_edge + j).row;
    __syncthreads_or(any);  // so that the compiler keeps the loads
    for (uint32 index = threadIdx.x; index < met; index += kTeamThreads) match(index);
}

// Lists free rows and columns where no tree is kept: the next search begins with free rows only. Resets claims and
// parents.
__device__ inline void gather_free(const Team& team) {
    State& state = team.state;
    const uint32 rows = state.matrix.rows, cols = state.matrix.cols;
    team.each_converged(cols, [&](uint32 index) {
        After after = {false, false, kNone};
        if (index < cols) {
            after.free_row = index < rows && load_stable(state.row_to_col + index) < 0;
            after.free_col = rows == cols && load_stable(state.col_to_row + index) < 0;
            state.parent_row[index] = kNoRow;
            if (after.free_row) state.claim[index] = kNoRow;
        }
        list_after(team, index, after);
    });
}

// Updates duals and pairs when columns have their parents, and prepares the next search. Does nothing on a
// contradiction.
__device__ inline void augment(const Team& team, const SearchRun& run) {
    const uint32 met = present_count(team, &Counts::met), ends = present_count(team, &Counts::ends);
    if (met == 0 && !run.from_dummies) return;
    const bool choice = !run.from_dummies && ends > met && ends <= room_for_ends(team.state) &&
                        met <= Tuning::most_trees && run.free_count <= Tuning::most_trees;
    claim_roots(team, run, choice);
    team.sync();
    if (present_count(team, &Counts::unsound) != 0) return;
    if (choice) {
        match_ends(team, run, ends, met);
        team.sync();
    }
    update_duals(team, run);
    team.sync();
    match_paths(team, met);
}
