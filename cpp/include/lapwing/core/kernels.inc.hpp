// The passes over dense rows that cost the time, for one SIMD target (simd/foreach_target.hpp).
//
// Costs are read as T and taken as Dual<T>; `signed_cost` gives the cost that is minimised (sign.hpp). A row is
// contiguous. Each function is one or two passes over at most a row, which stays in the first or second cache level.
#include "lapwing/simd/lanes.inc.hpp"

#include "lapwing/core/list_kernels.inc.hpp"

namespace lapwing {
namespace LAPWING_TARGET {

template <class T, bool kMaximize>
struct RowKernels {
    using D = Dual<T>;
    using Lists = ListKernels<T>;
    static constexpr int kGroups = 64;  // minima kept by the first pass of list_row
    static constexpr int kVectors = kGroups / kLanes;
    static constexpr int kRank = 2;  // third smallest of each lane's eight groups: lists of about 28 columns

    static LAPWING_INLINE Vec<D> costs_at(const T* p) {
        const Vec<D> c = load_as<D>(p);
        if constexpr (!kMaximize) return c;
        if constexpr (std::is_floating_point_v<D>) return -c;
        if constexpr (!std::is_floating_point_v<D>) return ~c;
    }
    static LAPWING_INLINE D cost_at(const T* p) { return static_cast<D>(signed_cost<T, kMaximize>(*p)); }

    // Magnitudes of floating-point costs that are not infinite, compared as integers: NaN's exceed all finite ones.
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    static constexpr int kWidth = LAPWING_VECTOR_BYTES / sizeof(T);
    using BitVector = typename VectorOf<Bits, kWidth>::type;
    static LAPWING_INLINE Bits bits_of(T x) {
        Bits bits;
        __builtin_memcpy(&bits, &x, sizeof bits);
        return bits;
    }
    static LAPWING_INLINE BitVector largest_bits(BitVector largest, const T* p) {
        const BitVector magnitude = load<BitVector>(p) & std::numeric_limits<Bits>::max();
        return vmax(largest, magnitude & (magnitude != bits_of(std::numeric_limits<T>::infinity())));
    }
    static LAPWING_INLINE bool exceeds(BitVector largest, T most) {
        bool exceeds = false;
        for (int l = 0; l < kWidth; ++l) exceeds |= largest[l] > bits_of(most);
        return exceeds;
    }

    static bool tail_exceeds(const T* row, Index j, Index n, T most) {
        bool exceeds = false;
        for (; j < n; ++j) {
            const T magnitude = row[j] < 0 ? -row[j] : row[j];
            exceeds |= !(magnitude <= most || magnitude == std::numeric_limits<T>::infinity());
        }
        return exceeds;
    }

    // A value that about 28 of the row's reduced costs do not exceed: the row is dealt out to 64 groups; eight lanes of
    // eight groups each are sorted far enough to know each lane's third smallest minimum; the answer is the sixth
    // smallest of those eight. kInfinity where too few are finite. With kCheck, *odd tells whether the row holds a NaN
    // or a finite magnitude above `most`.
    template <bool kCheck>
    static D threshold(const T* row, Index n, const D* v, T most, bool* odd) {
        BitVector largest{}, largest2{};
        Vec<D> minima[kVectors];
        for (auto& x : minima) x = broadcast<D>(kInfinity<D>);
        Index j = 0;
        for (; j + kGroups <= n; j += kGroups) {
            for (int t = 0; t < kVectors; ++t)
                minima[t] = vmin(costs_at(row + j + t * kLanes) - load<Vec<D>>(v + j + t * kLanes), minima[t]);
            if constexpr (kCheck) {
                prefetch(row + n + j);
                for (int t = 0; t < kGroups; t += 2 * kWidth) {
                    largest = largest_bits(largest, row + j + t);
                    largest2 = largest_bits(largest2, row + j + t + kWidth);
                }
            }
        }
        if constexpr (kCheck) *odd = exceeds(vmax(largest, largest2), most) || tail_exceeds(row, j, n, most);
        D groups[kGroups];
        for (int t = 0; t < kVectors; ++t) store(groups + t * kLanes, minima[t]);
        for (int g = 0; j < n; ++j, ++g) {
            const D r = cost_at(row + j) - v[j];
            groups[g] = r < groups[g] ? r : groups[g];
        }
        // smallest[t][lane]: the t-th smallest of groups[8 s + lane], s = 0 .. 7.
        D smallest[kRank + 1][8];
        for (auto& rank_row : smallest)
            for (D& x : rank_row) x = kInfinity<D>;
        for (int s = 0; s < 8; ++s)
            for (int lane = 0; lane < 8; ++lane) {
                D x = groups[8 * s + lane];
                for (auto& rank_row : smallest) {
                    const D low = x < rank_row[lane] ? x : rank_row[lane];
                    x = x < rank_row[lane] ? rank_row[lane] : x;
                    rank_row[lane] = low;
                }
            }
        D* lanes = smallest[kRank];
        for (int round = 0; round < 8; ++round)  // odd-even transposition sort, without branches
            for (int l = round % 2; l + 1 < 8; l += 2) {
                const D low = lanes[l + 1] < lanes[l] ? lanes[l + 1] : lanes[l];
                lanes[l + 1] = lanes[l + 1] < lanes[l] ? lanes[l] : lanes[l + 1];
                lanes[l] = low;
            }
        return lanes[6];
    }

