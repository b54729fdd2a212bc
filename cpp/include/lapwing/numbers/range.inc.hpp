// The largest finite magnitude of n contiguous costs, for one instruction set (range.cpp).
namespace lapwing {
namespace LAPWING_TARGET {

// |cost| as a double; infinities and NaN count as 0.
LAPWING_INLINE Vec<double> range_magnitude(Vec<double> cost) {
    const Vec<double> magnitude = cost < 0 ? -cost : cost;
    return magnitude <= broadcast(__DBL_MAX__) ? magnitude : Vec<double>{};
}
// cost or -1 - cost, whichever is not negative: cannot overflow, and is |cost| up to 1.
LAPWING_INLINE Vec<std::int64_t> range_magnitude(Vec<std::int64_t> cost) { return cost ^ (cost >> 63); }

template <class D>
D range_largest_magnitude(const D* cost, Index n) {
    constexpr Index kUnroll = 4;
    Vec<D> largest[kUnroll] = {};
    Index k = 0;
    for (; k + kUnroll * kLanes <= n; k += kUnroll * kLanes) {
        for (Index l = 0; l < kUnroll; ++l) {
            largest[l] = vmax(largest[l], range_magnitude(load<Vec<D>>(cost + k + l * kLanes)));
        }
    }
    for (; k < n; k += kLanes) {
        D last[kLanes] = {};
        for (Index l = 0; l < kLanes && k + l < n; ++l) last[l] = cost[k + l];
        largest[0] = vmax(largest[0], range_magnitude(load<Vec<D>>(last)));
    }
    const Vec<D> all = vmax(vmax(largest[0], largest[1]), vmax(largest[2], largest[3]));
    D result = 0;
    for (int l = 0; l < kLanes; ++l) result = all[l] > result ? all[l] : result;
    return result;
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
