// One GPU has all columns of "ssp" (reference/ssp.cu): see several_gpus.cuh for what its functions mean.
#pragma once
#include "reference/full_rows.cuh"

namespace ssp {

class Gpus {
  public:
    static constexpr bool several = false;

    __device__ static bool is_first() { return true; }
    __device__ static int32 first() { return 0; }
    __device__ static bool has(int32) { return true; }
    __device__ static int32 all_cols(int32, int32 cols) { return cols; }
    // True if columns outnumber rows, or rows may stay free (reference/ssp.cu).
    __device__ static bool has_sink(const Matrix& matrix) {
        return matrix.prices != nullptr || matrix.rows != matrix.cols;
    }
    template <class Answer>
    __device__ static Answer answer(const State& core) {
        return {core.u, core.v, core.row_to_col, core.col_to_row};
    }
    template <class Ssp>
    __device__ static void note_least(const Ssp& s, int32 i, Dual least) {
        if (costs::is_far(least)) atomicMin(&s.core.report->empty_row, static_cast<int64>(i));
        __stcg(s.row_least + i, costs::is_far(least) ? Dual(0) : least);
    }

    template <class Message>
    __device__ static Message least(const Message& mine, bool) {
        return mine;
    }
    template <class>
    __device__ static double sum(double mine, bool) {
        return mine;
    }
    template <class>
    __device__ static void meet(bool) {}
};

}  // namespace ssp
