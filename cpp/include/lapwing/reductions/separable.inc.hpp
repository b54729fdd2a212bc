// The pass of separable.cpp over a row, for one target (see simd/foreach_target.hpp).
namespace lapwing {
namespace LAPWING_TARGET {

// The columns where cost, as minimised, is below own + of_col - equal: their number, and they in found[n]. -1 if some
// cost is above own + of_col + equal, or not a number.
template <class T>
Index pairs_below(const T* row, Index n, bool maximize, Dual<T> own, const Dual<T>* of_col, Dual<T> equal,
                  Index* found) {
    using D = Dual<T>;
    using Bits = Vec<std::int64_t>;
    const D sign = maximize ? -1 : 1;
    const Vec<D> signs = broadcast(sign), owns = broadcast(own), most = broadcast(equal), least = -most;
    Index count = 0, j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        const Vec<D> rest = load_as<D>(row + j) * signs - (owns + load<Vec<D>>(of_col + j));
        const unsigned other = movemask((Bits)(rest < least) | ~(Bits)(rest <= most));
        if (other == 0) continue;
        for (unsigned left = other; left != 0; left &= left - 1) {
            const Index lane = __builtin_ctz(left);
            if (!(rest[lane] <= equal)) return -1;
            found[count++] = j + lane;
        }
    }
    for (; j < n; ++j) {
        const D rest = static_cast<D>(row[j]) * sign - (own + of_col[j]);
        if (!(rest <= equal)) return -1;
        if (rest < -equal) found[count++] = j;
    }
    return count;
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
