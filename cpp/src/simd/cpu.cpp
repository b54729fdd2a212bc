#include "lapwing/simd/cpu.hpp"

#include <cstdlib>
#include <string_view>

namespace lapwing {
namespace {

SimdTarget detect() {
#ifdef LAPWING_HAS_TARGETS
    __builtin_cpu_init();
    SimdTarget best = SimdTarget::baseline;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        best = SimdTarget::avx2;
#ifdef LAPWING_HAS_AVX512
    if (best == SimdTarget::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
        best = SimdTarget::avx512;
#endif
    if (const char* wanted = std::getenv("LAPWING_SIMD")) {
        const std::string_view name = wanted;
        if (name == "baseline") return SimdTarget::baseline;
        if (name == "avx2" && best == SimdTarget::avx512) return SimdTarget::avx2;
    }
    return best;
#else
    return SimdTarget::baseline;
#endif
}

}  // namespace

SimdTarget simd_target() {
    static const SimdTarget target = detect();
    return target;
}

const char* simd_target_name() {
    switch (simd_target()) {
        case SimdTarget::avx512: return "avx512";
        case SimdTarget::avx2: return "avx2";
        default:
#if defined(__aarch64__)
            return "neon";
#else
            return "baseline";
#endif
    }
}

}  // namespace lapwing
