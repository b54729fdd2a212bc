// Prices to start from: a sample's duals carried over to all rows and columns (column minima: core/start/minima.cuh).
//
//   u[i] = min over sampled j (c[i,j] - v[j]),   v[j] = min over all i (c[i,j] - u[i])
//
// are feasible whatever v was, and good if the sample was solved. Costs: one read of the sampled columns (32 bytes for
// each cost), one of the matrix. All arithmetic is as in the method itself. For costs that two orders explain,
// gpu/core/sorted_prices.py finds prices from differences of costs.
//
// Of a matrix: gather, forbid_large, row_bounds, column_bounds (core/start/matrix.cuh); of computed costs: gather,
// line_bounds (core/start/computed.cuh); of both: sorting_keys, price_rises.
#include "costs/costs.cuh"

constexpr uint32 kThreads = THREADS;

__device__ inline Dual minimised(Cost c, bool maximize) { return maximize ? -widened(c) : Dual(widened(c)); }

#ifdef COMPUTED
#include "core/start/computed.cuh"
#else
#include "core/start/matrix.cuh"
#endif

// What rows and columns are sorted by: the differences of two sampled columns' costs in every row, and of two sampled
// rows' in every column.
extern "C" __global__ void __launch_bounds__(THREADS)
    sorting_keys(const Costs::Data* data, int64 pitch, int64 maximize, int64 size, int64 run, int64 row,
                 int64 other_row, int64 col, int64 other_col, double* row_keys, double* col_keys) {
    const Costs costs{data, pitch};
#ifdef COMPUTED
    const Costs sample{data, run};
    const int64 first = sample.row(row), second = sample.row(other_row), a = sample.col(col), b = sample.col(other_col);
#else
    const int64 first = sampled_row(row, run), second = sampled_row(other_row, run);
    const int64 a = sampled_col(col, run), b = sampled_col(other_col, run);
#endif
    for (int64 k = static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x; k < size; k += gridDim.x * kThreads) {
        const auto cost = [&](int64 i, int64 j) { return minimised(costs.at(i, j), maximize); };
        row_keys[k] = static_cast<double>(cost(k, a) - cost(k, b));
        col_keys[k] = static_cast<double>(cost(first, k) - cost(second, k));
    }
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
