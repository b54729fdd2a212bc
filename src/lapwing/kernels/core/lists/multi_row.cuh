// Multi-row listing: candidate lists of many rows of computed costs, kLines rows per warp, or one by bounding boxes.
// The points of these rows stay in registers (costs/computed.cuh).
//
// A survey of one column in Tuning::survey_share estimates a limit within which about 200 columns lie. If fewer than
// kWanted lie within it, the rows are listed again without a survey. One pass then visits all columns. A row has room
// for Tuning::room candidates. While there is room, columns within the row's limit are added. When there is none, the
// warp ranks the candidates and keeps the nearest kWanted, and the limit falls. Columns come in a scattered order, so
// that even without a survey each warp adds only about kWanted * ln(cols / kWanted) of them: 370 of a million. Nearer
// means: a smaller cost - v or, if equal, earlier in the row's own order (tie_order). So the list depends only on costs
// and prices, and is the list that make_list would make of a matrix.
//
// A row that is listed again begins with a limit: the largest present value in its old list, since at least as many
// columns are within it. If no other column is within it, tau becomes the limit. (This is usual when prices rise
// everywhere alike. To find the next column would take a pass without a limit, which costs 20 times as much.)
//
// If columns are in bounding boxes (core/lists/boxes.cuh), rows read only the boxes that may contain columns within
// their limit. In place of a survey they look at the box nearest to them, in which each lane finds its nearest columns.
// If rows are few, several warps divide the columns among them and merge their candidates at the end. Only columns that
// pass the quick test are computed exactly. NaN and invalid costs pass it.
#pragma once
#include "core/lists/boxes.cuh"
#include "core/lists/ties.cuh"
#include "core/shared.cuh"

struct Limit {
    Dual value;  // of the kWanted-th nearest candidate; infinity while there are fewer
    int32 order;
    uint32 count;  // candidates that were kept
};

// Where a candidate stands: a strict order.
struct Standing {
    Dual value;
    int32 order;
    __device__ bool before(Dual other, int32 other_order) const {
        return value < other || (value == other && order < other_order);
    }
};
__device__ inline Standing standing(const State& state, int32 i, int32 j) {
    return {state.matrix.at(i, j) - load_stable(state.v + j),
            tie_order(first_tie(state.matrix, i), state.matrix.cols, j)};
}

// The candidates of a row while a warp puts them in order (the bitonic network of K. E. Batcher, 1968): kEach per lane,
// number lane * kEach + e in `at[e]`. All lanes call its functions.
struct Ordering {
    static constexpr uint32 kEach = Tuning::room / kWarp;
    Standing at[kEach];  // of order kNoRow: there is no candidate

    __device__ void sort() {
#pragma unroll 1
        for (uint32 run = 2; run <= Tuning::room; run *= 2) {  // sorted runs, up and down in turn
#pragma unroll 1
            for (uint32 apart = run / 2; apart >= kEach; apart /= 2) meet_lanes(run, apart / kEach);
#pragma unroll
            for (uint32 apart = kEach / 2; apart > 0; apart /= 2) {
                if (apart < run) meet_within(run, apart);
            }
        }
    }

  private:
    __device__ bool rises(uint32 run, uint32 e) const { return ((lane_index() * kEach + e) & run) == 0; }
    __device__ static bool precedes(Standing a, Standing b) { return a.before(b.value, b.order); }
    __device__ void meet_lanes(uint32 run, uint32 lanes_apart) {
#pragma unroll
        for (uint32 e = 0; e < kEach; ++e) {
            const Standing other = {__shfl_xor_sync(kAllLanes, at[e].value, lanes_apart),
                                    __shfl_xor_sync(kAllLanes, at[e].order, lanes_apart)};
            const bool keeps_first = ((lane_index() & lanes_apart) == 0) == rises(run, e);
            if (precedes(other, at[e]) == keeps_first) at[e] = other;
        }
    }
    __device__ void meet_within(uint32 run, uint32 apart) {
#pragma unroll
        for (uint32 e = 0; e < kEach; ++e) {
            if ((e & apart) != 0) continue;
            const Standing mine = at[e], other = at[e + apart];
            if (precedes(other, mine) == rises(run, e)) at[e] = other, at[e + apart] = mine;
        }
    }
};

