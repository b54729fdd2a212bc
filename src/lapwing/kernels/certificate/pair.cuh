// One pair of the certificate: whether c - a - b >= 0 is certain, and the amount by which it fails; both are rigorous.
#pragma once
#include "common/exact_sum.cuh"
#include "costs/costs.cuh"

constexpr bool kIsFloat = Dual(0.5) != Dual(0);

// The number type of the quick test: that of the duals, or 32 bits for costs of one or two bytes.
template <bool, class A, class B>
struct Choose {
    using type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
    using type = B;
};
constexpr bool kIsSmall = !kIsFloat && sizeof(Cost) <= 2;
using Quick = Choose<kIsSmall, int32, Dual>::type;
constexpr int64 kSafe = kIsSmall ? 1ll << 29 : 1ll << 61;  // integers up to this are subtracted without overflow in it

struct TwoSum {  // sum + error == a + b exactly, unless it overflows (Knuth, TAOCP volume 2, 4.2.2)
    double sum, error;
    __device__ TwoSum(double a, double b) : sum(a + b) {
        const double virtual_b = sum - a;
        error = (a - (sum - virtual_b)) + (b - virtual_b);
    }
};

__device__ inline bool is_finite(double x) { return x - x == 0; }
__device__ inline bool is_finite(int64) { return true; }
__device__ inline bool is_valid_cost(double c) { return c > -infinity<double>(); }
__device__ inline bool is_valid_cost(int64) { return true; }

__device__ inline Dual negated(Dual x, bool negate) { return negate ? -x : x; }
__device__ inline Dual minimised(Cost cost, bool maximize) {  // without overflow at the most negative integer
    const Dual c = widened(cost);
    if constexpr (!kIsFloat && sizeof(Cost) == 8) {
        if (c == -0x7fffffffffffffffll - 1) return maximize ? 0x7fffffffffffffffll : c;
    }
    return negated(c, maximize);
}

// max(0, a + b - c), rounded up; infinity for NaN and on overflow.
__device__ inline double excess(double c, double a, double b) {
    const TwoSum first(a, -c);
    const TwoSum second(first.sum, b);
    if (!is_finite(second.sum) || !is_finite(first.error) || !is_finite(second.error)) {
        return second.sum == -infinity<double>() ? 0 : infinity<double>();
    }
    const TwoSum low(first.error, second.error);
    const TwoSum high(second.sum, low.sum);
    const TwoSum rest(high.error, low.error);
    const TwoSum all(high.sum, rest.sum);
    const bool is_more = all.error > 0 || rest.error > 0;
    if (!(all.sum > 0 || (all.sum == 0 && is_more))) return 0;
    const double sum = all.sum + 0.0;  // no -0
    return is_more ? __longlong_as_double(__double_as_longlong(sum) + 1) : sum;
}
__device__ inline int64 excess(int64 c, int64 a, int64 b) {
    const __int128 amount = static_cast<__int128>(a) + b - c, most = infinity<int64>();
    return amount <= 0 ? 0 : static_cast<int64>(amount < most ? amount : most);
}

__device__ inline uint64 to_bits(double x) { return static_cast<uint64>(__double_as_longlong(x)); }
__device__ inline uint64 to_bits(int64 x) { return static_cast<uint64>(x); }
template <class D>
__device__ D from_bits(uint64 bits) {
    if constexpr (D(0.5) != D(0)) {
        return __longlong_as_double(static_cast<int64>(bits));
    } else {
        return static_cast<D>(bits);
    }
}

// Whether c - a - b >= 0 is certain: the CPU's test (certificate.inc.hpp). Exact ties pass it, too.
__device__ inline bool is_certain(double c, double a, double b) {
    const double d = c - a, slack = d - b;
    return slack >= fabs(d) * 0x1p-52;
}
__device__ inline bool is_certain_tie(double c, double a, double b) {
    const TwoSum first(c, -a);
    return first.error == 0 && first.sum - b >= 0;
}
__device__ inline bool is_safe(int64 x) { return x <= kSafe && x >= -kSafe; }
__device__ inline bool is_certain(int64 c, int64 a, int64 b) {
    return (sizeof(Cost) < 8 || is_safe(c)) && c - a - b >= 0;
}
__device__ inline bool is_certain(int32 c, int32 a, int32 b) { return c - a - b >= 0; }
__device__ inline bool is_certain_tie(int64, int64, int64) { return false; }
