// The certificate's inner loop: skip the pairs whose reduced cost is not negative.
//
// Compiled once for each instruction set by certificate.cpp. Of the methods' code it uses the vector types alone. Most
// blocks pass with an addition and a comparison a pair: a cost is not below a + b if it is not below fl(a + r), where r
// is b raised by more than what is rounded off. Let s be fl(a + b). A cost above s is not below a + b, since no double
// is between s and that sum; a cost of s is not if s was not rounded down, which an error-free addition tells; a lower
// cost is a violation. Pairs that are not certain go to exact code, one by one.
#include "lapwing/simd/lanes.inc.hpp"

namespace lapwing {
namespace LAPWING_TARGET {

inline constexpr Index kCertificateBlock = 64;

using CertificateBits = VectorOf<std::uint64_t, kLanes>::type;

// Costs as minimised.
template <bool kMaximize, class D, class T>
LAPWING_INLINE Vec<D> certificate_costs_at(const T* cost) {
    const auto c = load_as<D>(cost);
    if constexpr (std::is_same_v<D, double>)
        return kMaximize ? -c : c;
    else  // with wraparound
        return kMaximize ? (Vec<D>)-(CertificateBits)c : c;
}

// Of which pairs c >= a + b is certain. NaN, -inf and sums that overflow never are, +inf (forbidden) always.
LAPWING_INLINE Vec<std::int64_t> certificate_is_certain(Vec<double> c, double a, Vec<double> b) {
    const Vec<double> sum = a + b, virtual_b = sum - a;
    const Vec<double> error = (a - (sum - virtual_b)) + (b - virtual_b);  // of the sum, exactly (Knuth), or NaN
    return (c > sum) | ((c == sum) & (error <= 0));
}
// The same for integers, exact. Requires |a|, |b| <= 2^61; a cost outside [-2^61, 2^61) is left to exact code. Whatever
// overflows, with wraparound, is of such a cost.
inline constexpr std::uint64_t kCertificateReach = std::uint64_t{1} << 61;
LAPWING_INLINE Vec<std::int64_t> certificate_is_certain(Vec<std::int64_t> c, std::int64_t a, Vec<std::int64_t> b) {
    const auto slack = (CertificateBits)c - static_cast<std::uint64_t>(a) - (CertificateBits)b;
    return ((Vec<std::int64_t>)slack >= 0) & ((((CertificateBits)c + kCertificateReach) >> 62) == 0);
}

// The largest magnitude of numbers, without those that are NaN.
inline double certificate_largest(const double* x, Index n) {
    constexpr Index kTogether = 16;
    double most[kTogether] = {};
    Index k = 0;
    for (; k + kTogether <= n; k += kTogether)
        for (Index t = 0; t < kTogether; ++t) {
            const double magnitude = __builtin_fabs(x[k + t]);
            most[t] = magnitude > most[t] ? magnitude : most[t];
        }
    double all = 0;
    for (const double one : most) all = one > all ? one : all;
    for (; k < n; ++k) all = __builtin_fabs(x[k]) > all ? __builtin_fabs(x[k]) : all;
    return all;
}
// Raises cross duals b by so much that fl(a + r) >= a + b for every line dual a. With M the largest |a| + |b|, F = M
// 2^-51 is more than what is rounded off in a + (b + F), M 2^-52 (1 + 2^-49) at most; where M is below 2^-1021, sums
// are exact. No dual of zero is raised: nothing is rounded off there, and ties with it are frequent. Not a number where
// sums might overflow: then no comparison holds.
inline void certificate_raise(const double* a, Index m, const double* b, Index n, double* raised) {
    const double most = certificate_largest(a, m) + certificate_largest(b, n),
                 by = most < 0x1p1020 ? most * 0x1p-51 : __builtin_nan("");
    for (Index k = 0; k < n; ++k) raised[k] = b[k] == 0 ? by - by : b[k] + by;
}

// Bit k: pair `from` + k, before `to`, at most kCertificateBlock away, is below the raised sum, or no number. Of fewer
// pairs than a register holds all are.
template <bool kMaximize, class T>
LAPWING_INLINE std::uint64_t certificate_doubtful(const T* cost, Index from, Index to, double a, const double* raised) {
    const auto above = [a](const T* given, const double* cross) __attribute__((always_inline)) {
        const auto c = load_as<double>(given), b = load_as<double>(cross);
        return std::uint64_t{bits(kMaximize ? less_equal(c, -a - b) : less_equal(a + b, c))};
    };
    const std::uint64_t all = to - from < kCertificateBlock ? (std::uint64_t{1} << (to - from)) - 1 : ~std::uint64_t{0};
    if (to < kLanes) return all;
    std::uint64_t certain = 0;
    if (to - from == kCertificateBlock) {
        const T* const given = cost + from;
        const double* const cross = raised + from;
#pragma GCC unroll 64
        for (int k = 0; k < kCertificateBlock; k += kLanes) certain |= above(given + k, cross + k) << k;
        return ~certain;
    }
    Index k = from;
    for (; k + kLanes <= to; k += kLanes) certain |= above(cost + k, raised + k) << (k - from);
    if (k < to) {  // the last register reaches back
        const std::uint64_t last = above(cost + to - kLanes, raised + to - kLanes);
        certain |= last >> (kLanes - (to - k)) << (k - from);
    }
    return ~certain & all;
}
// The same for integers, which are not raised: all of them, or none. A plain loop, as compilers widen int32 in more
// ways.
template <bool kMaximize, class T>
LAPWING_INLINE std::uint64_t certificate_doubtful(const T* cost, Index from, Index to, std::int64_t a,
                                                  const std::int64_t* b) {
    std::uint64_t bits = 0, signs = 0;
    for (Index k = from; k < to; ++k) {
        const auto c = static_cast<std::uint64_t>(std::int64_t{cost[k]});
        if constexpr (sizeof(T) == 8) bits |= c + kCertificateReach;
        signs |= (kMaximize ? 0 - c : c) - static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b[k]);
    }
    return static_cast<std::int64_t>(signs) >= 0 && bits >> 62 == 0 ? 0 : ~std::uint64_t{0};
}

// Whether all pairs of a block are above the sum, or are the sum, which was not rounded: if both differences give the
// other dual back, as one of them tells whether something was lost, that with the dual of the larger exponent (Dekker).
template <bool kMaximize, class T>
LAPWING_INLINE bool certificate_block_is_tied(const T* cost, double a, const double* b) {
    Vec<std::int64_t> all = ~Vec<std::int64_t>{};
    for (Index k = 0; k < kCertificateBlock; k += kLanes) {
        const auto c = certificate_costs_at<kMaximize, double>(cost + k), cross = load_as<double>(b + k);
        const Vec<double> sum = a + cross;
        all &= (c > sum) | ((c == sum) & (sum - a == cross) & (sum - cross == a));
    }
    return movemask(all) == (1u << kLanes) - 1;
}
template <bool kMaximize, class T>
LAPWING_INLINE bool certificate_block_is_tied(const T*, std::int64_t, const std::int64_t*) {
    return false;
}

// Bit k: pair k of at most kCertificateBlock is undecided. Those of an incomplete register are copied first.
template <bool kMaximize, class T>
LAPWING_INLINE std::uint64_t certificate_undecided_of_block(const T* cost, Index n, Dual<T> a, const Dual<T>* b) {
    using D = Dual<T>;
    std::uint64_t certain = 0;
    Index k = 0;
    for (; k + kLanes <= n; k += kLanes) {
        const auto c = certificate_costs_at<kMaximize, D>(cost + k);
        certain |= std::uint64_t{movemask(certificate_is_certain(c, a, load_as<D>(b + k)))} << k;
    }
    if (k < n) {
        T last_cost[kLanes] = {};
        D last_b[kLanes] = {};
        for (Index t = 0; t < kLanes && k + t < n; ++t) last_cost[t] = cost[k + t], last_b[t] = b[k + t];
        const auto c = certificate_costs_at<kMaximize, D>(last_cost);
        certain |= std::uint64_t{movemask(certificate_is_certain(c, a, load_as<D>(last_b)))} << k;
    }
    return ~certain & (n < kCertificateBlock ? (std::uint64_t{1} << n) - 1 : ~std::uint64_t{0});
}

// A few doubtful pairs of a block go to exact code at once. Ties come in masses: registers look at those first.
template <bool kMaximize, class T>
LAPWING_INLINE std::uint64_t certificate_next_undecided(const T* cost, Index& from, Index n, Dual<T> a,
                                                        const Dual<T>* b, const Dual<T>* raised) {
    constexpr Index kBlock = kCertificateBlock, kLine = 64 / sizeof(T);
    constexpr int kFew = 4;
    bool has_ties = false;
    for (; from + kBlock <= n; from += kBlock) {
        // Fetches the next line, if it follows this one in memory; it would be waited for otherwise.
        for (Index k = 0; k < kBlock; k += kLine) __builtin_prefetch(cost + n + from + k, 0, 2);
        if (!has_ties) {
            const auto doubtful = certificate_doubtful<kMaximize>(cost, from, from + kBlock, a, raised);
            if (doubtful == 0) continue;
            if (__builtin_popcountll(doubtful) <= kFew) return doubtful;
        }
        has_ties = certificate_block_is_tied<kMaximize>(cost + from, a, b + from);  // as the next block may be
        if (has_ties) continue;
        if (const auto found = certificate_undecided_of_block<kMaximize>(cost + from, kBlock, a, b + from))
            return found;
    }
    if (from < n) {
        const auto doubtful = certificate_doubtful<kMaximize>(cost, from, n, a, raised);
        if (doubtful != 0 && __builtin_popcountll(doubtful) <= kFew) return doubtful;
        if (doubtful != 0)
            if (const auto found = certificate_undecided_of_block<kMaximize>(cost + from, n - from, a, b + from))
                return found;
    }
    from = n;
    return 0;
}
// Moves `from` to the first block at or after it with undecided pairs, and returns which of its pairs these are; to n,
// and 0, if there is none. `cost`, `b` and `raised` are [n] and contiguous.
template <class T>
std::uint64_t certificate_next_undecided(const T* cost, Index& from, Index n, bool maximize, Dual<T> a,
                                         const Dual<T>* b, const Dual<T>* raised) {
    return maximize ? certificate_next_undecided<true>(cost, from, n, a, b, raised)
                    : certificate_next_undecided<false>(cost, from, n, a, b, raised);
}

// Writes which of the n pairs are not certain, and returns how many. For short lines, whose tight pair is undecided
// more often than not.
template <class T>
Index certificate_undecided(const T* cost, Index n, bool maximize, Dual<T> a, const Dual<T>* b, Index* where) {
    Index count = 0;
    for (Index first = 0; first < n; first += kCertificateBlock) {
        const Index size = n - first < kCertificateBlock ? n - first : kCertificateBlock;
        std::uint64_t bits = maximize ? certificate_undecided_of_block<true>(cost + first, size, a, b + first)
                                      : certificate_undecided_of_block<false>(cost + first, size, a, b + first);
        for (; bits != 0; bits &= bits - 1) where[count++] = first + __builtin_ctzll(bits);
    }
    return count;
}

// Where a difference, as rounded, is exact (Knuth); nowhere if it overflowed.
LAPWING_INLINE Vec<std::int64_t> certificate_is_exact(Vec<double> c, Vec<double> a, Vec<double> difference) {
    const Vec<double> virtual_a = c - difference;
    return ((c - (difference + virtual_a)) + (virtual_a - a)) == 0;
}
// Bit k: pair k of at most kCertificateBlock is undecided. Duals have two parts: differences from the first ones, if
// they are exact, are compared with the sum of the second ones.
template <bool kMaximize, class T>
LAPWING_INLINE std::uint64_t certificate_undecided_of_two_parts(const T* cost, Index n, const double (&a)[2],
                                                                const double* b, const double* b2) {
    const Vec<double> first = broadcast<double>(a[0]);
    std::uint64_t certain = 0;
    const auto look = [&](const T* costs, const double* cross, const double* cross2, Index k) {
        const auto c = certificate_costs_at<kMaximize, double>(costs), cross_first = load_as<double>(cross);
        const Vec<double> d = c - first, slack = d - cross_first;
        const auto is_exact = certificate_is_exact(c, first, d) & certificate_is_exact(d, cross_first, slack);
        const auto is_certain = is_exact & certificate_is_certain(slack, a[1], load_as<double>(cross2));
        certain |= std::uint64_t{movemask(is_certain)} << k;
    };
    Index k = 0;
    for (; k + kLanes <= n; k += kLanes) look(cost + k, b + k, b2 + k, k);
    if (k < n) {
        T last_cost[kLanes] = {};
        double last[kLanes] = {}, last2[kLanes] = {};
        for (Index t = 0; k + t < n; ++t) last_cost[t] = cost[k + t], last[t] = b[k + t], last2[t] = b2[k + t];
        look(last_cost, last, last2, k);
    }
    return ~certain & (n < kCertificateBlock ? (std::uint64_t{1} << n) - 1 : ~std::uint64_t{0});
}

// As certificate_next_undecided, for duals of several parts. `above`: at least the sum of the line's; `raised`: those
// of the cross duals, raised (certificate_raise). `a`, `b`, `b2`: the parts, if there are two; else a is nullptr.
template <bool kMaximize, class T>
LAPWING_INLINE std::uint64_t certificate_next_undecided_parts(const T* cost, Index& from, Index n, double above,
                                                              const double* raised, const double (*a)[2],
                                                              const double* b, const double* b2) {
    for (; from < n; from += kCertificateBlock) {
        const Index to = n - from < kCertificateBlock ? n : from + kCertificateBlock;
        auto bits = certificate_doubtful<kMaximize>(cost, from, to, above, raised);
        if (bits != 0 && a != nullptr)
            bits &= certificate_undecided_of_two_parts<kMaximize>(cost + from, to - from, *a, b + from, b2 + from);
        if (bits != 0) return bits;
    }
    from = n;
    return 0;
}
template <class T>
std::uint64_t certificate_next_undecided_parts(const T* cost, Index& from, Index n, bool maximize, double above,
                                               const double* raised, const double (*a)[2], const double* b,
                                               const double* b2) {
    return maximize ? certificate_next_undecided_parts<true>(cost, from, n, above, raised, a, b, b2)
                    : certificate_next_undecided_parts<false>(cost, from, n, above, raised, a, b, b2);
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
