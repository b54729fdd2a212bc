// solve_sparse: see sparse/solve.hpp for the method.
#include "lapwing/sparse/solve.hpp"

#include <cmath>
#include <string>

#include "lapwing/exact/wide.hpp"
#include "lapwing/matching/layers.hpp"
#include "lapwing/matching/ties.hpp"
#include "lapwing/sparse/auction.hpp"
#include "lapwing/sparse/components.hpp"
#include "lapwing/sparse/incumbent.hpp"
#include "lapwing/sparse/search.hpp"

namespace lapwing {
namespace {

// The schedule, in units of the mean difference between a row's cheapest two columns.
struct SparseTuning {
    static constexpr double kFirst = 1, kDivisor = 8, kLast = 0.004;  // epsilon
    static constexpr std::int64_t kBidsPerRow = 40;                   // limit of a phase
    static constexpr std::int64_t kFinalBidsPerRow = 8;               // of the last one, with epsilon = 0
    static constexpr std::int64_t kSearchScans = 60;                  // budget of the searches, a row
    static constexpr double kPaceOf = 16;                             // searches that make up their pace
    static constexpr double kEscalation = 16;                         // of the first epsilon, if the budget is used up
    static constexpr int kAttempts = 3;                               // before the budget is lifted
    static constexpr int kRaises = 8;                                 // passes that bring given prices to legal ones
};

// Powers of two, so that costs on a binary grid keep exact duals; 0 when that of whole duals would be below 1.
template <class D>
D as_epsilon(double wanted, bool whole) {
    if (!(wanted > 0 && wanted < 0x1p1000)) return D{0};
    const double power = std::exp2(std::round(std::log2(wanted)));
    return whole && power < 1 ? D{0} : static_cast<D>(power);
}

// The tight pairs, as in matching/ties.hpp.
template <class T>
class SparseTightPairs {
  public:
    using D = Dual<T>;

    explicit SparseTightPairs(SparseState<T>& state) : s_(state) {}
    Index next(Index i, std::int64_t& cursor, const Columns& among) {
        const auto& row = s_.pairs.rows[i];
        for (; cursor < row.count; ++cursor) {
            const auto& entry = s_.entries(i)[cursor];
            if (among.has(entry.col) &&
                is_nearly_tight(static_cast<D>(entry.cost), s_.u[i], s_.v[entry.col], as_rounded_))
                return ++cursor, entry.col;
        }
        return -1;
    }
    bool is_open(Index j) const { return is_nearly_tight(s_.free_price(j), s_.v[j], D{0}, as_rounded_); }
    bool accepts(const std::vector<Index>& rows, const std::vector<Index>& cols) const {
        return pays<D>(
            rows, cols, s_.row_to_col, [this](Index i, Index j) { return s_.cost_of(i, j < 0 ? kExit : j); },
            [this](Index j) { return s_.free_price(j); });
    }
    void follow_less() { as_rounded_ = true; }

  private:
    SparseState<T>& s_;
    bool as_rounded_ = false;
};

// u from the matched costs, so that matched pairs are tight to the last digit that there is; and more matched rows
// where that costs nothing (matching/ties.hpp).
template <class T>
void finish(SparseState<T>& state) {
    using D = Dual<T>;
    std::vector<Index> free;
    for (Index i = 0; i < state.m; ++i) {
        const Index j = state.row_to_col[i];
        const D exit = state.exits == nullptr ? kInfinity<D> : state.exits[i];
        state.u[i] = j < 0 ? exit : std::min(state.cost_of(i, j) - state.v[j], exit);
        if (j == kExit) free.push_back(i);
    }
    if (state.exits == nullptr || free.empty()) return;
    SparseTightPairs<T> pairs(state);
    match_along(pairs, state.row_to_col, state.col_to_row, free);
}

template <class T>
class SparseSolver {
  public:
    using D = Dual<T>;

    SparseSolver(SparseState<T>& state, bool whole, const Keep<D>& keep)
        : s_(state), whole_(whole), incumbent_(state, keep), queue_(state.m), from_(state.control.seconds()) {}

    void solve(const D* start_v, SparseSolution<D>& solution);

  private:
    void lap(const char* stage);
    bool has_empty_line(SparseSolution<D>& solution);
    void take_prices(const D* start_v);
    void release_violating(D epsilon);
    void phases(double first);
    void auction(D epsilon, std::int64_t bids_per_row);
    bool search(bool limited, SparseSolution<D>& solution);

