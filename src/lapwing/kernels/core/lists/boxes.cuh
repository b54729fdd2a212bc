// Bounding boxes: visit only the positions that may be near a line. The positions are points in an order that places
// near points near each other (gpu/costs/spatial_order.py).
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

#include "core/control/team.cuh"

// Whether the columns are in boxes. Maximising has none, since it would need largest costs.
__device__ inline bool has_boxes(const Matrix& matrix) {
    return Source::is_short && !matrix.maximize && matrix.costs.data->neighbours.boxes > 0;
}
__device__ inline uint32 box_count(const Matrix& matrix) { return (matrix.real_cols() + kPiece - 1) / kPiece; }
// The column at each place of the boxes.
struct BoxOrder {
    const int32* order;  // null: as it is
    __device__ explicit BoxOrder(const Costs& costs)
        : order(costs.pitch == 1 ? costs.data->neighbours.positions : nullptr) {}
    __device__ int32 col(int64 k) const { return order == nullptr ? static_cast<int32>(k) : __ldg(order + k); }
};

// The highest price in each box, rounded upwards.
__device__ inline void price_boxes(const Team& team) {
    const State& state = team.state;
    const BoxOrder order(state.matrix.costs);
    team.each_by_warp(box_count(state.matrix), [&](uint32 g) {
        Margin most = -infinity<Margin>();
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
            const uint32 k = g * kPiece + a * kWarp + lane_index();
            if (k >= state.matrix.real_cols()) continue;
            const Margin price = upward(load_stable(state.v + order.col(k)));
            most = most < price ? price : most;
        }
        most = warp_reduce(most, [](Margin a, Margin b) { return a < b ? b : a; });
        if (lane_index() == 0) __stcg(state.listing_price + g, most);
    });
}

// Visits, by whole boxes, all positions k of a part that may be within the limits: calls near and meet as walk does.
// `limit` may fall meanwhile. box_price[g]: an upper bound of the prices in box g.
template <class Price, class Near, class Meet>
__device__ inline void walk_boxes(const Source::Block* data, const SourceLines& lines, const Positions& positions,
                                  Part share, const Margin* box_price, const Margin (&limit)[kLines], Price price,
                                  Near near, Meet meet) {
    if (share.idle) return;
    const Source in_order(positions.run == 1 ? data + 1 : data), corners(data + 2);
    const int64 all_boxes = data->neighbours.boxes;
    const uint32 pieces = static_cast<uint32>((positions.count + kPiece - 1) / kPiece);
    for (uint32 base = share.part * kWarp; base < pieces; base += share.parts * kWarp) {
        const uint32 g = base + lane_index();
        const Margin most = g < pieces ? load_stable(box_price + g) : Margin(0);
        const int64 first = g * positions.run, end = g < pieces ? first + positions.run : first;
        bool wanted = false;
        for (int64 box = first; box < end && box < all_boxes; ++box) {
            Source::Position low, high;
            Cost least[kLines];
            corners.load_position(box, low);
            corners.load_position(all_boxes + box, high);
            corners.least_costs(lines, low, high, least);
#pragma unroll
            for (uint32 r = 0; r < kLines; ++r) wanted |= may_be_within(least[r], most, limit[r]);
        }
        for (uint32 left = __ballot_sync(kAllLanes, wanted); left != 0; left &= left - 1) {
            const int64 place = static_cast<int64>(base + __ffs(left) - 1) * kPiece + lane_index();
            walk_piece<false>(in_order, lines, positions, place, price, near, meet);
        }
    }
}
