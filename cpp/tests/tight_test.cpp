// Costs of few values by phases, against the reference: all types, senses, shapes and units; what jv goes on from; and
// costs that are none of the kind.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"
#include "check.hpp"
#include "lapwing/tight/tight.hpp"
#include "verify.hpp"

namespace lapwing::test {
namespace {

template <class T>
struct Kind {
    const char* name;
    std::function<double(Index, Index, std::mt19937_64&)> cost;  // in units
};

template <class T>
std::vector<Kind<T>> kinds() {
    return {{"ties", [](Index, Index, auto& r) { return static_cast<double>(r() % 4); }},
            {"wide", [](Index, Index, auto& r) { return static_cast<double>(r() % 8192); }},
            {"sums", [](Index i, Index j, auto& r) { return 7.0 * (i * 31 % 17) + 5.0 * (j * 29 % 13) + r() % 3; }},
            {"differences", [](Index i, Index j, auto&) { return std::abs(double(i * 7 % 31) - double(j * 11 % 37)); }},
            {"products", [](Index i, Index j, auto&) { return double((i + 1) * (j + 2) / 3); }},
            {"equal", [](Index, Index, auto&) { return 12.0; }},
            {"repeated rows", [](Index i, Index j, auto&) { return double(i % 3 * 5 + (j + i % 3) % 7); }},
            {"zeros", [](Index, Index, auto& r) { return r() % 20 == 0 ? 0.0 : 1.0; }},
            {"rows far apart", [](Index i, Index, auto& r) { return 1e6 * i + r() % 50; }},
            {"large ones", [](Index, Index, auto& r) { return r() % 5 < 2 ? 1e6 : static_cast<double>(r() % 50); }},
            {"large rows", [](Index i, Index, auto& r) { return i % 3 == 0 && r() % 9 ? 1e6 : double(r() % 50); }}};
}

// Every pair attains its row's minimum of cost - v, by more than rounding, and v is as JvState demands.
template <class T>
void verify_state(const Problem<T>& problem, const JvState<Dual<T>>& state, double rounding) {
    std::vector<bool> taken(state.v.size());
    for (Index i = 0; i < problem.cost.rows; ++i) {
        const Index j = state.row_to_col[static_cast<std::size_t>(i)];
        if (j < 0) continue;
        CHECK(!taken[static_cast<std::size_t>(j)]);
        taken[static_cast<std::size_t>(j)] = true;
        const auto u = problem.at(i, j) - state.v[static_cast<std::size_t>(j)];
        for (Index k = 0; k < problem.cost.cols; ++k)
            CHECK(static_cast<double>(problem.at(i, k) - state.v[static_cast<std::size_t>(k)] - u) >= -rounding);
    }
    for (std::size_t j = 0; j < taken.size() && problem.cost.rows < problem.cost.cols; ++j)
        CHECK(state.v[j] <= 0 && (taken[j] || state.v[j] == 0));
}

template <class T>
void solve(Index rows, Index cols, const Kind<T>& kind, Unit unit, bool maximize, Layout layout,
           std::mt19937_64& random) {
    Case<T> the_case;
    lay_out(the_case, rows, cols, layout);
    if (layout == Layout::strided) {  // rows apart, their columns contiguous
        the_case.memory.assign(static_cast<std::size_t>(rows * (cols + 3)), T{77});
        the_case.problem.cost = {the_case.memory.data(), rows, cols, cols + 3, 1};
    }
    the_case.problem.maximize = maximize;
    for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < cols; ++j)
            the_case.at(i, j) = static_cast<T>((maximize ? -1 : 1) * kind.cost(i, j, random) / unit.scale);
    tally().where = std::string(kind.name) + ", " + std::to_string(rows) + " x " + std::to_string(cols);
    Control control;
    const auto pairs = match_tight_pairs(the_case.problem, unit, control);
    if (!CHECK(pairs || std::string(kind.name) == "products")) return;
    if (!pairs) return;
    verify_state(the_case.problem, pairs->state, unit.decimal ? 1e-8 : 0);
    Solution<Dual<T>> solution;
    CHECK(solve_jv_within(the_case.problem, kNoLimit, control, solution, JvStart::fitting, &pairs->state));
    verify_optimal(the_case.problem, solution, !unit.decimal);
    const auto best = reference_optimum(the_case.problem);
    CHECK(best && std::abs(static_cast<double>(total_cost(the_case.problem, solution.row_to_col) - *best)) <=
                      (unit.decimal ? rounding_of(the_case.problem) : 0));
}

template <class T>
void solve_all(std::mt19937_64& random) {
    std::vector<Unit> units{{1, false}};
    if (std::is_floating_point_v<T>) units.push_back({16, false});
    if (std::is_same_v<T, double>) units.push_back({100, true});
    for (const auto& kind : kinds<T>())
        for (const Unit unit : units)
            for (int k = 0; k < 12; ++k) {
                const auto cols = static_cast<Index>(k < 9 ? random() % 70 + 1 : random() % 3 + 127);
                const auto rows = k % 3 == 0 ? static_cast<Index>(random() % static_cast<unsigned>(cols)) + 1 : cols;
                solve<T>(rows, cols, kind, unit, random() % 2 != 0, static_cast<Layout>(random() % 4), random);
            }
}

// A state at any stage is one from which jv goes on.
template <class T>
void go_on_from_a_part(std::mt19937_64& random) {
    for (int k = 0; k < 40; ++k) {
        const auto cols = static_cast<Index>(random() % 50 + 2);
        const Index rows = k % 2 == 0 ? cols : cols - 1;
        Case<T> the_case;
        lay_out(the_case, rows, cols, Layout::rows);
        for (T& cost : the_case.memory) cost = static_cast<T>(static_cast<int>(random() % 40) - 20);
        tally().where = "a part, " + std::to_string(rows) + " x " + std::to_string(cols);
        JvState<Dual<T>> state{std::vector<Dual<T>>(static_cast<std::size_t>(cols)),
                               std::vector<Index>(static_cast<std::size_t>(rows), -1)};
        std::vector<bool> taken(static_cast<std::size_t>(cols));
        for (Index i = 0; i < rows; ++i) {
            Index least = 0;
            for (Index j = 1; j < cols; ++j)
                if (the_case.at(i, j) < the_case.at(i, least)) least = j;
            if (random() % 3 == 0 || taken[static_cast<std::size_t>(least)]) continue;
            taken[static_cast<std::size_t>(least)] = true;
            state.row_to_col[static_cast<std::size_t>(i)] = least;
        }
        Control control;
        Solution<Dual<T>> solution;
        CHECK(solve_jv_within(the_case.problem, kNoLimit, control, solution, JvStart::fitting, &state));
        verify_optimal(the_case.problem, solution, true);
    }
}

template <class T>
Problem<T> square(const std::vector<T>& costs, Index n) {
    return {{costs.data(), n, n, n, 1}};
}

void refuse() {
    constexpr Index kSize = 70;
    Control control;
    tally().where = "costs of another kind";
    const auto matches = [&](const std::vector<double>& costs, Unit unit) {
        return match_tight_pairs(square(costs, kSize), unit, control).has_value();
    };
    const double infinity = kInfinity<double>;
    for (const std::size_t at : {0, 69, 70, 4899})
        for (const double wrong : {0.5, 0.1, -infinity, -1e300, std::nan(""), 1e300, 8192.0, infinity, 1e9, -8192.0}) {
            std::vector<double> costs(kSize * kSize, 0.0);
            CHECK(matches(costs, {1, false}) && matches(costs, {10, true}));
            costs[at] = wrong;
            const bool whole = std::abs(wrong) > 1 && wrong > -1e300;  // large ones are left out
            CHECK(matches(costs, {1, false}) == whole);
            CHECK(matches(costs, {10, true}) == (whole || wrong == 0.1 || wrong == 0.5));
        }
    for (const bool maximize : {false, true}) {
        const std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                           least = std::numeric_limits<std::int64_t>::min();
        for (const std::int64_t large : {std::int64_t{8192}, most, least}) {
            std::vector<std::int64_t> costs(kSize * kSize, 0);
            costs[77] = large;
            Problem<std::int64_t> problem = square(costs, kSize);
            problem.maximize = maximize;
            const bool too_small = maximize ? large == most : large == least;
            CHECK(match_tight_pairs(problem, {1, false}, control).has_value() == !too_small);
        }
    }
}

template <class T>
Unit unit_of(Index n, double scale, std::uint64_t most, bool maximize = false, double large = 0) {
    std::mt19937_64 random(7);
    std::vector<T> costs;
    for (Index k = 0; k < n * n; ++k) costs.push_back(static_cast<T>(static_cast<double>(random() % most) / scale));
    for (Index k = 0; k < n * n && large > 0; k += 3) costs[k] = static_cast<T>(maximize ? -large : large);
    Problem<T> problem = square(costs, n);
    problem.maximize = maximize;
    return look_for_few_values(problem, 1).unit;
}

void look() {
    tally().where = "a look";
    for (const bool maximize : {false, true}) {
        CHECK(unit_of<double>(300, 1, 50, maximize).scale == 1);
        CHECK(unit_of<double>(300, 16, 50, maximize).scale == 16);
        CHECK(unit_of<float>(300, 4, 50, maximize).scale == 4);
        CHECK(unit_of<std::int32_t>(300, 1, 50, maximize).scale == 1);
        CHECK(unit_of<std::int64_t>(300, 1, 50, maximize).scale == 1);
        const Unit tenths = unit_of<double>(300, 10, 50, maximize);
        CHECK(tenths.scale == 10 && tenths.decimal);
        CHECK(unit_of<float>(300, 10, 50, maximize).scale == 0);    // no tenths in float are tenths in double
        CHECK(unit_of<double>(300, 1, 5000, maximize).scale == 0);  // too many values
        CHECK(unit_of<double>(300, 1, 50, maximize, 1e6).scale == 1);
        CHECK(unit_of<double>(300, 1, 50, maximize, kInfinity<double>).scale == 1);
        CHECK(unit_of<double>(300, 1, 50, maximize, 10'000).scale == 0);  // neither small nor far above
        CHECK(unit_of<double>(300, 7, 50, maximize).scale == 0);
        CHECK(unit_of<std::int64_t>(200, 1, 50, maximize).scale == 0);  // too few rows
    }
}

}  // namespace
}  // namespace lapwing::test

int main() {
    using namespace lapwing::test;
    std::mt19937_64 random(1);
    with_every_type([&]<class T>() { solve_all<T>(random); });
    go_on_from_a_part<double>(random);
    go_on_from_a_part<std::int32_t>(random);
    refuse();
    look();
    return report();
}
