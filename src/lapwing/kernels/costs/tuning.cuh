// The tuning numbers of computed costs. Python reads some of them from this file (gpu/runtime/tuning.py), so each of
// these is a plain integer: they are marked (Python).
#pragma once
#include "common/common.cuh"

struct CostTuning {
    static constexpr uint32 most_held = 8;        // coordinates of a point in registers (Python)
    static constexpr uint32 lines = 4;            // rows of a warp at once (Python)
    static constexpr uint32 positions_ahead = 4;  // positions in flight of a lane, for short programs (Python)
    static constexpr uint32 fan = 32;             // boxes of an outer box, one for each lane (Python)
    // Rows are listed again by boxes if the first lists read less than one of so many boxes. By boxes a warp has one
    // row and waits for each box; over all columns it has four, and the warps of a block share what they read.
#ifdef LAPWING_EMULATION
    static constexpr uint32 seldom = 2;  // both ways occur where boxes are few
#else
    static constexpr uint32 seldom = 16;
#endif
    static constexpr uint32 walk_positions = 1024;  // of a warp between barriers that keep warps at the same positions
};

// The kernel that writes the costs of points to a matrix (costs/points_matrix.cu). A block of tile_side x tile_side
// threads makes a tile of costs, some of them in the registers of each thread. A dimension takes a thread 4 loads of
// shared memory for 64 float32 costs, of which each takes three operations: sums bound the kernel, not loads.
struct TileTuning {
    static constexpr uint32 tile_side = 16;          // threads (Python)
    static constexpr uint32 own_lines = 8;           // of a thread, of costs of 4 bytes (Python); half of 8 bytes
    static constexpr uint32 own_positions = 8;       // of a thread (Python)
    static constexpr uint32 tile_depth = 8;          // dimensions in half of the shared memory
    static constexpr uint32 dimensions_at_once = 4;  // unrolled, of metrics with little code
};
