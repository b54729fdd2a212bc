// The start of the Hungarian methods: row and column reduction, lists of tight pairs by row, and a first matching on
// them.
//
// Cost: one read of the matrix each for rows, columns and lists, with a barrier of the grid after each; and two
// barriers for each round of the matching.
#pragma once
#include "reference/hungarian_state.cuh"

namespace hungarian {

// Sets the words of the board, and the arrays by row and column. The kernel prepare (core/solve.cuh) has set report,
// distance and barrier.
__device__ inline void begin_solve() {
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    each_thread(matrix.rows, [&](uint32 i) {
        __stcg(h.core.row_to_col + i, kNone);
        __stcg(h.core.target[0] + i, kNone);
        __stcg(h.regret + i, 0.0f);
    });
    each_thread(matrix.cols, [&](uint32 j) {
        __stcg(h.core.col_to_row + j, kNone);
        __stcg(h.core.best_bid[0] + j, kFar);
        __stcg(h.core.v + j, Dual(0));
    });
    if (is_first_thread()) {
        *h.board = Board{};
        h.board->least = kFar;
    }
}

// Sets u to the least cost of each row. One warp per row.
__device__ inline void reduce_rows() {
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    each_warp(matrix.rows, [&](uint64 row) {
        const int32 i = static_cast<int32>(row);
        Dual least = has_unmatched_column(matrix, i) && lane_index() == 0 ? matrix.prices[i] : infinity<Dual>();
        bool invalid = false;
        for (int32 chunk = 0; chunk < chunks_of(matrix); ++chunk) {
            for_chunk(matrix, i, chunk, nullptr, [&](int32, Dual cost) {
                invalid |= !matrix.valid(cost);
                least = cost < least ? cost : least;
            });
        }
        least = from_order<Dual>(warp_min(ordered(least)));
        invalid = __any_sync(kAllLanes, invalid) != 0;
        if (lane_index() != 0) return;
        if (invalid) atomicMin(&h.core.report->invalid_row, static_cast<int64>(i));
        if (!invalid && is_far(least)) atomicMin(&h.core.report->empty_row, static_cast<int64>(i));
        __stcg(h.core.u + i, is_far(least) ? Dual(0) : least);
    });
    if (is_first_thread()) h.board->scanned += matrix.rows;
}

// In square problems, writes the least c - u of each column to `distance`. A warp takes a band of rows, a lane a pack
// of columns.
__device__ inline void reduce_cols() {
    constexpr uint32 ahead = 4;
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    const uint32 rows = matrix.rows, bands = (rows + HungarianTuning::band_rows - 1) / HungarianTuning::band_rows;
    const uint32 width = kWarp * kPackCols, groups = (matrix.cols + width - 1) / width;
    const bool aligned = matrix.costs.aligned();
    each_warp(static_cast<uint64>(bands) * groups, [&](uint64 unit) {
        const uint32 band = static_cast<uint32>(unit / groups), first = band * HungarianTuning::band_rows;
        const int32 j = static_cast<int32>(unit % groups * width + lane_index() * kPackCols);
        const uint32 end = first + HungarianTuning::band_rows < rows ? first + HungarianTuning::band_rows : rows;
        if (j >= matrix.cols) return;
        Dual best[kPackCols];
        for (Dual& least : best) least = infinity<Dual>();
        for (uint32 base = first; base < end; base += ahead) {
            Pack<Cost> pack[ahead];
#pragma unroll
            for (uint32 a = 0; a < ahead; ++a) {
                const int32 i = static_cast<int32>(base + a < end ? base + a : end - 1);
                load_costs(matrix, matrix.costs.row(i), aligned, j, pack[a]);
            }
#pragma unroll
            for (uint32 a = 0; a < ahead; ++a) {
                const Dual u = __ldcg(h.core.u + (base + a < end ? base + a : end - 1));
#pragma unroll
                for (int32 k = 0; k < kPackCols; ++k) {
                    if (j + k >= matrix.cols) continue;
                    const Dual slack = matrix.minimised(pack[a].values[k]) - u;
                    best[k] = slack < best[k] ? slack : best[k];
                }
            }
        }
#pragma unroll
        for (int32 k = 0; k < kPackCols; ++k) {
            if (j + k < matrix.cols) min_in_global(h.core.distance + j + k, ordered(best[k]));
        }
    });
}
// Sets v from `distance`; 0 for a column that no row may have.
__device__ inline void set_cols() {
    Forest& h = forest();
    each_thread(h.core.matrix.cols, [&](uint32 j) {
        const Dual least = from_order<Dual>(__ldcg(h.core.distance + j));
        __stcg(h.core.v + j, is_far(least) ? Dual(0) : least);
        __stcg(h.core.distance + j, kFar);
    });
    if (is_first_thread()) h.board->scanned += h.core.matrix.rows;
}

// A list of tight pairs under construction by a warp.
struct TightList {
    int32* cols;
    uint32 count = 0;

