// The row passes of the Hungarian methods against plain loops, for every number type and many lengths.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "check.hpp"
#include "lapwing/hungarian/kernels.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

// A row of few distinct costs, some forbidden, and what the passes take beside it.
template <class T>
struct Row {
    using D = Dual<T>;
    Index n;
    bool maximize;
    std::vector<T> costs;
    std::vector<D> v, minimised;
    std::vector<std::int64_t> open;
    D u;

    Row(Index length, bool negated, std::mt19937& random) : n(length), maximize(negated) {
        const auto padded = hungarian_padded(n);
        v.assign(padded, 0);
        open.assign(padded, 0);
        u = static_cast<D>(random() % 3) - 1;
        for (Index j = 0; j < n; ++j) {
            const bool forbidden = std::is_floating_point_v<T> && random() % 5 == 0;
            minimised.push_back(forbidden ? kInfinity<D> : static_cast<D>(random() % 7) - 3);
            costs.push_back(static_cast<T>(maximize ? -minimised.back() : minimised.back()));
            v[j] = static_cast<D>(random() % 5) - 2;
            open[j] = random() % 3 == 0 ? 0 : -1;
        }
    }
    D value(Index j) const { return minimised[j] - v[j]; }
    D slack(Index j) const { return value(j) - u; }
};

template <class T>
void test_costs(const Row<T>& row) {
    using D = Dual<T>;
    const auto kernels = hungarian_kernels<T>();
    const void* costs = row.costs.data();
    const Index n = row.n;
    TwoLeast<D> two{kInfinity<D>, kInfinity<D>};
    std::vector<Index> tight;
    for (Index j = 0; j < n; ++j) {
        CHECK(kernels.cost(costs, row.maximize, j) == row.minimised[j]);
        if (row.open[j] == 0) continue;
        two.second = std::min(two.second, std::max(two.least, row.value(j)));
        two.least = std::min(two.least, row.value(j));
        if (row.slack(j) <= 1) tight.push_back(j);
    }
    const D *v = row.v.data(), u = row.u;
    const std::int64_t* open = row.open.data();
    CHECK(kernels.least(costs, row.maximize, n, v, open) == two.least);
    const auto found_two = kernels.two_least(costs, row.maximize, n, v, open);
    CHECK(found_two.least == two.least && found_two.second == two.second);
    std::vector<Index> found(n);
    found.resize(kernels.collect(costs, row.maximize, n, v, open, u, 1, found.data()));
    CHECK(found == tight);
    CHECK(kernels.find(costs, row.maximize, n, v, open, u, 1) == (tight.empty() ? -1 : tight.front()));
    CHECK(kernels.first_invalid(costs, row.maximize, n) == -1);

    std::vector<D> lowered(hungarian_padded(n), 0), distance(lowered);
    std::vector<std::int64_t> predecessor(hungarian_padded(n), -1);
    kernels.lower_columns(costs, row.maximize, n, u, lowered.data());
    kernels.relax(costs, row.maximize, n, v, open, u, 9, distance.data(), predecessor.data());
    for (Index j = 0; j < n; ++j) {
        CHECK(lowered[j] == std::min<D>(0, row.minimised[j] - u));
        const bool nearer = row.open[j] != 0 && row.slack(j) < 0;
        CHECK(distance[j] == (nearer ? row.slack(j) : 0) && predecessor[j] == (nearer ? 9 : -1));
    }
}

template <class T>
void test_slack(const Row<T>& row) {
    using D = Dual<T>;
    const auto kernels = hungarian_kernels<T>();
    const Index n = row.n;
    std::vector<D> slack(hungarian_padded(n), 77);
    kernels.form_slack(row.costs.data(), row.maximize, n, row.v.data(), row.u, slack.data());
    D least = kInfinity<D>;
    std::vector<Index> within, zeros;
    std::vector<D> expected(slack.size(), kInfinity<D>);
    for (Index j = 0; j < n; ++j) {
        expected[j] = std::max<D>(0, row.slack(j));
        if (row.open[j] != 0) least = std::min(least, expected[j]);
        if (row.open[j] != 0 && expected[j] <= 2) within.push_back(j);
    }
    CHECK(slack == expected);
    CHECK(kernels.least_of(slack.data(), n, row.open.data()) == least);
    std::vector<Index> found(n);
    found.resize(kernels.within(slack.data(), n, row.open.data(), 2, found.data()));
    CHECK(found == within);

    const D step = least < kInfinity<D> ? least : 1;
    for (Index j = 0; j < n; ++j) {
        if (row.open[j] != 0) expected[j] -= step;
        if (expected[j] == 0) zeros.push_back(j);
    }
    std::vector<D> twice(slack);
    kernels.subtract(twice.data(), n, row.open.data(), step);
    found.resize(n);
    found.resize(kernels.subtract_and_find(slack.data(), n, row.open.data(), step, found.data()));
    CHECK(slack == expected && twice == expected && found == zeros);
}

template <class T>
void test_invalid(Row<T> row) {
    if constexpr (std::is_floating_point_v<T>) {
        for (const T bad : {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
            row.costs[row.n / 2] = row.maximize ? -bad : bad;
            CHECK(hungarian_kernels<T>().first_invalid(row.costs.data(), row.maximize, row.n) == row.n / 2);
        }
    }
}

template <class T>
void test_type() {
    std::mt19937 random(7);
    for (Index n = 1; n < 40; ++n) {
        for (const bool maximize : {false, true}) {
            tally().where = std::to_string(n) + (maximize ? " columns, maximised" : " columns");
            const Row<T> row(n, maximize, random);
            test_costs(row);
            test_slack(row);
            test_invalid(row);
        }
    }
}

}  // namespace

int main() {
    test_type<float>();
    test_type<double>();
    test_type<std::int32_t>();
    test_type<std::int64_t>();
    return report();
}