    static LAPWING_INLINE Vec<D> reduced(const T* row, Index j, const D* v) {
        return costs_at(row + j) - load<Vec<D>>(v + j);
    }

    // Appends the columns with c - v <= limit until there are `enough` (a block of 64 may overshoot). With kCheck as in
    // threshold, if it gets to the end.
    template <bool kCheck>
    static Index scan_columns(const T* row, const T* next, Index n, const D* v, D limit, Index enough, Index* found,
                              T most, bool* odd) {
        const Vec<D> limits = broadcast<D>(limit);
        BitVector largest{};
        Index count = 0, j = 0;
        for (; j + 64 <= n && count <= enough; j += 64) {
            std::uint64_t mask = 0;
            for (int t = 0; t < 64; t += kLanes)
                mask |= static_cast<std::uint64_t>(bits(less_equal(reduced(row, j + t, v), limits))) << t;
            if constexpr (!kCheck) prefetch_ahead(row, next, n, j);
            if constexpr (kCheck) {
                prefetch(row + n + j);
                for (int t = 0; t < 64; t += kWidth) largest = largest_bits(largest, row + j + t);
            }
            count = append_bits(mask, j, found, count);
        }
        if constexpr (kCheck) *odd = exceeds(largest, most) || tail_exceeds(row, j, n, most);
        for (; j < n && count <= enough; ++j)
            if (cost_at(row + j) - v[j] <= limit) found[count++] = j;
        return count;
    }

    // The columns with c - v < limit and, up to `capacity`, those with c - v == limit from column `origin` on and
    // around: of origin's own block of 64, those before it come last.
    static Index scan_ties(const T* row, Index n, const D* v, D limit, Index origin, Index capacity, Index* found) {
        const Vec<D> limits = broadcast<D>(limit);
        const Index blocks = n / 64;
        Index ties[kMaxCapacity + 72];  // a block may overshoot, and append_bits writes ahead
        const Index first = origin / 64 < blocks ? origin / 64 : 0;
        const std::uint64_t from_origin = ~std::uint64_t{0} << origin % 64;
        std::uint64_t last = 0;
        Index count = 0, tied = 0;
        for (Index b = 0; b < blocks; ++b) {
            const Index j = 64 * (first + b < blocks ? first + b : first + b - blocks);
            std::uint64_t below = 0, tying = 0;
            for (int t = 0; t < 64; t += kLanes) {
                const Vec<D> r = reduced(row, j + t, v);
                below |= static_cast<std::uint64_t>(bits(less(r, limits))) << t;
                tying |= static_cast<std::uint64_t>(bits(equal(r, limits))) << t;
            }
            if (b == 0) last = std::exchange(tying, tying & from_origin) & ~from_origin;
            count = append_bits(below, j, found, count);
            if (tying != 0 && tied < capacity) tied = append_bits(tying, j, ties, tied);
        }
        for (Index j = blocks * 64; j < n; ++j) {
            const D r = cost_at(row + j) - v[j];
            if (r < limit)
                found[count++] = j;
            else if (r == limit && tied < capacity)
                ties[tied++] = j;
        }
        if (tied < capacity) tied = append_bits(last, 64 * first, ties, tied);
        for (Index t = 0; t < tied && count < capacity; ++t) found[count++] = ties[t];
        return count;
    }

