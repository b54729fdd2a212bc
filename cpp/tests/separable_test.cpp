// Costs that are sums of a number of the row and one of the column, but for few cheaper pairs, against the reference:
// all types, senses and layouts; and matrices that only look so.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"
#include "check.hpp"
#include "lapwing/reductions/separable.hpp"
#include "verify.hpp"

namespace lapwing::test {
namespace {

// `cheaper`: one pair in so many; none if 0. Whole numbers, or of floats some that sums round.
template <class T>
void fill(Case<T>& the_case, Index size, int cheaper, bool whole, std::mt19937& random) {
    std::vector<double> of_row, of_col;
    const double unit = whole ? 1 : 0.1;
    for (Index k = 0; k < size; ++k) {
        of_row.push_back(unit * static_cast<int>(random() % 900));
        of_col.push_back(unit * static_cast<int>(random() % 900) - 300);
    }
    for (Index i = 0; i < size; ++i)
        for (Index j = 0; j < size; ++j) {
            double cost = of_row[static_cast<std::size_t>(i)] + of_col[static_cast<std::size_t>(j)];
            if (cheaper > 0 && random() % static_cast<unsigned>(cheaper) == 0) cost -= static_cast<int>(random() % 400);
            the_case.at(i, j) = static_cast<T>(the_case.problem.maximize ? -cost : cost);
        }
}

template <class T>
void solve_all(std::mt19937& random) {
    for (const int cheaper : {0, 1000, 60, 12, 7})
        for (int k = 0; k < 16; ++k) {
            const Index size = static_cast<Index>(random() % 80) + 64;
            const bool whole = !std::is_same_v<T, double> || k % 2 == 0;
            Case<T> the_case;
            lay_out(the_case, size, size, static_cast<Layout>(random() % 4));
            the_case.problem.maximize = random() % 2 != 0;
            fill(the_case, size, cheaper, whole, random);
            tally().where = "one pair in " + std::to_string(cheaper) + ", " + std::to_string(size);
            Control control;
            Solution<Dual<T>> solution;
            const bool solved = solve_separable(the_case.problem, 512, control, solution);
            CHECK(solved || (cheaper > 0 && cheaper <= 12));  // a look at few costs may miss those
            if (!solved) continue;
            verify_optimal(the_case.problem, solution, whole);
            const auto best = reference_optimum(the_case.problem);
            CHECK(best && std::abs(static_cast<double>(total_cost(the_case.problem, solution.row_to_col) - *best)) <=
                              (whole ? 0 : rounding_of(the_case.problem)));
        }
}

void leave_others() {
    constexpr Index kSize = 80;
    tally().where = "other matrices";
    std::vector<double> costs(static_cast<std::size_t>(kSize * kSize));
    for (Index i = 0; i < kSize; ++i)
        for (Index j = 0; j < kSize; ++j) costs[static_cast<std::size_t>(i * kSize + j)] = 3.0 * i - 2.0 * j;
    const Problem<double> problem{{costs.data(), kSize, kSize, kSize, 1}};
    Control control;
    Solution<double> solution;
    CHECK(solve_separable(problem, 512, control, solution));
    verify_optimal(problem, solution, true);
    for (const std::size_t at : {std::size_t{0}, std::size_t{79}, std::size_t{3210}, costs.size() - 1}) {
        const double before = costs[at];
        for (const double wrong :
             {std::nan(""), kInfinity<double>, -kInfinity<double>, 1e308, -1e308, before + 1e-3, before + 1e9}) {
            costs[at] = wrong;
            CHECK(!solve_separable(problem, 512, control, solution));
        }
        costs[at] = before - 1;
        CHECK(solve_separable(problem, 512, control, solution));
        verify_optimal(problem, solution, true);
        costs[at] = before;
    }
    for (Index i = 0; i < kSize; ++i)
        for (Index j = 0; j < kSize; j += 3) costs[static_cast<std::size_t>(i * kSize + (i + j) % kSize)] -= 1;
    CHECK(!solve_separable(problem, 512, control, solution));  // a third of all pairs costs less
    for (const double wrong : {std::nan(""), kInfinity<double>}) {
        std::vector<double> others(costs.size(), wrong);
        CHECK(!solve_separable(Problem<double>{{others.data(), kSize, kSize, kSize, 1}}, 512, control, solution));
    }
    const std::vector<double> prices(static_cast<std::size_t>(kSize), 0.0);
    CHECK(!solve_separable(Problem<double>{problem.cost, false, prices.data()}, 512, control, solution));
    CHECK(!solve_separable(Problem<double>{{costs.data(), kSize - 1, kSize, kSize, 1}}, 512, control, solution));
    CHECK(!solve_separable(Problem<double>{{costs.data(), 40, 40, kSize, 1}}, 512, control, solution));  // small
}

void at_the_ends_of_a_type() {
    constexpr Index kSize = 70;
    tally().where = "ends of a type";
    Control control;
    for (const bool maximize : {false, true})
        for (const std::int32_t end :
             {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
            std::vector<std::int32_t> costs(kSize * kSize, end);
            costs[75] = 0;
            Problem<std::int32_t> problem{{costs.data(), kSize, kSize, kSize, 1}};
            problem.maximize = maximize;
            Solution<std::int64_t> solution;
            const bool is_cheaper = (end > 0) != maximize;
            if (CHECK(solve_separable(problem, 512, control, solution) == is_cheaper) && is_cheaper)
                verify_optimal(problem, solution, true);
        }
}

}  // namespace
}  // namespace lapwing::test

int main() {
    using namespace lapwing::test;
    std::mt19937 random(1);
    with_every_type([&]<class T>() { solve_all<T>(random); });
    leave_others();
    at_the_ends_of_a_type();
    return report();
}
