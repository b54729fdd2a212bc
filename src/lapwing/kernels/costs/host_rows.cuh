// Costs of a matrix that stays on the host, or whose rows are in other processes but for some own ones, which are on
// this GPU. It holds a *row cache* of every row: its `depth` columns with the smallest cost - v when the row was last
// read, and a lower bound of all columns left out. Prices only rise, so the bound stays valid. Lists are made from row
// caches. If a row cache is insufficient, the coordinator requests the row from the host, and waits while it is copied
// (core/lists/host.cuh).
#pragma once
#include "costs/costs.cuh"

// A request from the coordinator of the persistent kernel to the host. The host polls it (gpu/costs/host_rows.py), and
// answers by copies on a separate stream.
struct Request {
    // Written by the coordinator, or by list_rows.
    uint64 list;          // address of the numbers of the rows
    uint32 count;         // of rows
    uint32 asked;         // request number, which increases
    uint32 insufficient;  // by list_rows: number of rows with insufficient row caches
    // Written by the host.
    uint32 answered;  // = asked: the rows are on the GPU
    // Written by the coordinator.
    uint32 for_caches;  // not 0: row caches will do in place of the rows
    // Written by the host.
    uint32 as_caches;  // not 0: some came so
};

// A row cache that came in place of a row; behind it `depth` columns and, aligned to 8 bytes, their costs.
struct CacheRecord {
    Dual bound;
    int64 count;
};

struct Costs {
    static constexpr bool may_have_dummies = false;
    static constexpr bool is_in_memory = false, is_computed = false, is_on_host = true, is_sparse = false,
                          is_short = true;
    struct Data {            // gpu/costs/host_rows.py writes it
        int64 pitch;         // elements from row to row
        const Cost* row;     // [room][pitch], rows that are on the GPU
        const int32* owner;  // [room]: the row number of each; ~ that number: a CacheRecord is there
        int32* place;        // [rows]: the place of a row that is on the GPU: owner[place[i]] == i
        int64 room;
        int64 depth;               // of the row caches
        int32* cached_col;         // [rows][depth]
        Cost* cached_cost;         // as they are given
        int32* cached_count;       // [rows]
        Dual* cached_bound;        // [rows]: lower bound of cost - v of all columns left out
        int32* insufficient_rows;  // [rows]
        Request* request;
        const Cost* own;  // where row 0 would lie, as seen from rows that are on this GPU all the time,
        int64 own_pitch, own_first, own_end;  // from own_first on
    };
    const Data* data;
    int64 unused;

    __device__ bool is_own(int32 i) const { return i >= data->own_first && i < data->own_end; }
    // A row that is on the GPU.
    __device__ const Cost* row(int32 i) const { return is_own(i) ? own_row(i) : came_at(data->place[i]); }
    __device__ const Cost* own_row(int32 i) const { return data->own + i * data->own_pitch; }
    __device__ const Cost* came_at(int64 index) const { return data->row + index * data->pitch; }
    __device__ Cost at(int32 i, int32 j) const { return row(i)[j]; }
    __device__ bool has(int32, int32) const { return true; }
    __device__ int32 places(int32, int32 real_cols) const { return real_cols; }
    __device__ int32 col_of(int32, int32 place) const { return place; }
    __device__ Cost at_place(int32 i, int32 place) const { return at(i, place); }

    struct Row {
        const Costs& costs;
        int32 i;

        template <uint32 n>
        __device__ void load(const int32 (&col)[n], Cost (&out)[n]) const {
#pragma unroll
            for (uint32 k = 0; k < n; ++k) out[k] = costs.at(i, col[k]);
        }
    };

    using ListingPrice = float;  // not read: lists are made from row caches
};
