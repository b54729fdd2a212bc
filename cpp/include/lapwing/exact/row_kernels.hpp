// The row passes of the core method (core/kernels.inc.hpp has their contracts) in plain scalar code, for wide integers.
//
// A forbidden pair costs kInfinity, whatever the price of its column.
#pragma once

#include <algorithm>

#include "lapwing/core/kernels.hpp"

namespace lapwing {

template <class F>
struct ScalarRowKernels {
    static F reduced(F cost, F price) { return cost < kInfinity<F> ? cost - price : kInfinity<F>; }

    static Index collect(const F* row, Index n, const F* v, F limit, Index* found, F* value) {
        Index count = 0;
        for (Index j = 0; j < n; ++j) {
            const F r = reduced(row[j], v[j]);
            if (r > limit || !(r < kInfinity<F>)) continue;
            found[count] = j;
            value[count++] = r;
        }
        return count;
    }

    static Index collect_nearer(const F* row, Index n, const F* v, F base, const F* dist, F bound, Index* found,
                                F* value) {
        Index count = 0;
        for (Index j = 0; j < n; ++j) {
            const F r = reduced(row[j], v[j]);
            if (!(r < kInfinity<F>) || !(base + r < std::min(dist[j], bound))) continue;
            found[count] = j;
            value[count++] = r;
        }
        return count;
    }

    // Half of the capacity where nothing is guessed; `most` is for floating-point costs alone.
    static Index list_row(const F* row, const F* /*next*/, Index n, const F* v, F guess, Index origin, Index capacity,
                          F /*most*/, Index* cols, F* costs, F* tau, Index* found, F* value) {
        const Index wanted = capacity / 2;
        F limit = kInfinity<F>;
        Index count = 0;
        if (n > capacity) {
            limit = guess;
            if (guess < kInfinity<F>) count = collect(row, n, v, guess, found, value);
            if (count < wanted || count > 4 * capacity) {
                count = collect(row, n, v, kInfinity<F>, found, value);
                if (count > wanted) std::nth_element(value, value + wanted, value + count);
                limit = count > wanted ? value[wanted] : kInfinity<F>;
            }
        }
        // All below the limit, then ties from `origin` on; more below it than there is room for only after a guess.
        count = collect(row, n, v, limit, found, value);
        const auto below = [&](Index j) { return reduced(row[j], v[j]) < limit; };
        const Index less = static_cast<Index>(std::stable_partition(found, found + count, below) - found);
        *tau = limit;
        if (less > capacity) {
            const auto nearer = [&](Index a, Index b) { return reduced(row[a], v[a]) < reduced(row[b], v[b]); };
            std::nth_element(found, found + capacity, found + less, nearer);
            *tau = reduced(row[found[capacity]], v[found[capacity]]);
        } else if (count > capacity) {
            Index* const first = std::lower_bound(found + less, found + count, origin);
            std::rotate(found + less, first, found + count);
        }
        count = std::min(count, capacity);
        for (Index t = 0; t < count; ++t) {
            cols[t] = found[t];
            costs[t] = row[found[t]];
        }
        return count;
    }

    static F minimum(const F* row, Index n, const F* v) {
        F least = kInfinity<F>;
        for (Index j = 0; j < n; ++j) least = std::min(least, reduced(row[j], v[j]));
        return least;
    }

    static Index nearest(const F* row, Index n, const F* v, F /*most*/, F* values) {
        Index column = -1;
        values[0] = values[1] = kInfinity<F>;
        for (Index j = 0; j < n; ++j) {
            const F r = reduced(row[j], v[j]);
            if (r < values[0]) {
                values[1] = values[0];
                values[0] = r;
                column = j;
            } else if (r < values[1]) {
                values[1] = r;
            }
        }
        return column;
    }

    static void lower_columns(const F* row, Index n, F u, F* v) {
        for (Index j = 0; j < n; ++j)
            if (row[j] < kInfinity<F>) v[j] = std::min(v[j], row[j] - u);
    }

    static BestInList<F> best_in_list(const F* costs, const Index* cols, Index count, const F* v) {
        BestInList<F> best{-1, kInfinity<F>, kInfinity<F>};
        for (Index t = 0; t < count; ++t) {
            const F r = costs[t] - v[cols[t]];
            if (r < best.first) {
                best.second = best.first;
                best.first = r;
                best.place = t;
            } else if (r < best.second) {
                best.second = r;
            }
        }
        return best;
    }

    static Index reduce_below(const F* costs, const Index* cols, Index count, const F* v, F limit, Index* places,
                              F* reduced_costs) {
        Index kept = 0;
        for (Index t = 0; t < count; ++t) {
            const F r = costs[t] - v[cols[t]];
            if (!(r < limit)) continue;
            places[kept] = t;
            reduced_costs[kept++] = r;
        }
        return kept;
    }
};

template <class F>
CoreKernels<F> scalar_row_kernels() {
    using K = ScalarRowKernels<F>;
    return {&K::collect, &K::collect_nearer, &K::list_row,     &K::list_row,     &K::minimum,
            &K::nearest, &K::lower_columns,  &K::best_in_list, &K::reduce_below, nullptr};
}

}  // namespace lapwing
