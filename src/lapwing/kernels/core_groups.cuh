// Walking only where it may matter: a line's near positions, where positions are points in groups of neighbours (gpu/neighbours.py).
//
// `data` is followed by two more blocks: data[1] has the positions' coordinates in the order of the groups, kPiece of them in
// each (the last may have fewer); data[2] has the groups' boxes: low corners first, then high ones. A group whose box's least cost,
// less the highest price in the group, is above a line's limit has nothing for that line. So of a million points in the plane a
// line looks at all boxes, which are 1/128 as many, and at the points of some ten.
#pragma once
#include "core_lists.cuh"

#ifdef COMPUTED

// Whether the columns are in groups. Those of samples are not, and who maximises would need largest costs.
__device__ inline bool is_grouped(const Matrix& matrix) {
    return Source::is_short && matrix.costs.pitch == 1 && !matrix.maximize && matrix.costs.data->neighbours.groups > 0;
}

// The highest price in each group, rounded upwards.
__device__ inline void price_groups(const Team& team) {
    const State& state = team.state;
    const Neighbours neighbours = state.matrix.costs.data->neighbours;
    team.each_by_warp(static_cast<uint32>(neighbours.groups), [&](uint32 g) {
        Margin most = -infinity<Margin>();
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
            const uint32 k = g * kPiece + a * kWarp + lane_index();
            if (k >= state.matrix.real_cols()) continue;
            const Margin price = upward(settled(state.v + __ldg(neighbours.positions + k)));
            most = most < price ? price : most;
        }
        most = warp_reduce(most, [](Margin a, Margin b) { return a < b ? b : a; });
        if (lane_index() == 0) __stcg(state.highest + g, most);
    });
}

// Over all positions k of the groups in a part that may be within the limits, by whole groups: calls near and meet as walk does. `limit`
// may fall meanwhile. highest[g]: not below any price in group g.
template <class Price, class Near, class Meet>
__device__ inline void walk_groups(const Source::Block* data, const SourceLines& lines, const Positions& positions,
                                   Part share, const Margin* highest, const Margin (&limit)[kLines], Price price,
                                   Near near, Meet meet) {
    if (share.idle) return;
    const Source in_order(data + 1), boxes(data + 2);
    const uint32 groups = static_cast<uint32>(data->neighbours.groups);
    for (uint32 base = share.part * kWarp; base < groups; base += share.parts * kWarp) {
        const uint32 g = base + lane_index();
        bool wanted = false;
        if (g < groups) {
            Source::Position low, high;
            Cost least[kLines];
            boxes.load_position(g, low);
            boxes.load_position(groups + g, high);
            boxes.least_costs(lines, low, high, least);
            const Margin most = settled(highest + g);
#pragma unroll
            for (uint32 r = 0; r < kLines; ++r) wanted |= may_be_within(least[r], most, limit[r]);
        }
        for (uint32 left = __ballot_sync(kAllLanes, wanted); left != 0; left &= left - 1) {
            const int64 first = static_cast<int64>(base + __ffs(left) - 1) * kPiece + lane_index();
            walk_piece<false>(in_order, lines, positions, first, price, near, meet);
        }
    }
}

#endif
