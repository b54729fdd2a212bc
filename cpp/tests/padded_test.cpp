// Matrices padded with dummies, as pairs that may stay free, against the reference: all kinds of dummies, senses and
// layouts; and matrices that only look padded.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"
#include "check.hpp"
#include "lapwing/reductions/padded.hpp"
#include "verify.hpp"

namespace lapwing::test {
namespace {

enum class Dummies { equal, own, mixed };  // own: each line has one that costs less than others, or than infinity

struct Shape {
    Index rows, cols;  // real ones
    Index more;        // dummies than these need
    Dummies dummies;
    int forbidden;  // one pair in so many; none if 0
    bool shuffled;
};

int cost_of_pair(std::mt19937& random) { return static_cast<int>(random() % 201); }  // one in eight is worth it

template <class T>
void fill(Case<T>& the_case, const Shape& shape, bool maximize, std::mt19937& random) {
    const Index size = shape.rows + shape.cols + shape.more;
    const auto meeting = static_cast<int>(random() % 3) - 1;
    const T forbidden = maximize ? -kInfinity<T> : kInfinity<T>;
    std::vector<int> row_prices, col_prices;
    for (Index k = 0; k < size; ++k) {
        row_prices.push_back(static_cast<int>(random() % 25));
        col_prices.push_back(static_cast<int>(random() % 25));
    }
    std::vector<Index> rows(static_cast<std::size_t>(size)), cols(rows.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::iota(cols.begin(), cols.end(), 0);
    if (shape.shuffled) {
        std::shuffle(rows.begin(), rows.end(), random);
        std::shuffle(cols.begin(), cols.end(), random);
    }
    const auto of_dummy = [&](Index line, Index dummy, int price) -> T {
        const bool is_own = line == dummy || shape.dummies == Dummies::equal;
        const bool is_forbidden = !is_own && shape.dummies == Dummies::own && std::is_floating_point_v<T>;
        if (is_forbidden) return forbidden;
        return static_cast<T>((maximize ? -1 : 1) * (is_own ? price : price + static_cast<int>(random() % 3)));
    };
    for (Index i = 0; i < size; ++i)
        for (Index j = 0; j < size; ++j) {
            T& cost = the_case.at(rows[static_cast<std::size_t>(i)], cols[static_cast<std::size_t>(j)]);
            if (i < shape.rows && j < shape.cols) {
                cost = static_cast<T>((maximize ? -1 : 1) * cost_of_pair(random));
                if (std::is_floating_point_v<T> && shape.forbidden > 0 && random() % shape.forbidden == 0)
                    cost = forbidden;
            } else if (i < shape.rows) {
                cost = of_dummy(i, j - shape.cols, row_prices[static_cast<std::size_t>(i)]);
            } else if (j < shape.cols) {
                cost = of_dummy(j, i - shape.rows, col_prices[static_cast<std::size_t>(j)]);
            } else {
                cost = static_cast<T>(maximize ? -meeting : meeting);
            }
        }
}

// Returns whether the reduction solved it.
template <class T>
bool solve(const Shape& shape, Layout layout, bool maximize, std::mt19937& random) {
    Case<T> the_case;
    const Index size = shape.rows + shape.cols + shape.more;
    lay_out(the_case, size, size, layout);
    fill(the_case, shape, maximize, random);
    the_case.problem.maximize = maximize;
    tally().where =
        std::to_string(shape.rows) + " x " + std::to_string(shape.cols) + " and " + std::to_string(shape.more);
    Control control;
    Solution<Dual<T>> solution;
    if (!solve_padded(the_case.problem, control, solution)) return false;
    const auto best = reference_optimum(the_case.problem);
    CHECK(best);
    verify_optimal(the_case.problem, solution, true);
    return true;
}

template <class T>
void solve_all(std::mt19937& random) {
    for (const Dummies dummies : {Dummies::equal, Dummies::own, Dummies::mixed}) {
        int solved = 0, solved_shuffled = 0;
        constexpr int kCases = 40;
        for (int k = 0; k < 2 * kCases; ++k) {
            const bool shuffled = k >= kCases;
            const Index rows = static_cast<Index>(random() % 40) + 20, cols = static_cast<Index>(random() % 40) + 20,
                        more = rows + cols < 64 ? 64 - rows - cols : static_cast<Index>(random() % 4);
            const Shape shape = {rows, cols, more, dummies, static_cast<int>(random() % 5), shuffled};
            const bool done = solve<T>(shape, static_cast<Layout>(random() % 4), random() % 2 != 0, random);
            (shuffled ? solved_shuffled : solved) += done ? 1 : 0;
        }
        // In a random order, a look at few costs may miss it; two lines may share a cheapest dummy.
        const bool has_one_each = dummies == Dummies::equal || (dummies == Dummies::own && std::is_floating_point_v<T>);
        CHECK(has_one_each ? solved == kCases : solved > kCases / 2);
        CHECK(!has_one_each || solved_shuffled > kCases / 2);
    }
}

// Other matrices are not touched, nor padded ones of which too many pairs are left.
void leave_others() {
    constexpr Index kSize = 80;
    std::vector<double> costs(static_cast<std::size_t>(kSize * kSize), 1.0);
    const Problem<double> problem{{costs.data(), kSize, kSize, kSize, 1}};
    Control control;
    Solution<double> solution;
    const auto block = [&](Index first, double cost) {  // rows of the upper half, in half of the columns
        for (Index i = 0; i < kSize / 2; ++i)
            for (Index j = first; j < first + kSize / 2; ++j) costs[static_cast<std::size_t>(i * kSize + j)] = cost;
    };
    CHECK(!solve_padded(problem, control, solution));  // all costs are equal
    block(0, -5.0);
    CHECK(!solve_padded(problem, control, solution));  // all pairs are left
    block(0, 5.0);
    CHECK(solve_padded(problem, control, solution));  // no pair is
    verify_optimal(problem, solution, true);
    costs[3] = std::numeric_limits<double>::quiet_NaN();
    CHECK(!solve_padded(problem, control, solution));
    costs[3] = -kInfinity<double>;
    CHECK(!solve_padded(problem, control, solution));
    costs[3] = 1e308;
    CHECK(!solve_padded(problem, control, solution));
    costs[3] = 5.0;
    double& of_dummy = costs[static_cast<std::size_t>(kSize / 2 + 3)];
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -kInfinity<double>, -1e308}) {
        of_dummy = bad;
        CHECK(!solve_padded(problem, control, solution));
    }
    of_dummy = kInfinity<double>;
    CHECK(solve_padded(problem, control, solution));  // others are as cheap
    of_dummy = 1.0;
    block(kSize / 2, kInfinity<double>);
    CHECK(!solve_padded(problem, control, solution));  // rows have no dummies
    const std::vector<double> prices(static_cast<std::size_t>(kSize), 0.0);
    const Problem<double> priced{problem.cost, false, prices.data()};
    CHECK(!solve_padded(priced, control, solution));
    const Problem<double> rectangular{{costs.data(), kSize - 1, kSize, kSize, 1}};
    CHECK(!solve_padded(rectangular, control, solution));
}

}  // namespace
}  // namespace lapwing::test

int main() {
    using namespace lapwing::test;
    std::mt19937 random(1);
    with_every_type([&]<class T>() { solve_all<T>(random); });
    leave_others();
    return report();
}
