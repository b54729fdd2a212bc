// Integers that are wide enough for exact sums of floating-point numbers.
//
// A double is an integer multiple of 2^-1074 below 2^2098 of them. So numbers with a common unit are integers, and
// their sums have no rounding: Int128 where the costs of a problem span at most some 110 binary digits, Wide for all
// finite doubles. Both have what the core method asks of a number: comparison, sums, small multiples and quotients,
// conversion to double.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

#include "lapwing/types.hpp"

namespace lapwing {

__extension__ typedef unsigned __int128 UnsignedInt128;

// Two's complement, 2176 bits, least significant word first. Overflow is the caller's concern, as with built-in
// integers.
class Wide {
  public:
    static constexpr int kWords = 34;

    constexpr Wide() = default;
    constexpr Wide(int x) : Wide(static_cast<std::int64_t>(x)) {}
    constexpr Wide(std::int64_t x) {
        words_[0] = static_cast<std::uint64_t>(x);
        for (int k = 1; k < kWords; ++k) words_[k] = x < 0 ? ~std::uint64_t{0} : 0;
    }
    // Rounded towards zero; finite.
    explicit Wide(double x) {
        int exponent = 0;
        const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
        exponent -= 53;
        *this = exponent >= 0 ? shifted(digits, exponent) : Wide(static_cast<std::int64_t>(x));
    }
    // x * 2^count, count >= 0.
    static constexpr Wide shifted(std::int64_t x, int count) {
        Wide wide(x), result;
        const int words = count / 64, bits = count % 64;
        for (int k = kWords - 1; k >= words; --k) {
            result.words_[k] = wide.words_[k - words] << bits;
            if (bits > 0 && k > words) result.words_[k] |= wide.words_[k - words - 1] >> (64 - bits);
        }
        return result;
    }

    constexpr bool is_negative() const { return words_[kWords - 1] >> 63 != 0; }

    friend constexpr Wide operator+(const Wide& a, const Wide& b) {
        Wide sum;
        std::uint64_t carry = 0;
        for (int k = 0; k < kWords; ++k) {
            const UnsignedInt128 s = UnsignedInt128{a.words_[k]} + b.words_[k] + carry;
            sum.words_[k] = static_cast<std::uint64_t>(s);
            carry = static_cast<std::uint64_t>(s >> 64);
        }
        return sum;
    }
    constexpr Wide operator~() const {
        Wide inverted;
        for (int k = 0; k < kWords; ++k) inverted.words_[k] = ~words_[k];
        return inverted;
    }
    constexpr Wide operator-() const { return ~*this + Wide(1); }
    friend constexpr Wide operator-(const Wide& a, const Wide& b) { return a + -b; }
    friend constexpr Wide operator*(const Wide& a, const Wide& b) {
        Wide product;
        for (int i = 0; i < kWords; ++i) {
            if (a.words_[i] == 0) continue;
            std::uint64_t carry = 0;
            for (int j = 0; i + j < kWords; ++j) {
                const UnsignedInt128 p = UnsignedInt128{a.words_[i]} * b.words_[j] + product.words_[i + j] + carry;
                product.words_[i + j] = static_cast<std::uint64_t>(p);
                carry = static_cast<std::uint64_t>(p >> 64);
            }
        }
        return product;
    }
    // Divides by a small positive divisor, rounding towards zero.
    friend constexpr Wide operator/(const Wide& a, int divisor) {
        const bool negative = a.is_negative();
        Wide quotient = negative ? -a : a;
        UnsignedInt128 rest = 0;
        for (int k = kWords - 1; k >= 0; --k) {
            rest = rest << 64 | quotient.words_[k];
            quotient.words_[k] = static_cast<std::uint64_t>(rest / static_cast<unsigned>(divisor));
            rest %= static_cast<unsigned>(divisor);
        }
        return negative ? -quotient : quotient;
    }
    constexpr Wide& operator+=(const Wide& b) { return *this = *this + b; }
    constexpr Wide& operator-=(const Wide& b) { return *this = *this - b; }

    friend constexpr bool operator==(const Wide&, const Wide&) = default;
    friend constexpr std::strong_ordering operator<=>(const Wide& a, const Wide& b) {
        if (a.is_negative() != b.is_negative()) return b.is_negative() <=> a.is_negative();
        for (int k = kWords - 1; k >= 0; --k)
            if (a.words_[k] != b.words_[k]) return a.words_[k] <=> b.words_[k];
        return std::strong_ordering::equal;
    }

    // Within a relative 2^-52; infinity beyond the range of double.
    explicit operator double() const { return scaled_to_double(0); }
    // This times 2^exponent, likewise: the product may be in range where this is not.
    double scaled_to_double(int exponent) const {
        const bool negative = is_negative();
        const Wide magnitude = negative ? -*this : *this;
        int top = kWords - 1;
        while (top > 0 && magnitude.words_[top] == 0) --top;
        const std::uint64_t next = top > 0 ? magnitude.words_[top - 1] : 0;
        const int empty = magnitude.words_[top] == 0 ? 0 : __builtin_clzll(magnitude.words_[top]);
        const std::uint64_t head = magnitude.words_[top] << empty | (empty > 0 ? next >> (64 - empty) : 0);
        // 53 digits at most, so that the conversion does not round.
        const double x = std::ldexp(static_cast<double>(head >> 11), 64 * top - empty + 11 + exponent);
        return negative ? -x : x;
    }

  private:
    std::uint64_t words_[kWords] = {};
};

template <>
struct DualOf<Int128> {
    using type = Int128;
};
template <>
struct DualOf<Wide> {
    using type = Wide;
};
template <class T>
inline constexpr bool kIsWide = std::is_same_v<T, Int128> || std::is_same_v<T, Wide>;
template <>
inline constexpr Int128 kInfinity<Int128> = Int128{1} << 125;
template <>
inline constexpr Wide kInfinity<Wide> = Wide::shifted(1, 64 * Wide::kWords - 3);

}  // namespace lapwing
