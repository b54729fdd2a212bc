// The definition of costs at the nearest places of kCertificateBoxFan boxes, for one SIMD target.
#include "lapwing/costs/points.inc.hpp"

namespace lapwing {
namespace LAPWING_TARGET {

template <class T>
struct PlaceKernels {
    using V = typename Metrics<T>::Number;
    static constexpr int kWidth = Metrics<T>::kWidth, kTile = kCertificateBoxFan / kWidth;

    // The coordinate between low and high at which a term is least, or greatest: the nearest one, or an end.
    template <class M>
    static LAPWING_INLINE V place(V x, V low, V high, T power, bool farthest) {
        const bool greatest = farthest != M::is_decreasing;
        if (!M::is_product && !greatest) {
            const V not_below = x < low ? low : x;
            return not_below > high ? high : not_below;
        }
        const V a = M::term(x, low, power), b = M::term(x, high, power);
        return greatest ? (a < b ? high : low) : (a < b ? low : high);
    }
    template <class M>
    static LAPWING_INLINE void add(const CornerTerm<T>& term, const T* x, Index first, bool farthest, V* total) {
        const PointTerm<T>& points = term.points;
        for (int t = 0; t < kTile; ++t) {
            const T *low = term.low + first + t * kWidth, *high = term.high + first + t * kWidth;
            V sum{};
            for (Index k = 0; k < points.dims; ++k, low += term.stride, high += term.stride) {
                const V a = x[k] - V{}, b = place<M>(a, load<V>(low), load<V>(high), points.power, farthest);
                sum = M::joined(sum, M::term(a, b, points.power));
            }
            V cost = M::finished(sum, points.power);
            if constexpr (!M::is_monotone) {
                const V margin = cost * T(1.0 / 4096), none{};
                const V least = sum > std::numeric_limits<T>::min() * 4096 ? cost - margin : none;
                cost = farthest ? cost + margin : least;
            }
            total[t] += points.weight * cost;
        }
    }
};

// A bit for each of kCertificateBoxFan boxes from `first` on that row `row`, of dual u, is not proven against.
template <class T>
unsigned certificate_doubtful_boxes(const CornerTerm<T>* terms, Index count, Index row, Index first, bool maximize,
                                    double u, const double* highest) {
    using K = PlaceKernels<T>;
    typename K::V total[K::kTile];
    for (auto& t : total) t = typename K::V{};
    for (Index t = 0; t < count; ++t) {
        const PointTerm<T>& points = terms[t].points;
        const T* x = points.x + std::ptrdiff_t{row} * points.dims;
        const bool farthest = (points.weight < 0) != maximize;
        switch (points.metric) {
#define LAPWING_METRIC(name) \
    case Metric::name: K::template add<typename Metrics<T>::name>(terms[t], x, first, farthest, total); break;
            FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
        }
    }
    T cost[kCertificateBoxFan];
    for (int t = 0; t < K::kTile; ++t) store(cost + t * K::kWidth, total[t]);
    unsigned doubtful = 0;
    const double sign = maximize ? -1 : 1;
    for (int b = 0; b < kCertificateBoxFan; ++b) {  // as certificate_is_certain decides a pair
        const double d = sign * static_cast<double>(cost[b]) - u;
        const double slack = d - highest[first + b];
        doubtful |= (slack >= __builtin_fabs(d) * 0x1p-52 ? 0u : 1u) << b;
    }
    return doubtful;
}

// Those of the boxes in `doubtful` that linear prices do not prove either. The margin is for the rounding of costs,
// half a unit for each of D + 4 operations at most, and, far above what they need, of the numbers here.
template <class T>
unsigned certificate_doubtful_slopes(const CornerTerm<T>* terms, Index count, Index row, Index first, double u,
                                     const double* slopes, std::ptrdiff_t stride, const double* rises,
                                     unsigned doubtful) {
    using D = Vec<double>;
    constexpr double kTiny = 0x1p-44, kUnit = std::numeric_limits<T>::epsilon(), kLeast = std::numeric_limits<T>::min();
    const auto positive = [](D a) { return vmax(a, -a); };
    for (int b = 0; b < kCertificateBoxFan; b += kLanes) {
        D least{}, costs{}, products{}, missed{};
        std::ptrdiff_t dims = 0;
        for (Index t = 0; t < count; ++t) {
            const PointTerm<T>& points = terms[t].points;
            const T* x = points.x + std::ptrdiff_t{row} * points.dims;
            const double w = static_cast<double>(points.weight);
            for (Index k = 0; k < points.dims; ++k, ++dims) {
                const std::ptrdiff_t at = k * terms[t].stride + first + b;
                const D p = broadcast(static_cast<double>(x[k])), l = load_as<double>(terms[t].low + at),
                        h = load_as<double>(terms[t].high + at), a = load<D>(slopes + dims * stride + first + b),
                        away = a / (2 * w), y = vmin(vmax(p + away, l), h), d = p - y,
                        farthest = vmax(positive(p - l), positive(p - h)), off = kTiny * (positive(p) + positive(away));
                least += w * d * d - a * y;
                costs += w * farthest * farthest;
                products += positive(a) * vmax(positive(l), positive(h));
                missed += w * off * off;
            }
        }
        const D r = load<D>(rises + first + b), slack = least - r - u;
        const D margin = 0.55 * kUnit * (dims + 4) * costs + missed + kLeast * (dims + 4) * (1 + costs) +
                         kTiny * (costs + products + positive(r) + __builtin_fabs(u));
        doubtful &= ~(static_cast<unsigned>(movemask(slack > margin)) << b);
    }
    return doubtful;
}

template <class T>
void certificate_costs(const PointTerm<T>* terms, Index count, Index row, Index first, T* cost) {
    PointKernels<T>::block(terms, count, row, first, cost);
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
