// Assertions of invariants in checking builds (LAPWING_CHECK_INVARIANTS), which are used only by the emulated tests. In
// other builds `require` does nothing, and functions that only assert return at once.
#pragma once
#include "common/common.cuh"

#ifdef LAPWING_CHECK_INVARIANTS
#ifdef LAPWING_EMULATION
#include <cstdio>
#include <cstdlib>
#endif

constexpr bool kChecksInvariants = true;

// Ends the launch if an invariant does not hold.
__device__ inline void require(bool holds, const char* invariant) {
    if (holds) return;
#ifdef LAPWING_EMULATION
    std::fprintf(stderr, "an invariant is broken: %s\n", invariant);
    std::abort();
#else
    (void)invariant;
    __trap();
#endif
}

// Whether u + v <= cost up to the rounding of this comparison and of the duals.
inline bool is_feasible(double cost, double u, double v) {
    return !(cost < infinity<double>()) || u + v - cost <= 1e-9 * (fabs(cost) + fabs(u) + fabs(v));
}
inline bool is_feasible(int64 cost, int64 u, int64 v) { return u + v <= cost; }
#else

constexpr bool kChecksInvariants = false;
__device__ inline void require(bool, const char*) {}

#endif
