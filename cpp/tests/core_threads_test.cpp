// The core method answers the same for any number of threads, to the last bit; under ThreadSanitizer, without races.
// Also where threads make bids in regions of points.
#include <string>
#include <vector>

#include "cases.hpp"
#include "check.hpp"
#include "lapwing/core/regions.hpp"
#include "lapwing/costs/points.hpp"
#include "lapwing/costs/spatial_order.hpp"
#include "verify.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

// Structured costs, whose prices come from samples and phases; others for which one phase is enough; and ties.
std::vector<CostClass> classes() {
    const auto point = [](Index i, int k) {
        std::uint64_t z = (static_cast<std::uint64_t>(i) * 4 + static_cast<std::uint64_t>(k) + 1) * 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        return static_cast<double>((z ^ (z >> 27)) >> 50);
    };
    return {{"points", false, true,
             [=](Index i, Index j, auto&) {
                 const double x = point(i, 0) - point(j, 2), y = point(i, 1) - point(j, 3);
                 return std::floor(x * x / 64 + y * y / 64);
             }},
            {"products", false, true,
             [=](Index i, Index j, auto&) {
                 return std::floor((point(i, 0) * point(j, 2) + point(i, 1) * point(j, 3)) / 64);
             }},
            {"uniform", false, true, [](Index, Index, auto& r) { return std::floor(1e6 * uniform(r)); }},
            {"ties", false, true, [](Index, Index, auto& r) { return std::floor(30 * uniform(r)); }}};
}

template <class T>
Solution<Dual<T>> same_for_all(const Problem<T>& problem) {
    Control control;
    const auto one = solve_core<T>(problem, nullptr, 1, control);
    CHECK(one.status == Status::optimal);
    for (const int threads : {2, 4}) {
        const auto many = solve_core<T>(problem, nullptr, threads, control);
        CHECK(many.row_to_col == one.row_to_col && many.u == one.u && many.v == one.v);
        for (std::size_t k = 0; k < one.statistics.values.size(); ++k)
            if (!one.statistics.values[k].first.ends_with("seconds"))
                CHECK(many.statistics.values[k] == one.statistics.values[k]);
    }
    return one;
}

template <class T>
void compare(const CostClass& costs, Index rows, Index cols, Unmatched unmatched) {
    std::mt19937_64 random(7);
    Case<T> the_case;
    lay_out(the_case, rows, cols, Layout::rows);
    fill(the_case, costs, random);
    set_unmatched(the_case, unmatched, costs, random);
    const MatrixSource<T> source(the_case.problem.cost);
    for (const auto& problem : {the_case.problem, from_source(the_case.problem, source)}) {
        tally().where = std::string(costs.name) + ", " + std::to_string(rows) + " x " + std::to_string(cols) +
                        (problem.source != nullptr ? ", from a source" : "");
        CHECK(certify_solution(problem, same_for_all(problem)).exact);
    }
}

template <class T>
void compare_all() {
    for (const CostClass& costs : classes()) {
        compare<T>(costs, 600, 600, Unmatched::none);
        compare<T>(costs, 300, 320, Unmatched::none);
        compare<T>(costs, 300, 300, Unmatched::middling);
    }
}

// Whole numbers, so that the duals are exact. To look at all pairs takes long under a sanitizer: of one row in 97.
[[maybe_unused]] void compare_points(Index count) {
    tally().where = std::to_string(count) + " points";
    std::mt19937_64 random(11);
    std::vector<float> x, y;
    for (Index k = 0; k < 2 * count; ++k) x.push_back(static_cast<float>(random() % 1024));
    for (Index k = 0; k < 2 * count; ++k) y.push_back(static_cast<float>(random() % 1024));
    PointCosts<float> costs(count, count);
    costs.add(Metric::squared_euclidean, 2, x.data(), y.data(), 1, 2);
    Team team(1);
    const auto in_order =
        costs.in_boxes(costs.in_order(true, kNested, team, [] {}), costs.in_order(false, kNested, team, [] {}));
    CHECK(in_order != nullptr && in_order->boxes() != nullptr);
    Problem<float> problem{.cost = {nullptr, count, count, count, 1}, .source = in_order.get()};
    const auto one = same_for_all(problem);
    double gap = 0;
    std::vector<float> row(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) {
        gap += static_cast<double>(at_pair(problem.cost, problem.source, i, one.row_to_col[i])) - one.u[i] - one.v[i];
        if (i % 97 != 0) continue;
        in_order->read(i, 0, count, row.data());
        for (Index j = 0; j < count; ++j) CHECK(static_cast<double>(row[j]) >= one.u[i] + one.v[j]);
    }
    CHECK(gap == 0);
}

}  // namespace

int main() {
#ifndef LAPWING_CHECK_INVARIANTS  // which takes minutes with so many points
    compare_points(RegionTuning::kFrom);
#endif
    compare_all<float>();
    compare_all<std::int32_t>();
    return report();
}
