// The nearest and the second nearest column of rows, in float. This takes a third of the instructions of Dual, and is
// precise enough for phases (batch/phases.cuh).
//
// The last bits of a float hold the index of the column within its lane, so that the two minima take four instructions
// a pair. These bits keep an infinity or turn it into a NaN; the minima ignore both.
#pragma once

#include "batch/state.cuh"

constexpr uint32 kPlace = COLUMNS / 32 - 1;          // the bits
constexpr float kRoughly = 0x1p-22f * (kPlace + 1);  // of a float, what it may be off by for them and for roundings

__device__ inline float marked(float x, uint32 place) { return __uint_as_float(__float_as_uint(x) & ~kPlace | place); }

// A row's cost - price of its nearest column and of its second nearest, infinity if there is none; kFree: it has no
// column.
struct Nearest {
    float least, second;
    int32 column;
};

// By a warp: of row r in lane r. `prices`: rounded, by column.
template <int32 kColumns, int32 kRows, class Team>
__device__ inline Nearest find_nearest(const Team& team, const int32 (&row)[kRows], const float* prices) {
    float least[kRows], second[kRows];
#pragma unroll
    for (int32 r = 0; r < kRows; ++r) least[r] = second[r] = infinity<float>();
    for (int32 begin = team.lane; begin - team.lane < team.cols; begin += 32 * kColumns) {
        Stored costs[kRows][kColumns];
        team.load(row, begin, costs);
#pragma unroll
        for (int32 k = 0; k < kColumns; ++k) {
            const int32 j = begin + 32 * k;
            const float price = j < team.cols ? prices[j] : -infinity<float>();
#pragma unroll
            for (int32 r = 0; r < kRows; ++r) {
                const float x = marked(static_cast<float>(costs[r][k]) - price, static_cast<uint32>(j) / 32);
                second[r] = lesser_number(second[r], larger_or_nan(least[r], x));
                least[r] = lesser_number(least[r], x);
            }
        }
    }
    // Without branches, so that several rows are in flight.
    int32 low = 0, next = 0, lane = 0;
#pragma unroll
    for (int32 r = 0; r < kRows; ++r) {
        const int32 mine = order_of(least[r]), all = warp_min(mine);
        const int32 holder = __ffs(static_cast<int32>(__ballot_sync(kAllLanes, mine == all))) - 1;
        const int32 other = warp_min(team.lane == holder ? order_of(second[r]) : mine);
        low = team.lane == r ? all : low;
        next = team.lane == r ? other : next;
        lane = team.lane == r ? holder : lane;
    }
    const uint32 place = __float_as_uint(of_order(low)) & kPlace;
    const float nearest = marked(of_order(low), 0);
    const bool has = fabsf(nearest) < infinity<float>();
    return {nearest, marked(of_order(next), 0), has ? static_cast<int32>(place) * 32 + lane : kFree};
}