// Puts the `count` candidates of row i in order, at place `slot` of the block; by the warp of the row.
LAPWING_NOINLINE __device__ Limit keep_nearest(int32 i, uint32 slot, uint32 count) {
    constexpr uint32 kEach = Ordering::kEach;
    static_assert(kWanted < Tuning::room && (kWanted - 1) % kEach == 0);
    const State& state = shared().state;
    const int32 first = first_tie(state.matrix, i), cols = state.matrix.cols;
    int32* const candidates = shared().scratch.multi_row.room[slot];
    __syncwarp();
    Ordering ordering;
#pragma unroll
    for (uint32 e = 0; e < kEach; ++e) {
        const uint32 k = e * kWarp + lane_index();
        ordering.at[e] = k < count ? standing(state, i, candidates[k]) : Standing{infinity<Dual>(), kNoRow};
    }
    ordering.sort();
    __syncwarp();
#pragma unroll
    for (uint32 e = 0; e < kEach; ++e) {
        const uint32 rank = lane_index() * kEach + e;
        const int32 place = ordering.at[e].order;
        if (rank >= kWanted || place == kNoRow) continue;
        candidates[rank] = place < cols - first ? first + place : first + place - cols;
    }
    __syncwarp();
    constexpr uint32 last = (kWanted - 1) / kEach;
    return {__shfl_sync(kAllLanes, ordering.at[0].value, last), __shfl_sync(kAllLanes, ordering.at[0].order, last),
            count < kWanted ? count : kWanted};
}

// The n rows of a warp, and the candidates found for each.
template <uint32 n>
struct RowGroup {
    int32 row[n];
    uint32 count[n];
    Dual limit[n];
    int32 order[n];
    Margin margin[n];  // the limit, for the quick test
    uint32 invalid;    // a bit for each row
    uint32 guessed;    // a bit for each row whose limit is a survey's

    __device__ void lower(uint32 r, Limit to) {
        limit[r] = to.value;
        order[r] = to.order;
        margin[r] = limit_upward(to.value);
        count[r] = to.count;
    }
};

// Computes the cost of column j exactly, after it passed the quick test of some lane. All lanes call it, each with its
// own column or with `there` false.
template <uint32 n>
__device__ inline void meet_column(RowGroup<n>& group, const State& state, const Source& source,
                                   const Source::Lines<n>& lines, int32 j, bool there) {
    const Matrix& matrix = state.matrix;
    Source::Position position;
    Cost costs[n];
    source.load_position(matrix.costs.col(there ? j : 0), position);
    source.costs(lines, position, costs);
    const Dual price = there ? load_stable(state.v + j) : Dual(0);
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {
        const Dual cost = matrix.minimised(costs[r]);
        if (there && !matrix.valid(cost)) group.invalid |= 1u << r;
        const Standing standing = {cost - price, tie_order(first_tie(matrix, group.row[r]), matrix.cols, j)};
        const auto wanted = [&] {
            return there && standing.value < infinity<Dual>() && standing.before(group.limit[r], group.order[r]);
        };
        uint32 wanting = __ballot_sync(kAllLanes, wanted());
        if (wanting == 0) continue;
        const uint32 slot = threadIdx.x / kWarp * n + r;
        if (group.count[r] + __popc(wanting) > Tuning::room) {
            group.lower(r, keep_nearest(group.row[r], slot, group.count[r]));
            wanting = __ballot_sync(kAllLanes, wanted());
        }
        if (wanting >> lane_index() & 1)
            shared().scratch.multi_row.room[slot][group.count[r] + __popc(wanting & ((1u << lane_index()) - 1))] = j;
        group.count[r] += __popc(wanting);
    }
}

