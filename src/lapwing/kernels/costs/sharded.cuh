// Costs in a matrix whose rows are shared out among GPUs of one host: shard after shard, a block of rows in the memory
// of each. Every GPU reads all of them, its own at 4600 GB/s, another's over NVLink at 375 GB/s and with a latency of
// 0.9 us (H200). So passes over the whole matrix are launched on every GPU, over its own rows (own_first, own_end), and
// only what reads few rows reads those of other GPUs.
#pragma once
#include "costs/costs.cuh"

struct Costs {
    static constexpr bool may_have_dummies = false;
    static constexpr bool is_in_memory = true, is_computed = false, is_on_host = false, is_sparse = false,
                          is_short = true;
    struct Data {                                // gpu/costs/shards.py writes it, one on each GPU
        static constexpr int32 most_shards = 8;  // (Python)
        int64 own_first, own_end;                // rows of the GPU that reads it
        int64 aligned;                           // 0 unless all shards begin at 16-byte boundaries
        int64 end[most_shards];                  // the row after each shard's last, from shard 0 on
        const Cost* origin[most_shards];         // where row 0 would lie if the rows of this shard went on to it
        // On the GPU that solves (core/lists/owners.cuh): where orders go to the GPU that has a shard, null if there
        // are none; and its own words, or null: answers by shard, and the last order's turn by shard.
        uint64* orders[most_shards];
        uint64* answers;
    };
    const Data* data;
    int64 pitch;  // elements from row to row, in every shard

    __device__ int32 own_first() const { return static_cast<int32>(data->own_first); }
    __device__ int32 own_end(int32) const { return static_cast<int32>(data->own_end); }
    __device__ int32 shard_of(int64 i) const {
        int32 shard = 0;
        while (i >= data->end[shard]) ++shard;
        return shard;
    }
    // Where row 0 would lie, as seen from row i.
    __device__ const Cost* origin(int64 i) const { return data->origin[shard_of(i)]; }
    __device__ const Cost* row(int64 i) const { return origin(i) + i * pitch; }
    __device__ Cost at(int64 i, int64 j) const { return row(i)[j]; }
    __device__ bool has(int32, int32) const { return true; }
    __device__ int32 places(int32, int32 real_cols) const { return real_cols; }
    __device__ int32 col_of(int32, int32 place) const { return place; }
    __device__ Cost at_place(int32 i, int32 place) const { return at(i, place); }
    // Rows begin at 16-byte boundaries.
    __device__ bool aligned() const { return data->aligned != 0 && pitch * sizeof(Cost) % 16 == 0; }
    __device__ int64 sample_row(int64 k, int64 run) const { return sampled_row(k, run); }
    __device__ int64 sample_col(int64 k, int64 run) const { return sampled_col(k, run); }

    struct Row {
        const Cost* row;
        __device__ Row(const Costs& costs, int32 i) : row(costs.row(i)) {}

        template <uint32 n>
        __device__ void load(const int32 (&col)[n], Cost (&out)[n]) const {
#pragma unroll
            for (uint32 k = 0; k < n; ++k) out[k] = row[col[k]];
        }
    };

    using ListingPrice = float;  // -v of every column, rounded down (core/lists/filter.cuh)
};
