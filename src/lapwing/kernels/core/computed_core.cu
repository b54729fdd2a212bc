// The core method (core/core.cu) for costs computed on demand. In list_rows a group of warps takes kLines rows at once.
// core/start/computed_start.cu sets the prices.
#include "core/lists/computed.cuh"

#include "core/complete.cuh"
#include "core/solve.cuh"
#include "core/ties.cuh"

// Lists `count` rows from row `first` on. A long pass is several launches, so that it can be interrupted.
extern "C" __global__ void __launch_bounds__(256) list_rows(LAPWING_PROBLEM, int64 first, int64 count) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const uint32 warps = blockDim.x / kWarp, each = static_cast<uint32>((count + gridDim.x - 1) / gridDim.x);
    const uint32 parts = warps_of_row_group(warps, each), at_once = warps / parts * kLines;
    const uint32 end = static_cast<uint32>(first + count);
    for (uint32 begin = static_cast<uint32>(first) + blockIdx.x * at_once; begin < end; begin += gridDim.x * at_once) {
        const auto row_of = [](uint32 at) { return static_cast<int32>(at); };
        const auto met = [&](int32 i, bool invalid) { note_listed(state, i, invalid); };
        for (bool guess = true; list_row_group<Pass::fresh>(begin, end, parts, guess, row_of, met);) guess = false;
    }
}
