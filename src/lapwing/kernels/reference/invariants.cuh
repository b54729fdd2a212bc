// The invariants of the reference methods, asserted on the emulator by one thread, between barriers: of the Hungarian
// methods between tasks, of ssp, and of auction, which ends with ssp, at the end.
#pragma once
#include "common/require.cuh"
#include "core/state.cuh"

#ifdef LAPWING_CHECK_INVARIANTS
// The two arrays of the matching agree.
inline void check_matching(const State& core) {
    const Matrix& matrix = core.matrix;
    for (int32 i = 0; i < matrix.rows; ++i) {
        const int32 j = core.row_to_col[i];
        require(j < matrix.cols && (j < 0 || core.col_to_row[j] == i), "the partner of a row's partner is the row");
    }
    for (int32 j = 0; j < matrix.cols; ++j) {
        const int32 i = core.col_to_row[j];
        require(i < matrix.rows && (i < 0 || core.row_to_col[i] == j), "a column's partner's partner is the column");
    }
}

// At the end: matched pairs are tight, and no dual is above what a pair allows.
inline void check_duals(const State& core) {
    const Matrix& matrix = core.matrix;
    for (int32 i = 0; i < matrix.rows; ++i) {
        const Dual u = core.u[i];
        const int32 partner = core.row_to_col[i];
        require(partner >= 0, "every row is matched");
        if (partner >= matrix.real_cols()) require(u == matrix.prices[i], "a row at its unmatched column is tight");
        for (int32 j = 0; j < matrix.real_cols(); ++j) {
            const Dual cost = matrix.minimised(matrix.costs.row(i)[j]), v = core.v[j];
            if (j == partner) {  // ssp lowers u to the row's price, where rounding has put it above
                const bool at_price = matrix.prices != nullptr && u == matrix.prices[i];
                require(u == cost - v || (at_price && is_feasible(-cost, -u, -v)), "a matched pair is tight");
            }
            require(is_feasible(cost, u, v), "the duals are feasible");
        }
    }
}
#endif
