// The state that the stages of the core method share: duals, assignment, candidate lists.
//
// Columns are numbered 0 .. n-1. With unmatched costs row i has one more column, its *unmatched column* n + i, whose
// cost is the row's unmatched cost and which no other row can take.
//
// A problem that has more columns than rows (rectangular, or with unmatched costs) is completed by `spare` *dummy
// rows*, which cost nothing in any column. They are all alike, so a search represents them by one node, the *aggregated
// dummy row*. It holds the unassigned columns with v[j] == ceiling. The contract of solution.hpp, v <= 0 and v = 0 at
// unassigned columns, is reached by subtracting the ceiling.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "lapwing/core/lists.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/team.hpp"

namespace lapwing {

template <class T>
class Incumbent;  // core/incumbent.hpp

// That a thread reads whole, between two looks at the clock: rows of a callback may take milliseconds each.
template <class T>
Index rows_at_a_time(const Problem<T>& problem) {
    return problem.source != nullptr && !problem.source->has_parts() ? 1 : 16;
}

template <class T>
struct CoreState {
    using D = Dual<T>;

    CoreState(const Problem<T>& given, Control& control_, Team& team_)
        : problem(given), control(control_), team(team_), m(given.cost.rows), n(given.cost.cols),
          columns(given.unmatched_cost ? n + m : n),
          lists(given.cost, given.maximize, given.source != nullptr ? given.source->boxes() : nullptr), scratch(given),
          helpers(team_.threads() - 1), u(m, D{0}), v(columns, D{0}), row_to_col(m, -1), col_to_row(columns, -1) {}

    const Problem<T>& problem;
    Control& control;
    Team& team;
    Progress progress{.stage = "start"};
    Incumbent<T>* incumbent = nullptr;  // null where nobody asks for one, and for a sample
    Index m, n, columns;
    CandidateLists<T> lists;
    ListScratch<T> scratch;
    std::vector<std::unique_ptr<ListScratch<T>>> helpers;  // of the team; made when first needed
    // Invariants (core/invariants.hpp): c[i,j] - u[i] - v[j] >= 0 for all columns of assigned rows, or what Bidding
    // allows while an auction runs (core/bid.hpp), and == 0 for assigned pairs. v never rises while lists are in use:
    // their bounds tau rely on it.
    std::vector<D> u, v;
    std::vector<Index> row_to_col, col_to_row;
    D ceiling = 0;                   // max of v; defined with dummy rows only
    D lowest_price = -kInfinity<D>;  // no auction lowers v so far: distances would leave the range (numbers/range.hpp)
    std::int64_t rows_scanned = 0, paths = 0, phases = 0;
    static constexpr std::int64_t kGivenUp = -1, kNoLimit = std::numeric_limits<std::int64_t>::max();
    std::int64_t most_reads = kNoLimit;  // dense rows, before another method takes over; or kGivenUp
    std::int64_t asks_at = kNoLimit;     // effort(), after which another method may try (Control::let_another_try)
    int start_levels = 0;                // sampled levels that v comes from; 1 for prices from regret
    Index looked_at = 0;                 // the row where refresh_by_owners has stopped to look
    Statistics stages;                   // seconds and dense rows read of each

    bool has_dummy_rows() const { return columns > m; }
    Index spare() const { return columns - m; }
    bool has_unmatched_columns() const { return problem.unmatched_cost != nullptr; }
    Index unmatched_column(Index i) const { return n + i; }
    D highest_price() const { return *std::max_element(v.begin(), v.end()); }
    // Row i's price of staying free, in the signs of the lists (see signed_cost).
    D unmatched_cost_of(Index i) const {
        const D price = problem.unmatched_cost[i];
        return std::is_integral_v<D> && problem.maximize && price < kInfinity<D> ? price - 1 : price;
    }

    // A cost in the signs of the lists (see signed_cost).
    D minimised(T given) const {
        const D c = problem.minimised(given);
        return std::is_integral_v<D> && problem.maximize ? c - 1 : c;
    }
    // As minimised: from the list where it is there, which a source of costs need not be asked for.
    D cost(Index i, Index j) const {
        const auto listed = lists.cols(i);
        const auto place = std::find(listed.begin(), listed.end(), j) - listed.begin();
        if (place == static_cast<std::ptrdiff_t>(listed.size())) return at_pair(problem, i, j);
        const D c = static_cast<D>(lists.cost(i, place));
        return std::is_integral_v<D> && problem.maximize ? c + 1 : c;  // signed_cost
    }

