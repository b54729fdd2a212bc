// Lists of sparse costs. The list of a row with at most Tuning::list_size places is the row itself, and tau is
// infinite, so it is never listed again. A longer row is listed from its entries like a row of any other costs
// (core/lists/build.cuh).
#pragma once
#include "costs/sparse.cuh"

#include "core/lists/build.cuh"
#include "core/lists/listing.cuh"

// Whether it is the unmatched column of a row that must not stay free.
__device__ inline bool is_absent(const Matrix& matrix, int32 j, Dual cost) {
    return j >= matrix.real_cols() && !(cost < infinity<Dual>());
}

// The places of a row, as a part that can be collected (core/lists/build.cuh).
struct PlacesOfRow {
    template <class F>
    __device__ void operator()(const State& state, int32 i, F f) const {
        const Matrix& matrix = state.matrix;
        const int32 places = matrix.places(i);
        for (int32 place = threadIdx.x; place < places; place += blockDim.x) {
            const int32 j = matrix.col_of(i, place);
            const Dual cost = matrix.at_place(i, place);
            if (is_absent(matrix, j, cost)) continue;
            f(j, cost, cost - __ldcg(state.v + j));
        }
    }
};
// See core/lists/build.cuh.
LAPWING_NOINLINE __device__ void collect_ties(int32 i, Dual bound) { collect_ties_of(PlacesOfRow(), i, bound); }

// Lists a long row under the present prices. All threads of a block call it, and may read the list when it returns.
// True if a cost of the row is invalid.
LAPWING_NOINLINE __device__ bool list_long_row(int32 i) {
    const bool invalid = collect_from(i, static_cast<uint32>(shared().state.matrix.places(i)), PlacesOfRow());
    write_list(i, infinity<Dual>());
    return __syncthreads_or(invalid);
}

__device__ inline bool is_long(const Matrix& matrix, int32 i) {
    return matrix.places(i) > static_cast<int32>(Tuning::list_size);
}

// The finding of a row's listing, in every lane of its warp.
struct Listed {
    bool invalid, empty;
};
// Lists a row that is not long, by a warp: its candidates in order of cost - v, ties in tie_order.
__device__ inline Listed list_short_row(const State& state, int32 i) {
    const Matrix& matrix = state.matrix;
    const int32 places = matrix.places(i), lane = static_cast<int32>(lane_index());
    const bool there = lane < places;
    const int32 col = there ? matrix.col_of(i, lane) : kNone;
    const Dual cost = there ? matrix.at_place(i, lane) : infinity<Dual>();
    const bool allowed = cost < infinity<Dual>();
    const Dual value = allowed ? cost - __ldcg(state.v + col) : infinity<Dual>();
    const int32 order = allowed ? tie_order(first_tie(matrix, i), matrix.cols, col) : matrix.cols + lane;
    int32 rank = there ? 0 : lane;  // of lanes without a place: after all others
    for (int32 other = 0; other < places; ++other) {
        const Dual its = __shfl_sync(kAllLanes, value, other);
        const int32 its_order = __shfl_sync(kAllLanes, order, other);
        rank += there & ((its < value) | ((its == value) & (its_order < order)));
    }
    const int64 list = static_cast<int64>(i) * Tuning::list_size;
    const bool invalid = there && !matrix.valid(cost) && !is_absent(matrix, col, cost);
    const Listed listed = {__any_sync(kAllLanes, invalid) != 0, __any_sync(kAllLanes, allowed) == 0};
    if (listed.invalid) return listed;  // NaN has no rank
    state.list_col[list + rank] = allowed ? col : kNone;
    state.list_cost[list + rank] = allowed ? static_cast<ListCost>(cost) : ListCost(0);
    if (lane == 0) state.tau[i] = infinity<Dual>();
    return listed;
}

struct Listing : ListingAtHand {
    __device__ static void refresh(const Team& team, uint32 count) {
        for (uint32 at = team.block(); at < count; at += team.blocks)
            list_long_row(load_stable(team.state.refresh_rows + at));
    }
    __device__ static void refresh_all(const Team&, uint32) {}
    __device__ static void refresh_one(const State&, const SearchRun&, int32 i) { list_long_row(i); }
};
