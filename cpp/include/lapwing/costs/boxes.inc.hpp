// Bounds of kBoxFan boxes, and the near columns of one box, for one SIMD target; see costs/boxes.hpp.
#include "lapwing/costs/points.inc.hpp"

namespace lapwing {
namespace LAPWING_TARGET {

template <class T>
struct BoxKernels {
    using V = typename Metrics<T>::Number;
    static constexpr int kWidth = Metrics<T>::kWidth;
    static constexpr int kTile = kBoxFan / kWidth;
    static constexpr T kSlack = T(1) / (1 << 14);  // far more than the relative error of functions
    // For sums below this, library powers may have larger errors.
    static constexpr T kTiny = std::numeric_limits<T>::min() * (1 << 14);

    // The least or greatest term between x and a place in [low, high] (costs/metrics.cuh), a number each.
    template <class M, bool kGreatest>
    static LAPWING_INLINE V extreme(V x, V low, V high, T power) {
        if constexpr (kGreatest) return vmax(M::term(x, low, power), M::term(x, high, power));
        if constexpr (M::is_product) return vmin(M::term(x, low, power), M::term(x, high, power));
        return M::term(x, vmin(vmax(x, low), high), power);
    }
    // The term of each box's nearest or farthest place is added to the total.
    template <class M, bool kFarthest>
    static LAPWING_INLINE void add_metric(const PointTerm<T>& term, const T* x, const T* low, const T* high,
                                          std::ptrdiff_t stride, V* total) {
        V sum[kTile];
        for (auto& s : sum) s = V{};
        for (Index k = 0; k < term.dims; ++k, low += stride, high += stride) {
            const V a = x[k] - V{};
            for (int t = 0; t < kTile; ++t) {
                const V l = load<V>(low + t * kWidth), h = load<V>(high + t * kWidth);
                sum[t] = M::joined(sum[t], extreme<M, kFarthest != M::is_decreasing>(a, l, h, term.power));
            }
        }
        for (int t = 0; t < kTile; ++t) {
            V cost = M::finished(sum[t], term.power);
            if constexpr (!M::is_monotone) cost *= kFarthest ? 1 + kSlack : 1 - kSlack;
            if constexpr (!M::is_monotone && !kFarthest) cost = sum[t] < kTiny ? V{} : cost;
            V weighted = term.weight * cost;
            if constexpr (!kFarthest)  // the whole box is too far
                if (term.limit < term.beyond) weighted = cost > term.limit ? term.beyond - V{} : weighted;
            total[t] += weighted;
        }
    }

    template <bool kFarthest>
    static LAPWING_INLINE void add_term(const PointTerm<T>& term, const T* x, const T* low, const T* high,
                                        std::ptrdiff_t stride, V* total) {
        switch (term.metric) {
#define LAPWING_METRIC(name) \
    case Metric::name: return add_metric<typename Metrics<T>::name, kFarthest>(term, x, low, high, stride, total);
            FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
        }
    }
};

// bound[b] is at most every c - v of box b, as minimised, for kBoxFan boxes; `highest` are their highest prices.
template <class T>
void bound_boxes(const BoxTerm<T>* terms, Index count, Index row, bool maximize, std::ptrdiff_t first,
                 const double* highest, double* bound) {
    using K = BoxKernels<T>;
    typename K::V total[K::kTile];
    for (auto& t : total) t = typename K::V{};
    for (Index t = 0; t < count; ++t) {
        const PointTerm<T>& points = *terms[t].points;
        const T *x = points.x + std::ptrdiff_t{row} * points.dims, *low = terms[t].low + first,
                *high = terms[t].high + first;
        if ((points.weight < 0) != maximize)
            K::template add_term<true>(points, x, low, high, terms[t].stride, total);
        else
            K::template add_term<false>(points, x, low, high, terms[t].stride, total);
    }
    T cost[kBoxFan];
    for (int t = 0; t < K::kTile; ++t) store(cost + t * K::kWidth, maximize ? -total[t] : total[t]);
    for (Index b = 0; b < kBoxFan; b += kLanes)
        store(bound + b, load_as<double>(cost + b) - load<Vec<double>>(highest + b));
}

// The columns of a box, from `first` on, whose c - v is at most `limit`, or below it: to out, which has room for all.
// Forbidden ones are not among them. Returns their number.
template <class T>
Index near_in_box(const PointTerm<T>* terms, Index count, Index row, bool maximize, Index first, Index columns,
                  const double* v, double limit, bool below, NearColumn<T>* out) {
    T cost[kBoxColumns];
    double value[kBoxColumns] = {};
    PointKernels<T>::block(terms, count, row, first, cost);
    const double* prices = v + first;
    if (columns < kBoxColumns) {
        __builtin_memcpy(value, prices, static_cast<std::size_t>(columns) * sizeof(double));
        prices = value;
    }
    const Vec<double> limits = broadcast<double>(below ? limit : std::min(limit, std::numeric_limits<double>::max()));
    std::uint64_t mask = 0;
    for (Index t = 0; t < kBoxColumns; t += kLanes) {
        Vec<double> c = load_as<double>(cost + t);
        if (maximize) c = -c;
        const Vec<double> r = c - load<Vec<double>>(prices + t);
        store(value + t, r);
        mask |= std::uint64_t{below ? movemask(r < limits) : movemask(r <= limits)} << t;
    }
    if (columns < kBoxColumns) mask &= (std::uint64_t{1} << columns) - 1;
    Index kept = 0;
    for (; mask != 0; mask &= mask - 1) {
        const int t = __builtin_ctzll(mask);
        out[kept++] = {value[t], first + t, cost[t]};
    }
    return kept;
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