    SparseState<T>& s_;
    bool whole_;
    SparseIncumbent<T> incumbent_;
    RowQueue queue_;
    double from_;
    Statistics stages_;
};

template <class T>
void SparseSolver<T>::lap(const char* stage) {
    const double now = s_.control.seconds();
    stages_.add(std::string(stage) + "_seconds", now - std::exchange(from_, now));
}

template <class T>
void SparseSolver<T>::solve(const D* start_v, SparseSolution<D>& solution) {
    if (has_empty_line(solution)) return;
    try {
        if (start_v != nullptr) take_prices(start_v);
        double first = start_v == nullptr && !s_.columns_may_stay_free ? SparseTuning::kFirst : 0;
        for (int attempt = 0;; ++attempt) {
            phases(first);
            auction(D{0}, SparseTuning::kFinalBidsPerRow);
            assert_invariants(s_);
            lap("auction");
            incumbent_.look();
            const bool limited = !s_.columns_may_stay_free && attempt < SparseTuning::kAttempts;
            const bool done = search(limited, solution);
            lap("search");
            if (done) break;
            first = first > 0 ? first * SparseTuning::kEscalation : SparseTuning::kFirst;
        }
        if (solution.status == Status::time_limit) incumbent_.settle();
    } catch (...) {
        if (s_.control.keeps()) incumbent_.hand_over();
        throw;
    }
    if (solution.status == Status::optimal) finish(s_);
    for (Index& j : s_.row_to_col) j = std::max(j, Index{-1});
    solution.statistics = std::move(stages_);
    solution.statistics.set("phases", static_cast<double>(s_.phases));
    solution.statistics.set("bids", static_cast<double>(s_.bids));
    solution.statistics.set("paths", static_cast<double>(s_.paths));
    solution.statistics.set("rows_scanned", static_cast<double>(s_.rows_scanned));
}

// A row that has no pair, nor may stay free, or a column of a square problem that has none.
template <class T>
bool SparseSolver<T>::has_empty_line(SparseSolution<D>& solution) {
    const auto found = [&](Index line, bool is_col) {
        solution.status = Status::infeasible;
        solution.hall_rows = {line};
        solution.violator_is_cols = is_col;
        return true;
    };
    for (Index i = 0; i < s_.m; ++i)
        if (s_.pairs.rows[i].count == 0 && !(s_.exits != nullptr && s_.exits[i] < kInfinity<D>)) return found(i, false);
    if (s_.columns_may_stay_free) return false;
    std::vector<char> has_pair(s_.n, 0);
    for (const auto& entry : s_.pairs.entries) has_pair[entry.col] = 1;
    const auto empty = std::find(has_pair.begin(), has_pair.end(), 0);
    return empty != has_pair.end() && found(static_cast<Index>(empty - has_pair.begin()), true);
}

// Where columns may stay free, free ones go back to the price of that, and rows that this misleads bid again; none of
// the given prices if that does not end.
template <class T>
void SparseSolver<T>::take_prices(const D* start_v) {
    std::copy(start_v, start_v + s_.n, s_.v.begin());
    if (!s_.columns_may_stay_free) return;
    for (Index j = 0; j < s_.n; ++j) s_.v[j] = std::min(s_.v[j], s_.free_price(j));
    for (int pass = 0; pass < SparseTuning::kRaises; ++pass) {
        auction(D{0}, SparseTuning::kFinalBidsPerRow);
        bool raised = false;
        for (Index j = 0; j < s_.n; ++j)
            if (s_.col_to_row[j] < 0 && s_.v[j] < s_.free_price(j)) {
                s_.v[j] = s_.free_price(j);
                raised = true;
            }
        if (raised) forget_lists(s_.pairs);
        release_violating(D{0});  // of floats a bid, too, may be an ulp off: then a column becomes free below zero
        for (; !queue_.empty(); queue_.pop()) {
        }
        bool legal = true;
        for (Index j = 0; j < s_.n; ++j) legal = legal && (s_.col_to_row[j] >= 0 || !(s_.v[j] < s_.free_price(j)));
        if (legal) return;
    }
    s_.forget_prices();
    s_.release_all();
    forget_lists(s_.pairs);
}

// Keeps the pairs whose reduced cost is at most epsilon; rows that have no such pair are free, and queued.
template <class T>
void SparseSolver<T>::release_violating(D epsilon) {
    while (!queue_.empty()) queue_.pop();
    for (Index i = 0; i < s_.m; ++i) {
        const Index j = s_.row_to_col[i];
        if (j == kExit && s_.exits[i] <= best_pair(s_, i).first + epsilon) continue;
        if (j >= 0) {
            const D first = best_pair(s_, i).first;
            if (s_.cost_of(i, j) - s_.v[j] <= first + epsilon) {
                s_.u[i] = first;
                continue;
            }
            s_.col_to_row[j] = -1;
        }
        s_.row_to_col[i] = -1;
        queue_.push(i);
    }
}

template <class T>
void SparseSolver<T>::auction(D epsilon, std::int64_t bids_per_row) {
    s_.progress.stage = "auction";
    release_violating(epsilon);
    sparse_auction(s_, queue_, epsilon, bids_per_row * s_.m);
}

// `first`: the first epsilon; 0: no phase.
template <class T>
void SparseSolver<T>::phases(double first) {
    if (!(first > 0)) return;
    double width = 0;
    Index counted = 0;
    for (Index i = 0; i < s_.m; ++i) {
        const BestPair<D> best = best_pair(s_, i);
        if (!(best.second < kInfinity<D>)) continue;
        width += static_cast<double>(best.second - best.first);
        ++counted;
    }
    width /= std::max(counted, Index{1});
    for (double wanted = first; wanted >= SparseTuning::kLast; wanted /= SparseTuning::kDivisor) {
        const D epsilon = as_epsilon<D>(wanted * width, whole_);
        if (!(epsilon > D{0}) || s_.control.look(s_.progress)) return;
        s_.progress.phase = static_cast<Index>(++s_.phases);
        auction(epsilon, SparseTuning::kBidsPerRow);
        incumbent_.look();
    }
}

// Searches for all free rows. False if they used up their budget, and would need as much again at their latest pace.
template <class T>
bool SparseSolver<T>::search(bool limited, SparseSolution<D>& solution) {
    s_.progress.stage = "search";
    const std::int64_t budget = SparseTuning::kSearchScans * s_.m, most = s_.rows_scanned + budget;
    SparseSearch<T> search(s_);
    s_.progress.matched =
        static_cast<Index>(std::count_if(s_.row_to_col.begin(), s_.row_to_col.end(), [](Index j) { return j != -1; }));
    double bound = s_.progress.bound;
    double pace = 0;  // scans of a search, the latest ones counting most
    for (Index i = 0; i < s_.m; ++i) {
        if (s_.row_to_col[i] != -1) continue;
        if (limited && s_.rows_scanned > most && pace * (s_.m - s_.progress.matched) > static_cast<double>(budget))
            return false;
        const std::int64_t scans = s_.rows_scanned;
        switch (search.augment(i)) {
            case SparseOutcome::augmented:
                ++s_.progress.matched;
                bound += static_cast<double>(search.length());
                s_.progress.bound = std::max(s_.progress.bound, bound);
                incumbent_.keep_if_due();
                pace += (static_cast<double>(s_.rows_scanned - scans) - pace) / SparseTuning::kPaceOf;
                break;
            case SparseOutcome::expired: solution.status = Status::time_limit; return true;
            case SparseOutcome::infeasible:
                solution.status = Status::infeasible;
                solution.hall_rows = search.tree_rows(i);
                solution.hall_cols = search.tree_columns();
                return true;
        }
    }
    assert_invariants(s_);
    return true;
}

}  // namespace

template <class T>
void match_sparse_ties(const SparseProblem<T>& problem, std::vector<Index>& row_to_col, const Dual<T>* v) {
    auto pairs = make_adjacency<T>(problem.cost, problem.maximize, problem.transposed);
    Control control;
    SparseState<T> state(pairs, problem.cols(), problem.unmatched_cost, problem.unmatched_cols, true, control);
    state.v.assign(v, v + state.n);
    for (Index i = 0; i < state.m; ++i) state.assign(i, row_to_col[i] < 0 ? kExit : row_to_col[i]);
    finish(state);
    for (Index i = 0; i < state.m; ++i) row_to_col[i] = std::max(state.row_to_col[i], Index{-1});
}

template <class T>
CostRange<Dual<T>> sparse_range(const SparseProblem<T>& problem, const Adjacency<T>& pairs) {
    using D = Dual<T>;
    const auto rows = static_cast<Index>(pairs.rows.size());
    CostRange<D> range;
    const auto exceeds = [&](D x, Index row, Index col) {
        if (x >= -range.limit && x <= range.limit) return false;
        range.fits = false;
        range.extreme = problem.maximize && row >= 0 && col >= 0 ? -x : x;
        range.row = row;
        range.col = col;
        return true;
    };
    const D share = problem.unmatched_cols != nullptr ? 2 : 1;  // each pair counts with the price of its column
    if (problem.unmatched_cost != nullptr) {
        range.limit = cost_limit<D>(rows) / share;
        for (Index i = 0; i < rows; ++i)
            if (problem.unmatched_cost[i] < kInfinity<D> && exceeds(problem.unmatched_cost[i], i, -1)) return range;
        for (Index j = 0; problem.unmatched_cols != nullptr && j < problem.cols(); ++j)
            if (exceeds(problem.unmatched_cols[j], -1, j)) return range;
    }
    range.limit = cost_limit<D>(std::min(problem.cost.rows, problem.cost.cols)) / share;
    if constexpr (std::is_same_v<T, D>)
        for (Index i = 0; i < rows; ++i)
            for (Index k = 0; k < pairs.rows[i].count; ++k) {
                const auto& entry = pairs.entries[static_cast<std::size_t>(pairs.rows[i].begin + k)];
                if (exceeds(entry.cost, i, entry.col)) return range;
            }
    return range;
}

template <class T>
SparseSolution<Dual<T>> solve_adjacency(Adjacency<T>& pairs, Index cols, const Dual<T>* exits, const Dual<T>* start_v,
                                        Control& control, const Keep<Dual<T>>& keep, const Dual<T>* free_cols,
                                        bool whole, bool rectangular) {
    forget_lists(pairs);
    const bool free_columns = rectangular || exits != nullptr || static_cast<Index>(pairs.rows.size()) < cols;
    SparseState<T> state(pairs, cols, exits, free_cols, free_columns, control);
    SparseSolution<Dual<T>> solution;
    SparseSolver<T>(state, whole || !std::is_floating_point_v<T>, keep).solve(start_v, solution);
    solution.row_to_col = std::move(state.row_to_col);
    solution.u = std::move(state.u);
    solution.v = std::move(state.v);
    return solution;
}

template <class T>
SparseSolution<Dual<T>> solve_sparse(const SparseProblem<T>& problem, const Dual<T>* start_v, int threads,
                                     Control& control, const Keep<Dual<T>>& keep) {
    control.look({"check"});
    if constexpr (std::is_integral_v<T>) {
        SparseSolution<Dual<T>> solution;
        if (solve_in_doubles(problem, start_v, threads, control, keep, solution)) return solution;
    }
    auto pairs = make_adjacency<T>(problem.cost, problem.maximize, problem.transposed);
    const auto range = sparse_range(problem, pairs);
    if (!range.fits) throw CostTooLarge{range.row, range.col};
    return solve_components(pairs, problem.cols(), problem.unmatched_cost, start_v, threads, control, keep,
                            problem.unmatched_cols);
}

#define LAPWING_INSTANTIATE(T)                                                                            \
    template void match_sparse_ties(const SparseProblem<T>&, std::vector<Index>&, const Dual<T>*);        \
    template CostRange<Dual<T>> sparse_range(const SparseProblem<T>&, const Adjacency<T>&);               \
    template SparseSolution<Dual<T>> solve_sparse(const SparseProblem<T>&, const Dual<T>*, int, Control&, \
                                                  const Keep<Dual<T>>&);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

template SparseSolution<double> solve_adjacency(Adjacency<float>&, Index, const double*, const double*, Control&,
                                                const Keep<double>&, const double*, bool, bool);
template SparseSolution<double> solve_adjacency(Adjacency<double>&, Index, const double*, const double*, Control&,
                                                const Keep<double>&, const double*, bool, bool);
template SparseSolution<std::int64_t> solve_adjacency(Adjacency<std::int32_t>&, Index, const std::int64_t*,
                                                      const std::int64_t*, Control&, const Keep<std::int64_t>&,
                                                      const std::int64_t*, bool, bool);
template SparseSolution<std::int64_t> solve_adjacency(Adjacency<std::int64_t>&, Index, const std::int64_t*,
                                                      const std::int64_t*, Control&, const Keep<std::int64_t>&,
                                                      const std::int64_t*, bool, bool);
template SparseSolution<Int128> solve_adjacency(Adjacency<Int128>&, Index, const Int128*, const Int128*, Control&,
                                                const Keep<Int128>&, const Int128*, bool, bool);
template SparseSolution<Wide> solve_adjacency(Adjacency<Wide>&, Index, const Wide*, const Wide*, Control&,
                                              const Keep<Wide>&, const Wide*, bool, bool);

}  // namespace lapwing
