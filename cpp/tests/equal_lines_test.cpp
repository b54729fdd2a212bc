// Problems with equal rows and columns, as transports, against the reference: all shapes, senses, layouts and prices.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"
#include "check.hpp"
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

}  // namespace
}  // namespace lapwing::test

int main() {
    using namespace lapwing::test;
    std::mt19937 random(1);
    with_every_type([&]<class T>() { solve_all<T>(random); });
    look();
    return report();
}
