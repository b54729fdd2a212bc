// The passes of tight/kernels.hpp, for one target (see simd/foreach_target.hpp).
namespace lapwing {
namespace LAPWING_TARGET {

using Lanes = Vec<std::int64_t>;
inline constexpr int kSmallLanes = LAPWING_VECTOR_BYTES / 2;
using SmallVec = VectorOf<Small, kSmallLanes>::type;

LAPWING_INLINE SmallVec all_of(Small x) { return x - SmallVec{}; }
LAPWING_INLINE Small least_lane(SmallVec x) {
    Small best = x[0];
    for (int l = 1; l < kSmallLanes; ++l) best = x[l] < best ? x[l] : best;
    return best;
}
// Bit l is set where lane l of a comparison's result is true.
LAPWING_INLINE std::uint64_t bits_of(SmallVec mask) {
#if LAPWING_VECTOR_BYTES == 64
    std::uint32_t bits;
    asm("kmovd %1, %0" : "=r"(bits) : "k"(_mm512_movepi16_mask((__m512i)mask)));
    return bits;
#elif LAPWING_VECTOR_BYTES == 32
    const __m256i x = (__m256i)mask;
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
#elif defined(__x86_64__)
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16((__m128i)mask, _mm_setzero_si128())));
#else
    std::uint64_t bits = 0;
    for (int l = 0; l < kSmallLanes; ++l) bits |= static_cast<std::uint64_t>(mask[l] != 0) << l;
    return bits;
#endif
}
// The bits of kSmallBlock columns from j on.
template <class F>
LAPWING_INLINE std::uint64_t word_of(Index j, F&& is_one) {
    std::uint64_t word = 0;
    for (Index k = 0; k < kSmallBlock; k += kSmallLanes) word |= bits_of((SmallVec)is_one(j + k)) << k;
    return word;
}

inline void lower(const Small* row, Index padded, Small* nearest) {
    for (Index j = 0; j < padded; j += kSmallLanes)
        store(nearest + j, vmin(load<SmallVec>(row + j), load<SmallVec>(nearest + j)));
}
inline Small least(const Small* row, Index padded, const Small* v) {
    SmallVec best = all_of(kFar);
    for (Index j = 0; j < padded; j += kSmallLanes)
        best = vmin(best, (SmallVec)(load<SmallVec>(row + j) - load<SmallVec>(v + j)));
    return least_lane(best);
}
inline void list(const Small* row, Index padded, const Small* v, Small u, std::uint64_t* bits) {
    const SmallVec wanted = all_of(u);
    for (Index j = 0; j < padded; j += kSmallBlock)
        *bits++ = word_of(j, [&](Index k) __attribute__((always_inline)) {
            return load<SmallVec>(row + k) - load<SmallVec>(v + k) == wanted;
        });
}
inline void relax(const Small* const* rows, const Small* offsets, Index padded, const Small* v, Small* distance) {
    SmallVec offset[kSmallRows];
    for (Index r = 0; r < kSmallRows; ++r) offset[r] = all_of(offsets[r]);
    for (Index j = 0; j < padded; j += kSmallLanes) {
        SmallVec best = load<SmallVec>(rows[0] + j) - offset[0];
#pragma GCC unroll 8
        for (Index r = 1; r < kSmallRows; ++r) best = vmin(best, (SmallVec)(load<SmallVec>(rows[r] + j) - offset[r]));
        store(distance + j, vmin(load<SmallVec>(distance + j), (SmallVec)(best - load<SmallVec>(v + j))));
    }
}
inline Small nearest(const Small* distance, const Small* closed, Index padded) {
    SmallVec best = all_of(kFar);
    for (Index j = 0; j < padded; j += kSmallLanes)
        best = vmin(best, vmax(load<SmallVec>(distance + j), load<SmallVec>(closed + j)));
    return least_lane(best);
}
inline void at_distance(const Small* distance, const Small* closed, Index padded, Small wanted, std::uint64_t* bits) {
    for (Index j = 0; j < padded; j += kSmallBlock)
        *bits++ = word_of(j, [&](Index k) __attribute__((always_inline)) {
            return vmax(load<SmallVec>(distance + k), load<SmallVec>(closed + k)) == all_of(wanted);
        });
}

inline SmallKernels small_kernels() { return {lower, least, list, relax, nearest, at_distance}; }

// In units, rounded to the nearest whole number if it is small enough to be of use.
template <class D>
LAPWING_INLINE Vec<D> in_units(Vec<D> cost, Unit unit) {
    if constexpr (std::is_floating_point_v<D>) {
        const Vec<D> shift = broadcast(0x1.8p52);
        return (cost * broadcast(unit.scale) + shift) - shift;
    } else {
        return cost;
    }
}
// Whether `units` are the cost. A nonzero lane: they are not.
template <class D>
LAPWING_INLINE Lanes differ(Vec<D> units, Vec<D> cost, Unit unit) {
    if constexpr (std::is_floating_point_v<D>) {
        if (unit.decimal) return (Lanes)(units / broadcast(unit.scale) != cost);
        return (Lanes)(units != cost * broadcast(unit.scale));
    } else {
        return Lanes{};
    }
}

// Vector by vector, so that the second time the row is in the first cache.
template <class T>
bool make_small(const T* row, Index n, bool maximize, Unit unit, Index padded, Small* out) {
    using D = Dual<T>;
    using Narrow = typename VectorOf<Small, kLanes>::type;
    const auto vector = [&](Index j) __attribute__((always_inline)) {
        Vec<D> x;
        if (j + kLanes <= n) {
            x = load_as<D>(row + j);
        } else {  // the last ones again, so that every lane is a cost of the row
            for (int l = 0; l < kLanes; ++l) x[l] = static_cast<D>(row[j + l < n ? j + l : n - 1]);
        }
        if constexpr (std::is_floating_point_v<D>) return maximize ? -x : x;
        return (Vec<D>)(maximize ? ~(Lanes)x : (Lanes)x);  // -x - 1, which cannot overflow
    };
    // Whole numbers so small have exact differences, and integers none that overflow.
    constexpr D kMost = static_cast<D>(std::int64_t{1} << 50);
    Vec<D> least = in_units<D>(vector(0), unit);
    Lanes wrong{};
    for (Index j = 0; j < n; j += kLanes) {
        const Vec<D> cost = vector(j), units = in_units<D>(cost, unit);
        wrong |= differ<D>(units, cost, unit) & ~(Lanes)(units > broadcast(kMost));
        least = vmin(least, units);
    }
    D low = least[0];
    for (int l = 0; l < kLanes; ++l) {
        if (wrong[l] != 0) return false;
        low = least[l] < low ? least[l] : low;
    }
    if (!(low >= -kMost && low <= kMost)) return false;
    const Vec<D> most = broadcast(low + kMostSmall);
    for (Index j = 0; j < n; j += kLanes) {
        const Vec<D> units = vmin(in_units<D>(vector(j), unit), most) - broadcast(low);
        Narrow narrow;
        if constexpr (std::is_floating_point_v<D>) {
            using Middle = typename VectorOf<std::int32_t, kLanes>::type;
            narrow = __builtin_convertvector(__builtin_convertvector(units, Middle), Narrow);
        } else {
            narrow = __builtin_convertvector(units, Narrow);
        }
        store(out + j, narrow);
    }
    for (Index j = n; j < padded; ++j) out[j] = kMostSmall;
    return true;
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
