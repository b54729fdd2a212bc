// Costs computed whenever they are read, by one `Source` per compiled program. gpu/costs/computed.py inserts the text
// that names it: the Source for points (costs/points.cuh) or for the user's function (costs/function.cuh).
//
//   Source::Block                  the data in memory; a second block has lines and positions exchanged, for the
//                                  transposed problem
//   Source::Lines<n>, Position     a thread's data of n lines, and of one position in them
//   source.costs(lines, position, out)   their n costs, with the same bits for any n
//
// A line is a row or, with exchanged blocks, a column. A pass over all positions of many lines is a walk: a warp has
// kLines lines in registers, and its lanes take kWarp adjacent positions. A quick test in the costs' own precision
// (Margin) discards nearly all pairs. All warps of a block are at nearly the same positions at a time, so that
// coordinates come from L1.
//
// Cost of a pair of points in the plane, float32: 5 operations for the squared distance, 2 for the test, and a quarter
// of 3 loads and their addresses. That is 10.6 instructions of sm_90 in core/lists/multi_row.cuh.
#pragma once
#include "costs/costs.cuh"
#include "costs/tuning.cuh"
#include "source"

constexpr uint32 kLines = CostTuning::lines;                                   // at once, by a warp
constexpr uint32 kAhead = Source::is_short ? CostTuning::positions_ahead : 1;  // positions of a lane in flight
constexpr uint32 kPiece = kWarp * kAhead;                                      // positions of a warp at once
constexpr uint32 kPiecesTogether = CostTuning::walk_positions / kPiece;  // between barriers that keep warps together

using SourceLines = Source::Lines<kLines>;

// The cost of line i and position j of the source. It is not inlined, since it has many callers, and none calls it
// often.
LAPWING_NOINLINE __device__ Cost one_cost(const Source::Block* block, int64 i, int64 j) {
    const Source source(block);
    const int64 index[1] = {i};
    Source::Lines<1> line;
    Source::Position position;
    Cost cost[1];
    source.load(index, line);
    source.load_position(j, position);
    source.costs(line, position, cost);
    return cost[0];
}

// --- the quick test -----------------------------------------------------------------------------------------------

template <class C>
struct MarginOf {
    using type = typename DualOf<C>::type;
};
template <>
struct MarginOf<float> {
    using type = float;
};
using Margin = MarginOf<Cost>::type;  // numbers that the test compares: upper bounds of sums of duals

__device__ inline Margin upward(Dual x) {
    if constexpr (sizeof(Margin) < sizeof(Dual))
        return __double2float_ru(x);
    else
        return x;
}
// Rounds a limit upwards, to at least the next number, so that differences rounded to the limit stay within it.
__device__ inline Margin limit_upward(Dual limit) {
    if constexpr (sizeof(Margin) < sizeof(Dual))
        return __fadd_ru(__double2float_ru(limit), 1.401298464324817e-45f);
    else
        return limit;
}
// False only if cost - price, in the arithmetic of duals, is above the limit. True for NaN.
__device__ inline bool may_be_within(Margin cost, Margin price, Margin limit) {
    if constexpr (sizeof(Margin) < sizeof(Dual))
        return !(cost > __fadd_ru(price, limit));
    else
        return !(cost - price > limit);
}

struct Costs {
    static constexpr bool may_have_dummies = true;
    static constexpr bool is_in_memory = false, is_computed = true, is_on_host = false, is_sparse = false,
                          is_short = Source::is_short;
    using Data = Source::Block;
    const Data* data;
    int64 pitch;  // of a sample of rows and columns: its run

    __device__ int64 row(int64 i) const { return pitch == 1 ? i : sampled(i, pitch, kRowSalt, data->neighbours.lines); }
    __device__ int64 col(int64 j) const {
        return pitch == 1 ? j : sampled(j, pitch, kColSalt, data->neighbours.positions);
    }
    __device__ Cost at(int64 i, int64 j) const { return one_cost(data, row(i), col(j)); }
    __device__ bool has(int32, int32) const { return true; }
    __device__ int32 places(int32, int32 real_cols) const { return real_cols; }
    __device__ int32 col_of(int32, int32 place) const { return place; }
    __device__ Cost at_place(int32 i, int32 place) const { return at(i, place); }
    __device__ int64 sample_row(int64 k, int64 run) const { return Costs{data, run}.row(k); }
    __device__ int64 sample_col(int64 k, int64 run) const { return Costs{data, run}.col(k); }

    class Row {
      public:
        __device__ Row(const Costs& costs, int32 i) : costs_(costs), source_(costs.data) {
            const int64 index[1] = {costs.row(i)};
            source_.load(index, line_);
        }
        template <uint32 n>
        __device__ void load(const int32 (&col)[n], Cost (&out)[n]) const {
            Source::Position position[n];
#pragma unroll
            for (uint32 k = 0; k < n; ++k) source_.load_position(costs_.col(col[k]), position[k]);
#pragma unroll
            for (uint32 k = 0; k < n; ++k) {
                Cost made[1];
                source_.costs(line_, position[k], made);
                out[k] = made[0];
            }
        }

