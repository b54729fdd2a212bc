// Lists of computed costs: several rows a warp (core/lists/multi_row.cuh), by bounding boxes where there are any
// (core/lists/boxes.cuh).
#pragma once
#include "core/lists/multi_row.cuh"

#include "core/lists/listing.cuh"

// Lists the first `count` of refresh_rows again.
template <Pass pass>
LAPWING_NOINLINE __device__ void refresh_by_row_groups(const Team& team, uint32 count) {
    const State& state = team.state;
    constexpr uint32 n = rows_of_group(pass);
    const uint32 each = (count + team.blocks - 1) / team.blocks, parts = warps_of_row_group(kTeamWarps, n, each);
    const uint32 first = team.block() * each < count ? team.block() * each : count,
                 end = first + each < count ? first + each : count;
    for (uint32 begin = first; begin < end; begin += kTeamWarps / parts * n) {
        const auto row_of = [&](uint32 at) { return load_stable(state.refresh_rows + at); };
        for (bool guess = true; list_row_group<pass>(begin, end, parts, guess, row_of, [](int32, bool) {});)
            guess = false;
    }
}

struct Listing : ListingAtHand {
    using Places = PlacesInBoxes;

    __device__ static void refresh(const Team& team, uint32 count) {
        const Matrix& matrix = team.state.matrix;
        if (has_boxes(matrix)) {
            find_prices_in_boxes(team.state, team.block(), team.blocks);  // for whole rows, too
            team.sync();
            const uint64 pieces = static_cast<uint64>(matrix.rows) * piece_count(matrix.real_cols());
            if (__ldcg(&team.state.report->pieces_read) * CostTuning::seldom < pieces)
                return refresh_by_row_groups<Pass::near>(team, count);
        }
        refresh_by_row_groups<Pass::again>(team, count);
    }
    __device__ static void refresh_all(const Team& team, uint32 count) {
        refresh(team, count);
        team.sync();
    }
    __device__ static void refresh_one(const State&, const SearchRun&, int32) {}
};
