// The passes of the direct path over one row, one vector at a time.
namespace lapwing {
namespace LAPWING_TARGET {

// Costs in a page of 4 KB, within which a CPU reads ahead by itself.
template <class T>
inline constexpr Index kPage = 4096 / sizeof(T);

template <class D>
struct TwoSmallest {
    D first, second;
    Index column;  // of the first
};

struct SeeNothing {
    template <class V>
    LAPWING_INLINE void operator()(V) const {}
};

// The two smallest of cost - v over a row, while the row at `ahead`, which comes next, is on its way to the cache.
// Calls see(costs) for every vector of costs.
template <class T, bool kNegated, class See = SeeNothing, class D = Dual<T>>
LAPWING_INLINE TwoSmallest<D> two_smallest(const Row<T, kNegated>& row, const D* v, const T* ahead, See&& see = {}) {
    Vec<D> first = broadcast(kInfinity<D>), second = first;
    Lanes where{};
    const Lanes lane = lane_numbers();
    row.for_each([&](Vec<D> cost, Index j) __attribute__((always_inline)) {
        __builtin_prefetch(ahead + j);
        see(cost);
        const Vec<D> x = cost - load<Vec<D>>(v + j);
        where = select(less(x, first), lane + static_cast<std::int64_t>(j), where);
        second = lane_min(second, lane_max(first, x));
        first = lane_min(first, x);
    });
    const Vec<D> mine = first;
    two_smallest_of_lanes(first, second);
    const unsigned at = bits(equal(mine, first));
    std::int64_t columns[kLanes];
    store(columns, where);
    return {first[0], second[0], at == 0 ? 0 : static_cast<Index>(columns[__builtin_ctz(at)])};
}

// (cost - price) + offset. Columns that already belong to the tree have the price -kInfinity and come out at kInfinity:
// for floating-point numbers by themselves, for integers (which wrap around on the way) because they are told so.
template <class D>
LAPWING_INLINE Vec<D> distance_through(Vec<D> cost, Vec<D> price, Vec<D> offset) {
    if constexpr (std::is_floating_point_v<D>) {
        return (cost - price) + offset;
    } else {
        using Unsigned = Vec<std::uint64_t>;
        const Vec<D> x = (Vec<D>)(((Unsigned)cost - (Unsigned)price) + (Unsigned)offset);
        return select(equal(price, broadcast(-kInfinity<D>)), broadcast(kInfinity<D>), x);
    }
}

template <class D>
struct Nearest {
    D distance;
    Index column;
    bool tied;  // another column may be as near
};

// distance[j] = min(distance[j], (cost - w[j]) + offset), with the row's number in `from` wherever it fell (or, with
// kFirst, everywhere: distance and `from` are written for the first time); returns the nearest column. Rows come in no
// order: the next page of this one is asked for.
template <bool kFirst, class T, bool kNegated, class D = Dual<T>>
LAPWING_INLINE Nearest<D> relax(const Row<T, kNegated>& row, const D* w, D offset, Index number, D* distance,
                                std::int64_t* from) {
    Vec<D> best = broadcast(kInfinity<D>);
    Lanes where{};
    const Lanes lane = lane_numbers();
    const Lanes me = broadcast(static_cast<std::int64_t>(number));
    row.for_each([&](Vec<D> cost, Index j) __attribute__((always_inline)) {
        __builtin_prefetch(row.cost + std::min(kPage<T> + j, row.whole));
        Vec<D> x = distance_through<D>(cost, load<Vec<D>>(w + j), broadcast(offset));
        if constexpr (kFirst) {
            store(from + j, me);
        } else {
            const Vec<D> old = load<Vec<D>>(distance + j);
            store_where(less(x, old), from + j, me);
            x = lane_min(x, old);
        }
        store(distance + j, x);
        where = select(less(x, best), lane + static_cast<std::int64_t>(j), where);
        best = lane_min(best, x);
    });
    const Vec<D> all = min_of_lanes(best);
    const unsigned at = bits(equal(best, all));
    std::int64_t columns[kLanes];
    store(columns, where);
    return {all[0], at == 0 ? 0 : static_cast<Index>(columns[__builtin_ctz(at)]), (at & (at - 1)) != 0};
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
