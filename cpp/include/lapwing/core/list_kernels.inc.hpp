// The passes over candidate lists, for one SIMD target (simd/foreach_target.hpp): their least reduced costs, and which
// columns they keep.
//
// Costs are those that are minimised. Values come in no order: a branch on them would be mispredicted every other time,
// which takes longer than the work that it saves.
namespace lapwing {
namespace LAPWING_TARGET {

template <class T>
struct ListKernels {
    using D = Dual<T>;

    // costs[t] - v[cols[t]] for t .. t + kLanes - 1; kInfinity from `count` on. Lists are padded to whole vectors.
    static LAPWING_INLINE Vec<D> reduced_at(const T* costs, const Index* cols, Index t, Index count, const D* v) {
        D prices[kLanes];
        for (int l = 0; l < kLanes; ++l) prices[l] = v[cols[t + l]];
        const Vec<D> r = load_as<D>(costs + t) - load<Vec<D>>(prices);
        if (t + kLanes <= count) return r;
        return select(less(lane_numbers(), broadcast(std::int64_t{count - t})), r, broadcast(kInfinity<D>));
    }

    // The place of the smallest reduced cost in a candidate list (-1: none), its value, and the second smallest.
    static BestInList<D> best_in_list(const T* costs, const Index* cols, Index count, const D* v) {
        Vec<D> first = broadcast(kInfinity<D>), second = first;
        Lanes where{};
        for (Index t = 0; t < count; t += kLanes) {
            const Vec<D> r = reduced_at(costs, cols, t, count, v);
            where = select(less(r, first), broadcast(std::int64_t{t}), where);
            second = lane_min(second, lane_max(first, r));
            first = lane_min(first, r);
        }
        const Vec<D> mine = first;
        two_smallest_of_lanes(first, second);
        if (!(first[0] < kInfinity<D>)) return {-1, first[0], kInfinity<D>};
        const unsigned at = bits(equal(mine, first));
        if (at == 0) refuse_changed_costs();  // NaN in the list
        std::int64_t places[kLanes];
        store(places, where + lane_numbers());
        return {static_cast<Index>(places[__builtin_ctz(at)]), first[0], second[0]};
    }

    // Places and values of the list's reduced costs below `limit`; returns their number.
    static Index reduce_below(const T* costs, const Index* cols, Index count, const D* v, D limit, Index* places,
                              D* reduced) {
        const Vec<D> limits = broadcast<D>(limit);
        Index kept = 0;
        for (Index t = 0; t < count; t += kLanes) {
            const Vec<D> r = reduced_at(costs, cols, t, count, v);
            for (unsigned mask = bits(less(r, limits)); mask != 0; mask &= mask - 1) {
                const int l = __builtin_ctz(mask);
                places[kept] = t + l;
                reduced[kept++] = r[l];
            }
        }
        return kept;
    }

    // Moves the values below a limit (or, with kTies, up to it) to the front of [low, high); returns where they end.
    template <bool kTies>
    static LAPWING_INLINE Index partition(Index* found, D* value, Index low, Index high, D limit) {
        Index end = low;
        for (Index k = low; k < high; ++k) {
            const D x = value[k];
            const Index j = found[k];
            value[k] = value[end], found[k] = found[end];
            value[end] = x, found[end] = j;
            end += kTies ? x <= limit : x < limit;
        }
        return end;
    }
    // Moves the `keep` smallest values to the front, in two parallel arrays; returns the smallest of the rest.
    // Quickselect, with the middle element as pivot.
    static D keep_smallest(Index* found, D* value, Index count, Index keep) {
        Index low = 0, high = count;
        while (low < keep && keep < high) {
            const D pivot = value[low + (high - low) / 2];
            Index end = partition<false>(found, value, low, high, pivot);
            if (end == low) {  // none is below the pivot
                end = partition<true>(found, value, low, high, pivot);
                if (keep <= end) break;
            }
            (keep <= end ? high : low) = end;
        }
        D rest = value[keep];
        for (Index t = keep + 1; t < count; ++t) rest = value[t] < rest ? value[t] : rest;
        return rest;
    }
};

}  // namespace LAPWING_TARGET
}  // namespace lapwing
