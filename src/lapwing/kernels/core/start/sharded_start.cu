// Prices to start from (core/start/start.cu) for a matrix in shards on several GPUs. gather, row_bounds and
// column_bounds run on every GPU, over its own rows; the kernels of core/start/sorted.cuh, and `gather` of a small
// sample for them, on the first GPU, which reads few costs of the others.
#include "costs/sharded.cuh"

#include "core/start/matrix.cuh"

// v[c] from the keys of column minima (common/column_keys.cuh) of every GPU: `keys`, and `count` times `others`,
// `stride` words each from the next.
extern "C" __global__ void __launch_bounds__(THREADS)
    join_minima(const uint64* keys, const uint64* others, int64 count, int64 stride, int64 size, Dual* v) {
    for (int64 c = static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x; c < size; c += gridDim.x * kThreads) {
        uint64 key = keys[c];
        for (int64 k = 0; k < count; ++k) {
            const uint64 other = others[k * stride + c];
            key = other < key ? other : key;
        }
        const Dual bound = from_order<Dual>(key);
        v[c] = bound < infinity<Dual>() && bound > -infinity<Dual>() ? bound : Dual(0);
    }
}
