// Starting prices for structured costs: multiscale by sampling.
//
// A random sample of the rows and columns is solved first, by the same method and so by a sample of its own, and its
// duals are extended to all columns: v[j] = min over sampled rows (c[i,j] - u[i]), a c-transform. It needs no geometry,
// only costs, reads one row in `kShrink`, and leaves searches that no longer grow with n on geometric, disjoint and
// low-rank costs. On unstructured costs (uniform, random integers) the duals of a sample carry no information about
// other rows. The smallest sample decides between the two: the error of plain row minima as duals, a row, in
// candidate-list gaps, is 0.02 for unstructured costs whatever the size, 0.07 to 0.1 for points in the plane, and 0.3
// and more for the other classes.
//
// A sample of points is stratified (costs/spatial_order.hpp): each region holds rows and columns in proportion to the
// whole problem. Prices of a random sample, with more rows than columns here and fewer there, are off by several times
// as much.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "lapwing/core/state.hpp"
#include "lapwing/costs/spatial_order.hpp"

namespace lapwing {

struct StartTuning {
    static constexpr Index kShrink = 4;       // rows of a level per row of its sample ...
    static constexpr Index kLargeShrink = 6;  // ... and above kLarge, to keep the copied sample small
    static constexpr Index kLarge = 10000;
    static constexpr double kCopyBytes = 64e6;  // of the sample copied from a source, at most
    static constexpr Index kSmallest = 64;      // rows of the smallest sample
    static constexpr Index kProbe = 256;        // rows at most of the sample that is solved from nothing, to probe ...
    static constexpr Index kProbeShare = 16;    // ... or this part of the whole, if that is more
    static constexpr double kError = 0.25;      // price error to expect where no level has told, in list gaps
    static constexpr double kNone = 1e-3;       // price error where prices are as good as can be
    static constexpr double kOfMove = 0.15;     // price error to expect, over how far prices moved one level below
    static constexpr double kRegretError = 0.02;  // price error on the smallest sample up to which regret is the start
    static constexpr double kStructured = 0.028;  // price error of the row minima above which costs are structured
    // How far prices of the smallest sample move, in list gaps, where groups of rows and columns are far apart: points
    // and products move by 0.1 to 2, (x - 2y)^2 by 6, two groups with a penalty of 30 between them by 20 to 30.
    static constexpr double kFarApart = 10;
};

// Random rows and columns of a problem, or of a sample of it. A source may make a source of its own of them. Otherwise
// their costs are to be copied, and always from the problem itself: so the smallest sample can be solved before those
// that it was drawn from are copied, and where it finds no structure, they never are.
template <class T>
struct Sample {
    std::vector<Index> rows, cols;          // of what it was drawn from, ascending
    std::unique_ptr<T[]> costs;             // [rows, cols], set by copy(), or
    std::unique_ptr<CostSource<T>> source;  // in place of a copy
    std::vector<Dual<T>> unmatched_costs;
    Problem<T> problem;  // refers to the three above
    bool stratified = false;

    // `whole` is the problem of `parent`, if there is one.
    Sample(const Problem<T>& whole, const Sample* parent, Index shrink, std::uint64_t seed, Control& control,
           Team& team) {
        std::vector<std::int32_t> row_order, col_order;
        if (whole.source != nullptr) {
            const auto poll = [&control] {
                if (control.look({"start"}) && std::is_floating_point_v<Dual<T>> && control.is_late()) throw TimeIsUp{};
            };
            row_order = whole.source->in_order(true, kNested, team, poll);
            col_order = whole.source->in_order(false, kNested, team, poll);
        }
        stratified = !row_order.empty() && !col_order.empty();
        rows = choose(whole.cost.rows, shrink, seed, row_order);
        cols = choose(whole.cost.cols, shrink, seed + 1, col_order);
        if (whole.source != nullptr) source = whole.source->part(rows, cols);
        if (source == nullptr) {
            const bool is_of_copy = parent != nullptr && parent->costs != nullptr;
            origin_ = is_of_copy ? parent->origin_ : &whole;
            origin_rows_ = is_of_copy ? taken(parent->origin_rows_, rows) : rows;
            origin_cols_ = is_of_copy ? taken(parent->origin_cols_, cols) : cols;
            costs = std::make_unique_for_overwrite<T[]>(rows.size() * cols.size());
        }
        if (whole.unmatched_cost)
            for (const Index i : rows) unmatched_costs.push_back(whole.unmatched_cost[i]);
        problem = {{costs.get(), static_cast<Index>(rows.size()), static_cast<Index>(cols.size()),
                    static_cast<std::ptrdiff_t>(cols.size()), 1},
                   whole.maximize,
                   whole.unmatched_cost ? unmatched_costs.data() : nullptr,
                   source.get()};
    }
    Sample(const Sample&) = delete;
    Sample& operator=(const Sample&) = delete;

