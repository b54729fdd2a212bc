// Sparse costs: the entries of each row. A pair without an entry is forbidden.
#pragma once
#include "costs/costs.cuh"

struct Costs {
    static constexpr bool may_have_dummies = true;
    static constexpr bool is_in_memory = false, is_computed = false, is_on_host = false, is_sparse = true,
                          is_short = true;
    // gpu/costs/sparse.py writes it, of arrays that were checked (costs/sparse_lines.cu): `ends` rise from 0, columns
    // are columns, and no row has one twice.
    struct Data {
        const int64* ends;  // [rows + 1]: row i has entries ends[i] .. ends[i + 1] - 1,
        const int32* col;   // in these columns, in any order,
        const Cost* cost;   // at these costs
    };
    const Data* data;
    int64 unused;

    __device__ int32 places(int32 i, int32) const { return static_cast<int32>(data->ends[i + 1] - data->ends[i]); }
    __device__ int32 col_of(int32 i, int32 place) const { return data->col[data->ends[i] + place]; }
    __device__ Cost at_place(int32 i, int32 place) const { return data->cost[data->ends[i] + place]; }
    // The entry of a pair; kNoEntry if there is none.
    static constexpr int64 kNoEntry = -1;
    __device__ int64 find(int64 i, int64 j) const {
        for (int64 k = data->ends[i]; k < data->ends[i + 1]; ++k) {
            if (data->col[k] == j) return k;
        }
        return kNoEntry;
    }
    __device__ bool has(int32 i, int32 j) const { return find(i, j) != kNoEntry; }
    __device__ Cost at(int32 i, int32 j) const { return data->cost[find(i, j)]; }

    struct Row {
        const Costs& costs;
        int32 i;

        template <uint32 n>
        __device__ void load(const int32 (&place)[n], Cost (&out)[n]) const {
#pragma unroll
            for (uint32 k = 0; k < n; ++k) out[k] = place[k] >= 0 ? costs.at_place(i, place[k]) : Cost{};
        }
    };

    using ListingPrice = float;  // none is read: rows are read exactly
};
