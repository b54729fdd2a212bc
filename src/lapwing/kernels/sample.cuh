// Samples of rows and columns: one of each `run` of neighbours, a power of two, where a hash says; a run of 1 means all. So a
// sample is known everywhere, without an array.
#pragma once
#include "common.cuh"

constexpr uint32 kRowSalt = 0, kColSalt = 1;

// Member `index` of a sample (the finaliser of MurmurHash3).
__device__ inline int64 sampled(int64 index, int64 run, uint32 salt) {
    uint32 x = static_cast<uint32>(index) * 2 + salt;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return index * run + ((x ^ x >> 16) & static_cast<uint32>(run - 1));
}
__device__ inline int64 sampled_row(int64 index, int64 run) { return sampled(index, run, kRowSalt); }
__device__ inline int64 sampled_col(int64 index, int64 run) { return sampled(index, run, kColSalt); }