// Where a cost is not valid; of smaller types, the quick test lets such costs through.
__device__ inline uint32 invalid_positions(const Piece& piece, const Matrix& matrix) {
    uint32 bits = 0;
#pragma unroll
    for (uint32 a = 0; a < kAhead; ++a) {
#pragma unroll
        for (uint32 r = 0; r < kLines; ++r)
            bits |= static_cast<uint32>(!matrix.valid(matrix.minimised(piece.cost[a][r]))) << a;
    }
    return bits;
}

// The value of the farthest candidate in row i's list under the present prices; infinity if the list has ended.
__device__ inline Limit old_limit(const State& state, int32 i) {
    const Candidate mine = load_candidate(state, i);
    const Dual x = mine.col >= 0 ? Dual(mine.cost) - load_stable(state.v + mine.col) : infinity<Dual>();
    return {warp_reduce(x, [](Dual a, Dual b) { return a < b ? b : a; }), kNoRow, 0};
}

// Makes the list of row i from its candidates, which are at `parts` places from `slot` on, `apart` from each other.
// Called by one warp. `again`: they are the candidates within the limit of the old list. False if the caller must
// collect more than `least`.
__device__ inline bool write_candidates(const State& state, int32 i, uint32 slot, uint32 parts, uint32 apart,
                                        bool again, uint32 least) {
    auto& scratch = shared().scratch.multi_row;
    const Dual beyond = again ? old_limit(state, i).value : infinity<Dual>();
    uint32 count = scratch.met[slot];
    for (uint32 part = 1; part < parts; ++part) {
        const uint32 other = slot + part * apart, more = scratch.met[other];
        if (count + more > Tuning::room) count = keep_nearest(i, slot, count).count;
        for (uint32 k = lane_index(); k < more; k += kWarp) scratch.room[slot][count + k] = scratch.room[other][k];
        count += more;
    }
    const Limit limit = keep_nearest(i, slot, count);
    if (limit.count < least) return false;
    const uint32 lane = lane_index();
    const int64 at = static_cast<int64>(i) * Tuning::list_size + lane;
    const int32 j = lane < limit.count ? scratch.room[slot][lane] : kNone;
    state.list_col[at] = j;
    state.list_cost[at] = j >= 0 ? static_cast<ListCost>(state.matrix.at(i, j)) : ListCost(0);
    if (lane == 0) state.tau[i] = limit.count < kWanted ? beyond : limit.value;
    return true;
}

// Number of the warp's values that precede this lane's value.
__device__ inline uint32 rank_in_warp(Margin mine) {
    uint32 rank = 0;
#pragma unroll 8
    for (uint32 lane = 0; lane < kWarp; ++lane) {
        const Margin other = __shfl_sync(kAllLanes, mine, lane);
        rank += other < mine || (other == mine && lane < lane_index());
    }
    return rank;
}
// Lowers the limits of a row group. From one piece in Tuning::survey_share every lane finds the least value of each
// row. The limit is the Tuning::surveyed-th smallest of these over all warps that share the rows. All threads of the
// block call it.
template <class Price>
__device__ inline void survey(RowGroup<kLines>& group, const Source& source, const SourceLines& lines,
                              const Positions& positions, Part share, Price price, bool maximize) {
    Margin least[kLines];
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) least[r] = infinity<Margin>();
    const uint32 pieces = static_cast<uint32>(positions.count / kPiece) / Tuning::survey_share;
    for (uint32 k = share.part; k < pieces && !share.idle; k += share.parts) {
        walk_piece<false, kLines>(
            source, lines, positions,
            static_cast<int64>(k * Tuning::survey_share + k % Tuning::survey_share) * kPiece + lane_index(), price,
            [&](const Piece& piece) {
#pragma unroll
                for (uint32 a = 0; a < kAhead; ++a) {
#pragma unroll
                    for (uint32 r = 0; r < kLines; ++r) {
                        const Margin cost = static_cast<Margin>(widened(piece.cost[a][r]));
                        const Margin x = (maximize ? -cost : cost) - piece.price[a];
                        least[r] = x < least[r] ? x : least[r];
                    }
                }
                return 0u;
            },
            [](int64, bool) {});
    }
    const uint32 warp = threadIdx.x / kWarp, each = kWarp / share.parts;
    const auto of_all = [&](uint32 r) {
        return reinterpret_cast<Margin*>(shared().scratch.multi_row.room[(warp - share.part) * kLines + r]);
    };
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) {
        const uint32 rank = rank_in_warp(least[r]);
        if (rank < each) of_all(r)[share.part * each + rank] = least[r];
    }
    __syncthreads();
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) {
        const Margin mine = of_all(r)[lane_index()];
        const uint32 at = __ffs(__ballot_sync(kAllLanes, rank_in_warp(mine) == Tuning::surveyed - 1)) - 1;
        const Dual limit = static_cast<Dual>(__shfl_sync(kAllLanes, mine, at));
        if (!(limit < group.limit[r])) continue;
        group.lower(r, {limit, kNoRow, 0});
        group.guessed |= 1u << r;
    }
    __syncthreads();
}

