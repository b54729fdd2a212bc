// The core method: the stages in order.
//
//     start (sampled prices, where they help) -> list every row -> auction phases -> shortest augmenting paths
//
// Complexity: one pass over the matrix to list, a small fraction of one to sample, and O(k) work for each bid and each
// scanned row; refreshes read one dense row each. References: Guthe and Thuerck, Algorithm 1015 (ACM TOMS 47, 2021) for
// shortest augmenting paths with epsilon scaling; Jonker and Volgenant (Computing 38, 1987); Bertsekas (1988).
#pragma once

#include <limits>
#include <numeric>
#include <optional>

#include "lapwing/core/auction.hpp"
#include "lapwing/core/incumbent.hpp"
#include "lapwing/core/invariants.hpp"
#include "lapwing/core/search.hpp"
#include "lapwing/core/start.hpp"

namespace lapwing {

// The schedule, in units of the mean gap tau - min of the candidate lists. Times move by a few per cent when any of
// these is halved or doubled, but for the last epsilon: the smaller it is, the shorter are the searches, and the last
// phases take few bids.
struct PhaseTuning {
    static constexpr double kFirst = 4;             // first epsilon, over the error expected in a row's price ...
    static constexpr double kUnstructured = 0.015;  // ... or where none is known: more, up to kFirst, with heavy tails
    static constexpr double kDivisor = 5;
    static constexpr double kLast = 0.0025;  // down to this ...
    static constexpr double kOfLow = 16;     // ... or this part of so many low gaps (ListGaps), if that is less
    // Tolerances of lists (core/bid.hpp), in epsilons. With 8 solves take as long. The larger, the more bids the next
    // phase takes.
    static constexpr int kTolerance = 4, kLastTolerance = 1;
    static constexpr std::int64_t kBidsPerRow = 40;  // limit of a phase
    // A phase with epsilon > 0 ends when no more rows are free than this times sqrt(m); where bids read no whole rows,
    // those before the last one go on for longer.
    static constexpr double kFewFree = 1.0 / 32, kFewFreeInBoxes = 1.0 / 64;
    static constexpr std::int64_t kFinalBidsPerRow = 8;  // of the last one, with epsilon = 0
    static constexpr double kManyFree = 1.0 / 16;  // share of free rows: fewer after a trial, and no phase is needed
    static constexpr double kLeft = 1.0 / 32;      // the same: more, and smaller epsilons are in vain
    static constexpr double kFarOff = 0.35;        // share of free rows after a trial above which prices that a caller
                                                   // gave are taken for those of a sample: these leave 0.37 to 0.75,
                                                   // prices of later phases mostly 0.17 to 0.33
    static constexpr double kEscalation = 8;       // of an epsilon that was too small ...
    static constexpr double kMost = 64;            // ... up to this times the first
    // Budget of the searches, for each row: dense rows read whole, or by boxes, and rows scanned. Where columns are in
    // boxes it is no less than a multiple of what the phases have read, which others would read again.
    static constexpr std::int64_t kSearchReads = 3, kSearchLooks = 30, kSearchScans = 100;
    static constexpr std::int64_t kOfPhases = 2, kScansALook = 20;  // so many take as long as a read
    // The same of searches at zero prices, before any phase, where there are dummy rows: up to half as long as phases
    // and searches take, as a rule.
    static constexpr std::int64_t kFirstReads = 1, kFirstScans = 24;  // of whole rows
    static constexpr std::int64_t kFirstLooks = 2, kFirstScansInBoxes = 4;
    static constexpr int kDummyStep = 4;  // of the level of dummy rows, in epsilons
    // Searches that have matched one of so many rows may take so many budgets, since phases would begin anew.
    static constexpr std::size_t kNearTheEnd = 2;
    static constexpr std::int64_t kToTheEnd = 8;
    // Dense rows read, if another method can take over. At m = 1000 and 8000 structured costs take 3 to 5 and 3 to 8 a
    // row, others 1 to 8; those of which lists tell nothing 20 to 1500, in a sample, too, unless it is small.
    static std::int64_t most_reads(Index m, bool structured) {
        constexpr Index kSmall = 384;
        const double each = m < kSmall ? 24 : structured ? std::max(8.0, std::sqrt(m) / 5) : 8;
        return static_cast<std::int64_t>(each * m);
    }
    // The same where few pairs of a sample are tight (few_pairs_are_tight), though rows tell their columns apart
    // little: clouds that lie apart, distances that are maximised, lines. They take 8 to 80, and jv 50 to 800.
    static std::int64_t most_general_reads(Index m) { return static_cast<std::int64_t>(2 * std::sqrt(m) * m); }
    // The effort (CoreState::effort) on structured costs, or on a sample of them, after which another method may try on
    // the whole. At m = 2000 most take 2 to 7 a row, clouds that lie apart 10 to 15, ten unequal groups with a penalty
    // between them 60 to 90, where jv takes 20 to 30. jv reads few rows fast: then it may try sooner, and also of costs
    // without structure. Of these core takes 2 a row as a rule, and 40 where they have a heavy tail towards their least
    // (jv 4 to 20).
    static std::int64_t alone(Index m, Index rows_of_whole, bool structured) {
        constexpr Index kFewRows = 1536;
        constexpr std::int64_t kStructured = 16, kFewStructured = 8, kFewUnstructured = 5;
        if (rows_of_whole <= kFewRows) return (structured ? kFewStructured : kFewUnstructured) * m;
        return structured ? kStructured * m : std::numeric_limits<std::int64_t>::max();
    }
    // The same of the smallest sample when it is priced from nothing. At m = 250 most costs take 1 to 12 a row, columns
    // of other scales 25, large offsets of rows and columns 35.
    static std::int64_t most_probe_reads(Index m) { return std::max<std::int64_t>(32, m / 15) * m; }
    static constexpr int kAttempts = 4;  // at phases from a larger epsilon, before the budget is lifted
};

// Calls list(row, scratch) for every row, after boxes have taken state.v. Throws TimeIsUp.
template <class T, class List>
void list_each(CoreState<T>& state, const List& list) {
    constexpr Index kRows = 64;  // lists depend on rows before them in the piece, never on the number of threads
    state.progress.stage = "list";
    if (state.list_by_owners()) {
        state.poll_row();
        return;
    }
    state.lists.take_prices(state.v.data(), state.scratch);
    state.share(
        state.m, kRows,
        [&](Index begin, Index end, ListScratch<T>& scratch) {
            scratch.forget();
            scratch.reader.expect(begin, end);
            for (Index i = begin; i < end; ++i) {
                list(i, scratch);
                if (&scratch != &state.scratch) continue;
                state.progress.done = static_cast<double>(i + 1) / state.m;  // rows before it are taken
                state.poll_row();
            }
        },
        [] {});
    state.progress.done = Progress::kUnknown;
}

// Lists every row under state.v.
template <class T>
void list_rows(CoreState<T>& state) {
    list_each(state, [&](Index i, ListScratch<T>& scratch) { state.lists.list(i, state.v.data(), scratch); });
}

// tau - min of the lists (of a typical list, where lists are complete): the scale on which rows tell their columns
// apart. Of those that are not ties, but for rounding, a quarter are no larger than the `low` one: with heavy tails, a
// millionth of the mean.
struct ListGaps {
    double mean = 0, low = 0;
};
template <class T>
ListGaps list_gaps(CoreState<T>& state) {
    using D = Dual<T>;
    constexpr Index kTypical = 28;
    std::vector<double> gaps(state.m, -1);  // -1: a row that does not count
    best_two_of_all(state, [&](Index i, const BestTwo<D>& best) {
        if (best.column < 0) return;
        D tau = state.lists.tau(i);
        if (tau == kInfinity<D>) {
            Index places[kMaxCapacity];
            D values[kMaxCapacity];
            const Index listed = state.lists.below(i, state.v.data(), kInfinity<D>, places, values);
            if (listed == 0) return;
            const Index rank = std::min(kTypical, listed - 1);
            std::nth_element(values, values + rank, values + listed);
            tau = values[rank];
        }
        gaps[i] = static_cast<double>(tau) - static_cast<double>(best.first);
    });
    std::erase_if(gaps, [](double gap) { return !(gap >= 0); });
    if (gaps.empty()) return {};
    const double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0) / static_cast<double>(gaps.size());
    constexpr double kTie = 1e-9;  // of the mean
    std::erase_if(gaps, [mean](double gap) { return !(gap > kTie * mean); });
    if (gaps.empty()) return {mean, mean};
    const auto low = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 4);
    std::nth_element(gaps.begin(), low, gaps.end());
    return {mean, *low};
}

