// Exact sums of many numbers, for the certificate: rounded once, at the end, in a chosen direction.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

// sum + error == a + b exactly, unless it overflows (Knuth, TAOCP volume 2, 4.2.2).
struct TwoSum {
    double sum, error;
    TwoSum(double a, double b) : sum(a + b) {
        const double virtual_b = sum - a;
        error = (a - (sum - virtual_b)) + (b - virtual_b);
    }
};

template <class D>
class ExactSum;

// A floating-point expansion (Shewchuk 1997, section 2.4, zeros dropped). Numbers that are not tiny are kept scaled
// down, so that no sum of them overflows before its end; beyond the range a result is infinity, or the largest number
// where it is rounded towards zero.
template <>
class ExactSum<double> {
  public:
    void add(double x) {
        if (std::fabs(x) < kTiny)
            add_to(tiny_, x);
        else
            add_to(scaled_, x * kScale);
    }
    void add(const ExactSum& other, double sign) {
        for (const double part : other.tiny_) add_to(tiny_, sign * part);
        for (const double part : other.scaled_) add_to(scaled_, sign * part);
    }
    double nearest() const {
        const Head sum(*this);
        // A tie was rounded to even without knowing the rest: on its side of the tie, the other neighbour is nearer.
        if (sum.rest != 0 && (sum.low > 0) == (sum.rest > 0)) {
            const double other = sum.high + 2 * sum.low;
            if (other - sum.high == 2 * sum.low) return other;
        }
        return sum.high;
    }
    double upward() const {
        const Head sum(*this);
        if (sum.high == -kInfinity<double>) return std::numeric_limits<double>::lowest();
        return sum.low > 0 ? std::nextafter(sum.high, kInfinity<double>) : sum.high;
    }
    double downward() const {
        const Head sum(*this);
        if (sum.high == kInfinity<double>) return std::numeric_limits<double>::max();
        return sum.low < 0 ? std::nextafter(sum.high, -kInfinity<double>) : sum.high;
    }

  private:
    // Non-overlapping, of increasing magnitude: the sum of all parts before one is less than that one's lowest bit.
    using Parts = std::vector<double>;

    static constexpr double kTiny = 0x1p-800, kScale = 0x1p-64;  // 2^32 numbers, scaled, stay exact and in range

    Parts tiny_, scaled_;  // the sum is tiny + scaled / kScale

    static void add_to(Parts& parts, double x) {
        std::size_t kept = 0;
        for (const double part : parts) {
            const TwoSum s(x, part);
            if (s.error != 0) parts[kept++] = s.error;
            x = s.sum;
        }
        parts.resize(kept);
        if (x != 0) parts.push_back(x);
    }

    // high = the sum rounded to nearest up to ties, low = its error up to `rest`, the first part below low's lowest
    // bit.
    struct Head {
        double high = 0, low = 0, rest = 0;

        explicit Head(const ExactSum& sum) {
            Parts parts = sum.tiny_;
            for (const double part : sum.scaled_) add_to(parts, part / kScale);
            std::size_t left = parts.size();
            while (left > 0 && low == 0) {
                const TwoSum s(high, parts[--left]);
                high = s.sum;
                low = s.error;
            }
            if (left > 0) rest = parts[left - 1];
        }
    };
};

template <>
class ExactSum<std::int64_t> {
  public:
    void add(Int128 x) { sum_ += x; }
    void add(const ExactSum& other, int sign) { sum_ += sign * other.sum_; }
    std::int64_t nearest() const { return clamp(sum_); }
    std::int64_t upward() const { return clamp(sum_); }
    std::int64_t downward() const { return clamp(sum_); }

    static std::int64_t clamp(Int128 x) {
        constexpr Int128 limit = kInfinity<std::int64_t>;
        return static_cast<std::int64_t>(std::clamp(x, -limit, limit));
    }

  private:
    Int128 sum_ = 0;  // at most 2^32 terms below 2^64
};

}  // namespace lapwing
