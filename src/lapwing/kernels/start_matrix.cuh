// Row and column minima of a matrix, of samples or the whole; included by core_start.cu.
#pragma once
#include "costs.cuh"

// Row or column `index` of a sample: of a list (gpu/strata.py) or, where that is null, as a hash says.
__device__ inline int64 member(int64 index, int64 run, uint32 salt, const int32* list) {
    return list == nullptr ? sampled(index, run, salt) : list[index];
}

// out[r, c] = the cost of row r and column c of the sample. A block for each of `rows`, or several.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const Cost* cost, int64 row_stride, int64 col_stride, int64 rows, int64 cols, int64 run,
           const int32* row_list, const int32* col_list, Cost* out) {
    for (int64 r = blockIdx.x; r < rows; r += gridDim.x) {
        const Cost* row = cost + member(r, run, kRowSalt, row_list) * row_stride;
        for (int64 c = threadIdx.x; c < cols; c += kThreads)
            out[r * cols + c] = row[member(c, run, kColSalt, col_list) * col_stride];
    }
}

// u[r] = min over c < cols of cost[r, c] - v[c], of row r of one sample and column c of another; a warp a row. Infinite if
// all are forbidden.
extern "C" __global__ void __launch_bounds__(THREADS)
    row_bounds(const Cost* cost, int64 row_stride, int64 maximize, int64 rows, int64 row_run, int64 cols, int64 col_run,
               const int32* row_list, const int32* col_list, const Dual* v, Dual* u) {
    const int64 warp = (static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x) / kWarp,
                warps = static_cast<int64>(gridDim.x) * kThreads / kWarp;
    for (int64 r = warp; r < rows; r += warps) {
        const Cost* row = cost + member(r, row_run, kRowSalt, row_list) * row_stride;
        Dual least = infinity<Dual>();
#pragma unroll 8
        for (int64 c = lane_index(); c < cols; c += kWarp) {
            const Dual x = minimised(row[member(c, col_run, kColSalt, col_list)], maximize) - v[c];
            least = x < least ? x : least;
        }
        least = warp_reduce(least, [](Dual a, Dual b) { return a < b ? a : b; });
        if (lane_index() == 0) u[r] = least;
    }
}

// Lowers the keys of `width` columns from c on, the orders of the least bounds yet (common.cuh), to those of `least`; when all `bands`
// blocks of a chunk of columns have done so, the last of them sets v: 0 for columns that nobody may have. All threads of a block call it,
// those without a column with c >= size. `keys` [size], and a count of blocks for every chunk, begin as all ones.
template <int32 width>
__device__ inline void lower_prices(uint64* keys, int64 c, int64 size, const Dual (&least)[width], int64 chunk, int64 bands,
                                    Dual* v) {
    __shared__ bool last;
#pragma unroll
    for (int32 k = 0; k < width; ++k) {
        if (c < size) atomicMin(keys + c + k, ordered(least[k]));
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint64 others = atomicAdd(keys + size + chunk, 1ull) + 1;
        last = others == static_cast<uint64>(bands - 1);
        __threadfence();
    }
    __syncthreads();
    if (!last || c >= size) return;
#pragma unroll
    for (int32 k = 0; k < width; ++k) {
        const Dual bound = from_order<Dual>(__ldcg(keys + c + k));
        v[c + k] = bound < infinity<Dual>() && bound > -infinity<Dual>() ? bound : Dual(0);
    }
}

