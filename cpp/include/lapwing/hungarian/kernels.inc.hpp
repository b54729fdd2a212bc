// The row passes of the Hungarian methods, for one instruction set (kernels.hpp says what each does).
namespace lapwing {
namespace LAPWING_TARGET {

using Open = Vec<std::int64_t>;

// The costs k, k + 1, ... of a row, as minimised; those past its end are kInfinity.
template <class T>
LAPWING_INLINE Vec<Dual<T>> hungarian_costs(const void* costs, bool maximize, Index k, Index n) {
    using D = Dual<T>;
    const auto* row = static_cast<const T*>(costs);
    Vec<D> x;
    if (__builtin_expect(k + kLanes <= n, 1)) {
        x = load_as<D>(row + k);
        return maximize ? -x : x;
    }
    x = broadcast<D>(kInfinity<D>);
    for (Index l = 0; k + l < n; ++l) x[l] = maximize ? -static_cast<D>(row[k + l]) : static_cast<D>(row[k + l]);
    return x;
}

template <class T>
Dual<T> hungarian_cost(const void* row, bool maximize, Index j) {
    const auto cost = static_cast<Dual<T>>(static_cast<const T*>(row)[j]);
    return maximize ? -cost : cost;
}

LAPWING_INLINE Index hungarian_list(unsigned bits, Index k, Index* found, Index count) {
    for (; bits != 0; bits &= bits - 1) found[count++] = k + __builtin_ctz(bits);
    return count;
}

template <class T>
Index hungarian_first_invalid(const void* row, bool maximize, Index n) {
    using D = Dual<T>;
    if constexpr (!std::is_floating_point_v<T>) return -1;
    const Vec<D> least = broadcast<D>(-kInfinity<D>);
    for (Index k = 0; k < n; k += kLanes) {
        const Vec<D> x = hungarian_costs<T>(row, maximize, k, n);
        const unsigned bits = movemask(x > least);
        if (bits == (1u << kLanes) - 1) continue;
        return k + __builtin_ctz(~bits);
    }
    return -1;
}

template <class T>
Dual<T> hungarian_least(const void* row, bool maximize, Index n, const Dual<T>* v, const std::int64_t* open) {
    using D = Dual<T>;
    const Vec<D> infinity = broadcast<D>(kInfinity<D>);
    Vec<D> best = infinity;
    for (Index k = 0; k < n; k += kLanes) {
        const Vec<D> x = hungarian_costs<T>(row, maximize, k, n) - load<Vec<D>>(v + k);
        best = vmin(load<Open>(open + k) != 0 ? x : infinity, best);
    }
    return horizontal_min<D>(best);
}

template <class T>
TwoLeast<Dual<T>> hungarian_two_least(const void* row, bool maximize, Index n, const Dual<T>* v,
                                      const std::int64_t* open) {
    using D = Dual<T>;
    const Vec<D> infinity = broadcast<D>(kInfinity<D>);
    Vec<D> first = infinity, second = infinity;
    for (Index k = 0; k < n; k += kLanes) {
        Vec<D> x = hungarian_costs<T>(row, maximize, k, n) - load<Vec<D>>(v + k);
        x = load<Open>(open + k) != 0 ? x : infinity;
        second = vmin(second, vmax(first, x));
        first = vmin(first, x);
    }
    TwoLeast<D> two{kInfinity<D>, kInfinity<D>};
    for (int l = 0; l < kLanes; ++l) {
        const D lower = first[l] < two.least ? first[l] : two.least;
        const D higher = first[l] < two.least ? two.least : first[l];
        two.second = higher < two.second ? higher : two.second;
        two.second = second[l] < two.second ? second[l] : two.second;
        two.least = lower;
    }
    return two;
}

template <class T>
void hungarian_lower_columns(const void* row, bool maximize, Index n, Dual<T> u, Dual<T>* best) {
    using D = Dual<T>;
    const Vec<D> offset = broadcast<D>(u);
    for (Index k = 0; k < n; k += kLanes)
        store(best + k, vmin(hungarian_costs<T>(row, maximize, k, n) - offset, load<Vec<D>>(best + k)));
}

// Which of the columns k, k + 1, ... are open and have slack <= limit.
template <class T>
LAPWING_INLINE unsigned hungarian_tight(const void* row, bool maximize, Index k, Index n, const Dual<T>* v,
                                        const std::int64_t* open, Vec<Dual<T>> u, Vec<Dual<T>> limit) {
    const auto x = (hungarian_costs<T>(row, maximize, k, n) - load<Vec<Dual<T>>>(v + k)) - u;
    return movemask((x <= limit) & (load<Open>(open + k) != 0));
}

template <class T>
Index hungarian_collect(const void* row, bool maximize, Index n, const Dual<T>* v, const std::int64_t* open, Dual<T> u,
                        Dual<T> limit, Index* found) {
    const auto us = broadcast(u), limits = broadcast(limit);
    Index count = 0;
    for (Index k = 0; k < n; k += kLanes)
        count = hungarian_list(hungarian_tight<T>(row, maximize, k, n, v, open, us, limits), k, found, count);
    return count;
}

template <class T>
Index hungarian_find(const void* row, bool maximize, Index n, const Dual<T>* v, const std::int64_t* open, Dual<T> u,
                     Dual<T> limit) {
    const auto us = broadcast(u), limits = broadcast(limit);
    for (Index k = 0; k < n; k += kLanes) {
        const unsigned bits = hungarian_tight<T>(row, maximize, k, n, v, open, us, limits);
        if (bits != 0) return k + __builtin_ctz(bits);
    }
    return -1;
}

template <class T>
void hungarian_relax(const void* row, bool maximize, Index n, const Dual<T>* v, const std::int64_t* open,
                     Dual<T> offset, std::int64_t i, Dual<T>* distance, std::int64_t* predecessor) {
    using D = Dual<T>;
    const Vec<D> offsets = broadcast<D>(offset);
    const Open rows = broadcast<std::int64_t>(i);
    for (Index k = 0; k < n; k += kLanes) {
        const Vec<D> reached = (hungarian_costs<T>(row, maximize, k, n) - load<Vec<D>>(v + k)) - offsets;
        const Vec<D> known = load<Vec<D>>(distance + k);
        const auto better = (reached < known) & (load<Open>(open + k) != 0);
        if (movemask(better) == 0) continue;
        store(distance + k, better ? reached : known);
        store(predecessor + k, better ? rows : load<Open>(predecessor + k));
    }
}

template <class T>
void hungarian_form_slack(const void* row, bool maximize, Index n, const Dual<T>* v, Dual<T> u, Dual<T>* slack) {
    using D = Dual<T>;
    const Vec<D> zero = broadcast<D>(D{0}), offset = broadcast<D>(u);
    for (Index k = 0; k < n; k += kLanes)
        store(slack + k, vmax((hungarian_costs<T>(row, maximize, k, n) - load<Vec<D>>(v + k)) - offset, zero));
    for (Index k = n; k % kHungarianPadding != 0; ++k) slack[k] = kInfinity<D>;
}

template <class D>
D hungarian_least_of(const D* x, Index n, const std::int64_t* open) {
    const Vec<D> infinity = broadcast<D>(kInfinity<D>);
    Vec<D> best = infinity;
    for (Index k = 0; k < n; k += kLanes) best = vmin(load<Open>(open + k) != 0 ? load<Vec<D>>(x + k) : infinity, best);
    return horizontal_min<D>(best);
}

template <class D>
LAPWING_INLINE Vec<D> hungarian_lowered(D* slack, Index k, const std::int64_t* open, Vec<D> steps) {
    const Vec<D> x = load<Vec<D>>(slack + k);
    const Vec<D> lowered = load<Open>(open + k) != 0 ? x - steps : x;
    store(slack + k, lowered);
    return lowered;
}

template <class D>
void hungarian_subtract(D* slack, Index n, const std::int64_t* open, D step) {
    for (Index k = 0; k < n; k += kLanes) hungarian_lowered(slack, k, open, broadcast(step));
}

template <class D>
Index hungarian_within(const D* x, Index n, const std::int64_t* open, D limit, Index* found) {
    Index count = 0;
    for (Index k = 0; k < n; k += kLanes) {
        const auto is_within = (load<Vec<D>>(x + k) <= broadcast(limit)) & (load<Open>(open + k) != 0);
        count = hungarian_list(movemask(is_within), k, found, count);
    }
    return count;
}

template <class D>
Index hungarian_subtract_and_find(D* slack, Index n, const std::int64_t* open, D step, Index* zeros) {
    Index count = 0;
    for (Index k = 0; k < n; k += kLanes) {
        const Vec<D> x = hungarian_lowered(slack, k, open, broadcast(step));
        count = hungarian_list(movemask(x == broadcast(D{0})), k, zeros, count);
    }
    return count;
}

template <class T>
HungarianKernels<Dual<T>> hungarian_kernels() {
    using D = Dual<T>;
    return {hungarian_cost<T>,
            hungarian_first_invalid<T>,
            hungarian_least<T>,
            hungarian_two_least<T>,
            hungarian_lower_columns<T>,
            hungarian_collect<T>,
            hungarian_find<T>,
            hungarian_relax<T>,
            hungarian_form_slack<T>,
            hungarian_least_of<D>,
            hungarian_within<D>,
            hungarian_subtract<D>,
            hungarian_subtract_and_find<D>};
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
