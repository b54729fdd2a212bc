// The certificate's inner loop: skip the pairs whose reduced cost is certainly not negative.
//
// Compiled once for each instruction set by certificate.cpp. Plain loops over blocks of kCertificateBlock pairs, for
// the compiler's vectoriser; deliberately none of the methods' kernels.
namespace lapwing {
namespace LAPWING_TARGET {

inline constexpr Index kCertificateBlock = 64;

// Whether cost - a - b >= 0 is certain for all pairs of a block. With d = fl(cost - a) the true value is fl(d - b) up
// to |d| 2^-53 before, and a relative 2^-53 after, the second rounding: fl(d - b) >= |d| 2^-52 suffices (sums that
// underflow are exact). A rounded difference has the sign of the exact one, so where cost - a was exact,
// fl(d - b) >= 0 suffices too: that settles ties of integers. NaN and -inf are never certain, +inf (forbidden) always.
template <class T>
bool certificate_block_is_feasible(const T* cost, Index n, double sign, double a, const double* b) {
    std::int64_t undecided = 0;
    for (Index k = 0; k < n; ++k) {
        const double d = sign * static_cast<double>(cost[k]) - a;
        const double slack = d - b[k];
        undecided |= slack >= __builtin_fabs(d) * 0x1p-52 ? 0 : 1;
    }
    if (undecided == 0) return true;
    undecided = 0;
    for (Index k = 0; k < n; ++k) {
        const double c = sign * static_cast<double>(cost[k]);
        const double d = c - a;
        const double virtual_a = c - d;
        const double error = (c - (d + virtual_a)) + (virtual_a - a);  // of c - a, exactly
        const double slack = d - b[k];
        undecided |= ((slack >= __builtin_fabs(d) * 0x1p-52) | ((slack >= 0) & (error == 0))) ? 0 : 1;
    }
    return undecided == 0;
}

// The same for integers, exact. Requires |a|, |b| <= 2^61; a cost beyond that is left to exact code.
template <class T>
bool certificate_block_is_feasible(const T* cost, Index n, std::int64_t sign, std::int64_t a, const std::int64_t* b) {
    if constexpr (sizeof(T) == 8) {
        std::int64_t bits = 0;
        for (Index k = 0; k < n; ++k) bits |= cost[k] ^ (cost[k] >> 63);
        if (bits >> 61 != 0) return false;
    }
    std::int64_t signs = 0;
    for (Index k = 0; k < n; ++k) {
        const auto c = static_cast<std::int64_t>(cost[k]);
        signs |= (sign < 0 ? -c : c) - a - b[k];
    }
    return signs >= 0;
}

// The first block at or after `from` with an undecided pair, or n. `cost` and `b` are [n] and contiguous.
template <class T>
Index certificate_next_undecided_block(const T* cost, Index from, Index n, bool maximize, Dual<T> a, const Dual<T>* b) {
    constexpr Index kLine = 64 / sizeof(T);
    const Dual<T> sign = maximize ? -1 : 1;
    for (; from + kCertificateBlock <= n; from += kCertificateBlock) {
        // Fetches the next line, if it follows this one in memory; it would be waited for otherwise.
        for (Index k = 0; k < kCertificateBlock; k += kLine) __builtin_prefetch(cost + n + from + k, 0, 2);
        if (!certificate_block_is_feasible(cost + from, kCertificateBlock, sign, a, b + from)) return from;
    }
    if (from < n && !certificate_block_is_feasible(cost + from, n - from, sign, a, b + from)) return from;
    return n;
}

// Writes which of the n pairs are not certain, and returns how many. For short lines, whose tight pair is undecided
// more often than not.
template <class T>
Index certificate_undecided(const T* cost, Index n, bool maximize, Dual<T> a, const Dual<T>* b, Index* where) {
    const Dual<T> sign = maximize ? -1 : 1;
    Index count = 0;
    for (Index k = 0; k < n; ++k) {
        where[count] = k;
        count += certificate_block_is_feasible(cost + k, 1, sign, a, b + k) ? 0 : 1;
    }
    return count;
}

// The same for duals of several parts: a and b are the first ones; a_rest and b_rest[k] bound the magnitude of the
// others' sum.
template <class T>
bool certificate_parts_are_feasible(const T* cost, Index n, double sign, double a, const double* b, double a_rest,
                                    const double* b_rest) {
    std::int64_t undecided = 0;
    for (Index k = 0; k < n; ++k) {
        const double d = sign * static_cast<double>(cost[k]) - a;
        const double slack = d - b[k];
        undecided |= slack >= __builtin_fabs(d) * 0x1p-51 + (a_rest + b_rest[k]) * (1 + 0x1p-50) ? 0 : 1;
    }
    return undecided == 0;
}
template <class T>
Index certificate_next_undecided_parts(const T* cost, Index from, Index n, bool maximize, double a, const double* b,
                                       double a_rest, const double* b_rest) {
    const double sign = maximize ? -1 : 1;
    for (; from < n; from += kCertificateBlock) {
        const Index size = n - from < kCertificateBlock ? n - from : kCertificateBlock;
        if (!certificate_parts_are_feasible(cost + from, size, sign, a, b + from, a_rest, b_rest + from)) return from;
    }
    return n;
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
