#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>

#include "lapwing/spread.hpp"
#include "lapwing/tight/kernels.hpp"
#include "lapwing/tight/tight.hpp"

namespace lapwing {
namespace {

constexpr Index kFewest = 256;              // rows
constexpr double kMostPairs = 0x1p27;       // 285 megabytes, of which a plan knows nothing
constexpr Index kPieces = 32, kLength = 8;  // of successive costs, that are looked at
constexpr Index kCosts = kPieces * kLength;
constexpr double kAbound = 1.5;                // pairs of a row that have the least cost of all, by ln(cols) ...
constexpr Index kLines = 4;                    // ... in each of some
constexpr double kLargest = 0x1p50;            // in units
constexpr Index kSmallShare = 8;               // one cost in so many, at least, is no large one
constexpr double kFarAbove = 2;                // times as far from the least are large costs as small ones may be
constexpr double kBinary[] = {1, 4, 16, 256};  // scales of floating-point costs
constexpr double kDecimal[] = {10, 100, 1000, 10'000};  // and of doubles

using Costs = std::array<double, kCosts>;

// The matrix or its transpose: contiguous lines.
template <class T>
MatrixView<T> lines_of(const Problem<T>& problem) {
    return problem.cost.col_stride == 1 ? problem.cost : problem.cost.transposed();
}

// As a double: the least integer has no negation.
template <class T>
double minimised(const Problem<T>& problem, T given) {
    const auto cost = static_cast<double>(given);
    return problem.maximize ? -cost : cost;
}

// One piece of successive costs in each of some lines, at places without an order.
template <class T>
void read(const Problem<T>& problem, Index piece, double* costs) {
    const MatrixView<T> lines = lines_of(problem);
    const auto line = static_cast<Index>(std::int64_t{piece} * lines.rows / kPieces);
    const auto places = static_cast<std::uint64_t>(lines.cols - kLength + 1);
    const auto place = static_cast<std::uint64_t>(piece) * 2654435761u % 0x100000000u * places >> 32;
    for (Index k = 0; k < kLength; ++k) costs[k] = minimised(problem, lines.row(line)[place + k]);
}

template <class T>
bool abounds(const Problem<T>& problem, double cost) {
    const MatrixView<T> lines = lines_of(problem);
    for (Index k = 0; k < kLines; ++k) {
        const T* line = lines.row(spread(k, kLines, lines.rows));
        const auto count = std::count_if(line, line + lines.cols, [&](T x) { return minimised(problem, x) == cost; });
        if (static_cast<double>(count) < kAbound * std::log(lines.cols)) return false;
    }
    return true;
}

// Infinity where they are too many, zero where it is not a number, or too many below zero.
double in_units(double cost, double scale) {
    const double units = cost * scale;
    if (units > kLargest) return kInfinity<double>;
    if (!(units >= -kLargest)) return 0;
    return static_cast<double>(static_cast<std::int64_t>(units + (units < 0 ? -0.5 : 0.5)));
}

// The first unit of which all of these are multiples, but for those that are too large.
template <class T>
Unit unit_of(std::span<const double> costs) {
    const auto fits = [&](Unit unit) {
        return std::all_of(costs.begin(), costs.end(), [&](double cost) {
            const double units = in_units(cost, unit.scale);
            if (units == kInfinity<double>) return true;
            return unit.decimal ? units / unit.scale == cost : units == cost * unit.scale;
        });
    };
    for (const double scale : kBinary)
        if (fits({scale, false})) return {scale, false};
    if constexpr (std::is_same_v<T, double>)
        for (const double scale : kDecimal)
            if (fits({scale, true})) return {scale, true};
    return {};
}

}  // namespace

template <class T>
FewValues look_for_few_values(const Problem<T>& problem, double fewest_ties) {
    const Index rows = problem.cost.rows, cols = problem.cost.cols;
    const bool is_matrix = problem.source == nullptr && (problem.cost.col_stride == 1 || problem.cost.row_stride == 1);
    if (!is_matrix || problem.unmatched_cost != nullptr || rows < kFewest || rows > cols) return {};
    if (static_cast<double>(rows) * cols > kMostPairs) return {};
    Costs costs;
    read(problem, 0, costs.data());
    if (unit_of<T>({costs.data(), kLength}).scale == 0) return {};
    for (Index piece = 1; piece < kPieces; ++piece) read(problem, piece, costs.data() + piece * kLength);
    const Unit unit = unit_of<T>(costs);
    if (unit.scale == 0) return {};
    const double least = *std::min_element(costs.begin(), costs.end()), low = in_units(least, unit.scale);
    if (low == kInfinity<double>) return {};
    std::array<std::uint16_t, kMostSmall + 1> count{};
    double same = 0, small = 0;  // pairs of small costs that are equal; small costs
    for (const double cost : costs) {
        const double above = in_units(cost, unit.scale) - low;
        if (above > kFarAbove * kMostSmall) continue;
        if (above > kMostSmall) return {};
        same += count[static_cast<std::size_t>(above)]++;
        small += 1;
    }
    if (small * kSmallShare < kCosts) return {};
    const double ties = same * 2 / (small - 1) * cols / kCosts;
    if (ties < fewest_ties) return {};
    return {unit, ties, abounds(problem, least)};
}

template FewValues look_for_few_values(const Problem<float>&, double);
template FewValues look_for_few_values(const Problem<double>&, double);
template FewValues look_for_few_values(const Problem<std::int32_t>&, double);
template FewValues look_for_few_values(const Problem<std::int64_t>&, double);

}  // namespace lapwing
