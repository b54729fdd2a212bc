// Rows of costs computed from points (costs/points.hpp), for one SIMD target.
//
// kColumnsAtOnce columns at a time, from any column on: a tile of kTile registers goes through all dimensions of all
// terms before the next. About 0.2 cycles a pair for squared distances in the plane, float32, 512 bits.
//
// Points of many dimensions do not fit the caches, so that a row at a time waits for memory. Several rows
// (compute_rows) go through the dimensions in pieces: a tile of kRows rows and kVectors registers of columns takes its
// sums up where it left them. Per pair the operations and their order are the same.
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

// Some rows and columns of points of many dimensions.
template <class T>
struct PointTiles {
    static constexpr int kWidth = Metrics<T>::kWidth, kRows = 4, kVectors = 2;
    static constexpr Index kTileColumns = kVectors * kWidth;
    static_assert(kPointBlock.cols % kTileColumns == 0 && kTileColumns <= kColumnsAtOnce);
    using V = typename Metrics<T>::Number;

    // Adds dimensions of kCount rows and a tile of columns to their sums. x: the first row's; y: the tile, packed.
    template <class M, int kCount>
    static LAPWING_INLINE void add_dims(const PointTerm<T>& term, const T* x, const T* y, Index dims, T* sums) {
        V sum[kCount][kVectors];
        for (int r = 0; r < kCount; ++r)
            for (int t = 0; t < kVectors; ++t) sum[r][t] = load<V>(sums + r * kPointBlock.cols + t * kWidth);
        for (Index k = 0; k < dims; ++k, y += kTileColumns) {
            V b[kVectors];
            for (int t = 0; t < kVectors; ++t) b[t] = load<V>(y + t * kWidth);
            for (int r = 0; r < kCount; ++r) {
                const V a = x[std::ptrdiff_t{r} * term.dims + k] - V{};
                for (int t = 0; t < kVectors; ++t) sum[r][t] = M::joined(sum[r][t], M::term(a, b[t], term.power));
            }
        }
        for (int r = 0; r < kCount; ++r)
            for (int t = 0; t < kVectors; ++t) store(sums + r * kPointBlock.cols + t * kWidth, sum[r][t]);
    }

    template <class M>
    static LAPWING_INLINE void add_metric(const PointTerm<T>& term, Index row, Index rows, Index column, Index columns,
                                          PointScratch<T>& scratch) {
        __builtin_memset(scratch.sums, 0, static_cast<std::size_t>(rows) * kPointBlock.cols * sizeof(T));
        constexpr Index kDims = kPointBlock.dims;
        for (Index k = 0; k < term.dims; k += kDims) {
            const Index dims = k + kDims < term.dims ? kDims : term.dims - k;
            const T* y = term.y + std::ptrdiff_t{k} * term.stride + column;
            for (Index d = 0; d < dims; ++d, y += term.stride)  // each dimension is on a page of its own
                for (Index j = 0; j < columns; j += kTileColumns)
                    __builtin_memcpy(scratch.packed + j * kDims + d * kTileColumns, y + j, kTileColumns * sizeof(T));
            for (Index j = 0; j < columns; j += kTileColumns) {
                const T* const packed = scratch.packed + j * kDims;
                const T* x = term.x + std::ptrdiff_t{row} * term.dims + k;
                T* its_sums = scratch.sums + j;
                Index i = 0;
                for (; i + kRows <= rows; i += kRows, x += kRows * term.dims, its_sums += kRows * kPointBlock.cols)
                    add_dims<M, kRows>(term, x, packed, dims, its_sums);
                for (; i < rows; ++i, x += term.dims, its_sums += kPointBlock.cols)
                    add_dims<M, 1>(term, x, packed, dims, its_sums);
            }
        }
        const bool is_gated = term.limit < std::numeric_limits<T>::infinity();
        const V beyond = term.beyond - V{};
        for (Index i = 0; i < rows; ++i)
            for (Index j = 0; j < columns; j += kWidth) {
                const V sum = M::finished(load<V>(scratch.sums + i * kPointBlock.cols + j), term.power);
                T* const total = scratch.totals + i * kPointBlock.cols + j;
                const V cost = is_gated ? (sum > term.limit ? beyond : term.weight * sum) : term.weight * sum;
                store(total, load<V>(total) + cost);
            }
    }

    static LAPWING_INLINE void add_term(const PointTerm<T>& term, Index row, Index rows, Index column, Index columns,
                                        PointScratch<T>& scratch) {
        switch (term.metric) {
#define LAPWING_METRIC(name) \
    case Metric::name: return add_metric<typename Metrics<T>::name>(term, row, rows, column, columns, scratch);
            FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
        }
    }
};

// Costs of at most kPointBlock.rows rows from `row` on and kPointBlock.cols columns from `first` on, of which the ones
// of a row lie `stride` from those of the next.
template <class T>
void compute_rows(const PointTerm<T>* terms, Index count, Index row, Index rows, Index first, Index columns, T* out,
                  std::ptrdiff_t stride, PointScratch<T>& scratch) {
    __builtin_memset(scratch.totals, 0, sizeof scratch.totals);
    for (Index t = 0; t < count; ++t) PointTiles<T>::add_term(terms[t], row, rows, first, columns, scratch);
    for (Index i = 0; i < rows; ++i)
        __builtin_memcpy(out + i * stride, scratch.totals + i * kPointBlock.cols,
                         static_cast<std::size_t>(columns) * sizeof(T));
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
