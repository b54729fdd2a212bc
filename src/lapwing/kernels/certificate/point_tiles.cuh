// The certificate's pass over the costs of points of many dimensions, by tiles; included by
// certificate/points_certificate.cu. It computes every cost from the points, even if the method read a matrix, by
// separate loops. It shares with the method only the arithmetic of a term (costs/points.cuh), which defines a cost.
//
// A block of kSquare x kSquare threads takes a tile of lines (rows) and positions. Thread (x, y) has kMine lines from
// kMine * y on, and groups of four positions: the first group begins at 4 * x, the next one kSquare groups later.
// Coordinates are copied to shared memory, kSlice dimensions at a time and one slice ahead, with one barrier each; sums
// are in registers. Per dimension of float32 points a thread makes 4 loads from shared memory for its 64 pairs. A
// squared distance takes three operations per pair and dimension.
#pragma once
#include "certificate/computed_pair.cuh"
#include "certificate/tuning.cuh"

constexpr uint32 kSquare = CertificateTuning::square, kSlice = CertificateTuning::slice;
constexpr uint32 kMine = CertificateTuning::own_line_bytes / sizeof(Cost);
// Tiles are made in turns where registers or code would not suffice for all positions at once.
constexpr uint32 kTurns = sizeof(Cost) == 4 && is_one_short_term(Source::All{}) ? 1 : 2;
constexpr uint32 kMyPositions = CertificateTuning::own_positions / kTurns, kGroup = 4;
constexpr uint32 kLinesHere = kSquare * kMine, kPositionsHere = kSquare * kMyPositions;
static_assert(THREADS == kSquare * kSquare && kMyPositions % kGroup == 0);

struct Slice {
    alignas(16) Cost lines[kSlice][kLinesHere];
    alignas(16) Cost positions[kSlice][kPositionsHere];
};

// A thread's part of kSlice coordinates of kCount points from `begin` on: taken from memory, later put into a slice.
// Nothing past the ends.
template <uint32 kCount>
struct Share {
    static constexpr uint32 kParts = kSlice * kCount / THREADS;
    Cost parts[kParts];

    __device__ void take(const Cost* coordinates, int64 stride, uint32 from, uint32 dims, int64 begin, int64 end) {
        const int64 point = begin + threadIdx.x % kCount;
        const Cost* at = coordinates + (from + threadIdx.x / kCount) * stride + point;
#pragma unroll
        for (uint32 part = 0; part < kParts; ++part, at += THREADS / kCount * stride) {
            const uint32 k = from + (part * THREADS + threadIdx.x) / kCount;
            if (k < dims && point < end) parts[part] = __ldg(at);
        }
    }
    __device__ void put(Cost (&to)[kSlice][kCount]) const {
#pragma unroll
        for (uint32 part = 0; part < kParts; ++part) {
            const uint32 e = part * THREADS + threadIdx.x;
            to[e / kCount][e % kCount] = parts[part];
        }
    }
};

// The costs of a thread's pairs, computed from the points.
struct MyPairs {
    int64 line, position;  // the first ones
    Cost cost[kMine][kMyPositions];

    __device__ static uint32 apart(uint32 c) { return c / kGroup * (kGroup * kSquare) + c % kGroup; }
    template <bool kFirst, class Data>
    __device__ void add(TermList<>, const Data*, Slice (&)[2], int64, int64) {}
    template <bool kFirst, class Data, class One, class... Rest>
    __device__ void add(TermList<One, Rest...>, const Data* terms, Slice (&slices)[2], int64 lines, int64 positions) {
        const Data term = *terms;
        const Cost power = static_cast<Cost>(term.power);
        const uint32 dims = static_cast<uint32>(term.dims), y = threadIdx.x / kSquare, x = threadIdx.x % kSquare;
        Share<kLinesHere> of_lines = {};
        Share<kPositionsHere> of_positions = {};
        const auto take = [&](uint32 from) {
            of_lines.take(term.lines, term.line_stride, from, dims, line - kMine * y, lines);
            of_positions.take(term.positions, term.position_stride, from, dims, position - kGroup * x, positions);
        };
        Cost sum[kMine][kMyPositions] = {};
        take(0);
        for (uint32 from = 0, turn = 0; from < dims; from += kSlice, turn ^= 1) {
            Slice& slice = slices[turn];
            of_lines.put(slice.lines);
            of_positions.put(slice.positions);
            __syncthreads();  // all have also read the other slice, which is the next to be written
            take(from + kSlice);
            const auto add_one = [&](uint32 k) {
                add_dimension<One>(slice.lines[k] + kMine * y, slice.positions[k] + kGroup * x, power, sum);
            };
            if (from + kSlice <= dims) {
#pragma unroll(One::is_short ? 4 : 1)
                for (uint32 k = 0; k < kSlice; ++k) add_one(k);
            } else {
#pragma unroll 1
                for (uint32 k = 0; k < dims - from; ++k) add_one(k);
            }
        }
        __syncthreads();
#pragma unroll
        for (uint32 c = 0; c < kMyPositions; ++c) {
#pragma unroll
            for (uint32 r = 0; r < kMine; ++r) {
                Cost made = One::finished(sum[r][c], power);
                if constexpr (One::weighted) made = One::weighed(made, term);
                cost[r][c] = kFirst && !One::weighted ? made : cost[r][c] + made;
            }
        }
        add<false>(TermList<Rest...>{}, terms + 1, slices, lines, positions);
    }

