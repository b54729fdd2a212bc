// solve_core: see core/solve.hpp for the method.
#include "lapwing/core/regret.hpp"
#include "lapwing/core/solve.hpp"
#include "lapwing/exact/wide.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/reductions/equal_lines.hpp"
#include "lapwing/reductions/in_boxes.hpp"

namespace lapwing {
namespace {

// Row minima under the state's v as u: feasible whatever v is.
template <class T>
void set_row_minima(CoreState<T>& state) {
    best_two_of_all(state, [&](Index i, const BestTwo<Dual<T>>& best) { state.u[i] = best.first; });
}

// At the time limit: the best there is, unless a row has no column at all.
template <class T>
void finish_early(CoreState<T>& state, Solution<Dual<T>>& solution) {
    set_row_minima(state);
    const auto empty = std::find(state.u.begin(), state.u.end(), kInfinity<Dual<T>>);
    if (empty == state.u.end()) return state.incumbent->settle(state);
    solution.status = Status::infeasible;
    solution.hall_rows = {static_cast<Index>(empty - state.u.begin())};
}

// The time is up before every row has been listed: what an earlier attempt left, or nothing but duals of -infinity.
template <class T>
void give_up(CoreState<T>& state, Solution<Dual<T>>& solution) {
    solution.status = Status::time_limit;
    state.release_all();
    std::fill(state.u.begin(), state.u.end(), -kInfinity<Dual<T>>);
    std::fill(state.v.begin(), state.v.end(), Dual<T>{0});
    state.incumbent->settle(state);
}

// From the state's conventions to the contract of solution.hpp.
template <class T>
void finish(CoreState<T>& state, Solution<Dual<T>>& solution) {
    if (state.has_dummy_rows()) solution.shift = std::fabs(static_cast<double>(state.highest_price()));
    to_contract(state, state.u, state.v);
    if (solution.status == Status::optimal)
        for (Index i = 0; i < state.m; ++i) {
            const Index j = state.row_to_col[i];
            state.u[i] = j < state.n ? state.cost(i, j) - state.v[j] : state.problem.unmatched_cost[i];
            if (state.has_unmatched_columns())
                state.u[i] = std::min(state.u[i], state.problem.unmatched_cost[i]);  // rounding
        }
    for (Index& j : state.row_to_col)
        if (j >= state.n) j = -1;
    solution.row_to_col = std::move(state.row_to_col);
    solution.u = std::move(state.u);
    solution.v = std::move(state.v);
}

// Gives rows the columns that an earlier solve gave them, where these are their nearest under the current prices. -1:
// its unmatched column.
template <class T>
void keep_tight_pairs(CoreState<T>& state, const Index* row_to_col) {
    for (Index i = 0; i < state.m; ++i) {
        const BestTwo<Dual<T>> best = best_two(state, i, state.scratch);
        const bool stays_free = row_to_col[i] < 0;
        if (best.column < 0 || (stays_free && !state.has_unmatched_columns())) continue;
        const Index j = stays_free ? state.unmatched_column(i) : row_to_col[i];
        const Dual<T> cost = stays_free ? state.unmatched_cost_of(i) : state.cost(i, j);
        if (state.col_to_row[j] >= 0 || !(cost - state.v[j] == best.first)) continue;
        state.u[i] = best.first;
        state.assign(i, j);
    }
}

template <class T>
void count(const CoreState<T>& state, Statistics& statistics) {
    statistics.values = state.stages.values;
    statistics.set("dense_rows_read", static_cast<double>(state.scratch.dense_rows_read));
    statistics.set("pairs_in_boxes", static_cast<double>(state.scratch.pairs_in_boxes));
    statistics.set("start_levels", state.start_levels);
    statistics.set("phases", static_cast<double>(state.phases));
    statistics.set("bids", static_cast<double>(state.scratch.lists_read));
    statistics.set("paths", static_cast<double>(state.paths));
    statistics.set("rows_scanned", static_cast<double>(state.rows_scanned));
}

// The error of prices, in list gaps: what the bound, divided by the rows, lacked, and how far a price was off. Where
// rows outnumber columns in a region, all of its prices are off by far more than the bound tells.
struct PriceError {
    double bound, price;
};

// How far prices moved: the standard deviation, since to raise all alike changes nothing.
template <class D>
double deviation(const std::vector<D>& from, const std::vector<D>& to) {
    double sum = 0, squares = 0;
    for (std::size_t j = 0; j < from.size(); ++j) {
        const auto move = static_cast<double>(to[j] - from[j]);
        sum += move, squares += move * move;
    }
    const double count = static_cast<double>(from.size()), mean = sum / count;
    return std::sqrt(std::max(squares / count - mean * mean, 0.0));
}

// Whether matched rows have few tight pairs. Where costs are in general position, optimal duals have at most 2 m - 1 in
// all: they form a forest, since a cycle of them would be an equation between their costs.
template <class T>
bool few_pairs_are_tight(const CoreState<T>& state, double gap) {
    constexpr double kPairsARow = 6, kRounding = 1e-7;  // of the gap
    using D = Dual<T>;
    const D above = std::is_floating_point_v<D> ? static_cast<D>(kRounding * gap) : D{1};
    std::int64_t tight = 0;
    for (Index i = 0; i < state.m; ++i) {
        if (state.row_to_col[i] < 0) continue;
        Index places[kMaxCapacity];
        D values[kMaxCapacity];
        tight += state.lists.below(i, state.v.data(), state.u[i] + above, places, values);
    }
    return gap > 0 && static_cast<double>(tight) <= kPairsARow * state.matched();
}

// One level of the multiscale start and, at depth 0, the whole solve. state.v may hold prices to start from.
template <class T>
class Solver {
  public:
    Solver(Control& control, Team& team) : control_(control), team_(team) {}

