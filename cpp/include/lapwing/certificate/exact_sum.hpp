// Exact sums of many numbers, for the certificate: rounded once, at the end, in a chosen direction.
#pragma once

#include <algorithm>
#include <cmath>
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

// A floating-point expansion (Shewchuk 1997, section 2.4, zeros dropped). An overflow makes every result NaN.
template <>
class ExactSum<double> {
  public:
    void add(double x) {
        std::size_t kept = 0;
        for (const double part : parts_) {
            const TwoSum s(x, part);
            if (s.error != 0) parts_[kept++] = s.error;
            x = s.sum;
        }
        parts_.resize(kept);
        if (x != 0) parts_.push_back(x);
    }
    void add(const ExactSum& other, double sign) {
        for (const double part : other.parts_) add(sign * part);
    }
    double nearest() const {
        double high = 0, low = 0;
        const std::size_t rest = head(high, low);
        // A tie was rounded to even without knowing the rest: on its side of the tie, the other neighbour is nearer.
        if (rest > 0 && (low > 0) == (parts_[rest - 1] > 0)) {
            const double other = high + 2 * low;
            if (other - high == 2 * low) high = other;
        }
        return high;
    }
    double upward() const {
        double high = 0, low = 0;
        head(high, low);
        return low > 0 ? std::nextafter(high, kInfinity<double>) : high;
    }
    double downward() const {
        double high = 0, low = 0;
        head(high, low);
        return low < 0 ? std::nextafter(high, -kInfinity<double>) : high;
    }

  private:
    // Non-overlapping, of increasing magnitude: the sum of all parts before one is less than that one's lowest bit.
    std::vector<double> parts_;

    // high = the sum rounded to nearest up to ties, low = its error up to the first returned-many parts, which are
    // smaller than low's lowest bit.
    std::size_t head(double& high, double& low) const {
        std::size_t rest = parts_.size();
        while (rest > 0 && low == 0) {
            const TwoSum s(high, parts_[--rest]);
            high = s.sum;
            low = s.error;
        }
        return rest;
    }
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
