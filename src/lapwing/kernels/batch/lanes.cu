// Problems of at most 32 rows and columns: G = 8, 16 or 32 lanes of a warp solve one problem, and a warp solves 32 / G
// at once.
//
// Method: Jonker and Volgenant (Computing 38, 1987; cpp/include/lapwing/jv/jv.inc.hpp), in parallel:
//   1. Column reduction (square problems): one lane a column.
//   2. Augmenting row reduction: one lane a row. All free rows bid at once under the same prices; the best bid for a
//      column wins, the lower row among equals. BatchTuning::lane_rounds rounds halve the steps of the searches; more
//      gain nothing.
//   3. Shortest augmenting paths, one free row after the other: one lane a column, with its price, distance and partner
//      in registers. A step is a chain of latencies: the smallest distance (one 32-bit reduction of its high word; the
//      low word and the preference for free columns decide among equals), its lane (a vote), that lane's values
//      (shuffles), the costs of its row (one load from shared memory), the new distances. A problem that has a warp to
//      itself (G = 32) relaxes by four columns a step, which share these latencies.
// The problems of a warp advance together, and a warp ends with its hardest problem. Blocks are small, and the hardware
// queues them.
//
// Cost: every cost is read once, 16 loads of a lane in flight; 8 (G + 1) bytes of shared memory a row; no barrier of
// the block. On an H200 (1.98 GHz) a reduction takes 48 cycles, a shuffle 39, a vote 29, a load from shared memory 33,
// and a warp alone issues an instruction every four cycles. The hardest of a thousand 32 x 32 problems takes 104 steps
// of one column and 56 of four if costs are uniform, 210 and 140 if they are geometric, 48 and 18 if they are integers
// up to 3.
#include "batch/lane_answer.cuh"
#include "batch/lane_search.cuh"

template <int32 G>
__device__ void solve_in_lanes(const Batch& batch) {
    constexpr int32 kProblems = WARPS * 32 / G;  // in a block
    __shared__ LaneMemory<G> memory[kProblems];
    const int32 place = static_cast<int32>(threadIdx.x) / G;
    LaneSolver<G>(batch, memory[place], blockIdx.x * static_cast<int64>(kProblems) + place).solve();
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) solve_in_8_lanes(BATCH_PARAMETERS) {
    solve_in_lanes<8>(Batch{BATCH_ARGUMENTS});
}
extern "C" __global__ void __launch_bounds__(32 * WARPS) solve_in_16_lanes(BATCH_PARAMETERS) {
    solve_in_lanes<16>(Batch{BATCH_ARGUMENTS});
}
extern "C" __global__ void __launch_bounds__(32 * WARPS) solve_in_32_lanes(BATCH_PARAMETERS) {
    solve_in_lanes<32>(Batch{BATCH_ARGUMENTS});
}
