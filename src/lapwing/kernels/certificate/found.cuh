// The findings of the passes: the words of the summary, and the violations of lines.
#pragma once
#include "certificate/pair.cuh"

// The words of `summary`. kDone counts the finished blocks of certify_vectors. From kTotals on are the words of Totals
// except the last two, then these two words of every block.
enum SummaryWord { kFault = 0, kInvalidCost = 1, kPlace = 2, kDone = 3, kTotals = 4 };
// kFault holds stage << 40 | row or column << 2 | one of these. Faults of lower stages are reported first.
enum FaultKind { kColumnRange = 0, kColumnTwice = 1, kForbiddenPair = 2, kInvalidRowDual = 0, kInvalidColDual = 1 };

// Keys for atomicMax on zeroed memory: 0 means "none", and the smallest number wins.
__device__ inline void report_first(uint64* key, uint64 number) { atomicMax(key, ~number); }

// The findings of the pass over all pairs.
struct Found {
    uint64* violations;  // [lines]
    uint64* invalid;     // key: line << 32 | position
};
// Computes exactly a pair that the quick test did not decide.
__device__ inline void examine(const Found& found, Dual c, Dual a, Dual b, int64 line, int64 position) {
    if (is_certain_tie(c, a, b)) return;
    if (!is_valid_cost(c)) report_first(found.invalid, static_cast<uint64>(line) << 32 | static_cast<uint64>(position));
    const uint64 amount = to_bits(excess(c, a, b));
    if (amount > __ldcg(found.violations + line)) atomicMax(found.violations + line, amount);
}

// Enters every row's column for certify_vectors: owners[j] = rows - i for the lowest row i matched to column j.
__device__ inline void claim_columns(const int64* row_to_col, int64 rows, int64 cols, uint32* owners) {
    for (int64 i = blockIdx.x * int64{THREADS} + threadIdx.x; i < rows; i += gridDim.x * int64{THREADS}) {
        const int64 j = row_to_col[i];
        if (j >= 0 && j < cols) atomicMax(owners + j, static_cast<uint32>(rows - i));
    }
}
