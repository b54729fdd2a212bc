// Problems with equal rows and columns, as transports, against the reference: all shapes, senses, layouts and prices.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"
#include "check.hpp"
#include "lapwing/costs/points.hpp"
#include "lapwing/reductions/equal_lines.hpp"
#include "verify.hpp"

namespace lapwing::test {
namespace {

template <class T>
void solve(Index rows, Index cols, Index kinds, Layout layout, bool maximize, bool priced, bool forbids,
           std::mt19937& random) {
    Case<T> the_case;
    lay_out(the_case, rows, cols, layout);
    std::vector<T> costs(static_cast<std::size_t>(kinds) * static_cast<std::size_t>(kinds));
    for (T& cost : costs) cost = static_cast<T>(static_cast<int>(random() % 41) - 20);
    if constexpr (std::is_floating_point_v<T>)
        if (forbids) costs[random() % costs.size()] = maximize ? -kInfinity<T> : kInfinity<T>;
    std::vector<Index> row_kinds, col_kinds;
    for (Index i = 0; i < rows; ++i) row_kinds.push_back(static_cast<Index>(random()) % kinds);
    for (Index j = 0; j < cols; ++j) col_kinds.push_back(static_cast<Index>(random()) % kinds);
    for (Index& kind : row_kinds) kind = std::abs(kind);
    for (Index& kind : col_kinds) kind = std::abs(kind);
    for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < cols; ++j)
            the_case.at(i, j) = costs[static_cast<std::size_t>(row_kinds[static_cast<std::size_t>(i)] * kinds +
                                                               col_kinds[static_cast<std::size_t>(j)])];
    the_case.problem.maximize = maximize;
    if (priced) {
        for (Index i = 0; i < rows; ++i)
            the_case.unmatched.push_back(static_cast<Dual<T>>(row_kinds[static_cast<std::size_t>(i)] % 3));
        the_case.problem.unmatched_cost = the_case.unmatched.data();
    }
    tally().where = std::to_string(rows) + " x " + std::to_string(cols) + ", " + std::to_string(kinds) + " kinds";
    Control control;
    Solution<Dual<T>> solution;
    const auto best = reference_optimum(the_case.problem);
    if (!solve_equal_lines(the_case.problem, control, solution)) {
        CHECK(!best || kinds * kinds * 4 > rows * cols);
        return;
    }
    CHECK(best);
    verify_optimal(the_case.problem, solution, true);
}

template <class T>
void solve_all(std::mt19937& random) {
    for (int k = 0; k < 600; ++k) {
        Index rows = static_cast<Index>(random() % 40) + 1, cols = static_cast<Index>(random() % 40) + 1;
        const bool priced = random() % 2 != 0, maximize = random() % 2 != 0;
        if (!priced && (rows > cols || random() % 3 == 0)) rows = cols;
        solve<T>(rows, cols, static_cast<Index>(random() % 9) + 1, static_cast<Layout>(random() % 4), maximize, priced,
                 random() % 3 == 0, random);
    }
}

// The look finds equal lines where few are distinct.
void look() {
    constexpr Index kSize = 300;
    for (const Index kinds : {1, 10, 30, 300}) {
        std::vector<float> costs;
        for (Index i = 0; i < kSize; ++i)
            for (Index j = 0; j < kSize; ++j)
                costs.push_back(static_cast<float>((i % kinds * 7919 + j * 104729) % 10007));
        const Problem<float> by_rows{{costs.data(), kSize, kSize, kSize, 1}};
        CHECK(has_equal_lines(by_rows) == (kinds <= 30));
        CHECK(has_equal_lines(Problem<float>{by_rows.cost.transposed()}) == (kinds <= 30));
    }
    std::vector<float> ones(kSize * kSize, 1.0f);
    for (Index i = 0; i < kSize; ++i) ones[static_cast<std::size_t>(i * kSize + i * 7 % kSize)] = 0.5f;
    Control control;
    Solution<double> solution;
    const Problem<float> diagonal{{ones.data(), kSize, kSize, kSize, 1}};
    CHECK(!solve_equal_lines(diagonal, control, solution));  // all lines differ, in one place each
}

// Points at few places: found by their coordinates, and not where they are many. Against jv on the same costs.
template <class T>
void solve_points(Index rows, Index cols, int side, bool maximize, bool priced, std::mt19937& random) {
    const auto points = [&](Index count) {
        std::vector<T> x;
        for (Index k = 0; k < 2 * count; ++k) x.push_back(static_cast<T>(random() % static_cast<unsigned>(side)));
        return x;
    };
    PointCosts<T> costs(rows, cols);
    const std::vector<T> x = points(rows), y = points(cols);
    costs.add(Metric::squared_euclidean, 2, x.data(), y.data(), 1, 2);
    std::vector<Dual<T>> prices(static_cast<std::size_t>(rows), 3);
    Problem<T> problem{.cost = {nullptr, rows, cols, cols, 1}, .maximize = maximize, .source = &costs};
    if (priced) problem.unmatched_cost = prices.data();
    tally().where = std::to_string(rows) + " x " + std::to_string(cols) + " points, " + std::to_string(side);
    Control control;
    Solution<Dual<T>> solution;
    const bool are_few = side < 10;
    CHECK(solve_equal_lines(problem, control, solution) == (are_few && (priced || rows <= cols)));
    if (solution.row_to_col.empty()) return;
    std::vector<T> matrix(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
    for (Index i = 0; i < rows; ++i) costs.read(i, 0, cols, matrix.data() + static_cast<std::ptrdiff_t>(i) * cols);
    Problem<T> written = problem;
    written.cost.data = matrix.data(), written.source = nullptr;
    const auto other = solve_jv(written, control);
    double total = 0, expected = 0;
    const auto cost = [&](Index i, Index j) {
        return j < 0 ? 3.0 : static_cast<double>(at_pair(problem.cost, problem.source, i, j));
    };
    for (Index i = 0; i < rows; ++i) {
        const auto k = static_cast<std::size_t>(i);
        total += cost(i, solution.row_to_col[k]), expected += cost(i, other.row_to_col[k]);
    }
    CHECK(total == expected);
    CHECK(certify_solution(problem, solution).exact);
    if (priced) prices[0] = 4;  // rows of one place with two prices
    Solution<Dual<T>> refused;
    if (priced) CHECK(!solve_equal_lines(problem, control, refused));
}

template <class T>
void solve_all_points(std::mt19937& random) {
    for (const bool maximize : {false, true})
        for (const bool priced : {false, true})
            for (const int side : {1, 3, 40}) {
                solve_points<T>(200, 200, side, maximize, priced, random);
                solve_points<T>(200, 240, side, maximize, priced, random);
                solve_points<T>(240, 200, side, maximize, priced, random);
            }
}

}  // namespace
}  // namespace lapwing::test

int main() {
    using namespace lapwing::test;
    std::mt19937 random(1);
    with_every_type([&]<class T>() { solve_all<T>(random); });
    solve_all_points<float>(random);
    solve_all_points<double>(random);
    look();
    return report();
}
