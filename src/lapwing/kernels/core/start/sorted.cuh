// Kernels for costs explained by two orders (gpu/core/sorted_prices.py), for all kinds but a matrix on the host; and
// the code that all kernels of these programs share.
#pragma once
#include "costs/costs.cuh"

constexpr uint32 kThreads = THREADS;

__device__ inline Dual minimised(Cost c, bool maximize) { return maximize ? -widened(c) : Dual(widened(c)); }

// The keys by which rows and columns are sorted: the differences of two sampled columns' costs in every row, and of two
// sampled rows' costs in every column.
extern "C" __global__ void __launch_bounds__(THREADS)
    sorting_keys(const Costs::Data* data, int64 pitch, int64 maximize, int64 rows, int64 cols, int64 run, int64 row,
                 int64 other_row, int64 col, int64 other_col, double* row_keys, double* col_keys) {
    const Costs costs{data, pitch};
    const int64 first = costs.sample_row(row, run), second = costs.sample_row(other_row, run);
    const int64 a = costs.sample_col(col, run), b = costs.sample_col(other_col, run);
    const auto cost = [&](int64 i, int64 j) { return minimised(costs.at(i, j), maximize); };
    const int64 mine = static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x, step = gridDim.x * kThreads;
    for (int64 k = mine; k < rows; k += step) row_keys[k] = static_cast<double>(cost(k, a) - cost(k, b));
    for (int64 k = mine; k < cols; k += step) col_keys[k] = static_cast<double>(cost(first, k) - cost(second, k));
}

// rises[k]: from the price of the column that is k-th in order to the next one's, the middle of what neighbours allow.
extern "C" __global__ void __launch_bounds__(THREADS)
    price_rises(const Costs::Data* data, int64 pitch, int64 maximize, int64 size, const int32* row_order,
                const int32* col_order, Dual* rises) {
    const Costs costs{data, pitch};
    for (int64 k = static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x; k + 1 < size; k += gridDim.x * kThreads) {
        const auto cost = [&](int32 i, int32 j) { return minimised(costs.at(i, j), maximize); };
        const int32 here = row_order[k], next = row_order[k + 1], j = col_order[k], l = col_order[k + 1];
        const Dual most = cost(here, l) - cost(here, j), least = cost(next, l) - cost(next, j);
        rises[k] = (most + least) / 2;
    }
}
