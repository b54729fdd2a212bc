// Passes over the entries of sparse costs with their lines. Every warp of a grid takes the same number of entries, for
// any lengths of lines. Cost: one binary search per warp, and one read of `ends`.
#pragma once
#include "common/common.cuh"

// Calls f(line, k) for entries first .. last - 1, 32 of them at once, by one warp. Line `line` has entries ends[line]
// .. ends[line + 1] - 1. f must not use warp operations.
template <class F>
__device__ void each_entry_between(const int64* ends, int64 lines, int64 first, int64 last, F f) {
    if (first >= last) return;
    int64 low = 0, high = lines - 1;  // the line of `first` is the last that begins at or before it
    while (low < high) {
        const int64 middle = (low + high + 1) / 2;
        if (ends[middle] <= first)
            low = middle;
        else
            high = middle - 1;
    }
    for (int64 base = first, line = low; base < last; base += kWarp) {
        const int64 k = base + lane_index(), wanted = k < last ? k : last - 1;
        int64 mine = -1;
        for (int64 from = line;; from += kWarp) {
            const int64 next = from + 1 + lane_index();
            const int64 end = ends[next < lines ? next : lines];
            uint32 passed = 0;  // of 32 lines, those that end at or before `wanted`
            for (uint32 half = kWarp / 2; half > 0; half /= 2)
                passed += __shfl_sync(kAllLanes, end, passed + half - 1) <= wanted ? half : 0;
            passed += __shfl_sync(kAllLanes, end, passed) <= wanted;
            if (mine < 0 && passed < kWarp) mine = from + passed;
            if (__all_sync(kAllLanes, mine >= 0)) break;
        }
        if (k < last) f(mine, k);
        line = __shfl_sync(kAllLanes, mine, kWarp - 1);
    }
}
// The same for all entries, by all warps of a grid.
template <class F>
__device__ void each_entry(const int64* ends, int64 lines, F f) {
    const int64 warps = static_cast<int64>(gridDim.x) * blockDim.x / kWarp, entries = ends[lines],
                warp = (static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
    const int64 share = ((entries + warps - 1) / warps + kWarp - 1) / kWarp * kWarp, first = warp * share;
    each_entry_between(ends, lines, first, first + share < entries ? first + share : entries, f);
}
