// Rows of costs computed from points (costs/points.hpp), for one SIMD target.
//
// kColumnsAtOnce columns at a time, from any column on: a tile of kTile registers goes through all dimensions of all terms
// before the next. About 0.2 cycles a pair for squared distances in the plane, float32, 512 bits.
namespace lapwing {
namespace LAPWING_TARGET {

template <class T>
struct PointKernels {
    static constexpr int kWidth = LAPWING_VECTOR_BYTES / sizeof(T);
    static constexpr int kTile = 4;
    using V = typename VectorOf<T, kWidth>::type;

    static LAPWING_INLINE V absolute(V x) { return x < 0 ? -x : x; }

    static LAPWING_INLINE V power(V x, T exponent) {
        for (int l = 0; l < kWidth; ++l) {
            if constexpr (sizeof(T) == 4)
                x[l] = __builtin_powf(x[l], exponent);
            else
                x[l] = __builtin_pow(x[l], exponent);
        }
        return x;
    }

    // What one dimension adds.
    template <Metric kMetric>
    static LAPWING_INLINE V step(V sum, V a, V b, T exponent) {
        if constexpr (kMetric == Metric::inner_product || kMetric == Metric::cosine) return sum + a * b;
        const V d = a - b;
        if constexpr (kMetric == Metric::manhattan) return sum + absolute(d);
        if constexpr (kMetric == Metric::chebyshev) return vmax(sum, absolute(d));
        if constexpr (kMetric == Metric::minkowski) return sum + power(absolute(d), exponent);
        return sum + d * d;
    }

    // 2 arcsin(h) for 0 <= h <= 1. Up to 1/2 by the rational approximation of FDLIBM's e_asin.c and e_asinf.c (Sun
    // Microsystems, 1993), above by arcsin(h) = pi / 2 - 2 arcsin(sqrt((1 - h) / 2)).
    static LAPWING_INLINE V twice_arcsine(V h) {
        const auto is_small = h < T(0.5);
        const V z = is_small ? h * h : (1 - h) * T(0.5);
        const V s = is_small ? h : vsqrt(z);
        V p, q;
        if constexpr (sizeof(T) == 4) {
            p = z * (1.6666586697e-01f + z * (-4.2743422091e-02f + z * -8.6563630030e-03f));
            q = 1 + z * -7.0662963390e-01f;
        } else {
            p = z * (1.66666666666666657415e-01 +
                     z * (-3.25565818622400915405e-01 +
                          z * (2.01212532134862925881e-01 +
                               z * (-4.00555345006794114027e-02 +
                                    z * (7.91534994289814532176e-04 + z * 3.47933107596021167570e-05)))));
            q = 1 + z * (-2.40339491173441421878e+00 +
                         z * (2.02094576023350569471e+00 +
                              z * (-6.88283971605453293030e-01 + z * 7.70381505559019352791e-02)));
        }
        const V r = s + s * (p / q);
        return is_small ? r + r : T(3.14159265358979323846) - 4 * r;
    }

    template <Metric kMetric>
    static LAPWING_INLINE V finish(V sum, T exponent) {
        if constexpr (kMetric == Metric::euclidean) return vsqrt(sum);
        if constexpr (kMetric == Metric::minkowski) return power(sum, 1 / exponent);
        if constexpr (kMetric == Metric::cosine) return 1 - sum;
        if constexpr (kMetric == Metric::great_circle) return twice_arcsine(vmin(vsqrt(sum) * T(0.5), V{} + 1));
        return sum;
    }

    template <Metric kMetric>
    static LAPWING_INLINE void add_metric(const PointTerm<T>& term, const T* x, Index column, V* total) {
        V sum[kTile];
        for (auto& s : sum) s = V{};
        const T* y = term.y + column;
        for (Index k = 0; k < term.dims; ++k, y += term.stride) {
            const V a = x[k] - V{};
            for (int t = 0; t < kTile; ++t) sum[t] = step<kMetric>(sum[t], a, load<V>(y + t * kWidth), term.power);
        }
        for (int t = 0; t < kTile; ++t) total[t] += term.weight * finish<kMetric>(sum[t], term.power);
    }

    static LAPWING_INLINE void add_term(const PointTerm<T>& term, Index row, Index column, V* total) {
        const T* x = term.x + std::ptrdiff_t{row} * term.dims;
        switch (term.metric) {
            case Metric::squared_euclidean: return add_metric<Metric::squared_euclidean>(term, x, column, total);
            case Metric::euclidean: return add_metric<Metric::euclidean>(term, x, column, total);
            case Metric::manhattan: return add_metric<Metric::manhattan>(term, x, column, total);
            case Metric::chebyshev: return add_metric<Metric::chebyshev>(term, x, column, total);
            case Metric::minkowski: return add_metric<Metric::minkowski>(term, x, column, total);
            case Metric::inner_product: return add_metric<Metric::inner_product>(term, x, column, total);
            case Metric::cosine: return add_metric<Metric::cosine>(term, x, column, total);
            case Metric::great_circle: return add_metric<Metric::great_circle>(term, x, column, total);
        }
    }

    // Costs of one row and kColumnsAtOnce columns from `column` on, to out.
    static LAPWING_INLINE void block(const PointTerm<T>* terms, Index count, Index row, Index column, T* out) {
        static_assert(kColumnsAtOnce % (kTile * kWidth) == 0);
        for (Index j = 0; j < kColumnsAtOnce; j += kTile * kWidth) {
            V total[kTile];
            for (auto& t : total) t = V{};
            for (Index t = 0; t < count; ++t) add_term(terms[t], row, column + j, total);
            for (int t = 0; t < kTile; ++t) store(out + j + t * kWidth, total[t]);
        }
    }
};

// `columns` costs of a row, from column `first` on.
template <class T>
void compute_row(const PointTerm<T>* terms, Index count, Index row, Index first, Index columns, T* out) {
    Index j = 0;
    for (; j + kColumnsAtOnce <= columns; j += kColumnsAtOnce)
        PointKernels<T>::block(terms, count, row, first + j, out + j);
    if (j == columns) return;
    T rest[kColumnsAtOnce];
    PointKernels<T>::block(terms, count, row, first + j, rest);
    __builtin_memcpy(out + j, rest, static_cast<std::size_t>(columns - j) * sizeof(T));
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