    // To be called before any cost is read. False at the time limit: then there are no costs to read.
    bool copy(Control& control, Team& team) {
        if (costs == nullptr) return true;
        if (origin_->source != nullptr && origin_->source->owners() != nullptr) {
            origin_->source->owners()->copy(origin_rows_, origin_cols_, costs.get());
            return true;
        }
        std::atomic<bool> stop = false;
        const auto copy_rows = [&](Index begin, Index end, int) {
            RowReader<T> reader(origin_->cost, origin_->source);
            for (Index a = begin; a < end && !stop; ++a) {
                const T* row = reader.row(origin_rows_[a]);
                T* to = costs.get() + origin_cols_.size() * a;
                for (std::size_t b = 0; b < origin_cols_.size(); ++b) to[b] = row[origin_cols_[b]];
            }
        };
        team.share(
            static_cast<Index>(origin_rows_.size()), rows_at_a_time(*origin_),
            [&] { stop = stop || control.poll({"start"}); }, copy_rows);
        return !stop;
    }

  private:
    const Problem<T>* origin_ = nullptr;            // from which costs are copied:
    std::vector<Index> origin_rows_, origin_cols_;  // these

    static std::vector<Index> taken(const std::vector<Index>& from, const std::vector<Index>& at) {
        std::vector<Index> lines;
        for (const Index k : at) lines.push_back(from[k]);
        return lines;
    }
    // One from each of `count / shrink` runs of neighbours (so rows <= cols is kept), by index or in an order that is
    // known.
    static std::vector<Index> choose(Index count, Index shrink, std::uint64_t seed,
                                     const std::vector<std::int32_t>& order) {
        const Index wanted = std::max<Index>(1, count / shrink);
        std::vector<Index> chosen(wanted);
        for (Index t = 0; t < wanted; ++t) {
            const Index low = static_cast<Index>(static_cast<std::int64_t>(t) * count / wanted);
            const Index high = static_cast<Index>(static_cast<std::int64_t>(t + 1) * count / wanted);
            seed = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9u + 0x9E3779B97F4A7C15u;
            const Index at = low + static_cast<Index>((seed >> 33) % static_cast<std::uint64_t>(high - low));
            chosen[t] = order.empty() ? at : order[at];
        }
        std::sort(chosen.begin(), chosen.end());
        return chosen;
    }
};

// Prices to start from that a caller gives. Any are good; but those far below the highest, by more than the costs
// spread, could only cost precision and are raised.
template <class T>
void take_given_prices(CoreState<T>& state, const Dual<T>* given) {
    using D = Dual<T>;
    const D spread = cost_spread(state);
    D highest = *std::max_element(given, given + state.n);
    if (state.has_dummy_rows()) highest = std::max(highest, D{0});
    std::vector<D> v(state.n);
    for (Index j = 0; j < state.n; ++j) v[j] = std::max(given[j] - highest, -2 * spread);
    take_prices(state, v);
}

// The same by boxes, of the sample's rows: each column looks for the nearest. False if there are none.
template <class T>
bool extend_by_boxes(CoreState<T>& whole, const Sample<T>& sample, const std::vector<Dual<T>>& sample_u,
                     std::vector<Dual<T>>& v) {
    using D = Dual<T>;
    if (!whole.lists.has_boxes()) return false;
    for (const D& u : sample_u)
        if (!(u > -kInfinity<D> && u < kInfinity<D>)) return false;
    const auto turned = whole.problem.source->turned(sample.rows);
    if (turned == nullptr) return false;
    BoxPrices<T> prices{.are_tilted = turned->boxes()->can_tilt()};
    turned->boxes()->take_prices(sample_u.data(), prices);
    constexpr Index kColumns = 64;
    whole.share(
        whole.n, kColumns,
        [&](Index begin, Index end, ListScratch<T>& scratch) {
            for (Index j = begin; j < end; ++j) {
                D limit = kInfinity<D>;
                const bool maximize = whole.problem.maximize;
                turned->boxes()->nearest({j, maximize, sample_u.data(), &prices, 1}, limit, scratch.near);
                if (!scratch.near.empty()) v[j] = scratch.near[0].value;  // else all pairs are forbidden
            }
        },
        [&] { whole.poll_row(); });
    return true;
}

// v[j] = min(v[j], c - u over these rows), where u is finite.
template <class T>
void lower_columns(CoreState<T>& state, std::span<const Index> rows, const std::vector<Dual<T>>& u,
                   std::vector<Dual<T>>& v) {
    if (const RowOwners<T>* owners = state.problem.source != nullptr ? state.problem.source->owners() : nullptr) {
        owners->lower_columns(rows, state.problem.maximize, u.data(), v.data());
        state.scratch.dense_rows_read += static_cast<Index>(rows.size());
        return state.poll_row();
    }
    const auto lower = [&](Index begin, Index end, ListScratch<T>& scratch) {
        if (scratch.minima.empty()) scratch.minima.assign(state.n, kInfinity<Dual<T>>);
        for (Index a = begin; a < end; ++a)
            if (u[a] < kInfinity<Dual<T>>)
                state.lists.kernels().lower_columns(scratch.dense_row(rows[a]), state.n, u[a], scratch.minima.data());
    };
    state.share(static_cast<Index>(rows.size()), rows_at_a_time(state.problem), lower, [&] { state.poll_row(); });
    state.for_each_scratch([&](ListScratch<T>& scratch) {
        for (std::size_t j = 0; j < scratch.minima.size(); ++j) v[j] = std::min(v[j], scratch.minima[j]);
        scratch.minima = {};
    });
}

// v of the whole from u of a sample's rows.
template <class T>
void extend_duals(CoreState<T>& whole, const Sample<T>& sample, const std::vector<Dual<T>>& sample_u) {
    std::vector<Dual<T>> v(whole.n, kInfinity<Dual<T>>);
    if (!extend_by_boxes(whole, sample, sample_u, v)) lower_columns(whole, sample.rows, sample_u, v);
    take_prices(whole, v);
}

// Sets state.v to the least of each column's costs less the minima of their rows: for columns with their own offsets.
template <class T>
void reduced_start(CoreState<T>& state) {
    using D = Dual<T>;
    const std::vector<D> zero(state.n, D{0});
    std::vector<D> least, v(state.n, kInfinity<D>);
    std::vector<Index> rows(state.m);
    std::iota(rows.begin(), rows.end(), 0);
    for (const Index i : rows)
        least.push_back(state.lists.kernels().minimum(state.scratch.dense_row(i), state.n, zero.data()));
    lower_columns(state, rows, least, v);
    take_prices(state, v);
}

// Some rows, all different: evenly spaced, or at random where neighbours follow one another.
template <class T>
std::vector<Index> some_rows(const CoreState<T>& state, Index count) {
    std::vector<Index> rows(count);
    std::vector<char> drawn(state.is_in_order() ? state.m : 0, 0);
    std::uint64_t seed = 1;
    for (Index t = 0; t < count; ++t) {
        rows[t] = static_cast<Index>(static_cast<std::int64_t>(t) * state.m / count);
        if (drawn.empty()) continue;
        do {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            rows[t] = static_cast<Index>((seed >> 32) * static_cast<std::uint64_t>(state.m) >> 32);
        } while (std::exchange(drawn[rows[t]], 1));
    }
    return rows;
}

// Whether rows tell their columns apart under state.v: lists a few rows and looks for two pairs that want the same
// column. Of 4 sqrt(n) rows about eight pairs would by chance.
template <class T>
bool rows_want_distinct_columns(CoreState<T>& state) {
    const Index count = std::min<Index>(state.m, static_cast<Index>(4 * std::sqrt(static_cast<double>(state.n))));
    const std::vector<Index> rows = some_rows(state, count);
    std::vector<char> wanted(state.n, 0);
    bool clash = false;
    state.lists.take_prices(state.v.data(), state.scratch);
    const bool listed = state.list_by_owners(rows);
    for (const Index i : rows) {
        if (state.control.poll(state.progress)) return false;
        if (!listed) state.lists.list(i, state.v.data(), state.scratch);
        const Index place = state.lists.best(i, state.v.data()).place;
        if (place >= 0 && std::exchange(wanted[state.lists.cols(i)[place]], 1) && std::exchange(clash, true))
            return false;
    }
    return true;
}

// Starting prices for costs that are nearly a sum a[i] + b[j]: a few rows tell b. Sets state.v and returns true if
// they, or no prices at all, are good enough by themselves.
template <class T>
bool separable_start(CoreState<T>& state) {
    using D = Dual<T>;
    constexpr Index kRows = 8;
    if (rows_want_distinct_columns(state)) return true;
    std::vector<D> v(state.n, kInfinity<D>), least;
    std::vector<Index> rows;
    for (Index t = 0; t < kRows; ++t)
        rows.push_back(static_cast<Index>(static_cast<std::int64_t>(t) * state.m / kRows));
    const bool listed = state.list_by_owners(rows);
    for (const Index i : rows) {
        if (!listed) state.lists.list(i, state.v.data(), state.scratch);
        least.push_back(state.lists.best(i, state.v.data()).first);
    }
    lower_columns(state, rows, least, v);
    take_prices(state, v);
    if (rows_want_distinct_columns(state)) return true;
    std::fill(state.v.begin(), state.v.end(), D{0});
    return false;
}

}  // namespace lapwing
