// Lists of a matrix in memory, in one piece or in shards (the program includes its costs first): by the filter
// (core/lists/filter.cuh) or, if it cannot decide, from the whole row. Aligned rows are read 16 bytes at a time.
#pragma once
#include "core/lists/filter.cuh"
#include "core/lists/listing.cuh"

// Packs of 16 bytes in flight per thread; packs of small costs need many prices.
constexpr int32 kPacksAhead = sizeof(Cost) >= 4 ? Tuning::packs_ahead : sizeof(Cost);

// A whole row, as a part that can be collected (core/lists/build.cuh): f(col, cost as minimised, cost - v) for this
// thread's share of row i. `frozen`: no thread writes prices while the kernel runs.
template <bool frozen>
struct WholeRow {
    template <class F>
    __device__ void operator()(const State& state, int32 i, F f) const {
        constexpr int32 size = Pack<Cost>::size;
        const Matrix& matrix = state.matrix;
        const Cost* row = matrix.costs.row(i);
        const int32 cols = matrix.real_cols(), packs = matrix.costs.aligned() ? cols / size : 0;
        for (int32 base = threadIdx.x; base < packs; base += kPacksAhead * blockDim.x) {
            Pack<Cost> pack[kPacksAhead];
            Dual v[kPacksAhead][size];
#pragma unroll
            for (int32 a = 0; a < kPacksAhead; ++a) {
                const int32 p = base + a * blockDim.x;
                if (p >= packs) break;
                pack[a] = load_pack(row + p * static_cast<int64>(size));
                if (!frozen) load_prices<frozen>(state.v + p * size, v[a]);  // from afar, so early
            }
#pragma unroll
            for (int32 a = 0; a < kPacksAhead; ++a) {
                const int32 p = base + a * blockDim.x;
                if (p >= packs) break;
                if (frozen) load_prices<frozen>(state.v + p * size, v[a]);
#pragma unroll
                for (int32 k = 0; k < size; ++k) {
                    const Dual cost = matrix.minimised(pack[a].values[k]);
                    f(p * size + k, cost, cost - v[a][k]);
                }
            }
        }
        for (int32 j = packs * size + threadIdx.x; j < cols; j += blockDim.x) {
            const Dual cost = matrix.minimised(row[j]);
            f(j, cost, cost - __ldcg(state.v + j));
        }
        if (matrix.prices != nullptr && threadIdx.x == 0) {
            const Dual cost = matrix.unmatched_cost(i);
            if (cost < infinity<Dual>()) f(cols + i, cost, cost - __ldcg(state.v + cols + i));
        }
    }
};

// Number of threads of a block that have a share of a row, if the block is large enough.
__device__ inline uint32 sharing_threads(const Matrix& matrix) {
    constexpr int32 size = Pack<Cost>::size;
    const int32 tail = matrix.cols % size, packs = matrix.cols / size, shares = packs > tail ? packs : tail;
    return matrix.costs.aligned() ? shares : matrix.cols;
}
template <bool frozen>
LAPWING_NOINLINE __device__ bool collect(int32 i) {
    return collect_from(i, sharing_threads(shared().state.matrix), WholeRow<frozen>());
}