// Powers of two, so that float costs on a binary grid keep exact duals; 0 when an integer epsilon would be below 1.
template <class D>
D as_epsilon(double wanted) {
    if (!(wanted > 0)) return 0;
    const double power = std::exp2(std::round(std::log2(wanted)));
    if constexpr (!std::is_floating_point_v<D>) return power < 1 ? D{0} : static_cast<D>(power);
    if constexpr (std::is_floating_point_v<D>) return power;
}

template <class T>
std::vector<Index> free_rows(const CoreState<T>& state) {
    std::vector<Index> rows = state.rows_in_turn();
    std::erase_if(rows, [&state](Index i) { return state.row_to_col[i] >= 0; });
    return rows;
}

// The phases, from all rows free. `error`: the error to expect in a row's price, in list gaps; 0 where nothing is
// known. For `given` prices a trial tells.
template <class T>
void auction_phases(CoreState<T>& state, double error, bool given = false) {
    using D = Dual<T>;
    const std::vector<Index> everyone = state.rows_in_turn();
    D last = 0;  // epsilon that was not 0
    struct Outcome {
        double left;   // share of rows
        bool are_few;  // no more than may be free
    };
    const auto phase = [&](D epsilon, std::int64_t bids_per_row, int tolerance = 0, double few_free = 0) -> Outcome {
        state.release_all();
        ++state.phases;
        if (epsilon > 0) last = epsilon;
        const auto few = static_cast<std::size_t>(few_free * std::sqrt(state.m));
        const Bidding<D> bidding{epsilon, tolerance * epsilon, few, PhaseTuning::kDummyStep * epsilon};
        const auto left = Auction<T>(state, bidding).run(everyone, bids_per_row * state.m);
        assert_epsilon_optimal(state, bidding.epsilon + bidding.tolerance);
        state.preview();
        return {static_cast<double>(left.size()) / state.m, left.size() <= few};
    };
    state.progress.stage = "auction";
    const auto [gap, low] = list_gaps(state);
    const double least = PhaseTuning::kLast * std::min(1.0, PhaseTuning::kOfLow * low / gap);
    double left = error > 0 ? phase(D{0}, 1).left : 1;
    if (left < PhaseTuning::kManyFree && state.has_dummy_rows())
        left += static_cast<double>(wanted_by_dummy_rows(state)) / state.m;
    if (left < PhaseTuning::kManyFree) return;
    if (given && left > PhaseTuning::kFarOff) error = StartTuning::kError;
    const double first = error > 0
                             ? PhaseTuning::kFirst * error
                             : std::min(PhaseTuning::kUnstructured * PhaseTuning::kLast / least, PhaseTuning::kFirst);
    const double highest = static_cast<double>(cost_spread(state)) / 2;
    bool growing = true;  // until a phase leaves few rows: others have paths that are much longer than epsilon
    for (double wanted = first; wanted >= least && !state.control.poll(state.progress);) {
        const D epsilon = as_epsilon<D>(std::min(wanted * gap, highest));
        if (!(epsilon > 0)) break;
        const bool is_last = wanted / PhaseTuning::kDivisor < least;
        const double few = state.lists.has_boxes() && !is_last ? PhaseTuning::kFewFreeInBoxes : PhaseTuning::kFewFree;
        const int tolerance = is_last ? PhaseTuning::kLastTolerance : PhaseTuning::kTolerance;
        const Outcome outcome = phase(epsilon, PhaseTuning::kBidsPerRow, tolerance, few);
        if (outcome.left > PhaseTuning::kLeft && !growing) break;
        growing = growing && !outcome.are_few && wanted < PhaseTuning::kMost * first;
        wanted = growing ? wanted * PhaseTuning::kEscalation : wanted / PhaseTuning::kDivisor;
        state.progress.phase = static_cast<Index>(state.phases);
    }
    phase(D{0}, PhaseTuning::kFinalBidsPerRow);
    const std::int64_t most = PhaseTuning::kFinalBidsPerRow * state.m;
    if (state.has_dummy_rows()) Auction<T>(state, {.dummy_step = PhaseTuning::kDummyStep * last}).run({}, most);
}

