// One pair of the certificate: the amount by which c - a - b >= 0 fails, rigorously. All values are as minimised.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "lapwing/certificate/certificate.hpp"
#include "lapwing/certificate/exact_sum.hpp"

namespace lapwing::proof {

constexpr std::int64_t kSafeDual = std::int64_t{1} << 61;  // beyond this the fast integer test could overflow

inline bool is_valid_cost(double c) { return c > -kInfinity<double>; }
inline bool is_valid_cost(std::int64_t) { return true; }
inline bool is_valid_dual(double x) { return std::isfinite(x); }
inline bool is_valid_dual(std::int64_t) { return true; }
inline bool is_fast(double) { return true; }
inline bool is_fast(std::int64_t x) { return x <= kSafeDual && x >= -kSafeDual; }

// max(0, a + b - c), rounded up once, of the sums of `parts` doubles at a and b, a stride apart each; infinity for NaN
// and on overflow. Where a sum of some of the numbers may overflow, 2^-8 of each is added, and apart what that loses of
// the smallest numbers. Allocates nothing: runs in helpers.
inline double excess_of_parts(double c, const double* a, std::size_t a_stride, const double* b, std::size_t b_stride,
                              int parts) {
    if (c == kInfinity<double>) return 0;
    constexpr double kLarge = 0x1p1020, kScale = 0x1p8;
    bool is_large = std::fabs(c) > kLarge;
    for (int k = 0; k < parts; ++k)
        is_large = is_large || std::fabs(a[static_cast<std::size_t>(k) * a_stride]) > kLarge ||
                   std::fabs(b[static_cast<std::size_t>(k) * b_stride]) > kLarge;
    double kept[2 * kMostDualParts + 2];  // non-overlapping, of increasing magnitude, as in ExactSum
    double lost = 0;
    int count = 0;
    const auto add = [&](double x) {
        if (is_large) {
            const double given = x;
            x /= kScale;
            lost += given - x * kScale;
        }
        int last = 0;
        for (int k = 0; k < count; ++k) {
            const TwoSum s(x, kept[k]);
            if (s.error != 0) kept[last++] = s.error;
            x = s.sum;
        }
        kept[last++] = x;
        count = last;
    };
    add(-c);
    for (int k = 0; k < parts; ++k) {
        add(a[static_cast<std::size_t>(k) * a_stride]);
        add(b[static_cast<std::size_t>(k) * b_stride]);
    }
    double sum = 0, rest = 0;
    for (int k = count - 1; k >= 0 && rest == 0; --k) {
        const TwoSum s(sum, kept[k]);
        sum = s.sum;
        rest = s.error;
    }
    if (!std::isfinite(sum)) return sum == -kInfinity<double> ? 0 : kInfinity<double>;
    if (is_large) sum *= kScale;
    if (!std::isfinite(sum)) return sum < 0 ? 0 : sum;
    const TwoSum all(sum, lost);  // where something is lost that counts, the sum has no rest
    const bool is_more = all.error > 0 || rest > 0;
    return std::max(0.0, is_more ? std::nextafter(all.sum, kInfinity<double>) : all.sum);
}

// The same of two doubles. Two error-free additions leave three terms; two more leave `sum` with the sign of the exact
// value, and an error below its last bit.
inline double excess(double c, double a, double b) {
    const TwoSum first(a, -c);
    const TwoSum second(first.sum, b);
    if (!std::isfinite(second.sum) || !std::isfinite(first.error) || !std::isfinite(second.error))
        return excess_of_parts(c, &a, 0, &b, 0, 1);
    const TwoSum low(first.error, second.error);
    const TwoSum high(second.sum, low.sum);
    const TwoSum rest(high.error, low.error);
    const TwoSum all(high.sum, rest.sum);
    const bool is_more = all.error > 0 || rest.error > 0;
    return std::max(0.0, is_more ? std::nextafter(all.sum, kInfinity<double>) : all.sum);
}
// kInfinity if it is more.
inline std::int64_t excess(std::int64_t c, std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(std::clamp<Int128>(Int128{a} + b - c, 0, kInfinity<std::int64_t>));
}

// Whether c - a - b >= 0 is certain; cheap, and true of tight pairs (certificate_is_certain).
inline bool is_certain(double c, double a, double b) {
    const TwoSum s(a, b);
    return c > s.sum || (c == s.sum && s.error <= 0);
}
inline bool is_certain(std::int64_t, std::int64_t, std::int64_t) { return false; }

// Whether excess(c, a, b) > known is impossible; cheap. The margin is four times what the two additions can round off.
inline bool is_no_worse(double c, double a, double b, double known) {
    const double d = a - c;
    const double rough = d + b;
    return rough + (std::fabs(d) + std::fabs(rough)) * 0x1p-51 <= known;
}
inline bool is_no_worse(std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return false; }

// As minimised, without overflow at the most negative integer.
template <class T>
Dual<T> minimised(T c, bool maximize) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
        if (c == std::numeric_limits<T>::min()) return maximize ? std::numeric_limits<T>::max() : c;
    }
    const auto d = static_cast<Dual<T>>(c);
    return maximize ? -d : d;
}

}  // namespace lapwing::proof
