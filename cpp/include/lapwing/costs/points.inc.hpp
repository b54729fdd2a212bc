// Rows of costs computed from points (costs/points.hpp), for one SIMD target.
//
// kColumnsAtOnce columns at a time, from any column on: a tile of kTile registers goes through all dimensions of all
// terms before the next. About 0.2 cycles a pair for squared distances in the plane, float32, 512 bits.
namespace lapwing {
namespace LAPWING_TARGET {

// Each metric as a struct, with its arithmetic for a vector of costs.
template <class T>
struct Metrics {
    static constexpr int kWidth = LAPWING_VECTOR_BYTES / sizeof(T);
    using Scalar = T;
    using Number = typename VectorOf<T, kWidth>::type;

    static LAPWING_INLINE Number square_root(Number x) { return vsqrt(x); }
    static LAPWING_INLINE Number raised_to(Number x, Scalar power) {
        for (int l = 0; l < kWidth; ++l) {
            if constexpr (sizeof(T) == 4)
                x[l] = __builtin_powf(x[l], power);
            else
                x[l] = __builtin_pow(x[l], power);
        }
        return x;
    }
#define METRIC_FUNCTION static LAPWING_INLINE
#include "costs/metrics.cuh"
#undef METRIC_FUNCTION
};

template <class T>
struct PointKernels {
    static constexpr int kWidth = Metrics<T>::kWidth;
    static constexpr int kTile = 4;
    using V = typename Metrics<T>::Number;

    template <class M>
    static LAPWING_INLINE void add_metric(const PointTerm<T>& term, const T* x, Index column, V* total) {
        V sum[kTile];
        for (auto& s : sum) s = V{};
        const T* y = term.y + column;
        for (Index k = 0; k < term.dims; ++k, y += term.stride) {
            const V a = x[k] - V{};
            for (int t = 0; t < kTile; ++t) {
                const V b = load<V>(y + t * kWidth);
                sum[t] = M::joined(sum[t], M::term(a, b, term.power));
            }
        }
        for (auto& s : sum) s = M::finished(s, term.power);
        if (term.limit < std::numeric_limits<T>::infinity()) {
            const V beyond = term.beyond - V{};
            for (int t = 0; t < kTile; ++t) total[t] += sum[t] > term.limit ? beyond : term.weight * sum[t];
        } else {
            for (int t = 0; t < kTile; ++t) total[t] += term.weight * sum[t];
        }
    }

    static LAPWING_INLINE void add_term(const PointTerm<T>& term, Index row, Index column, V* total) {
        const T* x = term.x + std::ptrdiff_t{row} * term.dims;
        switch (term.metric) {
#define LAPWING_METRIC(name) \
    case Metric::name: return add_metric<typename Metrics<T>::name>(term, x, column, total);
            FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
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
