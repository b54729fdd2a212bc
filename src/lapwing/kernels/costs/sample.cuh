// Samples of rows and columns: one of each `run` of neighbours, a power of two, where a hash says; a run of 1 means
// all. So a sample is known everywhere, without an array.
//
// Where there is an order in which neighbours are near each other (gpu/costs/spatial_order.py), they are neighbours in
// that: the sample is stratified, and has as many rows and columns in every place as all of them would let one expect,
// but for one or two. Errors of the prices of a random sample have to travel far; at n = 6000 in the plane, that takes
// searches 8 times as many scans.
#pragma once
#include "common/common.cuh"

// Commands of lines and of positions, and in how many groups positions are (core/lists/boxes.cuh), as
// gpu/costs/computed.py writes it; 0: there are none.
struct Neighbours {
    const int32 *lines, *positions;
    int64 boxes;
};

constexpr uint32 kRowSalt = 0, kColSalt = 1;

// Member `index` of a sample (the finaliser of MurmurHash3).
__device__ inline int64 sampled(int64 index, int64 run, uint32 salt) {
    uint32 x = static_cast<uint32>(index) * 2 + salt;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return index * run + ((x ^ x >> 16) & static_cast<uint32>(run - 1));
}
// The same by an order, which may be null.
__device__ inline int64 sampled(int64 index, int64 run, uint32 salt, const int32* order) {
    const int64 place = sampled(index, run, salt);
    return order == nullptr ? place : order[place];
}
__device__ inline int64 sampled_row(int64 index, int64 run) { return sampled(index, run, kRowSalt); }
__device__ inline int64 sampled_col(int64 index, int64 run) { return sampled(index, run, kColSalt); }
