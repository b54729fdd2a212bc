// Matrices as they are solved in memory (batch_memory.cu), for those that are not ready as they lie: of other types,
// signs, layouts or orientations. One read and one write of each cost, both coalesced, in tiles through shared memory.
#include "batch.cuh"

constexpr int32 kTile = 32;  // also the warps' width; blocks of kTile x 8 threads

// Block (x, y) stages tile x of the tiles of problem y, y + gridDim.y, ...
__device__ inline void stage_tile(const Batch& batch, Stored* staged) {
    __shared__ Stored tile[kTile][kTile + 1];
    const int32 lane = static_cast<int32>(lane_index()), warp = static_cast<int32>(threadIdx.x) / 32;
    const int32 warps = static_cast<int32>(blockDim.x) / 32;
    for (int64 b = blockIdx.y; b < batch.count; b += gridDim.y) {
        const Problem problem = Problem::of(batch, b);
        const int32 across = (problem.cols + kTile - 1) / kTile, down = (problem.rows + kTile - 1) / kTile;
        const bool along_rows = problem.rows_are_contiguous();
        Stored* const target = staged + b * batch.rows * batch.cols;
        for (int32 t = static_cast<int32>(blockIdx.x); t < across * down; t += static_cast<int32>(gridDim.x)) {
            const int32 top = t / across * kTile, left = t % across * kTile;
            for (int32 line = warp; line < kTile; line += warps) {
                const int32 i = along_rows ? line : lane, j = along_rows ? lane : line;
                if (top + i < problem.rows && left + j < problem.cols) tile[i][j] = problem.at(top + i, left + j);
            }
            __syncthreads();
            for (int32 i = warp; i < kTile; i += warps) {
                if (top + i < problem.rows && left + lane < problem.cols) {
                    target[static_cast<int64>(top + i) * problem.cols + left + lane] = tile[i][lane];
                }
            }
            __syncthreads();
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) stage(BATCH_PARAMETERS, Stored* staged) {
    stage_tile(Batch{BATCH_ARGUMENTS}, staged);
}
