// Exact sums of many numbers, for the certificate: rounded once, at the end, in a chosen direction.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
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

// A fixed-point number as wide as all doubles, in digits of 32 bits that carry late (Neal, "Fast exact summation using
// small and large superaccumulators", 2015): three additions a number. It is rounded as a floating-point expansion
// (Shewchuk 1997, section 2.4, zeros dropped), whose large parts are kept scaled down, so that it does not overflow
// before its end; beyond the range a result is infinity, or the largest number where it is rounded towards zero.
template <>
class ExactSum<double> {
  public:
    void add(double x) {
        if (x == 0) return;  // as many duals are
        const auto bits = std::bit_cast<std::uint64_t>(x);
        const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
        if (exponent == 0x7ff) {
            beyond_ += x;
            return;
        }
        const std::uint64_t fraction = bits & 0xfffffffffffff;
        const int shift = exponent == 0 ? 0 : exponent - 1;  // x = mantissa 2^(shift - 1074)
        const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
        const auto wide = static_cast<unsigned __int128>(mantissa) << (shift % kBits);
        const std::int64_t sign = x < 0 ? -1 : 1;
        first_ = std::min(first_, shift / kBits);
        last_ = std::max(last_, shift / kBits + 3);
        std::int64_t* const digit = digits_ + shift / kBits;
        digit[0] += sign * static_cast<std::int64_t>(static_cast<std::uint32_t>(wide));
        digit[1] += sign * static_cast<std::int64_t>(static_cast<std::uint32_t>(wide >> kBits));
        digit[2] += sign * static_cast<std::int64_t>(static_cast<std::uint32_t>(wide >> 2 * kBits));
        if (++added_ == kMostAdded) carry();
    }
    // Of a run of numbers, less than 53 bits at a time are taken out and added, which rounds nothing (S. M. Rump,
    // T. Ogita, S. Oishi, "Accurate floating-point summation part I", SIAM Journal on Scientific Computing 31, 2008,
    // section 3): a power of two, sigma, is at least kRun times any magnitude, so what is taken out is a multiple of
    // 2^-53 sigma, and no sum of it is above sigma. Where magnitudes differ much, something is left after some turns;
    // it is added number by number.
    void add_all(const double* numbers, std::size_t count) {
        if (count < kFew) {
            for (std::size_t k = 0; k < count; ++k) add(numbers[k]);
            return;
        }
        for (std::size_t first = 0; first < count; first += kRun) {
            const std::size_t size = std::min(kRun, count - first), lanes = (size + kLanes - 1) / kLanes * kLanes;
            double left[kRun];
            std::copy_n(numbers + first, size, left);
            std::fill(left + size, left + lanes, 0.0);
            double most = largest(left, lanes);
            for (int turn = 0; turn < kTurns && kLeastToTake < most && most < kMostToTake; ++turn) {
                const auto power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(most) >> 52 << 52);
                add(take_out(left, lanes, 2 * kRun * power));
                most = largest(left, lanes);
            }
            for (std::size_t k = 0; k < size && most != 0; ++k) add(left[k]);
        }
    }
    void add(const ExactSum& other, double sign) {
        ExactSum carried = other;
        carried.carry();
        carry();
        first_ = std::min(first_, other.first_);
        last_ = std::max(last_, other.last_);
        for (int k = first_; k <= last_; ++k) digits_[k] += sign < 0 ? -carried.digits_[k] : carried.digits_[k];
        beyond_ += sign * other.beyond_;
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

    static constexpr int kBits = 32, kDigits = 2046 / kBits + 4;          // of all doubles, and of 2^32 of the largest
    static constexpr std::int64_t kMostAdded = std::int64_t{1} << 30;     // before a digit might overflow
    static constexpr int kLowestBit = -1074, kTiny = -800, kScale = -64;  // powers of two

    // The sum is that of digits_[k] 2^(32 k + kLowestBit) and of `beyond_`, which is infinite or NaN unless 0. Digits
    // before first_ and after last_ are zero; what is carried stays up to last_.
    std::int64_t digits_[kDigits] = {};
    int first_ = kDigits - 1, last_ = 0;
    std::int64_t added_ = 0;  // since digits were last carried
    double beyond_ = 0;

    static constexpr std::size_t kRun = 256, kLanes = 8, kFew = 16;
    static constexpr int kTurns = 3;
    static constexpr double kLeastToTake = 0x1p-900, kMostToTake = 0x1p1000;

    // The largest magnitude, but for NaN, of which any sum is NaN.
    static double largest(const double* numbers, std::size_t count) {
        double most[kLanes] = {};
        for (std::size_t k = 0; k < count; k += kLanes)
            for (std::size_t t = 0; t < kLanes; ++t) {
                const double magnitude = std::fabs(numbers[k + t]);
                most[t] = magnitude > most[t] ? magnitude : most[t];
            }
        return *std::max_element(most, most + kLanes);
    }
    static double take_out(double* numbers, std::size_t count, double sigma) {
        double sum[kLanes] = {};
        for (std::size_t k = 0; k < count; k += kLanes)
            for (std::size_t t = 0; t < kLanes; ++t) {
                const double taken = (sigma + numbers[k + t]) - sigma;
                sum[t] += taken;
                numbers[k + t] -= taken;
            }
        double all = 0;
        for (const double one : sum) all += one;
        return all;
    }
    // Leaves all digits before last_ within [0, 2^32).
    void carry() {
        for (int k = first_; k < last_; ++k) {
            digits_[k + 1] += digits_[k] >> kBits;
            digits_[k] &= 0xffffffff;
        }
        added_ = 0;
    }
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

        explicit Head(const ExactSum& given) {
            if (given.beyond_ != 0) {  // NaN is not 0 either
                high = given.beyond_;
                return;
            }
            ExactSum sum = given;
            sum.carry();
            const double sign = sum.digits_[sum.last_] < 0 ? -1 : 1;
            if (sign < 0) {  // whose digits would be 2^32 - 1 up to the last one
                for (int k = sum.first_; k <= sum.last_; ++k) sum.digits_[k] = -sum.digits_[k];
                sum.carry();
            }
            Parts parts, scaled;
            for (int k = sum.first_; k <= sum.last_; ++k) {
                if (sum.digits_[k] == 0) continue;
                const int power = kBits * k + kLowestBit;
                const auto digit = static_cast<double>(sum.digits_[k]);  // the last one, too, is far below 2^53
                if (power < kTiny)
                    add_to(parts, std::ldexp(digit, power));
                else
                    add_to(scaled, std::ldexp(digit, power + kScale));
            }
            for (const double part : scaled) add_to(parts, std::ldexp(part, -kScale));
            std::size_t left = parts.size();
            while (left > 0 && low == 0) {
                const TwoSum s(high, sign * parts[--left]);
                high = s.sum;
                low = s.error;
            }
            if (left > 0) rest = sign * parts[left - 1];
        }
    };
};

