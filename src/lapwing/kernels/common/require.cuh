// Assertions of invariants on the emulator, in checking builds (LAPWING_CHECK_INVARIANTS); a GPU compiles none of them.
#pragma once
#ifdef LAPWING_CHECK_INVARIANTS
#include <cstdio>
#include <cstdlib>

#include "common/common.cuh"

inline void require(bool holds, const char* invariant) {
    if (holds) return;
    std::fprintf(stderr, "an invariant is broken: %s\n", invariant);
    std::abort();
}

// Whether u + v <= cost up to the rounding of this comparison and of the duals.
inline bool is_feasible(double cost, double u, double v) {
    return !(cost < infinity<double>()) || u + v - cost <= 1e-9 * (fabs(cost) + fabs(u) + fabs(v));
}
inline bool is_feasible(int64 cost, int64 u, int64 v) { return u + v <= cost; }
#endif
