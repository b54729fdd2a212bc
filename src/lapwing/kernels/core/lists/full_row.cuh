// One row, all of whose columns a block looks at; any kind of costs.
#pragma once
#include "core/state.cuh"

// All columns of a row, of which a thread has several in flight. A row of the host must be here.
class FullRow {
  public:
    // At once, where that takes little code.
    static constexpr uint32 kAtOnce = Costs::is_short ? Tuning::full_row_ahead : 1;

    __device__ FullRow(const Matrix& matrix, int32 i)
        : matrix_(matrix), row_(i), unmatched_cost_(unmatched_cost_of(i)), costs_{matrix.costs, i} {}

    // Of some columns, and how far each was reached.
    struct Part {
        int32 col[kAtOnce];  // kNone: there is none, or it is `own`
        Dual cost[kAtOnce], v[kAtOnce];
        uint64 known[kAtOnce];
    };
    // f(part), for this thread's share of the columns but `own`. Every thread of the block calls it as often as the
    // others.
    template <class F>
    __device__ void each_part(const State& state, int32 own, F f) const {
        const int32 cols = matrix_.cols, at_once = static_cast<int32>(kAtOnce * blockDim.x);
        for (int32 base = static_cast<int32>(threadIdx.x); base - static_cast<int32>(threadIdx.x) < cols;
             base += at_once) {
            Part part;
            int32 at[kAtOnce];
#pragma unroll
            for (uint32 k = 0; k < kAtOnce; ++k) {
                const int32 j = base + static_cast<int32>(k * blockDim.x);
                at[k] = j < cols ? j : cols - 1;
                part.col[k] = j < cols && j != own ? j : kNone;
                part.v[k] = load_stable(state.v + at[k]);
                part.known[k] = __ldcg(state.distance + at[k]);
            }
            load_costs(at, part.cost);
            f(part);
        }
    }

  private:
    const Matrix& matrix_;
    int32 row_;
    Dual unmatched_cost_;  // what its unmatched column costs, if it has one
    const Costs::Row costs_;

    __device__ Dual unmatched_cost_of(int32 i) const {
        return matrix_.prices == nullptr ? infinity<Dual>() : matrix_.unmatched_cost(i);
    }
    // As minimised; infinity for what the row must not have. There are real columns.
    __device__ void load_costs(const int32 (&col)[kAtOnce], Dual (&cost)[kAtOnce]) const {
        const int32 last = matrix_.real_cols() - 1;
        int32 real[kAtOnce];
        Cost given[kAtOnce];
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k) real[k] = col[k] < last ? col[k] : last;
        costs_.load(real, given);
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k) {
            cost[k] = col[k] <= last              ? matrix_.minimised(given[k])
                      : col[k] - last - 1 == row_ ? unmatched_cost_
                                                  : infinity<Dual>();
        }
    }
};
