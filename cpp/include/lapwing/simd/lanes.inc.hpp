// Comparisons, selections and reductions over the lanes of one vector (see vector.inc.hpp).
//
// A mask is a mask register with AVX-512, otherwise a vector of all-ones and zeros.
namespace lapwing {
namespace LAPWING_TARGET {

using Lanes = Vec<std::int64_t>;

#if LAPWING_VECTOR_BYTES == 64
using Mask = __mmask8;
LAPWING_INLINE Mask less(Vec<double> a, Vec<double> b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
}
LAPWING_INLINE Mask less(Lanes a, Lanes b) { return _mm512_cmplt_epi64_mask((__m512i)a, (__m512i)b); }
LAPWING_INLINE Mask less_equal(Vec<double> a, Vec<double> b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ);
}
LAPWING_INLINE Mask less_equal(Lanes a, Lanes b) { return _mm512_cmple_epi64_mask((__m512i)a, (__m512i)b); }
LAPWING_INLINE Mask equal(Vec<double> a, Vec<double> b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
}
LAPWING_INLINE Mask equal(Lanes a, Lanes b) { return _mm512_cmpeq_epi64_mask((__m512i)a, (__m512i)b); }
LAPWING_INLINE Vec<double> select(Mask m, Vec<double> yes, Vec<double> no) {
    return (Vec<double>)_mm512_mask_mov_pd((__m512d)no, m, (__m512d)yes);
}
LAPWING_INLINE Lanes select(Mask m, Lanes yes, Lanes no) {
    return (Lanes)_mm512_mask_mov_epi64((__m512i)no, m, (__m512i)yes);
}
LAPWING_INLINE void store_where(Mask m, std::int64_t* p, Lanes x) { _mm512_mask_storeu_epi64(p, m, (__m512i)x); }
LAPWING_INLINE unsigned bits(Mask m) { return number_of(m); }
LAPWING_INLINE Vec<double> lane_min(Vec<double> a, Vec<double> b) {
    return (Vec<double>)_mm512_maskz_min_pd(0xff, (__m512d)a, (__m512d)b);
}
LAPWING_INLINE Vec<double> lane_max(Vec<double> a, Vec<double> b) {
    return (Vec<double>)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
}
LAPWING_INLINE Lanes lane_min(Lanes a, Lanes b) { return (Lanes)_mm512_maskz_min_epi64(0xff, (__m512i)a, (__m512i)b); }
LAPWING_INLINE Lanes lane_max(Lanes a, Lanes b) { return (Lanes)_mm512_maskz_max_epi64(0xff, (__m512i)a, (__m512i)b); }
#else
using Mask = Lanes;
template <class V>
LAPWING_INLINE Mask less(V a, V b) {
    return (Mask)(a < b);
}
template <class V>
LAPWING_INLINE Mask less_equal(V a, V b) {
    return (Mask)(a <= b);
}
template <class V>
LAPWING_INLINE Mask equal(V a, V b) {
    return (Mask)(a == b);
}
template <class V>
LAPWING_INLINE V select(Mask m, V yes, V no) {
    return m ? yes : no;
}
LAPWING_INLINE void store_where(Mask m, std::int64_t* p, Lanes x) { store(p, m ? x : load<Lanes>(p)); }
LAPWING_INLINE unsigned bits(Mask m) { return movemask(m); }
template <class V>
LAPWING_INLINE V lane_min(V a, V b) {
    return vmin(a, b);
}
template <class V>
LAPWING_INLINE V lane_max(V a, V b) {
    return vmax(a, b);
}
#endif

LAPWING_INLINE Lanes lane_numbers() {
    Lanes x = {};
    for (int l = 0; l < kLanes; ++l) x[l] = l;
    return x;
}

// array[index] = x, written as a whole vector: the scans load whole vectors, and a load waits long for a narrower
// store. The array starts at a vector's boundary.
template <class D>
LAPWING_INLINE void put(D* array, std::int32_t index, D x) {
    D* block = array + index / kLanes * kLanes;
    const Mask mine = equal(lane_numbers(), broadcast(static_cast<std::int64_t>(index % kLanes)));
    store(block, select(mine, broadcast(x), load<Vec<D>>(block)));
}

// The first `count` < kLanes costs at p as duals, filled up with kInfinity.
template <class D, class T>
LAPWING_INLINE Vec<D> load_partial(const T* p, std::int32_t count) {
#if LAPWING_VECTOR_BYTES == 64
    const Mask given = static_cast<Mask>((1u << count) - 1);
    if constexpr (__is_same(T, double)) return (Vec<D>)_mm512_mask_loadu_pd((__m512d)broadcast(kInfinity<D>), given, p);
    if constexpr (__is_same(T, float))
        return (Vec<D>)_mm512_mask_cvtps_pd((__m512d)broadcast(kInfinity<D>), given, _mm256_maskz_loadu_ps(given, p));
#endif
    Vec<D> x = broadcast(kInfinity<D>);
    for (std::int32_t l = 0; l < count; ++l) x[l] = static_cast<D>(p[l]);
    return x;
}

// Lane l becomes lane l ^ K: a butterfly of these leaves the reduction over all lanes in every lane.
template <int K, class V>
LAPWING_INLINE V exchange(V x) {
    if constexpr (kLanes == 8) {
        return __builtin_shufflevector(x, x, 0 ^ K, 1 ^ K, 2 ^ K, 3 ^ K, 4 ^ K, 5 ^ K, 6 ^ K, 7 ^ K);
    } else if constexpr (kLanes == 4) {
        return __builtin_shufflevector(x, x, 0 ^ K, 1 ^ K, 2 ^ K, 3 ^ K);
    } else {
        return __builtin_shufflevector(x, x, 1, 0);
    }
}
// The smallest lane, in every lane.
template <class V>
LAPWING_INLINE V min_of_lanes(V x) {
    if constexpr (kLanes >= 8) x = lane_min(x, exchange<4>(x));
    if constexpr (kLanes >= 4) x = lane_min(x, exchange<2>(x));
    return lane_min(x, exchange<1>(x));
}
template <int K, class V>
LAPWING_INLINE void merge_two_smallest(V& first, V& second) {
    const V other = exchange<K>(first);
    second = lane_min(lane_min(second, exchange<K>(second)), lane_max(first, other));
    first = lane_min(first, other);
}
// The smallest two of all lanes' (first, second), in every lane.
template <class V>
LAPWING_INLINE void two_smallest_of_lanes(V& first, V& second) {
    if constexpr (kLanes >= 8) merge_two_smallest<4>(first, second);
    if constexpr (kLanes >= 4) merge_two_smallest<2>(first, second);
    merge_two_smallest<1>(first, second);
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
