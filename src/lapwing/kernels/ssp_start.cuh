// Where "ssp" starts: row minima, an estimate of v, and the order of the rows (Algorithm 1015, "Estimating epsilon"), on the grid.
//
//   rows     the least cost of each: with v = 0 a first lower bound
//   columns  the second smallest of c - (its row's least): the price at which only one row would take the column at no loss
//   regret   under that v, what it costs a row not to get its best column; a second lower bound
//   order    greatest regret first: the place of a row is how many come before it, counted, which takes less time than to sort
//
// Cost: three reads of the matrix, rows^2 comparisons, 5 barriers of the grid.
#pragma once
#include "ssp_state.cuh"

namespace ssp {

// The two smallest of some numbers.
struct TwoLeast {
    Dual first, second;

    __device__ void add(Dual x) {
        if (x < first)
            second = first, first = x;
        else if (x < second)
            second = x;
    }
};

__device__ inline void survey_rows() {
    Ssp& s = self();
    const Matrix& matrix = s.core.matrix;
    Dual largest = 0;
    each_warp(matrix.rows, [&](uint64 row) {
        const int32 i = static_cast<int32>(row);
        Dual least = has_exit(matrix, i) && lane_index() == 0 ? matrix.prices[i] : infinity<Dual>();
        bool invalid = false;
        for (int32 chunk = 0; chunk < chunks_of(matrix); ++chunk) {
            for_chunk(matrix, i, chunk, nullptr, [&](int32, Dual cost) {
                invalid |= !matrix.valid(cost);
                least = cost < least ? cost : least;
                const Dual size = cost < Dual(0) ? -cost : cost;
                if (!is_far(cost) && size > largest) largest = size;
            });
        }
        least = from_order<Dual>(warp_min(ordered(least)));
        invalid = __any_sync(kAllLanes, invalid) != 0;
        if (lane_index() != 0) return;
        if (invalid) atomicMin(&s.core.report->invalid_row, static_cast<int64>(i));
        if (!invalid && is_far(least)) atomicMin(&s.core.report->empty_row, static_cast<int64>(i));
        __stcg(s.row_least + i, is_far(least) ? Dual(0) : least);
    });
    const uint64 key = warp_reduce(ordered(largest), [](uint64 a, uint64 b) { return a < b ? b : a; });
    if (lane_index() == 0) max_in_global(&s.board->magnitude, key);
}

// A block has columns for itself; its threads share rows.
__device__ inline void estimate_cols() {
    constexpr uint32 lanes = 8;
    __shared__ TwoLeast found[THREADS * kPackCols];
    Ssp& s = self();
    const Matrix& matrix = s.core.matrix;
    const bool aligned = matrix.costs.aligned();
    const uint32 width = lanes * kPackCols, groups = (matrix.cols + width - 1) / width;
    const uint32 lane = threadIdx.x % lanes, side = threadIdx.x / lanes, sides = blockDim.x / lanes;
    for (uint32 group = blockIdx.x; group < groups; group += gridDim.x) {
        const int32 j = static_cast<int32>(group * width + lane * kPackCols);
        TwoLeast best[kPackCols];
        for (TwoLeast& two : best) two = {infinity<Dual>(), infinity<Dual>()};
        constexpr int32 ahead = 4;
        for (int32 base = static_cast<int32>(side); base < matrix.rows; base += ahead * static_cast<int32>(sides)) {
            Pack<Cost> pack[ahead];
#pragma unroll
            for (int32 a = 0; a < ahead; ++a) {
                const int32 i = base + a * static_cast<int32>(sides);
                if (i < matrix.rows) load_costs(matrix, matrix.costs.row(i), aligned, j, pack[a]);
            }
#pragma unroll
            for (int32 a = 0; a < ahead; ++a) {
                const int32 i = base + a * static_cast<int32>(sides);
                if (i >= matrix.rows) continue;
                const Dual least = __ldcg(s.row_least + i);
#pragma unroll
                for (int32 k = 0; k < kPackCols; ++k) {
                    if (j + k < matrix.cols) best[k].add(matrix.minimised(pack[a].values[k]) - least);
                }
            }
        }
        __syncthreads();
#pragma unroll
        for (int32 k = 0; k < kPackCols; ++k) found[side * width + lane * kPackCols + k] = best[k];
        __syncthreads();
        if (threadIdx.x >= width || group * width + threadIdx.x >= static_cast<uint32>(matrix.cols)) continue;
        TwoLeast all = {infinity<Dual>(), infinity<Dual>()};
        for (uint32 g = 0; g < sides; ++g) {
            all.add(found[g * width + threadIdx.x].first);
            all.add(found[g * width + threadIdx.x].second);
        }
        const Dual price = !is_far(all.second) ? all.second : !is_far(all.first) ? all.first : Dual(0);
        __stcg(s.estimate + group * width + threadIdx.x, price);
        max_in_global(&s.board->greatest, ordered(price));
    }
}

__device__ inline void regret_rows() {
    Ssp& s = self();
    const Matrix& matrix = s.core.matrix;
    each_warp(matrix.rows, [&](uint64 row) {
        const int32 i = static_cast<int32>(row);
        TwoLeast two = {infinity<Dual>(), infinity<Dual>()};
        for (int32 chunk = 0; chunk < chunks_of(matrix); ++chunk)
            for_chunk(matrix, i, chunk, s.estimate, [&](int32, Dual reduced) { two.add(reduced); });
        const uint64 first = warp_min(ordered(two.first));
        const uint32 holders = __ballot_sync(kAllLanes, ordered(two.first) == first);
        const bool alone = __popc(holders) == 1 && ordered(two.first) == first;  // whose next is the second
        const uint64 second = __popc(holders) > 1 ? first : warp_min(ordered(alone ? two.second : two.first));
        if (lane_index() != 0) return;
        const Dual least = from_order<Dual>(first), next = from_order<Dual>(second);
        __stcg(s.best + i, least);
        __stcg(s.regret + i, is_far(next) ? infinity<Dual>() : next - least);
    });
}

__device__ inline void order_rows() {
    Ssp& s = self();
    const uint32 rows = s.core.matrix.rows;
    each_warp(rows, [&](uint64 row) {
        const Dual mine = __ldcg(s.regret + row);
        const uint32 place = warp_count(rows, [&](uint32 k) {
            const Dual other = settled(s.regret + k);
            return other > mine || (other == mine && k < row);
        });
        if (lane_index() == 0) __stcg(s.order + place, static_cast<int32>(row));
    });
}

__device__ inline void survey(bool pricing) {
    Ssp& s = self();
    const Matrix& matrix = s.core.matrix;
    const auto wait = [&] { grid_barrier(s.core.barrier, gridDim.x); };
    each_thread(matrix.rows, [&](uint32 i) {
        __stcg(s.core.row_to_col + i, kNone);
        __stcg(s.order + i, static_cast<int32>(i));
    });
    each_thread(matrix.cols, [&](uint32 j) {
        __stcg(s.core.col_to_row + j, kNone);
        __stcg(s.core.v + j, Dual(0));
        s.closed[j] = 0;
    });
    if (is_first_thread()) *s.board = Board{};
    wait();
    survey_rows();
    wait();
    if (__ldcg(&s.core.report->invalid_row) < matrix.rows || __ldcg(&s.core.report->empty_row) < matrix.rows) return;
    if (!is_square(matrix) || !pricing) return;
    estimate_cols();
    wait();
    const Dual greatest = from_order<Dual>(__ldcg(&s.board->greatest));
    each_thread(matrix.cols, [&](uint32 j) { __stcg(s.estimate + j, __ldcg(s.estimate + j) - greatest); });
    wait();
    regret_rows();
    wait();
    order_rows();
}

}  // namespace ssp