    // All stages, from given prices or its own.
    //
    // Problems with dummy rows begin at zero prices and with epsilon = 0: no column that a phase has priced may stay
    // unassigned for free, and putting that right takes longer than the phases save, unless the searches prove hard.
    // With an assignment beside given prices, rows whose pair is tight under them keep it.
    void solve(CoreState<T>& state, const Dual<T>* start_v, const Index* start_rows, Solution<Dual<T>>& solution);

  private:
    // Lists and auctions, and searches within a budget, for the duals of a sample.
    PriceError price(CoreState<T>& state, double error);
    double start(CoreState<T>& state);
    double regret_error(CoreState<T>& solved);
    void limit(CoreState<T>& state, std::int64_t reads) const {
        if (control_.may_give_up()) state.most_reads = reads;
    }
    // Limits how much the whole reads from now on, after its start.
    void allow_reads(CoreState<T>& state) const {
        if (state.has_read_too_much()) return;
        const bool structured = state.start_levels > 0;
        limit(state,
              state.scratch.dense_rows_read + (structured && general_ ? PhaseTuning::most_general_reads(state.m)
                                                                      : PhaseTuning::most_reads(state.m, structured)));
        const std::int64_t alone = PhaseTuning::alone(state.m, rows_, structured);
        if (alone < std::numeric_limits<std::int64_t>::max()) state.asks_at = state.effort() + alone;
    }
    // A method that proves hard in a sample proves hard in the whole.
    static bool gives_up_with(const CoreState<T>& part, CoreState<T>& whole) {
        if (part.has_read_too_much()) whole.most_reads = CoreState<T>::kGivenUp;
        return part.has_read_too_much();
    }
    // Sets state.v from a sample's duals if the costs are structured; returns the error to expect, else 0.
    // `drawn` is the sample that the state is of, if it is of one: it is copied if the costs are structured.
    double start_from_sample(CoreState<T>& state, Sample<T>* drawn = nullptr);
    double probe(Sample<T>& sample, CoreState<T>& part, CoreState<T>& whole);

