// Decides whether the status of an answer is solved: by the size of its prices, or by a proof whose sums are rounded
// up.
#pragma once

#include "batch/batch.cuh"

// Prices of at most kTrusted times the objective keep all but 4 bits of its precision
// (cpp/include/lapwing/numbers/trust.hpp). Other answers are solved if their duals prove as much.
constexpr Dual kTrusted = 16;
__device__ inline bool are_small(Dual largest_price, Dual objective) {
    return !kFloating || largest_price <= kTrusted * magnitude(objective);
}

// a + b + c, rounded up.
__device__ inline double sum_up(double a, double b, double c) {
    const double s = a + b, t = s - a, first = (a - (s - t)) + (b - t);
    const double r = s + c, w = r - s, second = (s - (r - w)) + (c - w);
    return __dadd_ru(r, __dadd_ru(first, second));
}
__device__ inline int64 sum_up(int64 a, int64 b, int64 c) { return a + b + c; }
__device__ inline double add_up(double a, double b) { return __dadd_ru(a, b); }
__device__ inline int64 add_up(int64 a, int64 b) { return a + b; }

// The status of an answer whose duals prove it up to a gap and a violation (batch/certify.cu): solved if the objective
// is proven up to so many ulps for each pair.
__device__ inline int32 proven_status(double gap, double violation, int64 pairs, double objective, double ulps) {
    const auto count = static_cast<double>(pairs);
    const double bound = __dadd_ru(gap, __dmul_ru(count, violation));
    return bound <= 0x1p-52 * ulps * count * magnitude(objective) ? kSolved : kDoubtful;
}
__device__ inline int32 proven_status(int64, int64, int64, int64, int64) { return kSolved; }