// Gives every row its nearest column where that is free yet, with a list of this column alone: for prices under which
// most rows want different columns. The others bid; only rows that lose in that, or take part in a search, get a longer
// list.
template <class T>
void take_nearest(CoreState<T>& state) {
    list_each(state, [&](Index i, ListScratch<T>& scratch) { state.lists.list_nearest(i, state.v.data(), scratch); });
    for (Index i = 0; i < state.m; ++i) {
        const BestTwo<Dual<T>> best = best_two(state, i, state.scratch);
        state.u[i] = best.first;
        if (best.column >= 0 && state.col_to_row[best.column] < 0) state.assign(i, best.column);
    }
    assert_epsilon_optimal(state, Dual<T>{0});
}

// Searches that take more are given up.
struct SearchBudget {
    std::int64_t reads, scans;
};

// `read_by_phases`: the rows that the last phases read. `first`: phases come later, if at all.
template <class T>
SearchBudget search_budget(const CoreState<T>& state, std::int64_t read_by_phases, bool first) {
    const bool in_boxes = state.lists.has_boxes();
    if (first && in_boxes) return {PhaseTuning::kFirstLooks * state.m, PhaseTuning::kFirstScansInBoxes * state.m};
    if (first) return {PhaseTuning::kFirstReads * state.m, PhaseTuning::kFirstScans * state.m};
    const std::int64_t least = PhaseTuning::kOfPhases * read_by_phases;
    const std::int64_t each = in_boxes ? PhaseTuning::kSearchLooks : PhaseTuning::kSearchReads;
    return {std::max(each * state.m, least),
            std::max(PhaseTuning::kSearchScans * state.m, PhaseTuning::kScansALook * least)};
}

