// The invariants of a block's solve (batch/block.cuh), asserted on the emulator when it has ended.
#pragma once
#include "batch/state.cuh"
#include "common/require.cuh"

#ifdef LAPWING_CHECK_INVARIANTS
// The matching is consistent, matched pairs are tight, and the duals are feasible. By one thread, between barriers.
template <class Matrix, int32 T>
void check_invariants(const Team<Matrix, T>& team) {
    const BlockState& s = team.s;
    for (int32 i = 0; i < team.rows; ++i) {
        const int32 partner = s.column_of[i];
        const Dual u = s.row_dual[i];
        require(partner != kFree, "every row is matched, or unmatched at its price");
        if (partner == kUnmatched) require(u == s.unmatched_price[i], "the dual of an unmatched row is its price");
        if (partner >= 0) require(s.row_of[partner] == i, "the partner of a row's partner is the row");
        for (int32 j = 0; j < team.cols; ++j) {
            const Dual cost = team.cost(i, j), v = s.price[j];
            if (j == partner) require(u == cost - v, "a matched pair is tight");
            require(is_feasible(cost, u, v), "the duals are feasible");
        }
    }
}
#endif