    // The columns that are not forbidden and have c - v <= limit, and these values; returns their number. `found` and
    // `value` have room for n + 64 entries.
    static Index collect(const T* row, Index n, const D* v, D limit, Index* found, D* value) {
        const Index count = scan_columns<false>(row, nullptr, n, v, limit, n, found, T{0}, nullptr);
        return evaluate(row, v, found, value, count);
    }

    // The columns to which base + c - v is below their distance and `bound`, and their c - v, as above.
    static Index collect_nearer(const T* row, Index n, const D* v, D base, const D* dist, D bound, Index* found,
                                D* value) {
        const Vec<D> bases = broadcast<D>(base), bounds = broadcast<D>(bound);
        Index count = 0, j = 0;
        for (; j + 64 <= n; j += 64) {
            std::uint64_t mask = 0;
            for (int t = 0; t < 64; t += kLanes) {
                const Vec<D> limits = vmin(load<Vec<D>>(dist + j + t), bounds);
                mask |= static_cast<std::uint64_t>(bits(less(bases + reduced(row, j + t, v), limits))) << t;
            }
            prefetch_ahead(row, nullptr, n, j);
            count = append_bits(mask, j, found, count);
        }
        for (; j < n; ++j) {
            const D d = base + (cost_at(row + j) - v[j]);
            if (d < dist[j] && d < bound) found[count++] = j;
        }
        return evaluate(row, v, found, value, count);
    }

    // Lists columns of small reduced cost: at most `capacity` of them, all that have less than *tau, and no forbidden
    // one; no column left out has less than *tau. Returns their number; *tau is kInfinity when nothing was left out.
    // `guess` is a value of *tau to try first, which saves the pass of `threshold` where it gives a list of useful
    // length; kInfinity: none. Of ties at *tau those from column `origin` on are taken, so that rows that are all alike
    // list different columns. `found` and `value` are scratch. `next`: the row that is read after this one, or null.
    // With kCheck, returns -1 if the row holds a NaN or a finite magnitude above `most`, and takes the row that follows
    // in memory for the next one.
    template <bool kCheck>
    static Index list_row(const T* row, const T* next, Index n, const D* v, D guess, Index origin, Index capacity,
                          T most, Index* cols, T* costs, D* tau, Index* found, D* value) {
        const Index enough = n <= capacity ? n : 4 * capacity;
        D limit = n <= capacity ? kInfinity<D> : guess;
        Index count = 0;
        bool odd = false;
        if (n <= capacity || guess < kInfinity<D>)
            count = scan_columns<kCheck>(row, next, n, v, limit, enough, found, most, &odd);
        if (n > capacity && (count < 2 * capacity / 5 || count > enough)) {
            limit = threshold<kCheck>(row, n, v, most, &odd);
            count = scan_ties(row, n, v, limit, origin, capacity, found);
        }
        if (kCheck && odd) return -1;
        count = evaluate(row, v, found, value, count);
        *tau = limit;
        if (count > capacity) {
            *tau = Lists::keep_smallest(found, value, count, capacity);
            count = capacity;
        }
        for (Index t = 0; t < count; ++t) {
            cols[t] = found[t];
            costs[t] = signed_cost<T, kMaximize>(row[found[t]]);
        }
        return count;
    }

