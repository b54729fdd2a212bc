// Bounding boxes of points: visit only the positions that may be near a line. The positions are points in an order that
// places near points near each other (gpu/costs/spatial_order.py).
//
// `data` is followed by two more blocks. data[1] has the coordinates of the positions in that order, kPiece positions
// per box (the last box may have fewer). data[2] has the boxes: first the low corners, then the high ones. A box is
// skipped for a line if its least cost, minus the highest price in the box, exceeds the line's limit. For a million
// points in the plane, a line reads all boxes (1/128 of the number of points) and the points of about ten boxes.
//
// A sample keeps this order. It has one position of each run, so a piece of kPiece sampled positions spans as many
// boxes as a run is long.
#pragma once
#include "costs/computed.cuh"

// Whether positions are in boxes. Maximising has none, since it would need largest costs.
__device__ inline bool has_boxes(const Source::Block* data, bool maximize) {
    return Source::is_short && !maximize && data->neighbours.boxes > 0;
}
__device__ inline uint32 piece_count(int64 positions) { return static_cast<uint32>((positions + kPiece - 1) / kPiece); }

// The position at each place of the boxes, of all positions or of a sample.
struct BoxOrder {
    const int32* order;  // null: as it is
    __device__ BoxOrder(const Source::Block* data, int64 run)
        : order(run == 1 ? data->neighbours.positions : nullptr) {}
    __device__ int64 at(int64 place) const { return order == nullptr ? place : __ldg(order + place); }
};

// highest[g] = the highest price of the positions of piece g, rounded upwards; each of `warps` warps takes the pieces
// from its own number on. price(k): of position k.
template <class Price>
__device__ inline void price_pieces(const BoxOrder& order, int64 positions, uint32 warp, uint32 warps, Price price,
                                    Margin* highest) {
#pragma unroll 1
    for (uint32 g = warp; g < piece_count(positions); g += warps) {
        Margin most = -infinity<Margin>();
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
            const int64 place = static_cast<int64>(g) * kPiece + a * kWarp + lane_index();
            const Margin mine = place < positions ? price(order.at(place)) : -infinity<Margin>();
            most = most < mine ? mine : most;
        }
        most = warp_reduce(most, [](Margin a, Margin b) { return a < b ? b : a; });
        if (lane_index() == 0) __stcg(highest + g, most);
    }
}

// The boxes of the pieces of some positions.
class Boxes {
  public:
    __device__ Boxes(const Source::Block* data, int64 run)
        : corners_(data + 2), run_(run), all_(data->neighbours.boxes) {}

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
    const Source corners_;
    const int64 run_, all_;
};

// The positions as they lie in the boxes.
__device__ inline Source in_boxes(const Source::Block* data, int64 run) { return Source(run == 1 ? data + 1 : data); }

// Visits, by whole boxes, all places of a part that may be within the limits: calls near and meet as walk does, with
// places in the boxes. `limit` may fall meanwhile. most(g): an upper bound of the prices of piece g.
template <class Most, class Price, class Near, class Meet>
__device__ inline void walk_boxes(const Source::Block* data, const SourceLines& lines, const Positions& positions,
                                  Part share, const Margin (&limit)[kLines], Most most, Price price, Near near,
                                  Meet meet) {
    if (share.idle) return;
    const Source source = in_boxes(data, positions.run);
    const Boxes boxes(data, positions.run);
    const uint32 pieces = piece_count(positions.count);
    for (uint32 base = share.part * kWarp; base < pieces; base += share.parts * kWarp) {
        const uint32 g = base + lane_index();
        const bool wanted = g < pieces && boxes.may_be_near(lines, g, most(g), limit);
        for (uint32 left = __ballot_sync(kAllLanes, wanted); left != 0; left &= left - 1) {
            const int64 place = static_cast<int64>(base + __ffs(left) - 1) * kPiece + lane_index();
            walk_piece<false>(source, lines, positions, place, price, near, meet);
        }
    }
}
// Visits, for each line, the piece whose bound is least: to begin with limits that are nearly right. By one warp.
template <class Most, class Price, class Near, class Meet>
__device__ inline void walk_nearest_boxes(const Source::Block* data, const SourceLines& lines,
                                          const Positions& positions, Most most, Price price, Near near, Meet meet) {
    const Source source = in_boxes(data, positions.run);
    const Boxes boxes(data, positions.run);
    const uint32 pieces = piece_count(positions.count);
    Margin nearest[kLines];
    uint32 at[kLines];
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) nearest[r] = infinity<Margin>(), at[r] = 0;
    for (uint32 g = lane_index(); g < pieces; g += kWarp) {
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
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) {
        const int64 place = static_cast<int64>(at[r]) * kPiece + lane_index();
        if (r == 0 || at[r] != at[r - 1]) walk_piece<false>(source, lines, positions, place, price, near, meet);
    }
}
