// Bounding boxes of points: visit only the positions that may be near a line. The positions are points in an order that
// places near points near each other (gpu/costs/spatial_order.py).
//
// `data` is followed by three more blocks. data[1] has the coordinates of the positions in that order, kPiece positions
// per box (the last box may have fewer). data[2] has the boxes: first the low corners, then the high ones. data[3] has
// outer boxes, each of kFan boxes, likewise. A box is skipped for a line if its least cost, minus the highest price in
// the box, exceeds the line's limit; so is an outer box, with all its boxes. For four million points in the plane, a
// line reads 1000 outer boxes, those inside a few of them, and the points of about ten boxes.
//
// A sample keeps this order. It has one position of each run, so a piece of kPiece sampled positions spans as many
// boxes as a run is long, and an outer piece of kFan pieces as many outer boxes.
#pragma once
#include "costs/computed.cuh"

// Whether positions are in boxes. Maximising has none, since it would need largest costs.
__device__ inline bool has_boxes(const Source::Block* data, bool maximize) {
    return Source::is_short && !maximize && data->neighbours.boxes > 0;
}
__device__ inline uint32 piece_count(int64 positions) { return static_cast<uint32>((positions + kPiece - 1) / kPiece); }
constexpr uint32 kFan = kWarp;  // boxes of an outer box (gpu/costs/spatial_order.py)
__device__ inline uint32 outer_count(uint32 pieces) { return (pieces + kFan - 1) / kFan; }

// The position at each place of the boxes, of all positions or of a sample.
struct BoxOrder {
    const int32* order;  // null: as it is
    __device__ BoxOrder(const Source::Block* data, int64 run)
        : order(run == 1 ? data->neighbours.positions : nullptr) {}
    __device__ int64 at(int64 place) const { return order == nullptr ? place : __ldg(order + place); }
};

// highest[g] = the highest price of the positions of piece g, rounded upwards; behind all pieces, those of the outer
// pieces. price(k): of position k. Blocks number `block` of `blocks` call it with all their threads; `scratch` is
// shared, a number for each warp.
template <class Price>
__device__ inline void price_pieces(const BoxOrder& order, int64 positions, uint32 block, uint32 blocks,
                                    Margin* scratch, Price price, Margin* highest) {
    const uint32 pieces = piece_count(positions), warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    const auto larger = [](Margin a, Margin b) { return a < b ? b : a; };
#pragma unroll 1
    for (uint32 outer = block; outer < outer_count(pieces); outer += blocks) {
        Margin all = -infinity<Margin>();
#pragma unroll 1
        for (uint32 g = outer * kFan + warp; g < pieces && g < (outer + 1) * kFan; g += warps) {
            Margin most = -infinity<Margin>();
#pragma unroll
            for (uint32 a = 0; a < kAhead; ++a) {
                const int64 place = static_cast<int64>(g) * kPiece + a * kWarp + lane_index();
                most = larger(most, place < positions ? price(order.at(place)) : -infinity<Margin>());
            }
            most = warp_reduce(most, larger);
            if (lane_index() == 0) __stcg(highest + g, most);
            all = larger(all, most);
        }
        if (lane_index() == 0) scratch[warp] = all;
        __syncthreads();
        if (warp == 0) {
            all = warp_reduce(lane_index() < warps ? scratch[lane_index()] : -infinity<Margin>(), larger);
            if (lane_index() == 0) __stcg(highest + pieces + outer, all);
        }
        __syncthreads();
    }
}

// The boxes of the pieces of some positions, or their outer boxes.
class Boxes {
  public:
    __device__ static Boxes inner(const Source::Block* data, int64 run) {
        return Boxes(data + 2, run, data->neighbours.boxes);
    }
    __device__ static Boxes outer(const Source::Block* data, int64 run) {
        return Boxes(data + 3, run, (data->neighbours.boxes + kFan - 1) / kFan);
    }

    // f(the least costs of lines) for every box that piece g spans.
    template <uint32 n, class F>
    __device__ void each_of_piece(const Source::Lines<n>& lines, uint32 g, F f) const {
        const int64 first = g * run_, end = first + run_;
        for (int64 box = first; box < end && box < all_; ++box) {
            Source::Position low, high;
            Cost least[n];
            corners_.load_position(box, low);
            corners_.load_position(all_ + box, high);
            corners_.least_costs(lines, low, high, least);
            f(least);
        }
    }
    // Whether a position of piece g, whose prices are at most `most`, may be within a limit.
    template <uint32 n>
    __device__ bool may_be_near(const Source::Lines<n>& lines, uint32 g, Margin most, const Margin (&limit)[n]) const {
        bool near = false;
        each_of_piece(lines, g, [&](const Cost(&least)[n]) {
#pragma unroll
            for (uint32 r = 0; r < n; ++r) near |= may_be_within(least[r], most, limit[r]);
        });
        return near;
    }

