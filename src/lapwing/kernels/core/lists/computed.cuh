// Lists of computed costs: several rows a warp (core/lists/multi_row.cuh), by bounding boxes where there are any
// (core/lists/boxes.cuh).
#pragma once
#include "core/lists/multi_row.cuh"

#include "core/lists/reach.cuh"

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
        if (has_boxes(team.state.matrix)) {
            find_prices_in_boxes(team.state, team.block(), team.blocks);
            team.sync();
        }
        list(team, count);
    }
    // Finds prices in boxes, for whole rows, too. In refresh_rows, rows that bring no column nearer are left out.
    __device__ static uint32 leave_open(const Team& team, const SearchRun& run, uint32 count) {
        State& state = team.state;
        if (!has_boxes(state.matrix)) return count;
        find_prices_in_boxes(state, team.block(), team.blocks);
        if (has_reach(state.matrix)) find_reach(state, run.radius, run.radius, team.block(), team.blocks);
        team.sync();
        if (!has_reach(state.matrix)) return count;
        int32* const left = state.rows_at_work[0];  // of auctions
        team.each_by_warp(count, [&](uint32 at) {
            const int32 i = load_stable(state.refresh_rows + at);
            const Dual distance = load_stable(state.row_distance + i);
            const bool open = brings_nearer(state, i, {run.radius, distance, load_stable(state.u + i), true});
            append(team, left, &Counts::refresh, open && lane_index() == 0 ? i : kNone);
            if (!open && lane_index() == 0) note_certified(state, run, i, distance);
        });
        team.sync();
        count = present_count(team, &Counts::refresh);
        team.each(count, [&](uint32 at) { state.refresh_rows[at] = load_stable(left + at); });
        team.sync();
        return count;
    }
    __device__ static void refresh_all(const Team& team, uint32 count) {
        list(team, count);
        team.sync();
    }
    __device__ static void refresh_one(const State&, const SearchRun&, int32) {}
    __device__ static void before_parents(const Team& team, const SearchRun& run) {
        if (!has_reach(team.state.matrix)) return;
        find_reach(team.state, run.radius, 0, team.block(), team.blocks);
        team.sync();
    }

  private:
    __device__ static void list(const Team& team, uint32 count) {
        const Matrix& matrix = team.state.matrix;
        const uint64 pieces = static_cast<uint64>(matrix.rows) * piece_count(matrix.real_cols());
        if (has_boxes(matrix) && __ldcg(&team.state.report->pieces_read) * CostTuning::seldom < pieces)
            refresh_by_row_groups<Pass::near>(team, count);
        else
            refresh_by_row_groups<Pass::again>(team, count);
    }
};