    void assign(Index i, Index j) {
        row_to_col[i] = j;
        col_to_row[j] = i;
    }
    // Between two stages; the bound under the current v.
    double preview() { return incumbent != nullptr ? incumbent->look(*this) : progress.bound; }
    // Between two bids or two searches, while lists are in use.
    void keep_if_due() {
        if (incumbent != nullptr && control.keep_is_due()) incumbent->keep(*this);
    }
    const RowOwners<T>* owners() const { return problem.source != nullptr ? problem.source->owners() : nullptr; }
    // Has these rows (empty: all) listed under v by those who hold them, if others do.
    bool list_by_owners(std::span<const Index> rows = {}, std::span<const D> limits = {}) {
        if (owners() == nullptr) return false;
        lists.take(rows, owners()->list(rows, limits, problem.maximize, v.data()), v.data());
        scratch.dense_rows_read += rows.empty() ? m : static_cast<Index>(rows.size());
        return true;
    }
    // The same with these undecided rows and, if they are few, with some that their lists do not decide any more, which
    // are likely to be needed next: a message and its answer take as long as many lists. False if there are no others
    // than one row: then the row itself is read.
    bool refresh_by_owners(std::vector<Index> rows) {
        constexpr std::size_t kTogether = 32;  // rows
        constexpr Index kLookedAt = 1024;
        if (owners() == nullptr) return false;
        for (Index looked = 0; looked < std::min(m, kLookedAt) && rows.size() < kTogether; ++looked) {
            looked_at = looked_at + 1 < m ? looked_at + 1 : 0;
            if (lists.best(looked_at, v.data()).first <= lists.tau(looked_at)) continue;
            if (std::find(rows.begin(), rows.end(), looked_at) == rows.end()) rows.push_back(looked_at);
        }
        if (rows.size() == 1) return false;
        std::vector<D> limits;
        for (const Index row : rows) limits.push_back(lists.wider(row, v.data()));
        return list_by_owners(rows, limits);
    }
    // Lists row i again.
    void refresh(Index i, ListScratch<T>& of_thread) {
        if (owners() == nullptr || !refresh_by_owners({i})) lists.refresh(i, v.data(), of_thread);
    }
    // Calls work(begin, end, scratch) for pieces of [0, count), from all threads of the team; this one calls look()
    // between pieces.
    template <class Work, class Look>
    void share(Index count, Index piece, const Work& work, const Look& look) {
        const auto with_scratch = [&](Index begin, Index end, int member) {
            if (member == 0) return work(begin, end, scratch);
            auto& own = helpers[member - 1];
            if (own == nullptr) own = std::make_unique<ListScratch<T>>(problem, member);
            work(begin, end, *own);
        };
        team.share(count, piece, look, with_scratch);
        for_each_scratch([&](ListScratch<T>& each) {
            if (&each != &scratch) scratch.count(each);
        });
        scratch.forget();  // which pieces were this thread's is a matter of chance
    }
    template <class Use>
    void for_each_scratch(const Use& use) {
        use(scratch);
        for (auto& helper : helpers)
            if (helper != nullptr) use(*helper);
    }
    // In dense rows: those read, and the scans of lists, which take as long as a read of so many columns each.
    std::int64_t effort() const {
        constexpr std::int64_t kColumns = 256;
        return scratch.dense_rows_read + rows_scanned * kColumns / n;
    }
    bool has_read_too_much() const { return scratch.dense_rows_read > most_reads; }
    // The same, after another method has tried, if it is time.
    bool is_to_end() {
        if (effort() > asks_at) {
            asks_at = kNoLimit;
            if (control.another_solves()) most_reads = kGivenUp;
        }
        return has_read_too_much();
    }
    // After a row was read for the first time. Long rows that are computed may take milliseconds each; where all are to
    // be read, the solve ends here soon after the time is up (integers have no duals for rows that were not read).
    void poll_row() {
        constexpr Index kLong = 4096;
        const bool is_computed = problem.source != nullptr;
        const bool is_up = is_computed && n >= kLong ? control.look(progress) : control.poll(progress);
        if (is_up && is_computed && std::is_floating_point_v<D> && control.is_late()) throw TimeIsUp{};
    }
    void release_all() {
        std::fill(row_to_col.begin(), row_to_col.end(), -1);
        std::fill(col_to_row.begin(), col_to_row.end(), -1);
    }
    // Whether successive rows are neighbours.
    bool is_in_order() const { return problem.source != nullptr && problem.source->is_in_order(); }
    // Rows in the order in which they bid, and are searched from. Neighbours that follow one another would outbid each
    // other while there are free columns elsewhere: there, rows take turns over the whole problem.
    std::vector<Index> rows_in_turn() const {
        std::vector<Index> rows(m);
        if (!is_in_order()) {
            std::iota(rows.begin(), rows.end(), 0);
            return rows;
        }
        constexpr double kGolden = 0.6180339887498949;  // multiples of it are far from each other, modulo 1
        auto step = static_cast<std::int64_t>(kGolden * m) | 1;
        while (std::gcd(step, std::int64_t{m}) != 1) ++step;
        for (std::int64_t t = 0; t < m; ++t) rows[t] = static_cast<Index>(t * step % m);
        return rows;
    }
    Index matched() const { return static_cast<Index>(m - std::count(row_to_col.begin(), row_to_col.end(), -1)); }
};

// Sets v of the columns; those without a finite price get 0, and none gets more where columns may stay free. Auctions
// have room for as much again below the lowest.
template <class T>
void take_prices(CoreState<T>& state, const std::vector<Dual<T>>& v) {
    using D = Dual<T>;
    const D lowest = state.lowest_price / 2, highest = state.has_dummy_rows() ? D{0} : -lowest;
    for (Index j = 0; j < state.n; ++j) {
        const bool finite = v[j] > -kInfinity<D> && v[j] < kInfinity<D>;
        state.v[j] = finite ? std::clamp(v[j], lowest, highest) : D{0};
    }
}

// Largest minus smallest finite cost of a row, the most of a few rows.
template <class T>
Dual<T> cost_spread(CoreState<T>& state) {
    using D = Dual<T>;
    constexpr Index kRows = 8;
    D spread = 0;
    for (Index t = 0; t < kRows; ++t) {
        const T* row = state.scratch.dense_row(static_cast<Index>(static_cast<std::int64_t>(t) * state.m / kRows));
        D least = kInfinity<D>, most = -kInfinity<D>;
        for (Index j = 0; j < state.n; ++j) {
            const D c = static_cast<D>(row[j]);
            if (!(c > -kInfinity<D> && c < kInfinity<D>)) continue;
            least = std::min(least, c);
            most = std::max(most, c);
        }
        if (most > least) spread = std::max(spread, most - least);
    }
    return spread;
}

// A row's cheapest column and the value of its second cheapest, or a lower bound on it.
template <class D>
struct BestTwo {
    Index column = -1;  // -1: the row has no column that is not forbidden
    D first = kInfinity<D>;
    D second = kInfinity<D>;
};

// Minima of c[i,j] - v[j] over the list and the row's unmatched column; `v`: of columns 0 to n - 1, if not state.v.
// Returns whether no column that the list leaves out is below the first by more than `tolerance`.
template <class T>
bool read_list(const CoreState<T>& state, const Dual<T>* v, Index i, ListScratch<T>& scratch, BestTwo<Dual<T>>& best,
               Dual<T> tolerance = 0) {
    using D = Dual<T>;
    ++scratch.lists_read;
    const BestInList<D> listed = state.lists.best(i, v);
    best = {listed.place < 0 ? -1 : state.lists.cols(i)[listed.place], listed.first, listed.second};
    if (state.has_unmatched_columns() && state.unmatched_cost_of(i) < kInfinity<D>) {
        const D r = state.unmatched_cost_of(i) - state.v[state.unmatched_column(i)];
        if (r < best.first) {
            best = {state.unmatched_column(i), r, best.first};
        } else {
            best.second = std::min(best.second, r);
        }
    }
    const D tau = state.lists.tau(i);
    best.second = std::min(best.second, std::max(tau, best.first));
    return best.first <= tau || (best.first < kInfinity<D> && best.first - tau <= tolerance);
}
// Minima of c[i,j] - v[j] over all columns, read from the list, which is refreshed where it cannot prove them.
template <class T>
BestTwo<Dual<T>> best_two(CoreState<T>& state, Index i, ListScratch<T>& scratch) {
    BestTwo<Dual<T>> best;
    if (read_list(state, state.v.data(), i, scratch, best)) return best;
    state.refresh(i, scratch);
    read_list(state, state.v.data(), i, scratch, best);
    return best;
}

// The same of many rows: use(row, its best two) on any thread.
template <class T, class Use>
void best_two_of_all(CoreState<T>& state, const Use& use) {
    constexpr Index kRows = 64;
    state.lists.keep_prices_fresh(state.v.data(), state.scratch);
    state.share(
        state.m, kRows,
        [&](Index begin, Index end, ListScratch<T>& scratch) {
            scratch.forget();
            for (Index i = begin; i < end; ++i) use(i, best_two(state, i, scratch));
        },
        [&] { state.control.poll(state.progress); });
}

}  // namespace lapwing
