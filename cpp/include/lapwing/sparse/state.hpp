// The state that the stages of the sparse method share: costs by rows, duals, assignment.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/sparse/matrix.hpp"

namespace lapwing {

// In place of a column: the row stays free at its price.
inline constexpr Index kExit = -2;

template <class T>
struct SparseState {
    using D = Dual<T>;
    using Entry = SparseEntry<T>;

    SparseState(Adjacency<T>& pairs_, Index cols, const D* exits_, const D* free_cols_, bool columns_may_stay_free_,
                Control& control_)
        : pairs(pairs_), exits(exits_), free_cols(free_cols_), columns_may_stay_free(columns_may_stay_free_),
          control(control_), m(static_cast<Index>(pairs_.rows.size())), n(cols), u(m, D{0}), v(n, D{0}),
          row_to_col(m, -1), col_to_row(n, -1) {
        forget_prices();
    }

    Adjacency<T>& pairs;
    const D* exits;              // [m], kInfinity where the row must be matched; null: all must
    const D* free_cols;          // [n] prices of columns that stay free, finite; null: 0
    bool columns_may_stay_free;  // then v <= that price, with equality for free columns
    Control& control;
    Progress progress;
    Index m, n;
    // Invariants, but for epsilon while an auction runs: c[i,j] - u[i] - v[j] >= 0 on all pairs of assigned rows, == 0
    // on matched ones; u[i] <= exits[i], with equality for rows at their exit; v never rises.
    std::vector<D> u, v;
    std::vector<Index> row_to_col;  // -1: not assigned yet; kExit: stays free at its price
    std::vector<Index> col_to_row;
    std::int64_t bids = 0, refreshes = 0, rows_scanned = 0, paths = 0, phases = 0;

    void assign(Index i, Index j) {
        row_to_col[i] = j;
        if (j >= 0) col_to_row[j] = i;
    }
    D free_price(Index j) const { return free_cols == nullptr ? D{0} : free_cols[j]; }
    // The prices of columns before anybody bids.
    void forget_prices() {
        for (Index j = 0; j < n; ++j) v[j] = free_price(j);
    }
    void release_all() {
        std::fill(row_to_col.begin(), row_to_col.end(), -1);
        std::fill(col_to_row.begin(), col_to_row.end(), -1);
    }
    // The cost of row i in this column, in its exit, or without either.
    D cost_of(Index i, Index j) {
        if (j < 0) return j == kExit && exits != nullptr ? exits[i] : kInfinity<D>;
        D least = kInfinity<D>;  // of pairs that are given twice
        for (Index k = 0; k < pairs.rows[i].count; ++k)
            if (entries(i)[k].col == j) least = std::min(least, static_cast<D>(entries(i)[k].cost));
        return least;
    }
    Entry* entries(Index i) { return pairs.entries.data() + pairs.rows[i].begin; }
    // Lists the row's cheapest entries under today's prices.
    void refresh(Index i);

  private:
    bool list_within(Index i);
    void list_cheapest(Index i);

