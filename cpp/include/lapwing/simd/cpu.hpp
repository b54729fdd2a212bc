// Which instruction set this process uses: the best one that both the CPU has and the code was compiled for.
// LAPWING_SIMD=baseline|avx2|avx512 in the environment lowers it (tests run every target this way).
#pragma once

// GCC and Clang, also as clang-cl, compile a file for each instruction set of x86-64.
#if defined(__x86_64__)
#define LAPWING_HAS_TARGETS 1
// A sanitized tree may do without AVX-512: its code is that of AVX2 with longer vectors.
#ifndef LAPWING_WITHOUT_AVX512
#define LAPWING_HAS_AVX512 1
#endif
#endif

namespace lapwing {

enum class SimdTarget { baseline, avx2, avx512 };

// Decided once, at the first call.
SimdTarget simd_target();
const char* simd_target_name();

}  // namespace lapwing

#ifdef LAPWING_HAS_AVX512
#define LAPWING_DISPATCH(function, ...)                                                                   \
    (::lapwing::simd_target() == ::lapwing::SimdTarget::avx512 ? ::lapwing::avx512::function(__VA_ARGS__) \
     : ::lapwing::simd_target() == ::lapwing::SimdTarget::avx2 ? ::lapwing::avx2::function(__VA_ARGS__)   \
                                                               : ::lapwing::baseline::function(__VA_ARGS__))
#elif defined(LAPWING_HAS_TARGETS)
#define LAPWING_DISPATCH(function, ...)                                                               \
    (::lapwing::simd_target() == ::lapwing::SimdTarget::avx2 ? ::lapwing::avx2::function(__VA_ARGS__) \
                                                             : ::lapwing::baseline::function(__VA_ARGS__))
#else
#define LAPWING_DISPATCH(function, ...) ::lapwing::baseline::function(__VA_ARGS__)
#endif
