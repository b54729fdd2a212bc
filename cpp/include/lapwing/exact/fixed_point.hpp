// Floating-point costs as integer multiples of one power of two.
//
// A double is m * 2^e with |m| < 2^53. With a unit 2^g that is no larger than the lowest digit of any cost, every cost
// is an integer, and so are all sums and duals. Where the costs span more digits than the integers have, the unit is
// larger and costs are rounded *down* to it: duals that are feasible for the rounded costs are feasible for the costs.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lapwing/costs/rewritten.hpp"
#include "lapwing/exact/wide.hpp"

namespace lapwing {

// A finite double as digits * 2^exponent.
struct BinaryNumber {
    std::int64_t digits;
    int exponent;

    explicit BinaryNumber(double x) {
        const auto bits = std::bit_cast<std::uint64_t>(x);
        const int biased = static_cast<int>(bits >> 52 & 0x7ff);
        const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
        digits = static_cast<std::int64_t>(biased == 0 ? fraction : fraction | std::uint64_t{1} << 52);
        if (bits >> 63 != 0) digits = -digits;
        exponent = std::max(biased, 1) - 1075;
    }
    // Of 2^k, the lowest digit that is not 0, and one past the highest; of numbers that are not 0.
    int lowest() const { return exponent + std::countr_zero(static_cast<std::uint64_t>(digits)); }
    int top() const { return exponent + std::bit_width(static_cast<std::uint64_t>(digits < 0 ? -digits : digits)); }
};

// The digits that numbers span: all are multiples of 2^lowest and below 2^top in magnitude.
struct DigitRange {
    int lowest = 1024, top = -1074;

    void add(double x) {
        if (x == 0) return;
        const BinaryNumber number(x);
        lowest = std::min(lowest, number.lowest());
        top = std::max(top, number.top());
    }
    bool empty() const { return lowest > top; }
};

// x / 2^unit, rounded down; it must fit.
template <class F>
F to_fixed(double x, int unit) {
    const BinaryNumber number(x);
    const int shift = number.exponent - unit;
    if (shift < 0) return F{number.digits >> std::min(-shift, 63)};
    if constexpr (std::is_same_v<F, Wide>) return Wide::shifted(number.digits, shift);
    if constexpr (!std::is_same_v<F, Wide>) return F{number.digits} << shift;
}

// The same, rounded to the nearest.
template <class F>
F to_nearest_fixed(double x, int unit) {
    const F down = to_fixed<F>(x, unit);
    return to_fixed<F>(x, unit - 1) - down - down > F{0} ? down + F{1} : down;
}

inline double from_fixed(Int128 x, int unit) { return std::ldexp(static_cast<double>(x), unit); }
inline double from_fixed(const Wide& x, int unit) { return x.scaled_to_double(unit); }

// Numbers as sums of doubles, exactly: parts[k][i] is the k-th part of x[i] * 2^unit, the largest first.
template <class F>
std::vector<std::vector<double>> to_parts(std::vector<F> x, int unit) {
    std::vector<std::vector<double>> parts;
    for (bool is_rest = true; is_rest;) {
        is_rest = false;
        auto& part = parts.emplace_back(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            part[i] = from_fixed(x[i], unit);
            x[i] -= to_fixed<F>(part[i], unit);
            is_rest = is_rest || !(x[i] == F{0});
        }
    }
    return parts;
}

// The costs of a problem as integers, as minimised, less `prices` of their columns if there are any; pairs above `most`
// are forbidden like those that cost infinity.
template <class T, class F>
class FixedPointSource final : public RewrittenCosts<T, F> {
  public:
    FixedPointSource(const Problem<T>& problem, int unit, double most, const std::vector<F>& prices)
        : RewrittenCosts<T, F>(problem), unit_(unit), most_(most), prices_(prices) {}

    F fixed(double cost) const { return cost <= most_ ? to_fixed<F>(cost, unit_) : kInfinity<F>; }

  private:
    void rewrite(Index, Index first, Index count, const T* given, F* out) const override {
        for (Index k = 0; k < count; ++k) out[k] = fixed(this->problem_.minimised(given[k]));
        for (Index k = 0; k < count && !prices_.empty(); ++k)
            if (out[k] < kInfinity<F>) out[k] -= prices_[first + k];
    }

    int unit_;
    double most_;
    const std::vector<F>& prices_;  // [cols], or empty
};

}  // namespace lapwing
