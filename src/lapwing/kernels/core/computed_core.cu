// The core method (core/core.cu) for costs computed on demand. In list_rows a group of warps takes some rows at once.
// core/start/computed_start.cu sets the prices.
#include "core/lists/computed.cuh"

#include "core/complete.cuh"
#include "core/solve.cuh"
#include "core/ties.cuh"

// Lists `count` rows from row `first` on. A long pass is several launches, so that it can be interrupted.
extern "C" __global__ void __launch_bounds__(256) list_rows(LAPWING_PROBLEM, int64 first, int64 count) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const uint32 warps = blockDim.x / kWarp, each = static_cast<uint32>((count + gridDim.x - 1) / gridDim.x);
    const uint32 end = static_cast<uint32>(first + count);
    const bool is_boxed = has_boxes(state.matrix);
    const uint32 in_group = rows_of_group(is_boxed ? Pass::boxed : Pass::fresh),
                 parts = warps_of_row_group(warps, in_group, each), at_once = warps / parts * in_group;
    const Costs& of_rows = state.matrix.costs;
    // Rows of a block are then near each other.
    const int32* order = is_boxed && of_rows.pitch == 1 ? of_rows.data->neighbours.lines : nullptr;
    for (uint32 begin = static_cast<uint32>(first) + blockIdx.x * at_once; begin < end; begin += gridDim.x * at_once) {
        const auto row_of = [=](uint32 at) { return order == nullptr ? static_cast<int32>(at) : order[at]; };
        const auto met = [&](int32 i, bool invalid) { note_listed(state, i, invalid); };
        const auto list = [&](bool guess) {
            return is_boxed ? list_row_group<Pass::boxed>(begin, end, parts, guess, row_of, met)
                            : list_row_group<Pass::fresh>(begin, end, parts, guess, row_of, met);
        };
        if (list(true)) list(false);
    }
}

// Runs before every listing of points in order: prices in boxes.
extern "C" __global__ void __launch_bounds__(256) price_boxes(LAPWING_PROBLEM) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    if (has_boxes(state.matrix)) find_prices_in_boxes(state, blockIdx.x, gridDim.x);
}
