// Prices at which rows of a sample may stay free; included by core/start/start.cu and core/start/computed_start.cu.
#pragma once
#include "core/start/sorted.cuh"

// prices[k] of row k of a sample, which a list names or, where that is null, a hash; all: of all rows.
extern "C" __global__ void __launch_bounds__(THREADS)
    take_prices(const Costs::Data* data, int64 pitch, int64 run, const int32* row_list, int64 rows, const Dual* all,
                Dual* prices) {
    const Costs costs{data, pitch};
    const int64 k = static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x;
    if (k < rows) prices[k] = all[row_list != nullptr ? row_list[k] : costs.sample_row(k, run)];
}
// A row that may stay free has no greater dual than its price.
extern "C" __global__ void __launch_bounds__(THREADS) limit_bounds(int64 rows, const Dual* prices, Dual* least) {
    const int64 k = static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x;
    if (k < rows && prices[k] < least[k]) least[k] = prices[k];
}