    // Adds the columns of a lane's pack, from j on, whose `bits` are set, in the order of columns. All lanes call it.
    template <int32 width = kPackCols>
    __device__ void add(int32 j, uint32 bits) {
        if (__ballot_sync(kAllLanes, bits != 0) == 0) return;
        const uint32 lower = (1u << lane_index()) - 1;
        uint32 before = 0, all = 0;
#pragma unroll
        for (int32 k = 0; k < width; ++k) {
            const uint32 lanes = __ballot_sync(kAllLanes, bits >> k & 1);
            before += __popc(lanes & lower);
            all += __popc(lanes);
        }
        uint32 place = count + before;
#pragma unroll
        for (int32 k = 0; k < width; ++k) {
            if ((bits >> k & 1) == 0) continue;
            if (place < kTight) __stcg(cols + place, j + k);
            ++place;
        }
        count += all;
    }
};
// The column at which row i's list begins, so that rows of equal costs get different lists.
__device__ inline int32 first_tight(const Matrix& matrix, int32 i) {
    return static_cast<int32>(static_cast<int64>(i) * matrix.real_cols() / matrix.rows);
}
// Lists row i: visit(begin, end) adds the tight columns from `begin` to `end`, both multiples of a warp's step or ends
// of the row. All lanes of a warp call it.
template <class Visit>
__device__ void list_tight_row(int32 i, bool unmatched_tight, Visit visit) {
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    const int32 first = first_tight(matrix, i);
    TightList list{h.tight + static_cast<int64>(i) * kTight};
    if (unmatched_tight) {
        if (lane_index() == 0) __stcg(list.cols, matrix.real_cols() + i);
        list.count = 1;
    }
#pragma unroll 1
    for (int32 part = 0; part < 2; ++part) visit(list, part == 0 ? first : 0, part == 0 ? matrix.real_cols() : first);
    if (lane_index() == 0) __stcg(h.tight_count + i, list.count);
}

// Lists the pairs with (c - v) - u <= 0 of all rows. One warp per row. v may come from L1, since no thread writes it
// meanwhile.
__device__ inline void list_tight() {
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    constexpr int32 width = kWarp * kPackCols;
    each_warp(matrix.rows, [&](uint64 row) {
        const int32 i = static_cast<int32>(row);
        const Dual u = __ldcg(h.core.u + i);
        const bool unmatched = has_unmatched_column(matrix, i) && matrix.prices[i] - u <= Dual(0);
        list_tight_row(i, unmatched, [&](TightList& list, int32 begin, int32 end) {
            for_packs(matrix, i, begin / width * width, end, width, h.core.v,
                      [&](int32 j, const Dual(&reduced)[kPackCols]) {
                          uint32 bits = 0;
#pragma unroll
                          for (int32 k = 0; k < kPackCols; ++k) {
                              const bool inside = j + k >= begin && j + k < end;
                              if (inside && reduced[k] - u <= Dual(0)) bits |= 1u << k;
                          }
                          list.add(j, bits);
                      });
        });
    });
    if (is_first_thread()) h.board->scanned += matrix.rows;
}

// --- the first matching -------------------------------------------------------------------------------------------

// A row's claim to a column. The minimum is the row of greatest regret, and among these the lowest row.
__device__ inline uint64 claim_of(const Forest& h, uint32 i) {
    const uint32 eagerness = static_cast<uint32>(__float_as_int(__ldcg(h.regret + i)));  // regret is not negative
    return static_cast<uint64>(~eagerness) << 32 | i;
}
// Every free row bids for the first free column in its list.
__device__ inline void bid() {
    Forest& h = forest();
    each_thread(h.core.matrix.rows, [&](uint32 i) {
        if (__ldcg(h.core.row_to_col + i) >= 0) return;
        const uint32 count = __ldcg(h.tight_count + i);
        int32 wanted = kNone;
        for (uint32 k = 0; k < count && k < kTight; ++k) {
            const int32 j = __ldcg(h.tight + static_cast<uint64>(i) * kTight + k);
            if (__ldcg(h.core.col_to_row + j) >= 0) continue;
            wanted = j;
            break;
        }
        __stcg(h.core.target[0] + i, wanted);
        if (wanted >= 0) min_in_global(h.core.best_bid[0] + wanted, claim_of(h, i));
    });
}
__device__ inline void award() {
    Forest& h = forest();
    each_thread(h.core.matrix.rows, [&](uint32 i) {
        const int32 j = __ldcg(h.core.target[0] + i);
        if (j < 0 || __ldcg(h.core.row_to_col + i) >= 0 || __ldcg(h.core.best_bid[0] + j) != claim_of(h, i)) return;
        __stcg(h.core.row_to_col + i, j);
        __stcg(h.core.col_to_row + j, static_cast<int32>(i));
    });
    if (is_first_thread()) ++h.board->rounds;
}

}  // namespace hungarian
