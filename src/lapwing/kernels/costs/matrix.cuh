// Costs in a matrix in memory.
#pragma once
#include "costs/costs.cuh"

struct Costs {
    static constexpr bool may_have_dummies = true;
    static constexpr bool is_in_memory = true, is_computed = false, is_on_host = false, is_sparse = false,
                          is_short = true;
    using Data = Cost;
    const Cost* data;
    int64 pitch;  // elements from row to row

    // A matrix in one piece is the own shard of its only GPU (costs/sharded.cuh).
    __device__ static int32 own_first() { return 0; }
    __device__ static int32 own_end(int32 rows) { return rows; }
    __device__ const Cost* origin(int64) const { return data; }
    __device__ const Cost* row(int32 i) const { return data + i * pitch; }
    __device__ Cost at(int32 i, int32 j) const { return row(i)[j]; }
    __device__ bool has(int32, int32) const { return true; }
    __device__ int32 places(int32, int32 real_cols) const { return real_cols; }
    __device__ int32 col_of(int32, int32 place) const { return place; }
    __device__ Cost at_place(int32 i, int32 place) const { return at(i, place); }
    // Rows begin at 16-byte boundaries.
    __device__ bool aligned() const {
        return reinterpret_cast<uint64>(data) % 16 == 0 && pitch * sizeof(Cost) % 16 == 0;
    }
    __device__ int64 sample_row(int64 k, int64 run) const { return sampled_row(k, run); }
    __device__ int64 sample_col(int64 k, int64 run) const { return sampled_col(k, run); }

    struct Row {
        const Costs& costs;
        int32 i;

        template <uint32 n>
        __device__ void load(const int32 (&col)[n], Cost (&out)[n]) const {
#pragma unroll
            for (uint32 k = 0; k < n; ++k) out[k] = costs.at(i, col[k]);
        }
    };

    using ListingPrice = float;  // -v of every column, rounded down (core/lists/filter.cuh)
};