    template <class One>
    __device__ static void add_dimension(const Cost* of_lines, const Cost* of_positions, Cost power,
                                         Cost (&sum)[kMine][kMyPositions]) {
        Cost a[kMine], b[kMyPositions];
#pragma unroll
        for (uint32 r = 0; r < kMine; ++r) a[r] = of_lines[r];
#pragma unroll
        for (uint32 c = 0; c < kMyPositions; ++c) b[c] = of_positions[apart(c)];
#pragma unroll
        for (uint32 c = 0; c < kMyPositions; ++c) {
#pragma unroll
            for (uint32 r = 0; r < kMine; ++r) sum[r][c] = One::added(sum[r][c], a[r], b[c], power, false);
        }
    }
};

// Examines a pair that the quick test did not decide.
LAPWING_NOINLINE __device__ void examine_pair(Found found, Dual c, Dual a, Dual b, int64 line, int64 position) {
    if (!is_certain(c, a, b)) examine(found, c, a, b, line, position);
}

// Compares the costs of a tile with the duals.
__device__ inline void check_tile(const Found& found, const Costs::Data& data, Slice (&slices)[2], MyPairs& mine,
                                  int64 end, int64 cols, bool negate, const Dual* u, const Dual* v) {
    for (auto& line : mine.cost) {
        for (Cost& cost : line) cost = 0;
    }
    mine.add<true>(Source::All{}, data.terms, slices, end, cols);
#pragma unroll
    for (uint32 r = 0; r < kMine; ++r) {
        const int64 i = mine.line + r;
        if (i >= end) break;
        const Dual a = negated(u[i], negate);
        const Margin margin = upward(a);
#pragma unroll
        for (uint32 c = 0; c < kMyPositions; ++c) {
            const int64 j = mine.position + MyPairs::apart(c);
            if (j >= cols) break;
            const Dual b = negated(v[j], negate);
            const Margin cost = negate ? -Margin(mine.cost[r][c]) : Margin(mine.cost[r][c]);
            if (!is_surely_positive(cost, margin, upward(b)))
                examine_pair(found, minimised(mine.cost[r][c], negate), a, b, i, j);
            require_violation(found, minimised(mine.cost[r][c], negate), a, b, i);
        }
    }
}

// Checks rows first .. first + count - 1, one tile per block. A long pass is several launches, so that it can be
// interrupted.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    certify_tiles(const Costs::Data* data, int64 first, int64 count, int64 rows, int64 cols, int64 maximize,
                  const Dual* u, const Dual* v, uint64* violations, uint64* summary, const int64* row_to_col,
                  uint32* owners) {
    __shared__ Slice slices[2];
    if (first == 0) claim_columns(row_to_col, rows, cols, owners);
    const Found found = {violations, summary + kInvalidCost};
    const int64 tiles_down = (count + kLinesHere - 1) / kLinesHere, end = first + count;
    MyPairs mine;
    mine.line = first + blockIdx.x % tiles_down * kLinesHere + threadIdx.x / kSquare * kMine;
    mine.position = blockIdx.x / tiles_down * (kTurns * kPositionsHere) + threadIdx.x % kSquare * kGroup;
#pragma unroll 1
    for (uint32 turn = 0; turn < kTurns; ++turn, mine.position += kPositionsHere)
        check_tile(found, *data, slices, mine, end, cols, maximize != 0, u, v);
}
