// Copies matrices that cannot be used in place (another type, sign, layout or orientation) to the form that
// batch/memory.cu solves. One tile per block; one coalesced read and one coalesced write of each cost; one barrier.
#include "batch/batch.cuh"

constexpr int32 kTile = kWarp;

// Block x stages tile x % tiles of problem x / tiles, where `tiles` is enough for the largest.
__device__ inline void stage_tile(const Batch& batch, Stored* staged, int64 tiles) {
    __shared__ Stored tile[kTile][kTile + 1];
    const int32 lane = static_cast<int32>(lane_index()), warp = static_cast<int32>(threadIdx.x / kWarp);
    const int32 warps = static_cast<int32>(blockDim.x / kWarp);
    const int64 b = blockIdx.x / tiles;
    const int32 number = static_cast<int32>(blockIdx.x % tiles);
    const Problem problem = Problem::of(batch, b);
    const int32 across = (problem.cols + kTile - 1) / kTile, down = (problem.rows + kTile - 1) / kTile;
    if (number >= across * down) return;
    const bool along_rows = problem.rows_are_contiguous();
    const int32 top = number / across * kTile, left = number % across * kTile;
    for (int32 line = warp; line < kTile; line += warps) {
        const int32 i = along_rows ? line : lane, j = along_rows ? lane : line;
        if (top + i < problem.rows && left + j < problem.cols) tile[i][j] = problem.at(top + i, left + j);
    }
    __syncthreads();
    Stored* const target = staged + b * batch.rows * batch.cols;
    for (int32 i = warp; i < kTile; i += warps) {
        if (top + i < problem.rows && left + lane < problem.cols) {
            target[static_cast<int64>(top + i) * problem.cols + left + lane] = tile[i][lane];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) stage(BATCH_PARAMETERS, Stored* staged, int64 tiles) {
    stage_tile(Batch{BATCH_ARGUMENTS}, staged, tiles);
}
