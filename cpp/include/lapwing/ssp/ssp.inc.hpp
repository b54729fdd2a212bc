// The row scan of a search of the "ssp" method, for one instruction set (ssp.cpp explains the method).
//
// Reads one row of n contiguous costs once. Arrays of labels are padded to kSspPadding, the costs are not.
#include "lapwing/ssp/costs.inc.hpp"

namespace lapwing {
namespace LAPWING_TARGET {

// Among equally near columns the first without an owner, or else the first, for any number of lanes.
template <class D>
SspNearest<D> ssp_reduce(Vec<D> nearest, Vec<std::int64_t> column, const std::int64_t* state) {
    SspNearest<D> best{kInfinity<D>, -1};
    for (int l = 0; l < kLanes; ++l) {
        const auto j = static_cast<Index>(column[l]);
        if (j >= 0) best = ssp_nearer(best, {nearest[l], j}, state);
    }
    return best;
}

// distance[j] = min(distance[j], cost[j] - v[j] - offset) over the open columns from begin, a multiple of kSspPadding,
// to end; `row` being the predecessor where it fell; kFirst: distances are set, not lowered. kDummyRow: the row's costs
// are all 0.
template <bool kFirst, bool kDummyRow, class T>
SspNearest<Dual<T>> ssp_scan_row(const T* cost, bool maximize, const SspLabels<Dual<T>>& labels, Dual<T> offset,
                                 Index row, Index begin, Index end) {
    using D = Dual<T>;
    Vec<D> nearest = ssp_infinity<D>();
    Vec<std::int64_t> nearest_column = broadcast<std::int64_t>(-1), nearest_state = broadcast<std::int64_t>(ssp_owned);
    Vec<std::int64_t> columns = ssp_first_lanes() + broadcast<std::int64_t>(begin);
    const Vec<D> offsets = broadcast<D>(offset);
    const Vec<std::int64_t> rows = broadcast<std::int64_t>(row);
    for (Index k = begin; k < end; k += kLanes) {
        const Vec<std::int64_t> state = load<Vec<std::int64_t>>(labels.state + k);
        const auto open = state != 0;
        Vec<D> x{};
        if constexpr (!kDummyRow) x = ssp_costs(cost, k, labels.cols, maximize, kInfinity<D> / 2);
        const Vec<D> reached = (x - load<Vec<D>>(labels.v + k)) - offsets;
        Vec<D> distance = reached;
        if constexpr (kFirst) {
            store(labels.distance + k, reached);
            store(labels.predecessor + k, rows);
        } else {
            distance = load<Vec<D>>(labels.distance + k);
            const auto better = (reached < distance) & open;
            if (movemask(better) != 0) {
                distance = better ? reached : distance;
                store(labels.distance + k, distance);
                store(labels.predecessor + k, better ? rows : load<Vec<std::int64_t>>(labels.predecessor + k));
            }
        }
        const auto take = ((distance < nearest) | ((distance == nearest) & (state < nearest_state))) & open;
        nearest = take ? distance : nearest;
        nearest_column = take ? columns : nearest_column;
        nearest_state = take ? state : nearest_state;
        columns += kLanes;
    }
    return ssp_reduce<D>(nearest, nearest_column, labels.state);
}

template <class T>
SspNearest<Dual<T>> ssp_first_row(const T* cost, bool maximize, const SspLabels<Dual<T>>& labels, Index row,
                                  Index begin, Index end) {
    return ssp_scan_row<true, false>(cost, maximize, labels, Dual<T>{0}, row, begin, end);
}
template <class T>
SspNearest<Dual<T>> ssp_next_row(const T* cost, bool maximize, const SspLabels<Dual<T>>& labels, Dual<T> offset,
                                 Index row, Index begin, Index end) {
    return ssp_scan_row<false, false>(cost, maximize, labels, offset, row, begin, end);
}
template <class T>
SspNearest<Dual<T>> ssp_virtual_row(const T* type, const SspLabels<Dual<T>>& labels, Dual<T> offset) {
    return ssp_scan_row<false, true>(type, false, labels, offset, kSspVirtualRow, 0, labels.cols);
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