    Control& control_;
    Team& team_;
    Index rows_ = 0;  // of the whole problem
    std::uint64_t seed_ = 1;
    bool separable_ = false, regret_works_ = false;
    bool general_ = false;  // the largest sample that was priced is in general position
    Index probe_rows_ = 0;
};

template <class T>
void Solver<T>::solve(CoreState<T>& state, const Dual<T>* start_v, const Index* start_rows,
                      Solution<Dual<T>>& solution) {
    rows_ = state.m;
    double from = control_.seconds();
    std::int64_t read = state.scratch.dense_rows_read;
    const auto lap = [&](const std::string& stage) {
        const double now = control_.seconds();
        const std::int64_t rows = state.scratch.dense_rows_read;
        state.stages.add(stage + "_seconds", now - std::exchange(from, now));
        state.stages.add(stage + "_rows_read", static_cast<double>(rows - std::exchange(read, rows)));
    };
    double error = StartTuning::kNone;
    if (start_v) {
        take_given_prices(state, start_v);
    } else {
        error = state.has_dummy_rows() ? 0 : start(state);
        if (state.has_read_too_much()) {
            solution.status = Status::time_limit;
            return;
        }
        allow_reads(state);
        if (control_.look(state.progress)) std::fill(state.v.begin(), state.v.end(), Dual<T>{0});  // half-made ones
    }
    for (int attempt = 0;; ++attempt) {
        const bool again = attempt == 1 && state.has_dummy_rows() && !start_v;
        if (again) {  // prices may rise, so the lists are void
            state.progress.stage = "start";
            state.release_all();
            std::fill(state.v.begin(), state.v.end(), Dual<T>{0});
            error = start(state);
            allow_reads(state);
        }
        lap("start");
        const bool distinct = attempt == 0 && !start_v && (state.has_dummy_rows() || separable_);
        if (distinct)
            take_nearest(state);
        else if (attempt == 0 || again)
            list_rows(state);
        lap("list");
        state.preview();
        const bool kept = attempt == 0 && start_rows != nullptr;
        if (kept) keep_tight_pairs(state, start_rows);
        if (distinct || kept)
            Auction<T>(state, {}).run(free_rows(state), PhaseTuning::kFinalBidsPerRow * state.m);
        else
            auction_phases(state, error, attempt == 0 && start_v);
        const std::int64_t by_phases = state.scratch.dense_rows_read - read;
        lap("auction");
        std::optional<SearchBudget> budget;
        if (attempt < PhaseTuning::kAttempts)
            budget = search_budget(state, by_phases, attempt == 0 && state.has_dummy_rows() && !start_v);
        const bool done = search_paths(state, budget, solution);
        lap("search");
        if (done) break;
        if (state.has_read_too_much()) {
            solution.status = Status::time_limit;
            break;
        }
        error = PhaseTuning::kEscalation * std::max(error, PhaseTuning::kUnstructured);
    }
}

template <class T>
PriceError Solver<T>::price(CoreState<T>& state, double error) {
    const std::int64_t read = state.scratch.dense_rows_read;
    list_rows(state);
    set_row_minima(state);
    const std::vector<Dual<T>> v = state.v;
    const double bound = dual_objective(state, state.u);
    const auto [gap, low] = list_gaps(state);
    auction_phases(state, error);
    Solution<Dual<T>> solution;
    // Where costs tie, searches would take long, and the whole will not be solved by lists.
    const std::int64_t read_by_phases = few_pairs_are_tight(state, low) ? state.scratch.dense_rows_read - read : 0;
    search_paths(state, std::optional(search_budget(state, read_by_phases, false)), solution);
    set_row_minima(state);
    general_ = state.matched() == state.m && few_pairs_are_tight(state, low);
    if (!(gap > 0)) return {StartTuning::kNone, StartTuning::kNone};
    const auto in_gaps = [gap = gap](double error_found) { return std::max(error_found / gap, StartTuning::kNone); };
    return {in_gaps((dual_objective(state, state.u) - bound) / state.m), in_gaps(deviation(v, state.v))};
}

// The error of prices from regret, with those of `solved` for the truth.
template <class T>
double Solver<T>::regret_error(CoreState<T>& solved) {
    CoreState<T> trial(solved.problem, control_, team_);
    regret_start(trial);
    list_rows(trial);
    set_row_minima(trial);
    const double gap = list_gaps(trial).mean;
    return gap > 0 ? (dual_objective(solved, solved.u) - dual_objective(trial, trial.u)) / solved.m / gap : 0;
}

// Sets state.v where something can be known before every row is listed; returns the error to expect in the prices.
template <class T>
double Solver<T>::start(CoreState<T>& state) {
    if (state.m < StartTuning::kShrink * StartTuning::kSmallest) return 0;
    separable_ = separable_start(state);
    if (separable_) return StartTuning::kNone;
    probe_rows_ = std::max(StartTuning::kProbe, state.m / StartTuning::kProbeShare);
    const double error = start_from_sample(state);
    if (!regret_works_ || state.has_read_too_much()) return error;
    state.start_levels = 1;
    regret_start(state);
    return StartTuning::kNone;
}

// Prices `part`, the smallest sample. Returns the error to expect in its prices; 0 if the whole is not to start from
// them, since costs are unstructured, regret does better, or another method comes first.
template <class T>
double Solver<T>::probe(Sample<T>& sample, CoreState<T>& part, CoreState<T>& whole) {
    if (!sample.copy(control_, team_)) return 0;
    limit(part, PhaseTuning::most_probe_reads(part.m));
    PriceError found = price(part, 0);
    const bool in_vain = part.has_read_too_much();
    if (in_vain) {  // perhaps only since columns have offsets
        reduced_start(part);
        limit(part, part.scratch.dense_rows_read + PhaseTuning::most_probe_reads(part.m));
        found = price(part, 0);
    }
    const auto [lacking, moved] = found;
    if (gives_up_with(part, whole)) return 0;
    if (!in_vain && !sample.stratified && lacking < StartTuning::kStructured) return 0;
    if (general_) part.most_reads = CoreState<T>::kNoLimit;
    price(part, lacking);
    const bool held = whole.problem.source == nullptr || whole.problem.source->owners() == nullptr;
    regret_works_ = held && !sample.stratified && regret_error(part) < StartTuning::kRegretError;
    const bool far_apart = regret_works_ && moved > StartTuning::kFarApart;
    if (regret_works_ && !far_apart && general_) return 0;
    if (control_.give_up_on(far_apart ? Structure::far_apart : general_ ? Structure::general : Structure::tied))
        whole.most_reads = CoreState<T>::kGivenUp;
    if (regret_works_ || whole.has_read_too_much()) return 0;
    return StartTuning::kError;
}

template <class T>
double Solver<T>::start_from_sample(CoreState<T>& state, Sample<T>* drawn) {
    if (state.m < StartTuning::kShrink * StartTuning::kSmallest) return 0;
    Index shrink = state.m > StartTuning::kLarge ? StartTuning::kLargeShrink : StartTuning::kShrink;
    if (state.problem.source != nullptr && !state.problem.source->has_parts()) {
        const double bytes = static_cast<double>(sizeof(T)) * state.m * state.n;
        shrink = std::max(shrink, static_cast<Index>(std::sqrt(bytes / StartTuning::kCopyBytes)));
    }
    Sample<T> sample(state.problem, drawn, shrink, seed_++, control_, team_);
    try {
        CoreState<T> part(sample.problem, control_, team_);
        part.lowest_price = state.lowest_price;
        const bool is_probe = part.m <= probe_rows_;
        double error = 0;
        if (is_probe) {
            error = probe(sample, part, state);
            if (error == 0) return 0;
        } else {
            error = start_from_sample(part, &sample);
            if (gives_up_with(part, state) || error == 0) return 0;
            if (!general_) limit(part, PhaseTuning::most_reads(part.m, true));
            part.asks_at = PhaseTuning::alone(part.m, rows_, true);
            error = StartTuning::kOfMove * price(part, error).price;
            if (gives_up_with(part, state)) return 0;
        }
        if (part.has_dummy_rows())  // the whole begins at a ceiling of 0
            for (Dual<T>& u : part.u) u += part.highest_price();
        if (drawn != nullptr && !drawn->copy(control_, team_)) return 0;
        extend_duals(state, sample, part.u);
        state.start_levels = part.start_levels + 1;
        return error;
    } catch (const InvalidCost& at) {
        throw InvalidCost{sample.rows[at.row], sample.cols[at.col]};
    } catch (const CostTooLarge& at) {
        throw CostTooLarge{sample.rows[at.row], sample.cols[at.col]};
    }
}

// solve_core of rows and columns in the order in which they are given.
template <class T>
Solution<Dual<T>> solve_as_given(const Problem<T>& problem, const Dual<T>* start_v, int threads, Control& control,
                                 const Keep<Dual<T>>& keep, const Index* start_rows) {
    Dual<T> lowest_price = -kInfinity<Dual<T>>;
    if constexpr (!kIsWide<T>) lowest_price = -require_range(problem, &control) / 2;
    if (problem.source != nullptr && !problem.source->has_parts()) control.look_at_every_poll();
    const bool has_owners = problem.source != nullptr && problem.source->owners() != nullptr;
    Team team(has_owners ? 1 : threads);  // owners take one order at a time
    CoreState<T> state(problem, control, team);
    state.lowest_price = lowest_price;
    Incumbent<T> incumbent(keep);
    if (control.wants_previews()) state.incumbent = &incumbent;
    Solution<Dual<T>> solution;
    try {
        Solver<T>(control, team).solve(state, start_v, start_rows, solution);
        if (state.has_read_too_much() && solution.status == Status::time_limit && !control.is_expired())
            return solution;
        if (solution.status == Status::time_limit) finish_early(state, solution);
    } catch (const TimeIsUp&) {
        give_up(state, solution);
    } catch (...) {
        if (control.keeps()) incumbent.keep_on_exception(state);
        throw;
    }
    if (solution.status != Status::infeasible) finish(state, solution);
    count(state, solution.statistics);
    return solution;
}

}  // namespace

template <class T>
Solution<Dual<T>> solve_core(const Problem<T>& problem, const Dual<T>* start_v, int threads, Control& control,
                             const Keep<Dual<T>>& keep, const Index* start_rows) {
    if constexpr (sizeof(T) <= sizeof(double)) {  // costs of points
        Solution<Dual<T>> solution;
        const bool starts_anew = start_v == nullptr && start_rows == nullptr;
        if (problem.source != nullptr && starts_anew && solve_equal_lines(problem, control, solution)) return solution;
    }
    const auto boxed = InBoxes<T>::of(problem, threads, control);
    if (!boxed) return solve_as_given(problem, start_v, threads, control, keep, start_rows);
    using D = Dual<T>;
    std::vector<D> prices;
    std::vector<Index> rows;
    if (start_v != nullptr) prices = boxed->of_cols(start_v);
    if (start_rows != nullptr) rows = boxed->assignment(start_rows);
    const Keep<D> keep_given = [&](std::vector<D>&& u, std::vector<D>&& v, std::vector<Index>&& row_to_col) {
        boxed->give_back(u, v, row_to_col);
        keep(std::move(u), std::move(v), std::move(row_to_col));
    };
    try {
        auto solution = solve_as_given(boxed->problem(), start_v != nullptr ? prices.data() : nullptr, threads, control,
                                       keep_given, start_rows != nullptr ? rows.data() : nullptr);
        boxed->give_back(solution);
        return solution;
    } catch (const CostTooLarge& at) {  // an unmatched cost: none of the others is
        throw CostTooLarge{boxed->row(at.row), at.col};
    }
}

#define LAPWING_CORE(T)                                                                                           \
    template Solution<Dual<T>> solve_core(const Problem<T>&, const Dual<T>*, int, Control&, const Keep<Dual<T>>&, \
                                          const Index*);
LAPWING_CORE(float)
LAPWING_CORE(std::int32_t)
#ifndef LAPWING_FLOAT_AND_INT32_ONLY
LAPWING_CORE(double)
LAPWING_CORE(std::int64_t)
LAPWING_CORE(Int128)
LAPWING_CORE(Wide)
#endif
#undef LAPWING_CORE

}  // namespace lapwing