// See core/lists/build.cuh.
LAPWING_NOINLINE __device__ void collect_ties(int32 i, Dual bound) {
    const State& state = shared().state;
    ListScratch& scratch = shared().scratch.list;
    const Matrix& matrix = state.matrix;
    const uint32 warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp, lanes_before = (1u << lane_index()) - 1;
    const int32 first = first_tie(matrix, i);
    for (int32 base = 0; base < matrix.cols; base += Tuning::tie_cols * blockDim.x) {
        __syncthreads();
        const uint32 begin = scratch.below;
        if (begin >= kWanted) return;
        const int32 order = base + static_cast<int32>(Tuning::tie_cols * threadIdx.x);
        Dual cost[Tuning::tie_cols], v[Tuning::tie_cols];
#pragma unroll
        for (uint32 q = 0; q < Tuning::tie_cols; ++q) {
            const int32 its = order + q, j = its < matrix.cols - first ? its + first : its + first - matrix.cols;
            cost[q] = its < matrix.cols ? matrix.at(i, j) : infinity<Dual>();
            v[q] = its < matrix.cols ? __ldcg(state.v + j) : Dual(0);
        }
        uint32 at = begin, of_warp = 0;
#pragma unroll
        for (uint32 q = 0; q < Tuning::tie_cols; ++q) {
            const uint32 ties = __ballot_sync(kAllLanes, cost[q] - v[q] == bound);
            at += __popc(ties & lanes_before);
            of_warp += __popc(ties);
        }
        if (lane_index() == 0) scratch.ahead[warp] = of_warp;
        __syncthreads();
        uint32 all = begin;
        for (uint32 w = 0; w < warps; ++w) {
            if (w < warp) at += scratch.ahead[w];
            all += scratch.ahead[w];
        }
#pragma unroll
        for (uint32 q = 0; q < Tuning::tie_cols; ++q) {
            if (cost[q] - v[q] == bound && at < kWanted) collect_at(scratch, at++, bound, order + q, cost[q]);
        }
        __syncthreads();
        if (threadIdx.x == 0) scratch.below = all < kWanted ? all : kWanted;
    }
    __syncthreads();
}

// Lists row i under the present prices. All threads of the block call it, and may read the list after a barrier. True
// if this thread found an invalid cost in the row.
template <bool frozen>
__device__ inline bool make_list(const Matrix& matrix, int32 i) {
    ListScratch& scratch = shared().scratch.list;
    bool invalid = false;
    Dual left_out = infinity<Dual>();
    if (are_whole_packs(matrix.costs, matrix.real_cols()) ? filter_row<frozen, false>(matrix, i)
                                                          : filter_shifted_row<frozen>(i))
        left_out = scratch.left_out;
    else
        invalid = collect<frozen>(i);
    write_list(i, left_out);
    return invalid;
}
// Rounds down the prices that the filter subtracts from costs. Called before a row is listed whenever prices have
// changed.
__device__ inline void lower_all_prices(const Team& team) {
    if constexpr (kNarrowCosts) {
        team.each(team.state.matrix.cols,
                  [&](uint32 j) { team.state.listing_price[j] = lowered(__ldcg(team.state.v + j)); });
        team.sync();
    }
}
// The same with the barrier, while prices move; compiled once. True if a cost of the row is not valid.
LAPWING_NOINLINE __device__ bool relist_row(int32 i) {
    return __syncthreads_or(make_list<false>(shared().state.matrix, i));
}

// Whether listing a row again is useless: its list holds only some of the ties at the row's least cost, and this was
// insufficient in this search or the previous one. All lanes of a warp call it.
__device__ inline bool list_is_ties(const State& state, const SearchRun& run, int32 i) {
    const uint32 looked = load_stable(state.full_search + i);
    if (looked == 0 || looked + 1 < run.search) return false;
    const Candidate mine = load_candidate(state, i);
    const Dual u = load_stable(state.u + i),
               least = mine.col >= 0 ? Dual(mine.cost) - load_stable(state.v + mine.col) : infinity<Dual>();
    return __all_sync(kAllLanes, !(least > u)) && !(load_stable(state.tau + i) > u);
}

struct MatrixListing : ListingAtHand {
    __device__ static void refresh(const Team& team, uint32 count) {
        lower_all_prices(team);
        for (uint32 at = team.block(); at < count; at += team.blocks)
            relist_row(load_stable(team.state.refresh_rows + at));
    }
    __device__ static void refresh_all(const Team& team, uint32) { lower_all_prices(team); }
    __device__ static void refresh_one(const State& state, const SearchRun& run, int32 i) {
        if (!list_is_ties(state, run, i)) relist_row(i);
    }
};
