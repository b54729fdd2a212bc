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

// The same by tilted prices, where that bound is greater. slopes[k * stride + b] is the slope of box b in dimension k
// of all terms, one term behind the other. For every column, with q the weight as minimised,
//     cost - v >= sum of (q term(x, y) - a y) - (v - sum of a y) - error of the computed cost,
// and of the first sum the least over the box is taken dimension by dimension. A square opens upwards if q > 0, and is
// least, tilted, at x + a / 2q or at an end, a distance at an end or at x; what is linear, or opens downwards, is least
// at an end.
template <class T>
struct TiltedBounds {
    using D = Vec<double>;
    D sum, size, reach, slack;  // of boxes; see `bound`
    Index dims;

    template <class Term>
    LAPWING_INLINE void add(const PointTerm<T>& term, const T* x, const T* low, const T* high, std::ptrdiff_t stride,
                            const double* slopes, std::ptrdiff_t slope_stride, double q) {
        for (Index k = 0; k < term.dims; ++k, low += stride, high += stride, slopes += slope_stride) {
            const D p = broadcast(static_cast<double>(x[k])), l = load_as<double>(low), h = load_as<double>(high);
            const D a = load<D>(slopes), at_low = q * Term::term(p, l, 1), at_high = q * Term::term(p, h, 1);
            D least = vmin(at_low - a * l, at_high - a * h);
            if (!Term::is_product && q > 0) {
                const D shift = Term::is_square ? a * (0.5 / q) : D{}, y = vmin(vmax(p + shift, l), h);
                least = vmin(least, q * Term::term(p, y, 1) - a * y);
                const D off = (magnitude(p) + magnitude(shift)) * kTiny;
                slack += q * off * off;
            }
            sum += least;
            size += vmax(magnitude(at_low), magnitude(at_high));
            reach += magnitude(a) * vmax(magnitude(l), magnitude(h));
        }
        dims += term.dims;
    }
    // The same of a Euclidean distance. It is at least b (y - x) for every unit vector b, here that towards the box's
    // middle, which is linear in y. Where q < 0, it is at most that of the farthest place, whatever the slopes.
    LAPWING_INLINE void add_distance(const PointTerm<T>& term, const T* x, const T* low, const T* high,
                                     std::ptrdiff_t stride, const double* slopes, std::ptrdiff_t slope_stride,
                                     double q) {
        constexpr double kLeast = std::numeric_limits<T>::min();
        const auto ends = [&](Index k, D& p, D& l, D& h) {
            p = broadcast(static_cast<double>(x[k]));
            l = load_as<double>(low + k * stride), h = load_as<double>(high + k * stride);
        };
        D p, l, h, to_middle{}, to_farthest{};
        for (Index k = 0; k < term.dims; ++k) {
            ends(k, p, l, h);
            const D middle = 0.5 * (l + h) - p, farthest = vmax(magnitude(l - p), magnitude(h - p));
            to_middle += middle * middle, to_farthest += farthest * farthest;
        }
        const D largest = vsqrt(to_farthest);
        const D scale = q > 0 ? q / vmax(vsqrt(to_middle), broadcast(kTiniest)) : D{};
        if (q < 0) sum += q * largest;
        for (Index k = 0; k < term.dims; ++k) {
            ends(k, p, l, h);
            const D a = load<D>(slopes + k * slope_stride), b = scale * (0.5 * (l + h) - p);
            sum += vmin(b * (l - p) - a * l, b * (h - p) - a * h);
            size += magnitude(b) * vmax(magnitude(l - p), magnitude(h - p));
            reach += magnitude(a) * vmax(magnitude(l), magnitude(h));
        }
        size += std::fabs(q) * largest;
        slack += broadcast(std::fabs(q) * std::sqrt(term.dims * kLeast));  // squares may underflow
        dims += term.dims;
    }
    // Less the margin: the error of computed costs is at most half a unit in the last place of `size` for each
    // operation, that of the sums here far less than kTiny of what is added; the least place is not hit exactly
    // (`slack`), and what underflows is below the least normal number of T.
    LAPWING_INLINE D bound(D rise) const {
        constexpr double kUnit = std::numeric_limits<T>::epsilon(), kLeast = std::numeric_limits<T>::min();
        const double of_costs = 0.55 * (dims + 4) * kUnit;  // half a unit each: three for a term, one for each sum
        const D all = size + reach + magnitude(rise);
        return sum - rise - (of_costs * size + kTiny * all + slack + (dims + 4) * kLeast * (1 + size));
    }

    static constexpr double kTiny = 0x1p-44, kTiniest = 1e-150;
    static LAPWING_INLINE D magnitude(D a) { return vmax(a, -a); }
};

