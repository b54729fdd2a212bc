// Single pairs of computed costs, for both passes over them: the quick test, the position of a violation, one cost.
#pragma once
#include "certificate/invariants.cuh"

// Whether c - a - b >= 0 is certain; a and b are at least the exact duals.
__device__ inline bool is_surely_positive(float c, float a, float b) { return c > __fadd_ru(a, b); }
__device__ inline bool is_surely_positive(double c, double a, double b) { return is_certain(c, a, b); }
__device__ inline bool is_surely_positive(int64 c, int64 a, int64 b) {
    return is_safe(a) && is_safe(b) && is_certain(c, a, b);
}

// See certificate/vectors.cuh.
__device__ inline bool find_cost(const Costs::Data* data, int64 i, int64 j, int64, int64, Cost& cost) {
    cost = Costs{data, 1}.at(i, j);
    return true;
}

// The first position of row `line` whose violation is `amount`, as a key for report_first. One block.
extern "C" __global__ void __launch_bounds__(THREADS)
    certify_place(const Costs::Data* data, int64 line, int64 positions, int64 maximize, const Dual* line_dual,
                  const Dual* cross_duals, const uint64* amount, uint64* place) {
    const Dual a = negated(*line_dual, maximize != 0);
    bool attained = false;
    for (int64 k = threadIdx.x; k < positions; k += THREADS) {
        const Dual c = minimised(Costs{data, 1}.at(line, k), maximize != 0);
        if (to_bits(excess(c, a, negated(cross_duals[k], maximize != 0))) != *amount) continue;
        report_first(place, k);
        attained = true;
    }
    require_place(attained);
}

// The cost of one pair, for a message.
extern "C" __global__ void __launch_bounds__(THREADS) read_cost(const Costs::Data* data, int64 i, int64 j, Cost* out) {
    if (threadIdx.x == 0) *out = Costs{data, 1}.at(i, j);
}
