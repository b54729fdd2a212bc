// Costs in a matrix in memory.
#pragma once

struct Costs {
    using Data = Cost;
    const Cost* data;
    int64 pitch;  // elements from row to row

    __device__ const Cost* row(int32 i) const { return data + i * pitch; }
    __device__ Cost at(int32 i, int32 j) const { return row(i)[j]; }
    // Rows begin at 16-byte boundaries.
    __device__ bool aligned() const {
        return reinterpret_cast<uint64>(data) % 16 == 0 && pitch * sizeof(Cost) % 16 == 0;
    }
};
