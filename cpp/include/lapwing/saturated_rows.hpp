// Rows most of whose costs are close to the largest: overlaps, similarities, robust losses, capped or gated distances.
//
// From column minima each row that lost its nearest column to another one finds all others too dear, since they were
// priced at their least cost, and searches grow long. From prices of zero it takes what is near it, or one of the many
// dear columns. Measured: the share of the distance from the least to the largest cost that the middle one is below the
// largest. It is below 0.005 on all classes of benchmarks/everyday.py of this kind, above 0.25 on all others. Rows read
// for each row of the matrix, n = 1100, from columns and from zero: min(d, 0.01) 36 and 1.1, min(d2, 0.02) in space 70
// and 5, d2 / (d2 + 0.001) 68 and 24, 1 - IoU 40 and 13, a tenth of likelihoods above a floor 25 and 28. Where more
// than a few costs are close to the least, column reduction leaves hardly any row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lapwing/types.hpp"

namespace lapwing {

// Whether most of a few rows are such, of those in which costs differ; at(i, j) is a cost as it is minimised, a double.
template <class At>
bool are_saturated(Index rows, Index cols, const At& at) {
    constexpr Index kRows = 8, kCols = 64, kFewestLines = 32, kFewest = 2, kFewCheap = 16;
    constexpr double kNear = 0.05;
    if (rows < kFewestLines || cols < kFewestLines) return false;
    const Index looks = std::min(cols, kCols);
    Index saturated = 0, counted = 0;
    for (Index t = 0; t < kRows; ++t) {
        const auto i = static_cast<Index>(static_cast<std::int64_t>(t) * rows / kRows);
        double cost[kCols];
        for (Index k = 0; k < looks; ++k)
            cost[k] = at(i, static_cast<Index>(static_cast<std::int64_t>(k) * cols / looks));
        const double most = *std::max_element(cost, cost + looks);
        double least = *std::min_element(cost, cost + looks);
        for (Index j = 0; j < cols && least == most; ++j) least = std::min(least, at(i, j));  // a cost that is not seen
        if (!(most > least && most - least < kInfinity<double>)) continue;
        const double near = kNear * (most - least);
        const auto dear = std::count_if(cost, cost + looks, [=](double c) { return c >= most - near; });
        const auto cheap = std::count_if(cost, cost + looks, [=](double c) { return c <= least + near; });
        saturated += 2 * dear >= looks && kFewCheap * cheap <= looks;
        if (++counted == kFewest && saturated == 0) return false;
    }
    return counted >= kFewest && 2 * saturated > counted;
}

}  // namespace lapwing
