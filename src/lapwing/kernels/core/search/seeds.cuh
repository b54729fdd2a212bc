// The least distances of columns from dummy rows (core/search/dummies.cuh).
#pragma once
#include "core/lists/listing.cuh"

// Whether solves of this program may have dummy rows.
constexpr bool kMayHaveDummies = Costs::may_have_dummies;
constexpr int32 kNoRoot = kNoRow - 1;  // in place of a row: the column has none, and its path begins and ends there

// The v of a column at level zero: of the unmatched column of a row, see struct Matrix.
__device__ inline Dual start_price(const Matrix& matrix, int32 j) {
    if constexpr (sizeof(ListCost) == sizeof(Dual)) return Dual(0);
    const int32 i = j - matrix.real_cols();
    if (i < 0 || !(matrix.prices[i] < infinity<Dual>())) return Dual(0);
    return matrix.unmatched_cost(i) - matrix.prices[i];
}
// The distance of a column below a level: zero if it is there up to the rounding of sums with a start price.
__device__ inline Dual seed_below(const State& state, Dual level, int32 j) {
    const Dual start = start_price(state.matrix, j), v = __ldcg(state.v + j), below = level + start - v;
    return below > (start != Dual(0) ? rounding_of_sums(level, start, v) : Dual(0)) ? below : Dual(0);
}
__device__ inline Dual seed_of(const State& state, const SearchRun& run, int32 j) {
    return seed_below(state, run.level, j);
}
// Whether the path to a column at this distance begins at it, in a search from dummy rows.
__device__ inline bool is_seed(const State& state, const SearchRun& run, int32 j, uint64 key) {
    return kMayHaveDummies && run.from_dummies && as_key(seed_of(state, run, j)) == key;
}
