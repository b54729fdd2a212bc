// The certificate's pass over the costs of points of many dimensions, by tiles; included by
// certificate/points_certificate.cu. It computes every cost from the points, even if the method read a matrix, by
// separate loops. It shares with the method only the arithmetic of a term (costs/points.cuh), which defines a cost.
//
// A block of kSquare x kSquare threads takes a tile of lines (rows) and positions. Thread (x, y) has kMine lines from
// kMine * y on, and every kSquare-th position from x on. Coordinates are copied to shared memory, kSlice dimensions at
// a time, with two barriers; sums are in registers. Per dimension of float32 points a thread makes 6 loads from shared
// memory for its 32 pairs. A squared distance takes three operations per pair and dimension.
#pragma once
#include "certificate/computed_pair.cuh"
#include "certificate/tuning.cuh"

constexpr uint32 kSquare = CertificateTuning::square, kSlice = CertificateTuning::slice;
constexpr uint32 kMine = CertificateTuning::own_line_bytes / sizeof(Cost);
constexpr uint32 kMyPositions = CertificateTuning::own_positions;
constexpr uint32 kLinesHere = kSquare * kMine, kPositionsHere = kSquare * kMyPositions;
static_assert(THREADS == kSquare * kSquare);

struct Slice {
    alignas(16) Cost lines[kSlice][kLinesHere];
    Cost positions[kSlice][kPositionsHere];
};

// Copies kSlice coordinates, from dimension `from` on, of kCount points from `begin` on; nothing past the ends.
template <uint32 kCount>
__device__ inline void bring(Cost (&to)[kSlice][kCount], const Cost* coordinates, int64 stride, uint32 from,
                             uint32 dims, int64 begin, int64 end) {
#pragma unroll
    for (uint32 turn = 0; turn < kSlice * kCount / THREADS; ++turn) {
        const uint32 e = turn * THREADS + threadIdx.x, k = e / kCount;
        const int64 point = begin + e % kCount;
        if (from + k < dims && point < end) to[k][e % kCount] = coordinates[(from + k) * stride + point];
    }
}

// The costs of a thread's pairs, computed from the points.
struct MyPairs {
    int64 line, position;  // the first ones; positions are kSquare apart
    Cost cost[kMine][kMyPositions];

    template <bool kFirst, class Data>
    __device__ void add(TermList<>, const Data*, Slice&, int64, int64) {}
    template <bool kFirst, class Data, class One, class... Rest>
    __device__ void add(TermList<One, Rest...>, const Data* terms, Slice& slice, int64 lines, int64 positions) {
        const Data term = *terms;
        const Cost power = static_cast<Cost>(term.power);
        const uint32 dims = static_cast<uint32>(term.dims), y = threadIdx.x / kSquare, x = threadIdx.x % kSquare;
        Cost sum[kMine][kMyPositions] = {};
        for (uint32 from = 0; from < dims; from += kSlice) {
            __syncthreads();
            bring(slice.lines, term.lines, term.line_stride, from, dims, line - kMine * y, lines);
            bring(slice.positions, term.positions, term.position_stride, from, dims, position - x, positions);
            __syncthreads();
#pragma unroll(One::is_short ? 4 : 1)
            for (uint32 k = 0; k < kSlice && from + k < dims; ++k) {
#pragma unroll
                for (uint32 c = 0; c < kMyPositions; ++c) {
                    const Cost b = slice.positions[k][kSquare * c + x];
#pragma unroll
                    for (uint32 r = 0; r < kMine; ++r)
                        sum[r][c] = One::added(sum[r][c], slice.lines[k][kMine * y + r], b, power, false);
                }
            }
        }
#pragma unroll
        for (uint32 c = 0; c < kMyPositions; ++c) {
#pragma unroll
            for (uint32 r = 0; r < kMine; ++r) {
                Cost made = One::finished(sum[r][c], power);
                if constexpr (One::weighted) made = One::weighed(made, term);
                cost[r][c] = kFirst && !One::weighted ? made : cost[r][c] + made;
            }
        }
        add<false>(TermList<Rest...>{}, terms + 1, slice, lines, positions);
    }
};

// Examines a pair that the quick test did not decide.
LAPWING_NOINLINE __device__ void examine_pair(Found found, Dual c, Dual a, Dual b, int64 line, int64 position) {
    if (!is_certain(c, a, b)) examine(found, c, a, b, line, position);
}

// Checks rows first .. first + count - 1, one tile per block. A long pass is several launches, so that it can be
// interrupted.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    certify_tiles(const Costs::Data* data, int64 first, int64 count, int64 rows, int64 cols, int64 maximize,
                  const Dual* u, const Dual* v, uint64* violations, uint64* summary, const int64* row_to_col,
                  uint32* owners) {
    __shared__ Slice slice;
    if (first == 0) claim_columns(row_to_col, rows, cols, owners);
    const bool negate = maximize != 0;
    const Found found = {violations, summary + kInvalidCost};
    const int64 tiles_down = (count + kLinesHere - 1) / kLinesHere, end = first + count;
    MyPairs mine;
    mine.line = first + blockIdx.x % tiles_down * kLinesHere + threadIdx.x / kSquare * kMine;
    mine.position = blockIdx.x / tiles_down * kPositionsHere + threadIdx.x % kSquare;
    for (auto& line : mine.cost) {
        for (Cost& cost : line) cost = 0;
    }
    mine.add<true>(Source::All{}, data->terms, slice, end, cols);
#pragma unroll
    for (uint32 r = 0; r < kMine; ++r) {
        const int64 i = mine.line + r;
        if (i >= end) break;
        const Dual a = negated(u[i], negate);
        const Margin margin = upward(a);
#pragma unroll
        for (uint32 c = 0; c < kMyPositions; ++c) {
            const int64 j = mine.position + kSquare * c;
            if (j >= cols) break;
            const Dual b = negated(v[j], negate);
            const Margin cost = negate ? -Margin(mine.cost[r][c]) : Margin(mine.cost[r][c]);
            if (!is_surely_positive(cost, margin, upward(b)))
                examine_pair(found, minimised(mine.cost[r][c], negate), a, b, i, j);
            require_violation(found, minimised(mine.cost[r][c], negate), a, b, i);
        }
    }
}
