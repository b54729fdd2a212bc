// Samples of rows and columns: one of each `run` of neighbours, a power of two, chosen by a hash; a run of 1 means all.
// Every thread can compute the sample, without an array.
//
// If there is an order that places near points near each other (gpu/costs/spatial_order.py), neighbours are those of
// this order, and the sample is stratified: in every region its numbers of rows and columns are proportional to all
// rows and columns, up to one or two. With a random sample, errors of prices have to travel far: at n = 6000 in the
// plane, searches take 8 times as many scans.
#pragma once
#include "common/common.cuh"

// The orders of lines and of positions, and the number of bounding boxes of positions (core/lists/boxes.cuh), as
// gpu/costs/computed.py writes them; 0: there are none.
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

// Sums over the dimensions of a box whose prices are tilted (costs/boxes.cuh).
struct TiltedSums {
    double least = 0;   // of the costs, less the linear function of slopes
    double margin = 0;  // that rounding may have added to this, or taken from a cost
};
