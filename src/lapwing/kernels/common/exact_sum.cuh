// Exact sums of many numbers in any order. Every number is split into 32-bit limbs at fixed places, and limbs are added
// as 64-bit integers. The host combines the limbs (gpu/certificate/proof.py).
//
// A double is an integer of at most 2098 bits times 2^-1074, so it has three of kLimbs<double> limbs; an int64 has two.
// A sum has fewer than 2^31 numbers, so no limb overflows.
#pragma once

#include "common/common.cuh"

template <class D>
constexpr uint32 kLimbs = sizeof(D) == 8 && D(0.5) != D(0) ? 66 : 2;

// A number as parts[k] * 2^(32 (first + k)), times 2^-1074 if it is a double.
struct Limbs {
    uint32 first;
    int64 parts[3];
};
__device__ inline Limbs split(double x) {  // finite
    const uint64 bits = static_cast<uint64>(__double_as_longlong(x));
    const uint32 exponent = static_cast<uint32>(bits >> 52) & 0x7ff;
    const uint64 fraction = bits & 0xfffffffffffffull;
    const uint64 mantissa = exponent == 0 ? fraction : fraction | 1ull << 52;
    const uint32 place = exponent == 0 ? 0 : exponent - 1;
    const uint32 shift = place % 32;
    const uint64 low = (mantissa & 0xffffffffull) << shift;
    const uint64 middle = (mantissa >> 32 << shift) + (low >> 32);
    const int64 sign = x < 0 ? -1 : 1;
    return {place / 32,
            {sign * static_cast<int64>(low & 0xffffffffull), sign * static_cast<int64>(middle & 0xffffffffull),
             sign * static_cast<int64>(middle >> 32)}};
}
__device__ inline Limbs split(int64 x) { return {0, {x & 0xffffffffll, x >> 32, 0}}; }

// Adds the numbers of all 32 lanes to a sum: [kLimbs<D>] in shared memory. All lanes call it. Lanes with numbers in the
// same limbs, the usual case, are summed in registers first.
template <class D>
__device__ void add_exactly(int64* sum, D x) {
    const Limbs limbs = split(x);
    bool waits = x != 0;
    for (uint32 waiting; (waiting = __ballot_sync(kAllLanes, waits)) != 0;) {
        const uint32 first = __shfl_sync(kAllLanes, limbs.first, __ffs(static_cast<int>(waiting)) - 1);
        const bool now = waits && limbs.first == first;
        for (uint32 k = 0; k < (kLimbs<D> < 3 ? 2 : 3); ++k) {
            const int64 part = warp_reduce(now ? limbs.parts[k] : 0, [](int64 a, int64 b) { return a + b; });
            if (lane_index() == 0 && part != 0) {
                atomicAdd(reinterpret_cast<uint64*>(sum + first + k), static_cast<uint64>(part));
            }
        }
        waits = waits && !now;
    }
}
