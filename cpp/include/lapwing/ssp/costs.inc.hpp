// Shared by ssp/ssp.inc.hpp and ssp/start.inc.hpp, for one instruction set.
namespace lapwing {
namespace LAPWING_TARGET {

template <class D>
LAPWING_INLINE Vec<D> ssp_infinity() {
    return broadcast<D>(kInfinity<D>);
}

// The costs k, k + 1, ... of a row, as minimised; those past its end are `filler`.
template <class T>
LAPWING_INLINE Vec<Dual<T>> ssp_costs(const T* cost, Index k, Index n, bool maximize, Dual<T> filler) {
    using D = Dual<T>;
    Vec<D> x;
    if (__builtin_expect(k + kLanes <= n, 1)) {
        x = load_as<D>(cost + k);
        return maximize ? -x : x;
    }
    x = broadcast<D>(filler);
    for (Index l = 0; k + l < n; ++l) x[l] = maximize ? -static_cast<D>(cost[k + l]) : static_cast<D>(cost[k + l]);
    return x;
}

LAPWING_INLINE Vec<std::int64_t> ssp_first_lanes() {
    Vec<std::int64_t> lanes;
    for (int l = 0; l < kLanes; ++l) lanes[l] = l;
    return lanes;
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
