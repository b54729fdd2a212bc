// Primitives of a warp: reductions, minima, sums, bits and counts over its 32 lanes.
#pragma once
#include "common/numbers.cuh"

constexpr uint32 kWarp = 32;
constexpr uint32 kAllLanes = 0xffffffffu;

__device__ inline uint32 lane_index() { return threadIdx.x % kWarp; }  // of blocks whose x extent is a multiple of 32

// `combine` of all lanes' values, valid in every lane; all 32 lanes call it. T: a type of 4 or 8 bytes.
template <class T, class Combine>
__device__ T warp_reduce(T value, Combine combine) {
#pragma unroll
    for (uint32 distance = kWarp / 2; distance > 0; distance /= 2) {
        value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
    }
    return value;
}

// The least of all lanes' values, or their sum, in every lane.
__device__ inline uint32 warp_min(uint32 x) {
#if defined(LAPWING_EMULATION) || __CUDA_ARCH__ >= 800
    return __reduce_min_sync(kAllLanes, x);
#else
    return warp_reduce(x, [](uint32 a, uint32 b) { return a < b ? a : b; });
#endif
}
__device__ inline uint64 warp_min(uint64 x) {
    const uint32 high = static_cast<uint32>(x >> 32), least = warp_min(high);
    const uint32 low = warp_min(high == least ? static_cast<uint32>(x) : ~0u);
    return static_cast<uint64>(least) << 32 | low;
}
__device__ inline uint32 warp_sum(uint32 x) {
#if defined(LAPWING_EMULATION) || __CUDA_ARCH__ >= 800
    return __reduce_add_sync(kAllLanes, x);
#else
    return warp_reduce(x, [](uint32 a, uint32 b) { return a + b; });
#endif
}
// The bits of all lanes.
__device__ inline uint32 warp_or(uint32 x) {
#if defined(LAPWING_EMULATION) || __CUDA_ARCH__ >= 800
    return __reduce_or_sync(kAllLanes, x);
#else
    return warp_reduce(x, [](uint32 a, uint32 b) { return a | b; });
#endif
}
// The number of indices below `count` for which before(k) is true. All lanes call it and get the result.
template <class Before>
__device__ uint32 warp_count(uint32 count, Before before) {
    uint32 all = 0;
    for (uint32 base = 0; base < count; base += kWarp) {
        const uint32 k = base + lane_index();
        all += __popc(__ballot_sync(kAllLanes, k < count && before(k)));
    }
    return all;
}