    std::vector<D> values_;  // of the entries of a row
    std::vector<Index> places_;
};

// Rows of at most kWhole entries are read as a whole; of longer ones about kListed are listed, of those from kLong on
// half as many more, kMost at the most, and the others read when these prove nothing.
struct ListedEntries {
    static constexpr Index kWhole = 40, kListed = 12, kMost = 40, kLong = 256;
};

// Makes long rows list their cheapest entries anew before they are next read: for the beginning, and after prices have
// fallen.
template <class T>
void forget_lists(Adjacency<T>& pairs) {
    for (auto& row : pairs.rows)
        if (row.count > ListedEntries::kWhole) {
            row.listed = 0;
            row.tau = -kInfinity<Dual<T>>;
        }
}

// The lesser and the greater of two numbers without a branch, which would be predicted wrongly every other time.
template <class D>
[[gnu::always_inline]] inline D lesser(D a, D b) {
    if constexpr (std::is_integral_v<D>)
        return b ^ ((a ^ b) & -static_cast<D>(a < b));
    else
        return a < b ? a : b;
}
template <class D>
[[gnu::always_inline]] inline D greater(D a, D b) {
    if constexpr (std::is_integral_v<D>)
        return b ^ ((a ^ b) & -static_cast<D>(a > b));
    else
        return a > b ? a : b;
}

template <class T>
void SparseState<T>::refresh(Index i) {
    ++refreshes;
    if (!list_within(i)) list_cheapest(i);
}

// Lanes take the entries by turns, two of them those that were listed, which are still among the cheap ones. Listed is
// what lies within the second dearest of the lanes' cheapest values: kLanes - 1 entries or more, 14 on average if they
// are in no order; of long rows within the dearest, 22 on average. False if these are many more. No branch depends on
// costs.
template <class T>
bool SparseState<T>::list_within(Index i) {
    constexpr int kLanes = 8;
    auto& row = pairs.rows[i];
    Entry* const entry = entries(i);
    const Index count = row.count;
    if (values_.size() < static_cast<std::size_t>(count)) {
        values_.resize(static_cast<std::size_t>(count));
        places_.resize(static_cast<std::size_t>(count));
    }
    D* const value = values_.data();
    D least[kLanes];
    for (int l = 0; l < kLanes; ++l) least[l] = kInfinity<D>;
    const auto take = [&](int l, Index k) {
        value[k] = static_cast<D>(entry[k].cost) - v[entry[k].col];
        least[l] = lesser(value[k], least[l]);
    };
    Index k = 0;
    for (; k < row.listed; ++k) take(k % 2, k);
    for (; k + kLanes <= count; k += kLanes)
        for (int l = 0; l < kLanes; ++l) take(l, k + l);
    for (; k < count; ++k) take(0, k);
    D most = greater(least[0], least[1]), limit = lesser(least[0], least[1]);
    for (int l = 2; l < kLanes; ++l) {
        limit = greater(limit, lesser(most, least[l]));
        most = greater(most, least[l]);
    }
    if (count >= ListedEntries::kLong) limit = most;
    Index* const place = places_.data();
    Index listed = 0;
    D tau = kInfinity<D>;
    for (k = 0; k < count; ++k) {
        const bool within = value[k] <= limit;
        place[listed] = k;
        listed += within;
        tau = lesser(within ? kInfinity<D> : value[k], tau);
    }
    if (listed > ListedEntries::kMost) return false;
    row.listed = listed;
    row.tau = tau;
    for (k = 0; k < listed; ++k) std::swap(entry[k], entry[place[k]]);
    return true;
}

template <class T>
void SparseState<T>::list_cheapest(Index i) {
    constexpr Index kListed = ListedEntries::kListed;
    auto& row = pairs.rows[i];
    Entry* const entry = entries(i);
    // The places of the cheapest, dearest last, and one more, which gives tau.
    D value[kListed + 1];
    Index place[kListed + 1];
    Index found = 0;
    for (Index k = 0; k < row.count; ++k) {
        const D r = static_cast<D>(entry[k].cost) - v[entry[k].col];
        if (found > kListed) {
            if (!(r < value[kListed])) continue;
        } else {
            ++found;
        }
        Index at = found - 1;
        for (; at > 0 && r < value[at - 1]; --at) value[at] = value[at - 1], place[at] = place[at - 1];
        value[at] = r;
        place[at] = k;
    }
    row.listed = kListed;
    row.tau = value[kListed];
    std::sort(place, place + kListed);
    for (Index k = 0; k < kListed; ++k) std::swap(entry[k], entry[place[k]]);
}

// A row's cheapest column under today's prices, and the value of its second cheapest, or a lower bound on that.
template <class D>
struct BestPair {
    Index col = -1;  // -1: the row has no allowed pair; kExit: to stay free is cheapest
    D first = kInfinity<D>;
    D second = kInfinity<D>;
};

// The best pair among `count` entries, in lanes that do not wait for each other.
template <class T, class D>
[[gnu::always_inline]] inline BestPair<D> best_of(const SparseEntry<T>* entry, Index count, const D* v) {
    constexpr int kLanes = 4;
    D first[kLanes], second[kLanes];
    Index col[kLanes];
    for (int l = 0; l < kLanes; ++l) {
        first[l] = second[l] = kInfinity<D>;
        col[l] = -1;
    }
    const auto take = [&](int l, Index k) {
        const Index j = entry[k].col;
        const D r = static_cast<D>(entry[k].cost) - v[j];
        col[l] ^= (col[l] ^ j) & -static_cast<Index>(r < first[l]);
        second[l] = lesser(greater(r, first[l]), second[l]);
        first[l] = lesser(r, first[l]);
    };
    Index k = 0;
    for (; k + kLanes <= count; k += kLanes)
        for (int l = 0; l < kLanes; ++l) take(l, k + l);
    for (; k < count; ++k) take(0, k);
    for (int l = 1; l < kLanes; ++l) {
        col[0] ^= (col[0] ^ col[l]) & -static_cast<Index>(first[l] < first[0]);
        second[0] = lesser(greater(first[l], first[0]), lesser(second[l], second[0]));
        first[0] = lesser(first[l], first[0]);
    }
    return {col[0], first[0], second[0]};
}

template <class T>
inline BestPair<Dual<T>> best_pair(SparseState<T>& state, Index i) {
    using D = Dual<T>;
    const D* v = state.v.data();
    auto& row = state.pairs.rows[i];
    for (bool fresh = false;; fresh = true) {
        BestPair<D> best = best_of(state.entries(i), row.listed, v);
        if (state.exits != nullptr) {
            const D r = state.exits[i];
            if (r <= best.first && r < kInfinity<D>)
                best = {kExit, r, best.first};
            else
                best.second = std::min(best.second, r);
        }
        if (best.first <= row.tau || fresh) {
            best.second = std::min(best.second, row.tau);
            return best;
        }
        state.refresh(i);
    }
}

// In debug builds, after every stage that leaves exact duals.
template <class T>
void assert_invariants([[maybe_unused]] SparseState<T>& state) {
#ifdef LAPWING_CHECK_INVARIANTS
    using D = Dual<T>;
    const auto slack = [](D scale) {
        return std::is_floating_point_v<D> ? (scale < 0 ? -scale : scale) * D(1e-9) : D{0};
    };
    for (Index i = 0; i < state.m; ++i) {
        const Index j = state.row_to_col[i];
        if (j == -1) continue;
        const bool paired = j == kExit || state.col_to_row[j] == i;
        const D exit = state.exits == nullptr ? kInfinity<D> : state.exits[i];
        bool feasible = state.u[i] <= exit + slack(state.u[i]), tight = j == kExit;
        for (Index k = 0; k < state.pairs.rows[i].count; ++k) {
            const auto& entry = state.entries(i)[k];
            const D c = static_cast<D>(entry.cost), r = c - state.v[entry.col] - state.u[i];
            const D room = slack(c) + slack(state.u[i]) + slack(state.v[entry.col]);
            feasible = feasible && r >= -room;
            tight = tight || (entry.col == j && r <= room);
        }
        if (!paired || !feasible || !tight) throw std::logic_error("an invariant of the sparse method does not hold");
    }
#endif
}

}  // namespace lapwing