template <class T>
void tilt_bounds(const BoxTerm<T>* terms, Index count, Index row, bool maximize, std::ptrdiff_t first,
                 const double* slopes, std::ptrdiff_t stride, const double* rises, double* bound) {
    using D = Vec<double>;
    for (Index b = 0; b < kBoxFan; b += kLanes) {
        TiltedBounds<T> tilted{};
        const std::ptrdiff_t at = first + b;
        for (Index t = 0; t < count; ++t) {
            const PointTerm<T>& points = *terms[t].points;
            const T* x = points.x + std::ptrdiff_t{row} * points.dims;
            const double weight = static_cast<double>(points.weight), q = maximize ? -weight : weight;
            const double* own = slopes + tilted.dims * stride + at;
            const auto add = [&]<class Term>(Term) {
                if constexpr (std::is_same_v<Term, typename Metrics<double>::euclidean>)
                    tilted.add_distance(points, x, terms[t].low + at, terms[t].high + at, terms[t].stride, own, stride,
                                        q);
                if constexpr (Term::is_additive) {
                    tilted.template add<Term>(points, x, terms[t].low + at, terms[t].high + at, terms[t].stride, own,
                                              stride, Term::is_decreasing ? -q : q);
                    if (Term::is_decreasing) tilted.sum += q, tilted.size += std::fabs(q);
                }
            };
            switch (points.metric) {
#define LAPWING_METRIC(name) \
    case Metric::name: add(typename Metrics<double>::name{}); break;
                FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
            }
        }
        const D found = tilted.bound(load<D>(rises + at)), plain = load<D>(bound + b);
        store(bound + b, found > plain ? found : plain);  // NaN, of prices that are not finite, bounds nothing
    }
}

// The columns of a box, from `first` on, whose c - v is at most `limit`, or below it: to out, which has room for all.
// Forbidden ones are not among them. Returns their number. kNearer: of these only columns whose base + c - v is below
// reach[k], k from 0 on, which it replaces; `farthest` becomes the largest of reach.
template <bool kNearer, class T>
LAPWING_INLINE Index near_in_box(const PointTerm<T>* terms, Index count, Index row, bool maximize, Index first,
                                 Index columns, const double* v, double limit, bool below, NearColumn<T>* out,
                                 double base, double* reach, double* farthest) {
    T cost[kBoxColumns];
    double value[kBoxColumns];
    PointKernels<T>::block(terms, count, row, first, cost);
    const double* prices = v + first;
    if (columns < kBoxColumns) {
        std::copy_n(prices, columns, value);
        std::fill(value + columns, value + kBoxColumns, 0.0);
        prices = value;
    }
    const Vec<double> limits = broadcast<double>(below ? limit : std::min(limit, std::numeric_limits<double>::max()));
    Vec<double> most = broadcast(-kInfinity<double>);
    std::uint64_t mask = 0;
    for (Index t = 0; t < kBoxColumns; t += kLanes) {
        Vec<double> c = load_as<double>(cost + t);
        if (maximize) c = -c;
        const Vec<double> r = c - load<Vec<double>>(prices + t);
        store(value + t, r);
        auto wanted = below ? r < limits : r <= limits;
        if constexpr (kNearer) {
            const Vec<double> distance = base + r, known = load<Vec<double>>(reach + t);
            wanted &= distance < known;
            const Vec<double> nearest = wanted ? distance : known;
            store(reach + t, nearest);
            most = vmax(most, nearest);
        }
        mask |= std::uint64_t{movemask(wanted)} << t;
    }
    if constexpr (kNearer) {
        *farthest = most[0];
        for (Index t = 1; t < kLanes; ++t) *farthest = most[t] > *farthest ? most[t] : *farthest;
    }
    if (columns < kBoxColumns) mask &= (std::uint64_t{1} << columns) - 1;
    Index kept = 0;
    for (; mask != 0; mask &= mask - 1) {
        const int t = __builtin_ctzll(mask);
        out[kept++] = {value[t], first + t, cost[t]};
    }
    return kept;
}
template <class T>
Index near_in_box(const PointTerm<T>* terms, Index count, Index row, bool maximize, Index first, Index columns,
                  const double* v, double limit, bool below, NearColumn<T>* out) {
    return near_in_box<false>(terms, count, row, maximize, first, columns, v, limit, below, out, 0, nullptr, nullptr);
}
template <class T>
Index nearer_in_box(const PointTerm<T>* terms, Index count, Index row, bool maximize, Index first, Index columns,
                    const double* v, double limit, NearColumn<T>* out, double base, double* reach, double* farthest) {
    return near_in_box<true>(terms, count, row, maximize, first, columns, v, limit, false, out, base, reach, farthest);
}

// The k-th smallest value, from 0 on, of no more than kMostToSelect. Quickselect (C. A. R. Hoare, "Algorithm 65: find",
// 1961) that counts in place of exchanging: no branch tells one value from another.
template <class T>
double kth_smallest(const NearColumn<T>* near, Index count, Index k) {
    double values[kMostToSelect];
    for (Index t = 0; t < count; ++t) values[t] = near[t].value;
    const Index whole = (count + kLanes - 1) / kLanes * kLanes;
    for (Index t = count; t < whole; ++t) values[t] = kInfinity<double>;
    double low = -kInfinity<double>, high = kInfinity<double>;  // it is between them, or low
    for (double pivot = values[count / 2];;) {
        int below = 0, up_to = 0;
        for (Index t = 0; t < whole; t += kLanes) {
            const Vec<double> v = load<Vec<double>>(values + t);
            below += std::popcount(movemask(v < broadcast(pivot)));
            up_to += std::popcount(movemask(v <= broadcast(pivot)));
        }
        if (below <= k && k < up_to) return pivot;
        (k < below ? high : low) = pivot;
        unsigned inside = 0;
        Index at = 0;
        for (; at < whole; at += kLanes) {
            const Vec<double> v = load<Vec<double>>(values + at);
            inside = movemask((v > broadcast(low)) & (v < broadcast(high)));
            if (inside != 0) break;
        }
        if (inside == 0) return low;
        pivot = values[at + std::countr_zero(inside)];
    }
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
