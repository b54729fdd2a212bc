// One row whose columns (or entries, for sparse costs) a block reads: all of them, or all that can matter; for any kind
// of costs.
#pragma once
#include "core/lists/listing.cuh"

// The places of a row, several in flight per thread. A row of the host must be on the GPU.
class FullRow {
  public:
    // Places at one time, more than one where the code stays short.
    static constexpr uint32 kAtOnce = Costs::is_short ? Tuning::full_row_ahead : 1;

    __device__ FullRow(const Matrix& matrix, int32 i)
        : matrix_(matrix), row_(i), unmatched_cost_(unmatched_cost_of(i)), costs_{matrix.costs, i} {}

    // Some columns, and the distance known of each.
    struct Part {
        int32 col[kAtOnce];  // kNone: there is none, or it is `own`
        Dual cost[kAtOnce], v[kAtOnce];
        uint64 known[kAtOnce];
    };
    // f(part), for this thread's share of all columns except `own`, and except some that are not wanted.
    // Every lane of a warp makes the same number of calls.
    template <class F>
    __device__ void each_part(const State& state, int32 own, const Wanted& wanted, F f) const {
        Listing::Places places(state, row_, wanted);
        for (uint32 count = places.next(); count > 0; count = places.next()) {
            for (uint32 base = threadIdx.x; base - threadIdx.x < count; base += kAtOnce * blockDim.x) {
                int32 place[kAtOnce];
                bool any = false;
#pragma unroll
                for (uint32 k = 0; k < kAtOnce; ++k) {
                    const uint32 index = base + k * blockDim.x;
                    place[k] = places.at(index < count ? index : count - 1);
                    any |= place[k] >= 0;
                }
                if (!Listing::Places::all_wanted && !__any_sync(kAllLanes, any)) continue;
                Part part;
#pragma unroll
                for (uint32 k = 0; k < kAtOnce; ++k) {
                    part.col[k] = kNone;
                    part.v[k] = 0;
                    part.known[k] = 0;
                    if (!Listing::Places::all_wanted && place[k] < 0) {
                        place[k] = 0;
                        continue;
                    }
                    const int32 j = matrix_.col_of(row_, place[k]);
                    if (base + k * blockDim.x < count && j != own) part.col[k] = j;
                    part.v[k] = load_stable(state.v + j);
                    part.known[k] = __ldcg(state.distance + j);
                }
                load_costs(place, part.cost);
                f(part);
            }
        }
    }

  private:
    const Matrix& matrix_;
    int32 row_;
    Dual unmatched_cost_;  // cost of its unmatched column, if it has one
    const Costs::Row costs_;

    __device__ Dual unmatched_cost_of(int32 i) const {
        return matrix_.prices == nullptr ? infinity<Dual>() : matrix_.unmatched_cost(i);
    }
    // Minimised costs; infinity for columns that the row must not have. There is at least one real column.
    __device__ void load_costs(const int32 (&place)[kAtOnce], Dual (&cost)[kAtOnce]) const {
        const int32 last = matrix_.costs.places(row_, matrix_.real_cols()) - 1;
        int32 real[kAtOnce];
        Cost given[kAtOnce];
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k) real[k] = place[k] < last ? place[k] : last;
        costs_.load(real, given);
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k) {
            cost[k] = place[k] <= last ? matrix_.minimised(given[k]) : unmatched_cost_;
        }
    }
};
