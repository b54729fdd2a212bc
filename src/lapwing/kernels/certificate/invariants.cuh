// Invariants of the certificate's kernels. Only checking builds assert them (common/require.cuh), since the first reads
// all costs once more.
//
//   violation   after a thread has checked its share of the pairs, none of them exceeds its line's violation, whether
//               the quick test or examine() decided it
//   owner       the owner of a column is the lowest row matched to it, and every row has been entered
//   place       a pair attains its line's violation
#pragma once
#include "certificate/found.cuh"
#include "common/require.cuh"

__device__ inline void require_violation(const Found& found, Dual c, Dual a, Dual b, int64 line) {
    if (!kChecksInvariants) return;
    require(to_bits(excess(c, a, b)) <= __ldcg(found.violations + line), "a pair exceeds its line's violation");
}
__device__ inline void require_owner(const uint32* owners, int64 rows, int64 i, int64 j) {
    if (!kChecksInvariants) return;
    require(owners[j] >= rows - i && owners[j] <= rows, "a column's owner is above a row that has the column");
}
// All threads of the block call it.
__device__ inline void require_place(bool attained) {
    if constexpr (kChecksInvariants) require(__syncthreads_or(attained), "no pair attains its line's violation");
}
