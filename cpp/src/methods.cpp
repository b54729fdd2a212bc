// Methods that hand over to another method, and the completion of interrupted answers.
#include "lapwing/methods.hpp"
#include "lapwing/costs/spatial_order.hpp"

#include <algorithm>
#include <cmath>

#include "lapwing/costs/contiguous.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/exact/wide.hpp"
#include "lapwing/jv/jv.hpp"
#include "lapwing/poor_lists.hpp"
#include "lapwing/reductions/capped.hpp"
#include "lapwing/reductions/equal_lines.hpp"
#include "lapwing/reductions/padded.hpp"
#include "lapwing/reductions/separable.hpp"
#include "lapwing/reductions/turned.hpp"
#include "lapwing/tight/tight.hpp"

namespace lapwing {

namespace {

// Rows that a method may read, for each row of the problem. jv takes 4 to 64 on most costs of 400 to 2000 rows, the
// more the more structured they are, and hundreds on some; ssp, with epsilon, 7 to 100 at n = 1000 to 8000, and
// hundreds on others than jv. 64 take as long as a whole solve by the core: the limit of jv before it. After it, times
// the root of the rows: trials of jv and ssp, and the most of jv.
constexpr double kFirstJvReads = 64, kTrialReads = 2, kMostJvReads = 6;
template <class T>
double root_of_rows(const Problem<T>& problem) {
    return std::sqrt(static_cast<double>(problem.cost.rows));
}
// The fewest ties (FewValues) of costs that phases match: where jv is the method otherwise; where core is; and where a
// sample tells that many pairs tie under optimal duals.
constexpr double kTiesBesideJv = 0.5, kTiesBesideCore = 1.25, kTiesOfTied = 0.1;
// Whether phases take no longer than core where that does well: their costs, of two bytes, stay in a cache, or many
// tie.
template <class T>
bool suits_phases(const Problem<T>& problem, const FewValues& few) {
    constexpr double kMostPairs = 1e7, kManyTies = 100;
    return static_cast<double>(problem.cost.rows) * problem.cost.cols <= kMostPairs || few.ties >= kManyTies;
}
// Of more pairs below the caps of a matrix that a cache holds, jv takes less time than solve_capped: of 20, 75 and 180
// a row at n = 400, 700 and 1000.
template <class T>
Index most_below_cap(const Problem<T>& problem) {
    constexpr std::int64_t kCols = 6400;
    const std::int64_t n = problem.cost.cols;
    return static_cast<Index>(std::min<std::int64_t>(kMostBelowCap, n * n / kCols));
}
// The limit for structured costs without many ties, whose searches grow: as long as core takes for 1024 to 1536 rows.
template <class T>
JvLimit structured_reads(const Problem<T>& problem) {
    constexpr double kTimesRoot = 2048;
    return {kTimesRoot / root_of_rows(problem), true};
}
template <class T>
bool solve_jv_in_time(const Problem<T>& problem, JvLimit reads, Control& control, Solution<Dual<T>>& solution,
                      JvStart start = JvStart::fitting) {
    reads.rows_read *= problem.cost.rows;
    return solve_jv_within(problem, reads, control, solution, start);
}

// Costs with a cap; if many pairs below it tie, jv first: it may take a hundredth of the time.
template <class T>
bool solve_capped_or_jv(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution) {
    constexpr double kReads = 4;
    if (!has_caps(problem)) return false;
    return (tie_below_caps(problem) && solve_jv_in_time(problem, kReads, control, solution)) ||
           solve_capped(problem, control, solution);
}

// Equal rows and columns. Phases match costs of few values as fast, unless there are very few distinct lines.
template <class T>
bool solve_by_equal_lines(const Problem<T>& problem, const FewValues& few, Control& control,
                          Solution<Dual<T>>& solution) {
    constexpr double kFewerLines = 4, kFewerLinesOfFewValues = 10;
    return has_equal_lines(problem, few ? kFewerLinesOfFewValues : kFewerLines) &&
           solve_equal_lines(problem, control, solution);
}

// Of a problem all of whose rows have a column.
template <class T>
void answer(const Problem<T>& problem, const JvState<Dual<T>>& state, Control& control, Solution<Dual<T>>& solution) {
    solution = {};
    solution.status = Status::optimal;
    solution.row_to_col = state.row_to_col;
    solution.v = state.v;
    for (Index i = 0; i < problem.cost.rows; ++i)
        solution.u.push_back(problem.at(i, state.row_to_col[i]) - state.v[state.row_to_col[i]]);
    solution.statistics.set("seconds", control.seconds());
}

// Costs of few values by phases; jv goes on with what they leave. Where least costs abound, jv is done before phases
// could begin.
template <class T>
bool solve_in_phases(const Problem<T>& problem, const FewValues& few, Control& control, Solution<Dual<T>>& solution) {
    constexpr double kReadsOfAbundance = 4;
    if (!few) return false;
    if (few.least_abound && solve_jv_in_time(problem, kReadsOfAbundance, control, solution)) return true;
    const auto pairs = match_tight_pairs(problem, few.unit, control);
    if (!pairs) return false;
    if (pairs->all)
        answer(problem, pairs->state, control, solution);
    else if (!solve_jv_within(problem, kMostJvReads * root_of_rows(problem) * problem.cost.rows, control, solution,
                              JvStart::fitting, &pairs->state))
        return false;
    solution.statistics.set("matching_phases", pairs->phases);
    return true;
}

// solve_core, until it has read too many rows: where costs tie, or span many magnitudes, lists carry little information
// (it takes up to 600 times as long as full rows). False if it gave up, with nothing solved.
template <class T>
bool solve_core_within(const Problem<T>& problem, int threads, Control& control, Solution<Dual<T>>& solution,
                       GiveUp when) {
    control.let_give_up(when);
    solution = solve_core<T>(problem, nullptr, threads, control);
    control.let_give_up(GiveUp::never);
    return solution.status != Status::time_limit || control.is_expired();
}

// Plain shortest paths, where jv cannot read the costs: a few reads a row where they have heavy tails and are
// maximised, for ssp with epsilon a hundred. 17, 21 and 23 on rows of other scales, maximised, n = 1500, 2500 and 4000.
template <class T>
bool solve_plainly_in_time(const Problem<T>& problem, int threads, Control& control, Solution<Dual<T>>& solution) {
    constexpr double kReads = 12;
    const double each = std::max(kReads, root_of_rows(problem) / 2);
    return solve_ssp_within(problem, {.pricing = false}, each * problem.cost.rows, threads, control, solution);
}

// Whether rows and columns seem to be the same things: of some rows, many are the nearest of their nearest. Then there
// are as many rows as columns everywhere, and the searches of jv are short: of distances of points without the diagonal
// it reads 2 to 3 rows a row, n = 1300 to 4000.
constexpr double kReadsOfOneSet = 4;
template <class T>
bool are_one_set(const Problem<T>& problem) {
    constexpr Index kSampled = 12, kMany = 4, kFirst = 4;  // none of the first: no
    const MatrixView<T>& cost = problem.cost;
    if (problem.source != nullptr || cost.rows != cost.cols) return false;
    const auto nearest = [&](Index i) {
        Index at = 0;
        Dual<T> least = problem.at(i, 0);
        for (Index j = 1; j < cost.cols; ++j)
            if (const Dual<T> c = problem.at(i, j); c < least) least = c, at = j;
        return at;
    };
    Index mutual = 0;
    for (Index t = 0; t < kSampled && !(t == kFirst && mutual == 0); ++t) {
        const auto i = static_cast<Index>(std::int64_t{t} * cost.rows / kSampled);
        const Index j = nearest(i);
        mutual += j != i && nearest(j) == i;
    }
    return mutual * kMany >= kSampled;
}

template <class T>
bool suits_jv(const Problem<T>& problem) {
    return problem.source == nullptr && !copies_for_direct(problem);
}

// solve_core_within, with a trial of jv before it goes on for long.
template <class T>
bool solve_core_beside_jv(const Problem<T>& problem, int threads, Control& control, Solution<Dual<T>>& solution,
                          GiveUp when) {
    Solution<Dual<T>> by_jv;
    bool solved = false;
    control.let_another_try([&] {
        return solved = solve_jv_in_time(problem, structured_reads(problem), control, by_jv) &&
                        by_jv.status != Status::time_limit;
    });
    const bool by_core = solve_core_within(problem, threads, control, solution, when);
    control.let_another_try({});
    if (solved) solution = std::move(by_jv);
    return solved || by_core;
}

// Whether core has ended on what a small sample told, but not on ties.
inline bool ended_on_structure(const Control& control) {
    return control.gave_up_on() == Structure::general || control.gave_up_on() == Structure::far_apart;
}

// core, which may give up on what a small sample tells. Where many pairs tie, the answer is false at once. Where costs
// have another structure, jv comes first, and then core.
template <class T>
bool solve_by_core(const Problem<T>& problem, GiveUp when, int threads, Control& control, Solution<Dual<T>>& solution) {
    return (suits_jv(problem) ? solve_core_beside_jv(problem, threads, control, solution, when)
                              : solve_core_within(problem, threads, control, solution, GiveUp::if_hard)) ||
           (ended_on_structure(control) && (solve_jv_in_time(problem, structured_reads(problem), control, solution) ||
                                            solve_core_within(problem, threads, control, solution, GiveUp::if_hard)));
}

// Where rows and columns are the same things, jv reads few rows though lists tell much.
template <class T>
bool solve_one_set(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution) {
    return suits_jv(problem) && are_one_set(problem) && solve_jv_in_time(problem, kReadsOfOneSet, control, solution);
}

// Trials of jv and ssp: where either takes long, the other may not. Core is between them if it has ended on ties alone:
// of such costs jv reads fewer rows, as a rule.
template <class T>
bool solve_by_trials(const Problem<T>& problem, bool tied, int threads, Control& control, Solution<Dual<T>>& solution) {
    const double each = kTrialReads * root_of_rows(problem);
    return solve_jv_in_time(problem, each, control, solution) ||
           (tied && solve_core_within(problem, threads, control, solution, GiveUp::if_hard)) ||
           solve_ssp_within(problem, {}, each * problem.cost.rows, threads, control, solution);
}

// The methods after others took too long.
template <class T>
Solution<Dual<T>> solve_hard(const Problem<T>& problem, int threads, Control& control) {
    Solution<Dual<T>> solution;
    const double each = kMostJvReads * root_of_rows(problem);
    const bool solved = suits_jv(problem) ? solve_jv_in_time(problem, each, control, solution)
                                          : solve_plainly_in_time(problem, threads, control, solution);
    return solved ? solution : solve_ssp(problem, {}, threads, control);
}

template <class T>
bool is_tall_at_one_price(const Problem<T>& problem) {
    return problem.cost.rows > problem.cost.cols && has_one_price(problem);
}

}  // namespace

template <class T>
Solution<Dual<T>> solve_jv_or_core(const Problem<T>& problem, int threads, Control& control) {
    if (is_tall_at_one_price(problem))
        return solve_turned(problem,
                            [&](const Problem<T>& other) { return solve_jv_or_core(other, threads, control); });
    Solution<Dual<T>> solution;
    if (problem.cost.rows <= kDirectMaxRows) {
        const bool solved =
            has_caps(problem) && (solve_jv_in_time(problem, kReadsOfCapped, control, solution, JvStart::zero) ||
                                  solve_capped(problem, control, solution));
        return solved ? solution : solve_jv(problem, control);
    }
    if (ContiguousCopy<T>::is_of_use(problem))
        return solve_jv_or_core(ContiguousCopy<T>(problem).problem(), threads, control);
    if (has_caps(problem, most_below_cap(problem)) && solve_capped(problem, control, solution)) return solution;
    if (solve_padded(problem, control, solution)) return solution;
    const FewValues few = look_for_few_values(problem, kTiesBesideJv);
    if (solve_by_equal_lines(problem, few, control, solution)) return solution;
    if (solve_in_phases(problem, few, control, solution)) return solution;
    if (solve_separable(problem, most_below_cap(problem), control, solution)) return solution;
    if (solve_jv_in_time(problem, kFirstJvReads, control, solution)) return solution;
    if (!lists_tell_little(problem) && solve_core_within(problem, threads, control, solution, GiveUp::if_unsuited))
        return solution;
    return solve_hard(problem, threads, control);
}

template <class T>
Solution<Dual<T>> solve_core_or_jv(const Problem<T>& problem, int threads, Control& control) {
    constexpr Index kFewRows = 1200;  // of structured costs, jv first
    if (is_tall_at_one_price(problem))
        return solve_turned(problem,
                            [&](const Problem<T>& other) { return solve_core_or_jv(other, threads, control); });
    if (ContiguousCopy<T>::is_of_use(problem))
        return solve_core_or_jv(ContiguousCopy<T>(problem).problem(), threads, control);
    Solution<Dual<T>> solution;
    if (solve_capped_or_jv(problem, control, solution)) return solution;
    if (solve_padded(problem, control, solution)) return solution;
    const FewValues some = look_for_few_values(problem, kTiesOfTied);
    const FewValues few = some.ties >= kTiesBesideCore ? some : FewValues{};
    if (solve_by_equal_lines(problem, few, control, solution)) return solution;
    const bool to_jv = suits_jv(problem) && lists_tell_little(problem);
    const bool to_phases = few && (to_jv || suits_phases(problem, few));
    if (to_phases && solve_in_phases(problem, few, control, solution)) return solution;
    if (solve_separable(problem, kMostBelowCap, control, solution)) return solution;
    const bool are_few = problem.cost.rows <= kFewRows;
    if (!to_jv && !are_few && solve_one_set(problem, control, solution)) return solution;
    const GiveUp when = are_few ? GiveUp::if_structured : GiveUp::if_unsuited;
    if (!to_jv && solve_by_core(problem, when, threads, control, solution)) return solution;
    const bool tied = control.gave_up_on() == Structure::tied;
    if (!to_phases && (tied || some.ties >= kTiesBesideJv) && solve_in_phases(problem, some, control, solution))
        return solution;
    if (suits_jv(problem) && solve_by_trials(problem, tied, threads, control, solution)) return solution;
    return solve_hard(problem, threads, control);
}

namespace {

// Free rows or columns, in the source's spatial order if it has one.
template <class T, class IsFree>
std::vector<Index> free_in_order(const Problem<T>& problem, bool rows, Control& control, const IsFree& is_free) {
    std::vector<std::int32_t> order;
    Team alone(1);
    if (problem.source != nullptr)
        order = problem.source->in_order(rows, kNested, alone, [&control] { control.look({"complete"}); });
    std::vector<Index> free;
    for (Index k = 0; k < (rows ? problem.cost.rows : problem.cost.cols); ++k) {
        const Index line = order.empty() ? k : order[k];
        if (is_free(line)) free.push_back(line);
    }
    return free;
}

// Pairs free rows and columns by their places in order, where that is allowed and no dearer than to stay free: one cost
// is read for each row.
template <class T>
void complete_in_order(const Problem<T>& problem, std::vector<Index>& row_to_col, std::vector<char>& taken,
                       Control& control) {
    const auto rows = free_in_order(problem, true, control, [&](Index i) { return row_to_col[i] < 0; });
    const auto cols = free_in_order(problem, false, control, [&](Index j) { return !taken[j]; });
    constexpr std::size_t kAtOnce = 4096;
    const std::size_t pairs = std::min(rows.size(), cols.size());
    std::vector<Index> some_rows, some_cols;
    std::vector<T> costs(kAtOnce);
    for (std::size_t k = 0; k < pairs; k += some_rows.size()) {
        control.poll({"complete"});
        some_rows.clear(), some_cols.clear();
        for (std::size_t t = k; t < std::min(pairs, k + kAtOnce); ++t) {
            some_rows.push_back(rows[t * rows.size() / pairs]);
            some_cols.push_back(cols[t * cols.size() / pairs]);
        }
        if (problem.source != nullptr) problem.source->read_pairs(some_rows, some_cols, costs.data());
        for (std::size_t t = 0; t < some_rows.size(); ++t) {
            const Index i = some_rows[t], j = some_cols[t];
            const Dual<T> price = problem.unmatched_cost ? problem.unmatched_cost[i] : kInfinity<Dual<T>>;
            const Dual<T> cost = problem.source != nullptr ? problem.minimised(costs[t]) : problem.at(i, j);
            if (cost < price && cost > -kInfinity<Dual<T>>) row_to_col[i] = j, taken[j] = 1;
        }
    }
}

}  // namespace

template <class T>
void complete_greedily(const Problem<T>& problem, std::vector<Index>& row_to_col, Control& control) {
    constexpr double kSeconds = 0.1, kShare = 0.1;  // of the time so far: enough of that
    double until = control.seconds();
    until += std::max(kSeconds, kShare * until);
    std::vector<char> taken(problem.cost.cols, 0);
    Index matched = 0;
    for (const Index j : row_to_col)
        if (j >= 0) taken[j] = 1, ++matched;
    RowReader<T> reader(problem.cost, problem.source);
    Index expected = 0;
    for (Index i = 0; i < problem.cost.rows; ++i) {
        if (row_to_col[i] >= 0) continue;
        if (i >= expected) {
            for (expected = i; expected < problem.cost.rows && row_to_col[expected] < 0;) ++expected;
            reader.expect(i, expected);
        }
        control.poll({"complete", 0, matched});
        if (control.seconds() > until) {
            until = kInfinity<double>;
            complete_in_order(problem, row_to_col, taken, control);
            if (row_to_col[i] >= 0) continue;
        }
        const bool may_stay = problem.unmatched_cost && problem.unmatched_cost[i] < kInfinity<Dual<T>>;
        if (until == kInfinity<double> && may_stay) continue;
        const T* row = reader.row(i);
        Dual<T> least = problem.unmatched_cost ? problem.unmatched_cost[i] : kInfinity<Dual<T>>;
        for (Index j = 0; j < problem.cost.cols; ++j) {
            const Dual<T> cost = problem.minimised(row[j]);
            if (taken[j] || !(cost < least)) continue;
            least = cost;
            row_to_col[i] = j;
        }
        if (row_to_col[i] >= 0) taken[row_to_col[i]] = 1, ++matched;
    }
}

template <class T>
Dual<T> total_cost(const Problem<T>& problem, const std::vector<Index>& row_to_col) {
    constexpr Dual<T> infinity = kInfinity<Dual<T>>;
    Dual<T> sum = 0;
    for (Index i = 0; i < problem.cost.rows; ++i) {
        const Index j = row_to_col[i] < problem.cost.cols ? row_to_col[i] : -1;  // or its unmatched column
        const Dual<T> cost = j >= 0                   ? at_pair(problem, i, j)
                             : problem.unmatched_cost ? problem.unmatched_cost[i]
                                                      : infinity;
        if (!(cost < infinity)) return infinity;
        sum += cost;
    }
    return sum;
}

#define LAPWING_INSTANTIATE(T)                                                            \
    template Solution<Dual<T>> solve_jv_or_core<T>(const Problem<T>&, int, Control&);     \
    template Solution<Dual<T>> solve_core_or_jv<T>(const Problem<T>&, int, Control&);     \
    template void complete_greedily<T>(const Problem<T>&, std::vector<Index>&, Control&); \
    template Dual<T> total_cost<T>(const Problem<T>&, const std::vector<Index>&);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

#define LAPWING_INSTANTIATE_WIDE(T)                                                       \
    template void complete_greedily<T>(const Problem<T>&, std::vector<Index>&, Control&); \
    template Dual<T> total_cost<T>(const Problem<T>&, const std::vector<Index>&);
LAPWING_INSTANTIATE_WIDE(Int128)
LAPWING_INSTANTIATE_WIDE(Wide)
#undef LAPWING_INSTANTIATE_WIDE

}  // namespace lapwing