// The box nearest to a row, and a limit within which at least kWanted of its columns lie: the nearest of each lane, and
// one more.
struct NearBox {
    uint32 box;
    Dual limit;
};
// By one warp. Not inlined, since it is called once for each row.
LAPWING_NOINLINE __device__ NearBox find_near_box(int32 i) {
    static_assert(kWanted == kWarp + 1);
    const State& state = shared().state;
    const Costs& costs = state.matrix.costs;
    const int64 count = state.matrix.real_cols();
    const BoxOrder order = box_order(state.matrix);
    const uint32 box = nearest_piece(costs.data, costs.pitch, count, costs.row(i), state.listing_price);
    Dual least = infinity<Dual>(), second = infinity<Dual>();
#pragma unroll 1
    for (uint32 a = 0; a < kAhead; ++a) {
        const int64 place = static_cast<int64>(box) * kPiece + a * kWarp + lane_index();
        if (place >= count) continue;
        const Dual x = standing(state, i, static_cast<int32>(order.at(place))).value;
        if (x < least)
            second = least, least = x;
        else if (x < second)
            second = x;
    }
    const auto smaller = [](Dual a, Dual b) { return b < a ? b : a; };
    const auto larger = [](Dual a, Dual b) { return a < b ? b : a; };
    return {box, larger(warp_reduce(least, larger), warp_reduce(second, smaller))};
}

// fresh: all columns; again: within the limit of the row's old list. boxed and near: the same two, from boxes.
enum class Pass { fresh, boxed, again, near };

// Number of rows of a row group. By boxes it is one, since rows that are listed again are seldom near each other.
__device__ constexpr bool by_boxes(Pass pass) { return pass == Pass::boxed || pass == Pass::near; }
__device__ constexpr uint32 rows_of_group(Pass pass) { return by_boxes(pass) ? 1 : kLines; }
// Number of warps that share a row group of n rows, each taking a part of the columns, where a block of `warps` lists
// `count` rows. A power of two.
__device__ inline uint32 warps_of_row_group(uint32 warps, uint32 n, uint32 count) {
    uint32 parts = warps;
    while (parts > 1 && warps / parts * n < count) parts /= 2;
    return parts;
}

