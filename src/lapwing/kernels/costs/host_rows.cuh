// Costs of a matrix that stays on the host. Of every row a *row cache* is here: its `depth` columns with the smallest
// cost - v when the row was last read, and a bound below which nothing left out lies, then and later, since prices only
// rise. Lists are made from row caches. Where a row cache cannot decide, the coordinator requests the row itself from
// the host, and waits while it is copied (core/lists/host.cuh).
#pragma once
#include "costs/costs.cuh"

// A request of the coordinator of the persistent kernel to the host. The host polls it (gpu/costs/host_rows.py), and
// answers by copies on a stream of its own.
struct Request {
    // By the coordinator, or by list_rows.
    uint64 list;          // address of the numbers of the rows
    uint32 count;         // of rows
    uint32 asked;         // counts up
    uint32 insufficient;  // by list_rows: rows whose row caches prove nothing
    // By the host.
    uint32 answered;  // = asked: the rows are here
};

struct Costs {
    static constexpr bool is_in_memory = false, is_computed = false, is_on_host = true, is_sparse = false,
                          is_short = true;
    struct Data {            // gpu/costs/host_rows.py writes it
        int64 pitch;         // elements from row to row
        const Cost* row;     // [room][pitch], rows that are here,
        const int32* owner;  // [room]: whose they are,
        int32* place;        // [rows]: and where a row is, if it is: owner[place[i]] == i
        int64 room;
        int64 depth;               // of the row caches
        int32* cached_col;         // [rows][depth]
        Cost* cached_cost;         // as they are given
        int32* cached_count;       // [rows]
        Dual* cached_bound;        // [rows]: left out, nothing has cost - v below it
        int32* insufficient_rows;  // [rows]
        Request* request;
    };
    const Data* data;
    int64 unused;

    __device__ bool is_here(int32 i) const { return __ldcg(data->owner + data->place[i]) == i; }
    // Of a row that is here.
    __device__ const Cost* row(int32 i) const { return data->row + data->place[i] * data->pitch; }
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

    using ListingPrice = float;  // none is read: lists are made from row caches
};
