// The tuning numbers of computed costs. Python reads some of them from this file (gpu/runtime/tuning.py), so each of
// these is a plain integer: they are marked (Python).
#pragma once
#include "common/common.cuh"

struct CostTuning {
    static constexpr uint32 most_held = 8;          // coordinates of a point in registers (Python)
    static constexpr uint32 lines = 4;              // rows of a warp at once (Python)
    static constexpr uint32 positions_ahead = 4;    // positions in flight of a lane, for short programs (Python)
    static constexpr uint32 walk_positions = 1024;  // of a warp between barriers that keep warps at the same positions
};