// v[c] = the least cost[r, c] - u[r] over the rows of a sample of `size` (u null: zero); see lower_prices for `keys`. A block takes
// THREADS columns of every bands-th row.
extern "C" __global__ void __launch_bounds__(THREADS)
    column_bounds(const Cost* cost, int64 row_stride, int64 maximize, int64 size, int64 run, int64 bands,
                  const int32* row_list, const int32* col_list, const Dual* u, uint64* keys, Dual* v) {
    const int64 chunk = blockIdx.x / bands, band = blockIdx.x % bands;
    const int64 c = chunk * kThreads + threadIdx.x;
    const Cost* column = cost + member(c < size ? c : size - 1, run, kColSalt, col_list);
    Dual least = infinity<Dual>();
#pragma unroll 8
    for (int64 r = band; r < size; r += bands) {
        const Dual bound = u ? u[r] : Dual(0);
        const Dual x = minimised(column[member(r, run, kRowSalt, row_list) * row_stride], maximize) -
                       (bound < infinity<Dual>() ? bound : Dual(0));
        least = x < least ? x : least;
    }
    lower_prices<1>(keys, c, size, {least}, chunk, bands, v);
}

// Costs as they are given, in a narrow type that a minimum costs one instruction of.
template <class C>
struct NarrowOf {
    using type = int32;
};
template <>
struct NarrowOf<uint32> {
    using type = int64;
};
template <>
struct NarrowOf<int64> {
    using type = int64;
};
template <>
struct NarrowOf<double> {
    using type = double;
};
template <>
struct NarrowOf<float> {
    using type = float;
};
template <>
struct NarrowOf<float16> {
    using type = float;
};
template <>
struct NarrowOf<bfloat16> {
    using type = float;
};
using Narrow = NarrowOf<Cost>::type;

// The order of costs as minimised, and back: ~x is -x - 1.
__device__ inline float turned(float x, bool negated) { return negated ? -x : x; }
__device__ inline double turned(double x, bool negated) { return negated ? -x : x; }
__device__ inline int32 turned(int32 x, bool negated) { return x ^ -static_cast<int32>(negated); }
__device__ inline int64 turned(int64 x, bool negated) { return x ^ -static_cast<int64>(negated); }
template <class T>
__device__ inline T lesser(T a, T b) {
    return a < b ? a : b;
}
__device__ inline float lesser(float a, float b) { return fminf(a, b); }
__device__ inline double as_minimised(double x, bool) { return x; }
__device__ inline int64 as_minimised(int64 x, bool negated) { return x + negated; }

// v[c] = the least cost[r, c] over all rows, where rows are aligned and whole packs: a thread takes the columns of a pack, a block
// those of THREADS packs, of every bands-th row. See lower_prices for `keys`.
extern "C" __global__ void __launch_bounds__(THREADS, 4)
    column_minima(const Cost* cost, int64 row_stride, int64 maximize, int64 size, int64 bands, uint64* keys, Dual* v) {
    constexpr int32 width = Pack<Cost>::size, ahead = width <= 4 ? 8 : 4;
    const int64 chunk = blockIdx.x / bands, band = blockIdx.x % bands;
    const int64 c = (chunk * kThreads + threadIdx.x) * width;
    const Cost* column = cost + (c < size ? c : size - width);
    const bool negated = maximize != 0;
    Narrow least[width];
    const Pack<Cost> begun = load_pack(column + band * row_stride);
#pragma unroll
    for (int32 k = 0; k < width; ++k) least[k] = turned(static_cast<Narrow>(widened(begun.values[k])), negated);
    for (int64 first = band; first < size; first += ahead * bands) {
        Pack<Cost> pack[ahead];
#pragma unroll
        for (int32 a = 0; a < ahead; ++a) {
            const int64 r = first + a * bands;
            pack[a] = load_pack(column + (r < size ? r : band) * row_stride);
        }
#pragma unroll
        for (int32 a = 0; a < ahead; ++a) {
#pragma unroll
            for (int32 k = 0; k < width; ++k) {
                const Narrow x = turned(static_cast<Narrow>(widened(pack[a].values[k])), negated);
                least[k] = lesser(x, least[k]);
            }
        }
    }
    Dual bounds[width];
#pragma unroll
    for (int32 k = 0; k < width; ++k) bounds[k] = as_minimised(Dual(least[k]), negated);
    lower_prices<width>(keys, c, size, bounds, chunk, bands, v);
}
