// The row scans of the start of the "ssp" method, for one instruction set (ssp_start.cpp explains it).
//
// Every kernel reads one row of n contiguous costs once. Arrays of duals are padded to kSspPadding, the costs are not.
#include "lapwing/ssp/costs.inc.hpp"

namespace lapwing {
namespace LAPWING_TARGET {

template <class T>
SspExtremes<Dual<T>> ssp_extremes(const T* cost, Index n, bool maximize) {
    using D = Dual<T>;
    const Vec<D> infinity = ssp_infinity<D>();
    Vec<D> least = infinity, greatest = -infinity;
    auto valid = infinity > -infinity;
    for (Index k = 0; k < n; k += kLanes) {
        const Vec<D> x = ssp_costs(cost, k, n, maximize, kInfinity<D>);
        valid &= x > -infinity;
        least = x < least ? x : least;
        greatest = ((x > greatest) & (x < infinity)) ? x : greatest;
    }
    SspExtremes<D> result{kInfinity<D>, -kInfinity<D>, -1};
    bool all_valid = true;
    for (int l = 0; l < kLanes; ++l) {
        result.least = least[l] < result.least ? least[l] : result.least;
        result.greatest = greatest[l] > result.greatest ? greatest[l] : result.greatest;
        all_valid = all_valid && valid[l] != 0;
    }
    if constexpr (__is_same(D, double)) {
        for (Index k = 0; k < n && !all_valid && result.invalid < 0; ++k) {
            const double x = maximize ? -static_cast<double>(cost[k]) : static_cast<double>(cost[k]);
            if (!(x > -kInfinity<double>)) result.invalid = k;
        }
    }
    return result;
}

// first[j] <= second[j]: the two smallest cost[j] - offset of all rows so far.
template <class T>
void ssp_column_minima(const T* cost, Index n, bool maximize, Dual<T> offset, Dual<T>* first, Dual<T>* second) {
    using D = Dual<T>;
    for (Index k = 0; k < n; k += kLanes) {
        const Vec<D> x = ssp_costs(cost, k, n, maximize, kInfinity<D> / 2) - broadcast<D>(offset);
        const Vec<D> least = load<Vec<D>>(first + k);
        store(first + k, vmin(least, x));
        store(second + k, vmin(load<Vec<D>>(second + k), vmax(least, x)));
    }
}

// The two least of all lanes, which hold their own two and the column of the least.
template <class D>
SspTwoLeast<D> ssp_reduce_two(Vec<D> least, Vec<D> second, Vec<std::int64_t> column) {
    SspTwoLeast<D> result{kInfinity<D>, kInfinity<D>, -1};
    for (int l = 0; l < kLanes; ++l) {
        D runner_up = second[l];
        if (least[l] < result.least || (least[l] == result.least && column[l] >= 0 && column[l] < result.column)) {
            runner_up = runner_up < result.least ? runner_up : result.least;
            result.least = least[l];
            result.column = static_cast<Index>(column[l]);
        } else {
            runner_up = least[l];
        }
        result.second = runner_up < result.second ? runner_up : result.second;
    }
    return result;
}

// The two least cost[j] - v[j] over the columns with eligible[j] != 0.
template <class T>
SspTwoLeast<Dual<T>> ssp_two_least(const T* cost, Index n, bool maximize, const Dual<T>* v,
                                   const std::int64_t* eligible) {
    using D = Dual<T>;
    Vec<D> least = ssp_infinity<D>(), second = ssp_infinity<D>();
    Vec<std::int64_t> column = broadcast<std::int64_t>(-1), columns = ssp_first_lanes();
    for (Index k = 0; k < n; k += kLanes) {
        const auto open = load<Vec<std::int64_t>>(eligible + k) != 0;
        Vec<D> x = ssp_costs(cost, k, n, maximize, kInfinity<D> / 2) - load<Vec<D>>(v + k);
        x = open ? x : ssp_infinity<D>();
        const auto better = x < least;
        second = vmin(second, vmax(least, x));
        least = better ? x : least;
        column = better ? columns : column;
        columns += kLanes;
    }
    return ssp_reduce_two<D>(least, second, column);
}

// v[j] = min(v[j], cost[j] - ceiling) over the columns with eligible[j] != 0: the row no longer prefers them to what
// costs it `ceiling`.
template <class T>
void ssp_lower_prices(const T* cost, Index n, bool maximize, Dual<T> ceiling, const std::int64_t* eligible,
                      Dual<T>* v) {
    using D = Dual<T>;
    for (Index k = 0; k < n; k += kLanes) {
        const auto open = load<Vec<std::int64_t>>(eligible + k) != 0;
        const Vec<D> x = ssp_costs(cost, k, n, maximize, kInfinity<D> / 2);
        const Vec<D> old = load<Vec<D>>(v + k), excess = broadcast<D>(ceiling) - (x - old);
        store(v + k, (open & (excess > D{0})) ? old - excess : old);
    }
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