  private:
    __device__ Boxes(const Source::Block* corners, int64 run, int64 all) : corners_(corners), run_(run), all_(all) {}
    const Source corners_;
    const int64 run_, all_;
};

// The positions as they lie in the boxes.
__device__ inline Source in_boxes(const Source::Block* data, int64 run) { return Source(run == 1 ? data + 1 : data); }

// Visits, by whole boxes, all places of a part that may be within the limits: calls near and meet as walk does, with
// places in the boxes. `limit` may fall meanwhile. most(g): an upper bound of the prices of piece g, or behind all
// pieces of the outer pieces.
template <class Most, class Price, class Near, class Meet>
__device__ inline void walk_boxes(const Source::Block* data, const SourceLines& lines, const Positions& positions,
                                  Part share, const Margin (&limit)[kLines], Most most, Price price, Near near,
                                  Meet meet) {
    if (share.idle) return;
    const Source source = in_boxes(data, positions.run);
    const Boxes boxes = Boxes::inner(data, positions.run), outer = Boxes::outer(data, positions.run);
    const uint32 pieces = piece_count(positions.count), outers = outer_count(pieces);
    for (uint32 base = share.part; base < outers; base += share.parts * kWarp) {
        const uint32 mine = base + lane_index() * share.parts;
        const bool wanted = mine < outers && outer.may_be_near(lines, mine, most(pieces + mine), limit);
        for (uint32 left = __ballot_sync(kAllLanes, wanted); left != 0; left &= left - 1) {
            const uint32 first = (base + (__ffs(left) - 1) * share.parts) * kFan, g = first + lane_index();
            const bool inner_wanted = g < pieces && boxes.may_be_near(lines, g, most(g), limit);
            for (uint32 inner = __ballot_sync(kAllLanes, inner_wanted); inner != 0; inner &= inner - 1) {
                const int64 place = static_cast<int64>(first + __ffs(inner) - 1) * kPiece + lane_index();
                walk_piece<false>(source, lines, positions, place, price, near, meet);
            }
        }
    }
}

// For each line, of pieces begin ... end - 1 that with the least bound; of a warp. most(g): of piece g.
template <class Most>
__device__ inline void find_nearest(const Boxes& boxes, const SourceLines& lines, uint32 begin, uint32 end, Most most,
                                    uint32 (&at)[kLines]) {
    Margin nearest[kLines];
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) nearest[r] = infinity<Margin>(), at[r] = begin;
    for (uint32 g = begin + lane_index(); g < end; g += kWarp) {
        const Margin highest = most(g);
        boxes.each_of_piece(lines, g, [&](const Cost(&least)[kLines]) {
#pragma unroll
            for (uint32 r = 0; r < kLines; ++r) {
                const Margin bound = static_cast<Margin>(widened(least[r])) - highest;
                if (bound < nearest[r]) nearest[r] = bound, at[r] = g;
            }
        });
    }
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) {
        const Margin least = warp_reduce(nearest[r], [](Margin a, Margin b) { return b < a ? b : a; });
        const uint32 lanes = __ballot_sync(kAllLanes, nearest[r] == least);
        at[r] = __shfl_sync(kAllLanes, at[r], lanes == 0 ? 0 : __ffs(lanes) - 1);
    }
}
// For each line, a piece whose bound is small: the least in the outer piece whose bound is least. By one warp.
template <class Most>
__device__ inline void find_nearest_pieces(const Source::Block* data, const SourceLines& lines,
                                           const Positions& positions, Most most, uint32 (&at)[kLines]) {
    const Boxes boxes = Boxes::inner(data, positions.run), outer = Boxes::outer(data, positions.run);
    const uint32 pieces = piece_count(positions.count);
    uint32 outer_at[kLines], mine[kLines];
    find_nearest(outer, lines, 0, outer_count(pieces), [&](uint32 g) { return most(pieces + g); }, outer_at);
    uint32 opened = ~0u;
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) {
        if (outer_at[r] != opened) {  // mostly once, since lines of a warp are neighbours
            opened = outer_at[r];
            const uint32 first = opened * kFan, end = first + kFan;
            find_nearest(boxes, lines, first, end < pieces ? end : pieces, most, mine);
        }
        at[r] = mine[r];
    }
}
// Visits, for each line, a piece whose bound is small: to begin with limits that are nearly right. By one warp.
template <class Most, class Price, class Near, class Meet>
__device__ inline void walk_nearest_boxes(const Source::Block* data, const SourceLines& lines,
                                          const Positions& positions, Most most, Price price, Near near, Meet meet) {
    const Source source = in_boxes(data, positions.run);
    uint32 at[kLines];
    find_nearest_pieces(data, lines, positions, most, at);
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) {
        const int64 place = static_cast<int64>(at[r]) * kPiece + lane_index();
        if (r == 0 || at[r] != at[r - 1]) walk_piece<false>(source, lines, positions, place, price, near, meet);
    }
}
