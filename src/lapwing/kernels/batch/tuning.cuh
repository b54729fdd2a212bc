// The tuning numbers of the batch kernels. A number that depends on a block's threads is computed from these beside its
// use. gpu/batch/plan.py reads `most_threads` from this file (gpu/runtime/tuning.py).
#pragma once
#include "common/common.cuh"

struct BatchTuning {
    // --- a few lanes a problem (batch/lanes.cu) ---
    static constexpr int32 lane_rounds = 3;       // of bids, before searches
    static constexpr int32 lane_columns = 4;      // looked at in a step of a search
    static constexpr int32 most_lane_loads = 16;  // in flight of a lane

    // --- a block a problem ---
    static constexpr int32 most_threads = 512;               // of a block
    static constexpr int32 fill_loads = 8;                   // in flight of a thread that fills shared memory
    static constexpr int32 column_loads = 16;                // in flight of a thread that reduces columns
    static constexpr int32 free_rows = 4, free_columns = 4;  // the same, of free rows
    static constexpr int32 only_bids = 4;  // a row, where the problem is not square: searches match few rows there
    static constexpr int32 many_free = 7;  // one row of so many, after the first bids

    // --- phases of the auction (batch/phases.cuh) ---
    static constexpr int32 phases = 3;        // the first epsilon is as many raises as there are columns, the next ...
    static constexpr int32 epsilon_bits = 2;  // ... is smaller by so many bits
    static constexpr int32 round_rows = 4;    // rows for each round of a phase
    static constexpr int32 least_rounds = 8;

    // --- searches (batch/search.cuh) ---
    static constexpr int32 warp_frontier = 4;     // rows of a warp in a step, at most
    static constexpr int32 frontier_at_once = 4;  // rows whose costs a thread loads together
    static constexpr int32 root_share = 5;        // one root of so many is to reach a free column before a search ends
};
