// The few vector operations that the kernels share, for one target (see foreach_target.hpp).
//
// Vec<D> holds kLanes duals (double or int64_t), one register wide. Costs are read and widened to duals by load_as.
namespace lapwing {
namespace LAPWING_TARGET {

inline constexpr int kLanes = LAPWING_VECTOR_BYTES / 8;

template <class T, int N>
struct VectorOf {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class D>
using Vec = typename VectorOf<D, kLanes>::type;

#define LAPWING_INLINE inline __attribute__((always_inline))

template <class V, class T>
LAPWING_INLINE V load(const T* p) {
    V x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
template <class V, class T>
LAPWING_INLINE void store(T* p, V x) {
    __builtin_memcpy(p, &x, sizeof x);
}

// kLanes consecutive costs as duals; sums of them are exact where those of the scalar code are.
template <class D, class T>
LAPWING_INLINE Vec<D> load_as(const T* p) {
    if constexpr (sizeof(T) == sizeof(D)) {
        return load<Vec<D>>(p);
    } else {
#if LAPWING_VECTOR_BYTES == 64
        if constexpr (sizeof(D) == 8 && __is_same(T, float))
            return (Vec<D>)_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
#elif LAPWING_VECTOR_BYTES == 32
        if constexpr (sizeof(D) == 8 && __is_same(T, float)) return (Vec<D>)_mm256_cvtps_pd(_mm_loadu_ps(p));
#endif
        using Narrow = typename VectorOf<T, kLanes>::type;
        return __builtin_convertvector(load<Narrow>(p), Vec<D>);
    }
}
template <class D>
LAPWING_INLINE Vec<D> broadcast(D x) {
    return x - Vec<D>{};
}
template <class V>
LAPWING_INLINE V vmin(V a, V b) {
    return a < b ? a : b;
}
template <class V>
LAPWING_INLINE V vmax(V a, V b) {
    return a > b ? a : b;
}
// Square roots, correctly rounded.
template <class V>
LAPWING_INLINE V vsqrt(V x) {
#if LAPWING_VECTOR_BYTES == 64
    if constexpr (sizeof(x[0]) == 4) return (V)_mm512_maskz_sqrt_ps(0xffff, (__m512)x);
    if constexpr (sizeof(x[0]) == 8) return (V)_mm512_maskz_sqrt_pd(0xff, (__m512d)x);
#elif LAPWING_VECTOR_BYTES == 32
    if constexpr (sizeof(x[0]) == 4) return (V)_mm256_sqrt_ps((__m256)x);
    if constexpr (sizeof(x[0]) == 8) return (V)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
    if constexpr (sizeof(x[0]) == 4) return (V)_mm_sqrt_ps((__m128)x);
    if constexpr (sizeof(x[0]) == 8) return (V)_mm_sqrt_pd((__m128d)x);
#else
    for (int l = 0; l < static_cast<int>(sizeof(V) / sizeof(x[0])); ++l)
        x[l] = sizeof(x[0]) == 4 ? __builtin_sqrtf(x[l]) : __builtin_sqrt(x[l]);
    return x;
#endif
}
#if LAPWING_VECTOR_BYTES == 64
// The bits of a mask as a number. GCC 12 may keep the mask in one byte of the stack and read eight when it is merely
// converted.
LAPWING_INLINE unsigned number_of(__mmask8 mask) {
    unsigned bits;
    asm("kmovb %1, %0" : "=r"(bits) : "k"(mask));
    return bits;
}
#endif
// Bit l is set where lane l of a comparison's result is true.
template <class M>
LAPWING_INLINE unsigned movemask(M mask) {
#if LAPWING_VECTOR_BYTES == 64
    return number_of(_mm512_movepi64_mask((__m512i)mask));
#elif LAPWING_VECTOR_BYTES == 32
    return static_cast<unsigned>(_mm256_movemask_pd((__m256d)mask));
#elif defined(__x86_64__)
    return static_cast<unsigned>(_mm_movemask_pd((__m128d)mask));
#else
    unsigned bits = 0;
    for (int l = 0; l < kLanes; ++l) bits |= static_cast<unsigned>(mask[l] != 0) << l;
    return bits;
#endif
}
template <class D>
LAPWING_INLINE D horizontal_min(Vec<D> x) {
    D best = x[0];
    for (int l = 1; l < kLanes; ++l) best = x[l] < best ? x[l] : best;
    return best;
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
