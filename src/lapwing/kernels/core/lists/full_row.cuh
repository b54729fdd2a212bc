// One row, all of whose columns a block looks at, or all of whose entries; any kind of costs.
#pragma once
#include "core/state.cuh"

// All places of a row, of which a thread has several in flight. A row of the host must be here.
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
        const int32 places = matrix_.places(row_), at_once = static_cast<int32>(kAtOnce * blockDim.x);
        for (int32 base = static_cast<int32>(threadIdx.x); base - static_cast<int32>(threadIdx.x) < places;
             base += at_once) {
            Part part;
            int32 at[kAtOnce];
#pragma unroll
            for (uint32 k = 0; k < kAtOnce; ++k) {
                const int32 place = base + static_cast<int32>(k * blockDim.x);
                at[k] = place < places ? place : places - 1;
                const int32 j = matrix_.col_of(row_, at[k]);
                part.col[k] = place < places && j != own ? j : kNone;
                part.v[k] = load_stable(state.v + j);
                part.known[k] = __ldcg(state.distance + j);
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
    __device__ void load_costs(const int32 (&place)[kAtOnce], Dual (&cost)[kAtOnce]) const {
        const int32 last = matrix_.costs.places(row_, matrix_.real_cols()) - 1;
        int32 real[kAtOnce];
        Cost given[kAtOnce];
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k) real[k] = place[k] < last ? place[k] : last;
        costs_.load(real, given);
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k) {
            cost[k] = place[k] <= last                                  ? matrix_.minimised(given[k])
                      : Costs::is_sparse || place[k] - last - 1 == row_ ? unmatched_cost_
                                                                        : infinity<Dual>();
        }
    }
};