// Searches for all free rows. Fills solution.status, and the Hall violator where there is one. Returns false if it gave
// up because the searches take more than the budget, if there is one: the prices are too far off, and more auction
// phases are cheaper.
template <class T>
bool search_paths(CoreState<T>& state, const std::optional<SearchBudget>& budget, Solution<Dual<T>>& solution) {
    state.progress.stage = "search";
    const std::int64_t read = state.scratch.dense_rows_read, scanned = state.rows_scanned;
    // Whether the searches took more than so many budgets.
    const auto took = [&](std::int64_t times) {
        return state.scratch.dense_rows_read - read > times * budget->reads ||
               state.rows_scanned - scanned > times * budget->scans;
    };
    PathSearch<T> search(state);
    state.progress.matched = state.matched();
    double bound = state.preview();
    const std::vector<Index> free = free_rows(state);
    for (std::size_t k = 0; k < free.size(); ++k) {
        const Index i = free[k];
        if (state.is_to_end()) return false;
        const bool is_near_the_end = k >= free.size() / PhaseTuning::kNearTheEnd;
        if (budget && took(is_near_the_end ? PhaseTuning::kToTheEnd : 1)) return false;
        switch (search.augment(i)) {
            case SearchOutcome::augmented:
                ++state.progress.matched;
                bound += static_cast<double>(search.length());
                state.progress.bound = std::max(state.progress.bound, bound);
                assert_pairing(state);
                state.keep_if_due();
                break;
            case SearchOutcome::expired: solution.status = Status::time_limit; return true;
            case SearchOutcome::infeasible:
                solution.status = Status::infeasible;
                solution.hall_rows = search.tree_rows(i);
                solution.hall_cols = search.tree_columns();
                return true;
        }
    }
    assert_optimal(state);
    return true;
}

}  // namespace lapwing
