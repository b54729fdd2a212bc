// Compiles one file once for each instruction set, so that the fastest can be chosen at run time.
//
// Use, in a .cpp file, after every other include:
//
//     #define LAPWING_TARGET_INCLUDE "lapwing/jv/jv.inc.hpp"
//     #include "lapwing/simd/foreach_target.hpp"
//     ... LAPWING_DISPATCH(solve, args...)        // calls lapwing::<best target>::solve(args...)
//
// The included file puts its code into `namespace lapwing { namespace LAPWING_TARGET { ... } }` and includes nothing:
// whatever is defined while a target's pragma is in force is compiled for it, and only code in that namespace may be,
// since inline functions shared with other translation units could otherwise be linked into a path that an older CPU
// takes. Loops are written for the compiler's vectoriser (fixed trip counts over small local arrays) or with the types
// of simd/vector.inc.hpp, which is included for every target first. One such file a translation unit. On other
// architectures (NEON is part of the AArch64 baseline) the file is compiled once.
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "lapwing/simd/cpu.hpp"

#ifdef LAPWING_HAS_AVX512

#define LAPWING_TARGET avx512
#define LAPWING_VECTOR_BYTES 64
#if defined(__clang__)
#pragma clang attribute push(                                                                              \
    __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#endif
#include "lapwing/simd/vector.inc.hpp"
#include LAPWING_TARGET_INCLUDE
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef LAPWING_TARGET
#undef LAPWING_VECTOR_BYTES

#endif
#ifdef LAPWING_HAS_TARGETS

#define LAPWING_TARGET avx2
#define LAPWING_VECTOR_BYTES 32
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
#endif
#include "lapwing/simd/vector.inc.hpp"
#include LAPWING_TARGET_INCLUDE
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef LAPWING_TARGET
#undef LAPWING_VECTOR_BYTES

#endif

#define LAPWING_TARGET baseline
#define LAPWING_VECTOR_BYTES 16
#include "lapwing/simd/vector.inc.hpp"
#include LAPWING_TARGET_INCLUDE
#undef LAPWING_TARGET
#undef LAPWING_VECTOR_BYTES

#undef LAPWING_TARGET_INCLUDE
