// Many rows of a matrix in memory, all of whose columns a team reads together.
//
// A block that reads one row also loads the price and the distance of every column, four times the bytes of a float32
// cost, through L2. Here a warp keeps those of 32 columns in registers and reads their costs in many rows, so that
// costs are nearly all that is loaded. Neighbouring warps read neighbouring columns of the same rows.
//
// Cost: every cost once, and of each row for every 32 columns what ReadRow holds.
#pragma once
#include "core/lists/listing.cuh"

// A row, and what is known of it in a search.
struct ReadRow {
    int32 row;          // kNone: there is none
    int32 own;          // its column, or kNone
    uint32 step;        // when its distance was set
    const Cost* costs;  // of its columns
    Dual distance, u;

    // That of a lane, in every lane.
    __device__ ReadRow from_lane(uint32 lane) const {
        return {__shfl_sync(kAllLanes, row, lane),      __shfl_sync(kAllLanes, own, lane),
                __shfl_sync(kAllLanes, step, lane),     costs_from_lane(lane),
                __shfl_sync(kAllLanes, distance, lane), __shfl_sync(kAllLanes, u, lane)};
    }
    __device__ const Cost* costs_from_lane(uint32 lane) const {
        return reinterpret_cast<const Cost*>(__shfl_sync(kAllLanes, reinterpret_cast<uint64>(costs), lane));
    }
};

// For every column of the matrix and each of `count` rows, of which row_at(index) tells, unless it is the row's own:
// take(row, cost as minimised), between open(column) and close(), in the thread of the column. open returns whether
// the column is wanted; beyond the last column it gets kNone. Where take returns true, note(row, cost) follows, whose
// code is there once. Then alone(row) for each row, in one thread, for what is not in the matrix. All threads of the
// team call it, and whole warps call all these functions alike, but for take and note.
template <class CostsOfMatrix, class RowAt, class Open, class Take, class Note, class Close, class Alone>
__device__ inline void read_full_rows(const CostsOfMatrix& of_matrix, const Team& team, uint32 count, RowAt row_at,
                                      Open open, Take take, Note note, Close close, Alone alone) {
    constexpr uint32 kAhead = Tuning::full_rows_ahead, kTogether = Tuning::full_rows_together;
    static_assert(kTogether % kWarp == 0 && kWarp % kAhead == 0);
    const Matrix& matrix = team.state.matrix;
    const uint32 lane = lane_index(), cols = matrix.real_cols(), groups = (cols + kWarp - 1) / kWarp,
                 items = groups * ((count + kTogether - 1) / kTogether);
    const auto row_of_lane = [&](uint32 base) {
        ReadRow row = {kNone, kNone, 0, nullptr, Dual(0), Dual(0)};
        if (base + lane < count) row = row_at(base + lane);
        if (row.row >= 0) row.costs = of_matrix.row(row.row);
        return row;
    };
    for (uint32 item = team.warp(); item < items; item += team.warps()) {
        const uint32 begin = item / groups * kTogether, end = begin + kTogether < count ? begin + kTogether : count,
                     j = item % groups * kWarp + lane;
        const bool wanted = open(j < cols ? static_cast<int32>(j) : kNone);
        if (!__any_sync(kAllLanes, wanted)) continue;
        ReadRow next = row_of_lane(begin);
        for (uint32 base = begin; base < end; base += kWarp) {
            const ReadRow mine = next;
            const uint32 here = end - base < kWarp ? end - base : kWarp;
            if (base + kWarp < end) next = row_of_lane(base + kWarp);
            for (uint32 first = 0; first < here; first += kAhead) {
                Cost costs[kAhead];
#pragma unroll
                for (uint32 k = 0; k < kAhead; ++k) {
                    const Cost* const row = mine.costs_from_lane(first + k < here ? first + k : first);
                    costs[k] = wanted ? row[j] : Cost{};
                }
                uint32 taken = 0;
#pragma unroll
                for (uint32 k = 0; k < kAhead; ++k) {
                    const ReadRow row = mine.from_lane(first + k);
                    const bool meets = wanted && first + k < here && row.own != static_cast<int32>(j);
                    if (meets && take(row, matrix.minimised(costs[k]))) taken |= 1u << k;
                }
                for (uint32 left = warp_or(taken); left != 0; left &= left - 1) {
                    const uint32 k = __ffs(static_cast<int>(left)) - 1;
                    const ReadRow row = mine.from_lane(first + k);
                    if ((taken >> k & 1) != 0) note(row, matrix.minimised(row.costs[j]));
                }
            }
        }
        close();
    }
    if (matrix.prices == nullptr) return;
    for (uint32 base = team.warp() * kWarp; base < count; base += team.threads()) alone(row_of_lane(base));
}