    // Appends the positions of the set bits. A few are written without asking whether they are there: the number of
    // bits is hard to predict, and a mispredicted branch costs more than the writes. found has room for 64 more.
    static LAPWING_INLINE Index append_bits(std::uint64_t mask, Index origin, Index* found, Index count) {
        const Index end = count + __builtin_popcountll(mask);
        constexpr int kBlind = 3;
        for (Index at = count;; at += kBlind) {
            for (int b = 0; b < kBlind; ++b, mask &= mask - 1)
                found[at + b] = origin + __builtin_ctzll(mask | std::uint64_t{1} << 63);
            if (mask == 0) return end;
        }
    }
    // Fills in the values, and drops forbidden columns.
    static LAPWING_INLINE Index evaluate(const T* row, const D* v, Index* found, D* value, Index count) {
        Index kept = 0;
        for (Index t = 0; t < count; ++t) {
            const Index j = found[t];
            const D r = cost_at(row + j) - v[j];
            found[kept] = j;
            value[kept] = r;
            kept += r < kInfinity<D>;
        }
        return kept;
    }

    // min over a row of c[j] - v[j].
    static D minimum(const T* row, Index n, const D* v) {
        Vec<D> least = broadcast<D>(kInfinity<D>), least2 = least;
        Index j = 0;
        for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
            least = vmin(costs_at(row + j) - load<Vec<D>>(v + j), least);
            least2 = vmin(costs_at(row + j + kLanes) - load<Vec<D>>(v + j + kLanes), least2);
        }
        D best = horizontal_min<D>(vmin(least, least2));
        for (; j < n; ++j) {
            const D r = cost_at(row + j) - v[j];
            best = r < best ? r : best;
        }
        return best;
    }

    // Asks for 64 costs.
    static LAPWING_INLINE void prefetch(const T* costs) {
        constexpr int kLine = 64 / sizeof(T);
        for (int t = 0; t < 64; t += kLine) __builtin_prefetch(costs + t, 0, 2);
    }
    // Asks for the costs that a first pass reads 8 KB after j: of this row, and then of the next one, if it is known.
    // By itself a CPU reads ahead within a page of 4 KB, and rows that are read out of order wait for memory.
    static LAPWING_INLINE void prefetch_ahead(const T* row, const T* next, Index n, Index j) {
        constexpr Index kAhead = 8192 / sizeof(T);
        const Index at = j + (kAhead < n ? kAhead : n);
        if (at < n)
            prefetch(row + at);
        else if (next != nullptr)
            prefetch(next + (at - n));
    }

    // The column of the smallest c[j] - v[j], that value and the second smallest, in values[0] and [1]; -1 if the row
    // has no column that is not forbidden, -2 if it holds a NaN or a finite magnitude above `most`.
    static Index nearest(const T* row, Index n, const D* v, T most, D* values) {
        Vec<D> first = broadcast<D>(kInfinity<D>), first2 = first, second = first, second2 = first;
        BitVector largest{};
        Index j = 0;
        for (; j + 64 <= n; j += 64) {
            prefetch(row + n + j);
            for (int t = 0; t < 64; t += 2 * kLanes) {
                const Vec<D> r = reduced(row, j + t, v), r2 = reduced(row, j + t + kLanes, v);
                second = vmin(second, vmax(first, r));
                first = vmin(first, r);
                second2 = vmin(second2, vmax(first2, r2));
                first2 = vmin(first2, r2);
            }
            if constexpr (std::is_floating_point_v<T>)
                for (int t = 0; t < 64; t += kWidth) largest = largest_bits(largest, row + j + t);
        }
        const Index tail = j;
        second = vmin(vmin(second, second2), vmax(first, first2));
        first = vmin(first, first2);
        D best = kInfinity<D>, next = kInfinity<D>;
        const auto meet = [&](D r) {
            next = r < best ? best : r < next ? r : next;
            best = r < best ? r : best;
        };
        for (int l = 0; l < kLanes; ++l) {
            meet(first[l]);
            meet(second[l]);
        }
        for (; j < n; ++j) meet(cost_at(row + j) - v[j]);
        values[0] = best;
        values[1] = next;
        if (std::is_floating_point_v<T> && (exceeds(largest, most) || tail_exceeds(row, tail, n, most))) return -2;
        if (!(best < kInfinity<D>)) return -1;
        const Vec<D> wanted = broadcast<D>(best);
        for (j = 0; j + kLanes <= n; j += kLanes)
            if (const unsigned mask = bits(equal(reduced(row, j, v), wanted)); mask != 0)
                return j + static_cast<Index>(__builtin_ctz(mask));
        for (; j < n; ++j)
            if (cost_at(row + j) - v[j] == best) return j;
        refuse_changed_costs();
    }

