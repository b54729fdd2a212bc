// Prices to start from: column minima, or a sample's duals carried over to all rows and columns.
//
//   u[i] = min over sampled j (c[i,j] - v[j]),   v[j] = min over all i (c[i,j] - u[i])
//
// are feasible whatever v was, and good if the sample was solved. Costs: one read of the sampled columns (32 bytes for each
// cost), one of the matrix. All arithmetic is as in the method itself.
#include "common.cuh"

constexpr uint32 kThreads = THREADS;

__device__ inline Dual minimised(Cost c, bool maximize) { return maximize ? -widened(c) : Dual(widened(c)); }
// Duals in an order of unsigned numbers, for atomicMin.
__device__ inline uint64 order_of(double x) { return ordered(x); }
__device__ inline uint64 order_of(int64 x) { return static_cast<uint64>(x) ^ (1ull << 63); }
template <class D>
__device__ D of_order(uint64 key) {
    if constexpr (D(0.5) != D(0))
        return from_ordered(key);
    else
        return static_cast<int64>(key ^ (1ull << 63));
}

// out[r, c] = cost[row_of[r], col_of[c]]; null: all rows, or columns, in order. A block a row.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const Cost* cost, int64 row_stride, int64 col_stride, int64 rows, int64 cols, const int32* row_of,
           const int32* col_of, Cost* out) {
    for (int64 r = blockIdx.x; r < rows; r += gridDim.x) {
        const Cost* row = cost + (row_of ? row_of[r] : r) * row_stride;
        for (int64 c = threadIdx.x; c < cols; c += kThreads)
            out[r * cols + c] = row[(col_of ? col_of[c] : c) * col_stride];
    }
}

// u[r] = min over c < cols of cost[row_of[r], col_of[c]] - v[c]; a warp a row. Infinite if all are forbidden.
extern "C" __global__ void __launch_bounds__(THREADS)
    row_bounds(const Cost* cost, int64 row_stride, int64 maximize, int64 rows, int64 cols, const int32* row_of,
               const int32* col_of, const Dual* v, Dual* u) {
    const int64 warp = (static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x) / kWarp,
                warps = static_cast<int64>(gridDim.x) * kThreads / kWarp;
    for (int64 r = warp; r < rows; r += warps) {
        const Cost* row = cost + (row_of ? row_of[r] : r) * row_stride;
        Dual least = infinity<Dual>();
#pragma unroll 8
        for (int64 c = lane_index(); c < cols; c += kWarp) {
            const Dual x = minimised(row[col_of[c]], maximize) - v[c];
            least = x < least ? x : least;
        }
        least = warp_reduce(least, [](Dual a, Dual b) { return a < b ? a : b; });
        if (lane_index() == 0) u[r] = least;
    }
}

// keys[c] = the least cost[row_of[r], col_of[c]] - u[r] over r < rows (u null: zero), in order_of; keys begin as all ones.
// A block takes THREADS columns of every `bands`-th row; row_of or col_of null: in order.
extern "C" __global__ void __launch_bounds__(THREADS)
    column_bounds(const Cost* cost, int64 row_stride, int64 maximize, int64 rows, int64 cols, int64 bands,
                  const int32* row_of, const int32* col_of, const Dual* u, uint64* keys) {
    const int64 chunk = blockIdx.x / bands, band = blockIdx.x % bands;
    const int64 c = chunk * kThreads + threadIdx.x;
    if (c >= cols) return;
    const Cost* column = cost + (col_of ? col_of[c] : c);
    Dual least = infinity<Dual>();
#pragma unroll 8
    for (int64 r = band; r < rows; r += bands) {
        const Dual bound = u ? u[r] : Dual(0);
        const Dual x = minimised(column[(row_of ? row_of[r] : r) * row_stride], maximize) -
                       (bound < infinity<Dual>() ? bound : Dual(0));
        least = x < least ? x : least;
    }
    atomicMin(keys + c, order_of(least));
}

// Prices from keys; 0 for columns that nobody may have.
extern "C" __global__ void __launch_bounds__(THREADS) set_prices(const uint64* keys, int64 cols, Dual* v) {
    const int64 c = static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x;
    if (c >= cols) return;
    const Dual least = of_order<Dual>(keys[c]);
    v[c] = least < infinity<Dual>() && least > -infinity<Dual>() ? least : Dual(0);
}
