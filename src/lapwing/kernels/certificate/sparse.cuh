// The certificate's pass over sparse costs; included by certificate/sparse_certificate.cu. Lines are rows or columns,
// according to the order of the entries. Every warp takes the same number of entries (costs/entries.cuh). A pair
// without an entry is no constraint.
#pragma once
#include "certificate/invariants.cuh"
#include "costs/entries.cuh"

__device__ inline bool is_surely_feasible(Dual c, Dual a, Dual b) {
    if constexpr (!kIsFloat) return is_safe(a) && is_safe(b) && is_certain(c, a, b);
    return is_certain(c, a, b);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    certify_lines(const Costs::Data* data, int64 lines, int64 maximize, const Dual* line_duals, const Dual* cross_duals,
                  uint64* violations, uint64* summary, const int64* row_to_col, int64 rows, int64 cols,
                  uint32* owners) {
    claim_columns(row_to_col, rows, cols, owners);
    const Found found{violations, summary + kInvalidCost};
    each_entry(data->ends, lines, [&](int64 line, int64 k) {
        const int32 position = data->col[k];
        const Dual c = minimised(data->cost[k], maximize != 0), a = negated(line_duals[line], maximize != 0),
                   b = negated(cross_duals[position], maximize != 0);
        if (!is_surely_feasible(c, a, b)) examine(found, c, a, b, line, position);
        require_violation(found, c, a, b, line);
    });
}

// See certificate/vectors.cuh; `by_columns`: lines are columns.
__device__ inline bool find_cost(const Costs::Data* data, int64 i, int64 j, int64 by_columns, int64, Cost& cost) {
    const int64 k = by_columns != 0 ? Costs{data, 0}.find(j, i) : Costs{data, 0}.find(i, j);
    if (k == Costs::kNoEntry) return false;
    cost = data->cost[k];
    return true;
}

// The first position of one line whose violation is `amount`, as a key for report_first. One block.
extern "C" __global__ void __launch_bounds__(THREADS)
    certify_place(const Costs::Data* data, int64 line, int64 maximize, const Dual* line_dual, const Dual* cross_duals,
                  const uint64* amount, uint64* place) {
    const Dual a = negated(*line_dual, maximize != 0);
    bool attained = false;
    for (int64 k = data->ends[line] + threadIdx.x; k < data->ends[line + 1]; k += THREADS) {
        const int32 position = data->col[k];
        const Dual c = minimised(data->cost[k], maximize != 0);
        if (to_bits(excess(c, a, negated(cross_duals[position], maximize != 0))) != *amount) continue;
        report_first(place, static_cast<uint64>(position));
        attained = true;
    }
    require_place(attained);
}

// The cost of one pair that has an entry, for a message.
extern "C" __global__ void __launch_bounds__(THREADS)
    read_cost(const Costs::Data* data, int64 i, int64 j, int64 by_columns, Cost* out) {
    if (threadIdx.x == 0) find_cost(data, i, j, by_columns, 0, *out);
}
