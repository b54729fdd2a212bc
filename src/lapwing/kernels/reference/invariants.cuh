// The invariants of the Hungarian methods (reference/hungarian_state.cuh), asserted on the emulator between tasks.
#pragma once
#include "common/require.cuh"
#include "reference/hungarian_state.cuh"

#ifdef LAPWING_CHECK_INVARIANTS
namespace hungarian {

// The two arrays of the matching agree.
inline void check_matching() {
    const Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    for (int32 i = 0; i < matrix.rows; ++i) {
        const int32 j = h.core.row_to_col[i];
        require(j < matrix.cols && (j < 0 || h.core.col_to_row[j] == i), "the partner of a row's partner is the row");
    }
    for (int32 j = 0; j < matrix.cols; ++j) {
        const int32 i = h.core.col_to_row[j];
        require(i < matrix.rows && (i < 0 || h.core.row_to_col[i] == j), "a column's partner's partner is the column");
    }
}

// At the end: matched pairs are tight, and no dual is above what a pair allows.
inline void check_duals() {
    const Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    for (int32 i = 0; i < matrix.rows; ++i) {
        const Dual u = h.core.u[i];
        const int32 partner = h.core.row_to_col[i];
        require(partner >= 0, "every row is matched");
        if (partner >= matrix.real_cols()) require(u == matrix.prices[i], "a row at its unmatched column is tight");
        for (int32 j = 0; j < matrix.real_cols(); ++j) {
            const Dual cost = matrix.minimised(matrix.costs.row(i)[j]), v = h.core.v[j];
            if (j == partner) require(u == cost - v, "a matched pair is tight");
            require(is_feasible(cost, u, v), "the duals are feasible");
        }
    }
}

}  // namespace hungarian
#endif
