// The row scans of the "auction" method, for one instruction set (auction.cpp explains it).
//
// Reads one row of n contiguous costs, once or twice. v is padded to kSspPadding, the costs are not. Values are
// scale * cost - v; scale is 1 for floating-point costs.
#include "lapwing/ssp/start.inc.hpp"

namespace lapwing {
namespace LAPWING_TARGET {

template <class T>
LAPWING_INLINE Vec<Dual<T>> auction_values(const T* cost, Index k, Index n, bool maximize, Dual<T> scale,
                                           const Dual<T>* v) {
    using D = Dual<T>;
    Vec<D> x = ssp_costs(cost, k, n, maximize, kInfinity<D> / 2 / scale);
    if constexpr (!__is_same(D, double)) x *= broadcast<D>(scale);
    return x - load<Vec<D>>(v + k);
}

// The two least values of a row.
template <class T>
SspTwoLeast<Dual<T>> auction_two_least(const T* cost, Index n, bool maximize, Dual<T> scale, const Dual<T>* v) {
    using D = Dual<T>;
    Vec<D> least = ssp_infinity<D>(), second = ssp_infinity<D>();
    Vec<std::int64_t> column = broadcast<std::int64_t>(-1), columns = ssp_first_lanes();
    for (Index k = 0; k < n; k += kLanes) {
        const Vec<D> x = auction_values(cost, k, n, maximize, scale, v);
        const auto better = x < least;
        second = vmin(second, vmax(least, x));
        least = better ? x : least;
        column = better ? columns : column;
        columns += kLanes;
    }
    return ssp_reduce_two<D>(least, second, column);
}

// Writes the columns of at least kAuctionRank small values (all, where there are fewer) and their scaled costs; at most
// kAuctionListed. Returns how many; *bound is at most the value of any column left out.
template <class T>
Index auction_list(const T* cost, Index n, bool maximize, Dual<T> scale, const Dual<T>* v, Index* cols, Dual<T>* costs,
                   Dual<T>* bound) {
    using D = Dual<T>;
    constexpr int kVectors = kAuctionGroups / kLanes;
    Vec<D> minima[kVectors];
    for (auto& x : minima) x = ssp_infinity<D>();
    for (Index k = 0, t = 0; k < n; k += kLanes, t = t + 1 < kVectors ? t + 1 : 0)
        minima[t] = vmin(minima[t], auction_values(cost, k, n, maximize, scale, v));
    D groups[kAuctionGroups];
    for (int t = 0; t < kVectors; ++t) store(groups + t * kLanes, minima[t]);
    const D threshold = auction_rank(groups);
    Index count = 0;
    D left_out = kInfinity<D>;
    for (Index k = 0; k < n; k += kLanes) {
        const Vec<D> x = auction_values(cost, k, n, maximize, scale, v);
        unsigned hits = movemask(x <= broadcast<D>(threshold));
        for (; hits != 0; hits &= hits - 1) {
            const int l = __builtin_ctz(hits);
            if (k + l >= n || x[l] >= kInfinity<D> / 4) continue;
            if (count < kAuctionListed) {
                cols[count] = k + l;
                costs[count++] = x[l] + v[k + l];
            } else {
                left_out = x[l] < left_out ? x[l] : left_out;
            }
        }
    }
    *bound = left_out < threshold ? left_out : threshold;
    return count;
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
