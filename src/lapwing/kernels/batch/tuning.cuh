// The tuning numbers of the batch kernels. Numbers that depend on the threads of a block are computed from these where
// they are used. gpu/batch/plan.py reads `most_threads` from this file (gpu/runtime/tuning.py).
#pragma once
#include "common/common.cuh"

struct BatchTuning {
    // --- a few lanes a problem (batch/lanes.cu) ---
    static constexpr int32 lane_rounds = 3;       // of bids, before searches
    static constexpr int32 lane_columns = 4;      // columns relaxed by in a step of a search
    static constexpr int32 most_lane_loads = 16;  // loads in flight per lane

    // --- a block a problem ---
    static constexpr int32 most_threads = 512;               // of a block
    static constexpr int32 fill_loads = 8;                   // loads in flight per thread that fills shared memory
    static constexpr int32 column_loads = 16;                // loads in flight per thread that reduces columns
    static constexpr int32 free_rows = 4, free_columns = 4;  // the same, for free rows
    static constexpr int32 only_bids = 4;  // bids per row of a rectangular problem, where searches match few rows
    // costs have structure if more than one row of so many is free after the first bids
    static constexpr int32 many_free = 7;

    // --- phases of the auction (batch/phases.cuh) ---
    static constexpr int32 phases = 3;  // the first epsilon is the mean raise times the number of columns, the next ...
    static constexpr int32 epsilon_bits = 2;  // ... is smaller by so many bits
    static constexpr int32 round_rows = 4;    // rows for each round of a phase
    static constexpr int32 least_rounds = 8;

    // --- searches (batch/search.cuh) ---
    static constexpr int32 warp_frontier = 4;     // rows of a warp in a step, at most
    static constexpr int32 frontier_at_once = 4;  // rows whose costs a thread loads together
    static constexpr int32 root_share = 5;        // a search ends when one root of so many has reached a free column
};