    // The columns below a limit and their costs, of a row of finite costs, whose largest is returned; kInfinity if the
    // row holds a NaN, or a magnitude above `most`. `found` and `value` have room for n + 64 entries.
    static D scan_below(const T* row, Index n, D limit, T most, Index* found, D* value, Index* count) {
        constexpr bool kFloat = std::is_floating_point_v<T>;
        const D lowest = kFloat ? -static_cast<D>(most) : std::numeric_limits<D>::lowest();
        const Vec<D> limits = broadcast<D>(limit);
        Vec<D> largest = broadcast<D>(lowest), largest2 = largest;
        auto valid = largest == largest;
        Index kept = 0, j = 0;
        for (; j + 64 <= n; j += 64) {
            prefetch(row + n + j);
            std::uint64_t mask = 0;
            for (int t = 0; t < 64; t += 2 * kLanes) {
                const Vec<D> c = costs_at(row + j + t), c2 = costs_at(row + j + t + kLanes);
                mask |= static_cast<std::uint64_t>(bits(less(c, limits))) << t;
                mask |= static_cast<std::uint64_t>(bits(less(c2, limits))) << (t + kLanes);
                largest = vmax(largest, c);
                largest2 = vmax(largest2, c2);
                if constexpr (kFloat) valid &= (c >= lowest) & (c2 >= lowest);  // no NaN is
            }
            kept = append_bits(mask, j, found, kept);
        }
        largest = vmax(largest, largest2);
        bool odd = kFloat && movemask(valid) != (1u << kLanes) - 1;
        D all = lowest;
        for (int l = 0; l < kLanes; ++l) all = largest[l] > all ? largest[l] : all;
        for (; j < n; ++j) {
            const D c = cost_at(row + j);
            odd |= kFloat && !(c >= lowest);
            all = c > all ? c : all;
            if (c < limit) found[kept++] = j;
        }
        for (Index t = 0; t < kept; ++t) value[t] = cost_at(row + found[t]);
        *count = kept;
        return odd || (kFloat && all > static_cast<D>(most)) ? kInfinity<D> : all;
    }

    // The largest cost of a row and, as above, how many are below it, and which: in one pass if one of a few costs is
    // the largest.
    static D below_largest(const T* row, Index n, T most, Index* found, D* value, Index* count) {
        constexpr Index kLookedAt = 4;
        D guess = cost_at(row + n / (2 * kLookedAt));
        for (Index t = 1; t < kLookedAt; ++t) {
            const D c = cost_at(row + static_cast<Index>((2 * t + 1) * std::int64_t{n} / (2 * kLookedAt)));
            guess = c > guess ? c : guess;
        }
        const D largest = scan_below(row, n, guess, most, found, value, count);
        if (largest > guess && largest < kInfinity<D>) scan_below(row, n, largest, most, found, value, count);
        return largest;
    }

    // v[j] = min(v[j], c[j] - u) over a row: one row's part in the column transform.
    static void lower_columns(const T* row, Index n, D u, D* v) {
        const Vec<D> shift = broadcast<D>(u);
        Index j = 0;
        for (; j + kLanes <= n; j += kLanes) store(v + j, vmin(costs_at(row + j) - shift, load<Vec<D>>(v + j)));
        for (; j < n; ++j) {
            const D r = cost_at(row + j) - u;
            v[j] = r < v[j] ? r : v[j];
        }
    }
};

template <class T>
CoreKernels<T> core_kernels(bool maximize) {
    const auto table = []<bool kMaximize>() {
        using K = RowKernels<T, kMaximize>;
        return CoreKernels<T>{&K::collect,
                              &K::collect_nearer,
                              &K::template list_row<false>,
                              &K::template list_row<std::is_floating_point_v<T>>,
                              &K::minimum,
                              &K::nearest,
                              &K::lower_columns,
                              &K::Lists::best_in_list,
                              &K::Lists::reduce_below,
                              &K::below_largest};
    };
    return maximize ? table.template operator()<true>() : table.template operator()<false>();
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
