// The order of a row's ties. It begins at a column that differs from row to row, so that rows of equal costs get
// different lists.
#pragma once
#include "core/state.cuh"

// The column at which row i's ties begin, and where column j stands among them.
__device__ inline int32 first_tie(const Matrix& matrix, int32 i) {
    if (matrix.rows == matrix.cols) return i;
    return static_cast<int32>(static_cast<int64>(i) * matrix.cols / matrix.rows);
}
__device__ inline int32 tie_order(int32 first, int32 cols, int32 j) {
    return j >= first ? j - first : j - first + cols;
}
