// The Hungarian methods answer the same for any number of threads, to the last bit; under ThreadSanitizer, without
// races.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "cases.hpp"
#include "check.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/team.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

template <class T>
Solution<Dual<T>> solve(int method, const Problem<T>& problem, int threads) {
    Control control;
    if (method == 0) return solve_hungarian_bfs(problem, threads, control);
    if (method == 1) return solve_hungarian_tree(problem, threads, control);
    const MunkresOptions options{
        .fused = method != 3, .one_launch = method != 3, .by_regret = method == 4, .switches = method == 4};
    return solve_munkres(problem, options, threads, control);
}

template <class T>
void compare(int method, const CostClass& costs, Index rows, Index cols, Unmatched unmatched) {
    std::mt19937_64 random(5);
    Case<T> the_case;
    lay_out(the_case, rows, cols, Layout::rows);
    fill(the_case, costs, random);
    set_unmatched(the_case, unmatched, costs, random);
    tally().where = std::string(costs.name) + ", method " + std::to_string(method);
    const auto one = solve(method, the_case.problem, 1), many = solve(method, the_case.problem, 3);
    CHECK(many.status == one.status && many.row_to_col == one.row_to_col);
    CHECK(many.u == one.u && many.v == one.v && many.hall_rows == one.hall_rows);
}

// Large enough for two pieces of work, of rows or, for trees, of columns.
template <class T>
void test_methods() {
    constexpr bool kFloat = std::is_floating_point_v<T>;
    for (const CostClass& costs : cost_classes()) {
        const std::string name = costs.name;
        if (name != "ties" && name != (kFloat ? "few forbidden" : "uniform")) continue;
        for (int method = 0; method < 5; ++method) {
            if (kFloat)
                compare<T>(method, costs, 240, 140, Unmatched::middling);
            else
                compare<T>(method, costs, 190, 190, Unmatched::none);
        }
        compare<T>(1, costs, 600, 600, Unmatched::none);
    }
}

// Every piece is done once, by whichever thread, and what a helper or the caller throws arrives.
void test_team() {
    tally().where = "team";
    Team team(6);
    for (int round = 0; round < 300; ++round) {
        const Index size = 1 + 37 * round % 100;  // one piece and fewer pieces than threads, too
        std::vector<int> done(size, 0);
        int looks = 0;
        const auto count = [&](Index begin, Index end, int) {
            for (Index k = begin; k < end; ++k) ++done[k];
        };
        team.share(size, 7, [&] { ++looks; }, count);
        CHECK(done == std::vector<int>(size, 1) && looks <= (size + 6) / 7);
        if (round % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until helpers sleep
        if (round % 50 == 0) team.dismiss();
    }
    for (const Index bad : {0, 50, 99}) {
        const auto fail = [&](Index begin, Index, int) {
            if (begin == bad) throw std::runtime_error("as asked for");
        };
        bool caught = false;
        try {
            team.share(100, 1, [] {}, fail);
        } catch (const std::runtime_error&) {
            caught = true;
        }
        CHECK(caught);
    }
}

}  // namespace

int main() {
    test_team();
    test_methods<float>();
    test_methods<std::int32_t>();
    return report();
}