// Lists rows row_of(begin), row_of(begin + 1) ... below `end`, as many as the block takes, under the present prices.
// `guess`: within the limits of a survey, too. All threads of the block call it. True if the limits of the survey were
// too low. One lane per row calls met(row, whether a cost of it is invalid).
template <Pass pass, class RowOf, class Met>
__device__ bool list_row_group(uint32 begin, uint32 end, uint32 parts, bool guess, RowOf row_of, Met met) {
    constexpr bool again = pass == Pass::again || pass == Pass::near;
    constexpr uint32 n = rows_of_group(pass);
    const State& state = shared().state;
    const Matrix& matrix = state.matrix;
    const Costs costs = matrix.costs;
    const Source source(costs.data);
    const uint32 warp = threadIdx.x / kWarp, part = warp % parts, first = begin + warp / parts * n;
    auto& scratch = shared().scratch.multi_row;
    RowGroup<n> group;
    int64 index[n];
    uint32 start = 0;  // a box near the row
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {  // past the end: the last one again
        group.row[r] = row_of(first + r < end ? first + r : end - 1);
        index[r] = costs.row(group.row[r]);
        group.lower(r, again ? old_limit(state, group.row[r]) : Limit{infinity<Dual>(), kNoRow, 0});
        if (!by_boxes(pass) || (again && parts > 1)) continue;  // several warps that list few rows again do without
        const NearBox near = find_near_box(group.row[r]);
        if (r == 0) start = near.box;
        if (near.limit < group.limit[r]) group.lower(r, {near.limit, kNoRow, 0});
    }
    group.invalid = group.guessed = 0;
    Source::Lines<n> lines;
    source.load(index, lines);
    const Positions positions{matrix.real_cols(), costs.pitch, kColSalt, costs.data->neighbours.positions};
    const Part share{part, parts, first >= end};
    const auto price = [v = state.v](int64 j) { return upward(load_stable(v + j)); };
    if constexpr (pass == Pass::fresh) {
        if (guess && positions.count >= Tuning::surveyed_cols)
            survey(group, source, lines, positions, share, price, matrix.maximize);
    }
    if (matrix.prices != nullptr && part == 0) {
#pragma unroll
        for (uint32 r = 0; r < n; ++r) {
            const int32 i = group.row[r], unmatched_col = matrix.real_cols() + i;
            const Dual x = matrix.unmatched_cost(i) - load_stable(state.v + unmatched_col);
            group.count[r] = x < infinity<Dual>() && x <= group.limit[r];
            if (lane_index() == 0) scratch.room[warp * n + r][0] = unmatched_col;
        }
        __syncwarp();
    }
    const auto meet = [&](int64 j, bool there) {
        meet_column(group, state, source, lines, static_cast<int32>(j), there);
    };
    if constexpr (by_boxes(pass)) {
        const BoxOrder order = box_order(matrix);
        const uint32 visited = walk_boxes(
            costs.data, lines, positions, share, start, group.margin, state.listing_price,
            [&](const PieceOf<n>& piece) { return near_positions(piece, group.margin, false); },
            [&](int64 k, bool there) { meet(there ? order.at(k) : 0, there); });
        if (!again && lane_index() == 0) atomicAdd(&state.report->pieces_read, uint64(visited));
    } else {
        walk(
            source, lines, positions, share, price,
            [&, maximize = matrix.maximize](const Piece& piece) {
                uint32 near = near_positions(piece, group.margin, maximize);
                if constexpr (sizeof(Cost) == 8) near |= invalid_positions(piece, matrix);
                return near;
            },
            meet);
    }
    uint32 invalid = 0;
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {
        const uint32 slot = warp * n + r;
        const Limit limit = parts > 1 ? keep_nearest(group.row[r], slot, group.count[r]) : Limit{0, 0, group.count[r]};
        invalid |= static_cast<uint32>(__any_sync(kAllLanes, group.invalid >> r & 1)) << r;
        if (lane_index() == 0) scratch.met[slot] = limit.count;
    }
    if (lane_index() == 0) scratch.invalid[warp] = invalid;
    __syncthreads();
    bool is_short = false;
    for (uint32 r = part; r < n; r += parts) {
        if (first + r >= end) continue;
        const int32 i = row_of(first + r);
        const uint32 least = group.guessed >> r & 1 ? kWanted : 0;
        if (!write_candidates(state, i, (warp - part) * n + r, parts, n, again, least)) {
            is_short = true;
            continue;
        }
        uint32 bad = 0;
        for (uint32 q = 0; q < parts; ++q) bad |= scratch.invalid[warp - part + q] >> r & 1;
        if (lane_index() == 0) met(i, bad != 0);
    }
    return __syncthreads_or(is_short);
}
