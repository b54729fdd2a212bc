// Hall violators and the range check.
#include <limits>

#include "lapwing/certificate/hall.hpp"
#include "verify.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

void test_hall() {
    // Rows 0, 1, 2 have columns 1 and 2 only.
    const std::vector<double> cost = {kInf, 1,    2,    kInf,  //
                                      kInf, kInf, 2,    kInf,  //
                                      kInf, 1,    kInf, kInf,  //
                                      1,    1,    1,    1};
    Problem<double> problem{{cost.data(), 4, 4, 4, 1}};
    const std::vector<Index> matching = {1, 2, -1, 0};
    const auto found = find_hall_violator(problem, matching, 2);
    CHECK(found && (found->rows == std::vector<Index>{0, 1, 2}) && (found->cols == std::vector<Index>{1, 2}));
    CHECK(!find_hall_violator(problem, {1, 2, 0, -1}, 3));  // column 3 is free

    const std::vector<double> prices = {kInf, 5, kInf, kInf};
    problem.unmatched_cost = prices.data();
    CHECK(!find_hall_violator(problem, matching, 2));  // row 1 may stay free, and gives column 2 to row 0
    const std::vector<double> no_prices(4, kInf);
    problem.unmatched_cost = no_prices.data();
    CHECK(find_hall_violator(problem, matching, 2));

    const std::vector<float> all_forbidden(3, -std::numeric_limits<float>::infinity());
    const Problem<float> maximising{{all_forbidden.data(), 1, 3, 3, 1}, true};
    const auto alone = find_hall_violator(maximising, {-1}, 0);
    CHECK(alone && alone->rows == std::vector<Index>{0} && alone->cols.empty());

    const std::vector<std::int32_t> integers = {3, 4};
    const std::vector<std::int64_t> absent(2, kInfinity<std::int64_t>);
    const Problem<std::int32_t> tall{{integers.data(), 2, 1, 1, 1}, false, absent.data()};
    const auto crowd = find_hall_violator(tall, {0, -1}, 1);
    CHECK(crowd && crowd->rows.size() == 2 && crowd->cols.size() == 1);
}

template <class T>
void test_range() {
    for (const Layout layout : {Layout::rows, Layout::columns, Layout::strided, Layout::reversed}) {
        for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {3, 50}, {40, 40}, {70, 130}}) {
            for (const T sign : {T{1}, T{-1}}) {
                Case<T> the_case;
                lay_out(the_case, rows, cols, layout);
                const Dual<T> limit = check_range(the_case.problem, 1).limit;
                const Index i = rows / 2, j = cols - 1;
                the_case.at(i, j) = sign * limit;
                auto range = check_range(the_case.problem, 2);
                CHECK(range.fits && range.extreme == sign * limit && range.row == i && range.col == j);
                the_case.at(i, j) = std::is_floating_point_v<T> ? sign * limit * 2 : sign * (limit + limit / 2);
                range = check_range(the_case.problem, 1);
                CHECK(!range.fits && range.extreme == the_case.at(i, j) && range.row == i && range.col == j);
                the_case.at(i, j) = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                                         : std::numeric_limits<T>::lowest();
                range = check_range(the_case.problem, 1);
                CHECK(range.fits == std::is_floating_point_v<T>);  // infinities do not count
            }
        }
    }
}

void test_range_of_unmatched_costs() {
    const std::vector<std::int32_t> cost(6, std::numeric_limits<std::int32_t>::lowest());
    std::vector<std::int64_t> prices = {kInfinity<std::int64_t>, -7, 5};
    const Problem<std::int32_t> problem{{cost.data(), 3, 2, 2, 1}, false, prices.data()};
    auto range = check_range(problem, 1);
    CHECK(range.fits && range.extreme == -7 && range.row == 1 && range.col == -1);
    prices[2] = std::int64_t{1} << 61;
    range = check_range(problem, 1);
    CHECK(!range.fits && range.extreme == prices[2] && range.row == 2 && range.col == -1);
    for (const std::int64_t more : {0, 1}) {  // all three rows may stay free
        prices[2] = cost_limit<std::int64_t>(3) + more;
        CHECK(prices[2] < cost_limit<std::int64_t>(2) && check_range(problem, 1).fits == (more == 0));
    }
    const Problem<float> floats{{nullptr, 2, 2, 2, 1}};
    CHECK(check_range(floats, 1).fits && check_range(floats, 1).row == -1);
}

}  // namespace

int main() {
    test_hall();
    test_range<double>();
    test_range<std::int64_t>();
    test_range_of_unmatched_costs();
    return report();
}