template <>
class ExactSum<std::int64_t> {
  public:
    void add(Int128 x) { sum_ += x; }
    void add(const ExactSum& other, int sign) { sum_ += sign * other.sum_; }
    Int128 nearest() const { return sum_; }
    Int128 upward() const { return sum_; }
    Int128 downward() const { return sum_; }

  private:
    Int128 sum_ = 0;  // at most 2^32 terms below 2^64
};

// Doubles that come one by one, added in runs.
template <class D>
class Run {
  public:
    explicit Run(ExactSum<D>& sum) : sum_(sum) {}
    ~Run() { flush(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    void add(D x) {
        if constexpr (std::is_integral_v<D>) return sum_.add(x);
        numbers_[size_++] = x;
        if (size_ == kSize) flush();
    }

  private:
    static constexpr std::size_t kSize = std::is_integral_v<D> ? 1 : 256;
    ExactSum<D>& sum_;
    std::size_t size_ = 0;
    D numbers_[kSize];

    void flush() {
        if constexpr (!std::is_integral_v<D>) sum_.add_all(numbers_, std::exchange(size_, 0));
    }
};

// The sums of numbers in several parts, [parts, count]; raised by more than what was rounded off, if anything was.
inline std::vector<double> sums_above(const double* numbers, Index count, int parts) {
    std::vector<double> sums(static_cast<std::size_t>(count)), errors(sums.size());
    for (int k = 0; k < parts; ++k, numbers += count)
        for (std::size_t t = 0; t < sums.size(); ++t) {
            const TwoSum s(sums[t], numbers[t]);
            sums[t] = s.sum;
            errors[t] += std::fabs(s.error);
        }
    for (std::size_t t = 0; t < sums.size(); ++t)
        if (errors[t] != 0) sums[t] += 2 * errors[t] + std::fabs(sums[t]) * 0x1p-51;
    return sums;
}

}  // namespace lapwing
