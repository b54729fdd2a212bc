// Number types by their NumPy names, the dual type of each cost type, and keys whose unsigned order is that of numbers.
//
// A program that is compiled for several cost types gets the macro COST, and finds `Cost` and `Dual` here.
#pragma once

#ifndef LAPWING_EMULATION
// The block's dynamic shared memory, [launched bytes], as unsigned char; declare it once in a kernel.
#define LAPWING_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#define LAPWING_NOINLINE __noinline__
#else
#define LAPWING_NOINLINE [[gnu::noinline]]
#endif

using int8 = signed char;
using int16 = short;
using int32 = int;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;
using float32 = float;
using float64 = double;
struct float16 {
    uint16 bits;
};
struct bfloat16 {
    uint16 bits;
};

// All sums and duals of a cost type, as on the CPU (cpp/include/lapwing/types.hpp).
template <class T>
struct DualOf {
    using type = int64;
};
template <>
struct DualOf<float16> {
    using type = double;
};
template <>
struct DualOf<bfloat16> {
    using type = double;
};
template <>
struct DualOf<float> {
    using type = double;
};
template <>
struct DualOf<double> {
    using type = double;
};

#ifdef COST
using Cost = COST;
using Dual = DualOf<Cost>::type;
#endif

// Larger than every distance and dual; an absent bound. For integers it leaves room to add any valid cost.
template <class D>
__device__ inline D infinity() {
    if constexpr (D(0.5) != D(0)) {
        return __longlong_as_double(0x7ff0000000000000ll);
    } else {
        return 0x3fffffffffffffffll;
    }
}

// Any cost as its dual type, exactly.
__device__ inline int64 widened(int64 c) { return c; }
__device__ inline int64 widened(int32 c) { return c; }
__device__ inline int64 widened(int16 c) { return c; }
__device__ inline int64 widened(int8 c) { return c; }
__device__ inline int64 widened(uint32 c) { return c; }
__device__ inline int64 widened(uint16 c) { return c; }
__device__ inline int64 widened(uint8 c) { return c; }
__device__ inline double widened(double c) { return c; }
__device__ inline double widened(float c) { return c; }
__device__ inline double widened(bfloat16 c) { return __int_as_float(static_cast<int>(c.bits) << 16); }
__device__ inline double widened(float16 c) {
#ifdef LAPWING_EMULATION
    _Float16 half;
    memcpy(&half, &c, sizeof half);
    return half;
#else
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(c.bits));
    return wide;
#endif
}

// The smaller number, or NaN if either is NaN.
__device__ inline float min_or_nan(float a, float b) {
#if !defined(LAPWING_EMULATION) && __CUDA_ARCH__ >= 800
    float least;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
    return least;
#else
    return a < b || a != a ? a : b;
#endif
}

// First: NaN if x is NaN, otherwise the larger number. Second: the smaller number, or a if x is NaN.
__device__ inline float larger_or_nan(float a, float x) {
#if !defined(LAPWING_EMULATION) && __CUDA_ARCH__ >= 800
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(x));
    return larger;
#else
    return x < a ? a : x;
#endif
}
__device__ inline float lesser_number(float a, float x) {
#ifndef LAPWING_EMULATION
    return fminf(a, x);
#else
    return x < a ? x : a;  // the processor's fminf turns a signalling NaN into NaN
#endif
}

// A key whose unsigned order is the order of the numbers (-0 before +0; NaN outside), and the number of a key.
__device__ inline uint64 ordered(double x) {
    const int64 bits = __double_as_longlong(x);
    return static_cast<uint64>(bits < 0 ? ~bits : bits ^ (1ll << 63));
}
__device__ inline uint64 ordered(int64 x) { return static_cast<uint64>(x) ^ (1ull << 63); }
template <class D>
__device__ D from_order(uint64 key) {
    const int64 bits = static_cast<int64>(key);
    if constexpr (D(0.5) != D(0))
        return __longlong_as_double(bits < 0 ? bits ^ (1ll << 63) : ~bits);
    else
        return bits ^ (1ll << 63);
}