      private:
        const Costs& costs_;
        const Source source_;
        Source::Lines<1> line_;
    };

    using ListingPrice = Margin;  // prices in bounding boxes (costs/boxes.cuh)
};

// --- walking ------------------------------------------------------------------------------------------------------

// Positions 0 .. count - 1 of the source, or of a sample of it.
struct Positions {
    int64 count, run;
    uint32 salt;
    const int32* order;
    __device__ int64 at(int64 k) const { return run == 1 ? k : sampled(k, run, salt, order); }
};

// One lane's share of a piece: for kAhead positions their prices, and the costs of the warp's n lines.
template <uint32 n>
struct PieceOf {
    Margin price[kAhead];
    Cost cost[kAhead][n];
};
using Piece = PieceOf<kLines>;
// The positions whose cost may be within its line's limit, one bit each. `maximize` is tested once instead of for every
// pair.
template <uint32 n>
__device__ inline uint32 near_positions(const PieceOf<n>& piece, const Margin (&limit)[n], bool maximize) {
    bool near[kAhead] = {};
    if (maximize) {
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
#pragma unroll
            for (uint32 r = 0; r < n; ++r) near[a] |= may_be_within(-piece.cost[a][r], piece.price[a], limit[r]);
        }
    } else {
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
#pragma unroll
            for (uint32 r = 0; r < n; ++r) near[a] |= may_be_within(piece.cost[a][r], piece.price[a], limit[r]);
        }
    }
    uint32 bits = 0;
#pragma unroll
    for (uint32 a = 0; a < kAhead; ++a) bits |= static_cast<uint32>(near[a]) << a;
    return bits;
}

// One piece of a walk. `whole`: it has kPiece positions, which are adjacent in the source.
template <bool whole, uint32 n, class Price, class Near, class Meet>
__device__ inline void walk_piece(const Source& source, const Source::Lines<n>& lines, const Positions& positions,
                                  int64 first, Price price, Near near, Meet meet) {
    PieceOf<n> piece;
    uint32 there = 0;
    int64 at[kAhead];
#pragma unroll
    for (uint32 a = 0; a < kAhead; ++a) {
        const int64 k = first + a * kWarp;
        const bool inside = whole || k < positions.count;
        there |= static_cast<uint32>(inside) << a;
        at[a] = whole ? k : positions.at(inside ? k : 0);
    }
    Source::Position position[kAhead];
#pragma unroll
    for (uint32 a = 0; a < kAhead; ++a) {
        source.load_position(at[a], position[a]);
        piece.price[a] = price(there >> a & 1 ? first + a * kWarp : 0);
    }
#pragma unroll
    for (uint32 a = 0; a < kAhead; ++a) source.costs(lines, position[a], piece.cost[a]);
    const uint32 wanted = near(piece) & there;
    if (!__any_sync(kAllLanes, wanted != 0)) return;
#pragma unroll 1
    for (uint32 a = 0; a < kAhead; ++a) {
        const bool mine = wanted >> a & 1;
        if (__any_sync(kAllLanes, mine)) meet(first + a * kWarp, mine);
    }
}

// The positions of a warp: one of `parts` parts of equal size. An idle warp takes part in barriers only.
struct Part {
    uint32 part, parts;
    bool idle;
};

// Visits all positions k of a part, in a scattered order. near(piece), whose prices are price(k), returns the positions
// of the lane that may matter, one bit each. If any lane has such a position, all lanes of the warp call meet(k,
// whether this lane's position may matter). All warps of the block walk at once.
template <class Price, class Near, class Meet>
__device__ inline void walk(const Source& source, const SourceLines& lines, const Positions& positions, Part share,
                            Price price, Near near, Meet meet) {
    const uint32 pieces = static_cast<uint32>((positions.count + kPiece - 1) / kPiece);
    uint32 stride = static_cast<uint32>(pieces * 0.6180339887) | 1;  // prime to their number: every piece comes once
    for (;; stride += 2) {
        uint32 a = pieces, b = stride % pieces;
        while (b != 0) {
            const uint32 rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) break;
    }
    uint32 piece = static_cast<uint32>(static_cast<uint64>(stride) * share.part % pieces);
    stride = static_cast<uint32>(static_cast<uint64>(stride) * share.parts % pieces);
    const uint32 whole = positions.run == 1 ? static_cast<uint32>(positions.count / kPiece) : 0;
    const uint32 rounds = (pieces + share.parts - 1) / share.parts;
    const uint32 mine = share.idle || share.part >= pieces ? 0 : (pieces - share.part - 1) / share.parts + 1;
    for (uint32 n = 0; n < rounds; ++n) {
        const int64 first = static_cast<int64>(piece) * kPiece + lane_index();
        if (n < mine && piece < whole)
            walk_piece<true, kLines>(source, lines, positions, first, price, near, meet);
        else if (n < mine)
            walk_piece<false, kLines>(source, lines, positions, first, price, near, meet);
        piece = piece >= pieces - stride ? piece - (pieces - stride) : piece + stride;
        if (n % kPiecesTogether == kPiecesTogether - 1) __syncthreads();
    }
}
