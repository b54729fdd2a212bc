// Failures and early ends: time limits, interruption, invalid costs. For every method.
//
// Usage: limits_test METHOD (the table in verify.hpp)
#include <atomic>
#include <thread>

#include "lapwing/core/invariants.hpp"
#include "verify.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Points in the plane, squared distances: long paths, so that a solve takes a while.
template <class T>
void fill_geometric(Case<T>& the_case, Index rows, Index cols, Layout layout) {
    std::mt19937_64 random(3);
    lay_out(the_case, rows, cols, layout);
    std::vector<double> points;
    for (Index k = 0; k < 2 * (rows + cols); ++k) points.push_back(std::floor(1024 * uniform(random)));
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) {
            const auto a = static_cast<std::size_t>(2 * i), b = static_cast<std::size_t>(2 * (rows + j));
            const double dx = points[a] - points[b], dy = points[a + 1] - points[b + 1];
            the_case.at(i, j) = static_cast<T>(dx * dx + dy * dy);
        }
    }
    the_case.name = "geometric";
}

// However early the end: a valid partial assignment, feasible duals, and a bound that is one.
template <class T>
void test_time_limit(const Method<T>& method) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{150, 150}, {120, 200}, {200, 120}}) {
        Case<T> the_case;
        fill_geometric(the_case, rows, cols, Layout::rows);
        the_case.unmatched.assign(static_cast<std::size_t>(rows), Dual<T>{30000});
        if (rows > cols) the_case.problem.unmatched_cost = the_case.unmatched.data();
        const auto optimum = reference_optimum(the_case.problem);
        for (const double limit : {0.0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3}) {
            tally().where = std::string(method.name) + ": time limit " + std::to_string(limit);
            Control control(limit);
            const auto solution = method.solve(the_case.problem, control);
            const auto c = certify_solution(the_case.problem, solution);
            CHECK(solution.status == Status::optimal || solution.status == Status::time_limit);
            if (limit == 0 && rows == cols) CHECK(solution.status == Status::time_limit);
            CHECK(c.fault == Fault::none && c.violation == 0 && c.dual <= static_cast<Dual<T>>(*optimum));
            if (c.complete) CHECK(c.gap >= 0 && c.primal >= static_cast<Dual<T>>(*optimum));
            if (solution.status == Status::optimal) CHECK(c.exact);
        }
    }
}

// A hook that asks to stop is heard, wherever the solve is; one that does not is told what is true.
template <class T>
void test_hook(const Method<T>& method) {
    Case<T> the_case;
    fill_geometric(the_case, 300, 300, Layout::rows);
    tally().where = std::string(method.name) + ": hook";
    Control interrupted(kInf, [](const Progress&) { return false; });
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // the hook is due from now on
    bool thrown = false;
    try {
        method.solve(the_case.problem, interrupted);
    } catch (const Interrupted&) {
        thrown = true;
    }
    CHECK(thrown);

    const auto optimum = static_cast<double>(*reference_optimum(the_case.problem));
    int calls = 0;
    Control watched(kInf, [&](const Progress& progress) {
        ++calls;
        CHECK(progress.stage[0] != '\0' && progress.matched >= 0 && progress.matched <= 300);
        CHECK(progress.bound <= optimum * (1 + 1e-12));
        return true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const auto solution = method.solve(the_case.problem, watched);
    CHECK(calls >= 1 && certify_solution(the_case.problem, solution).exact);
}

template <class T>
void test_invalid_costs(const Method<T>& method) {
    for (const T bad : {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
        for (const Layout layout : {Layout::rows, Layout::columns, Layout::strided, Layout::reversed}) {
            for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {9, 9}, {20, 37}}) {
                for (const bool maximize : {false, true}) {
                    tally().where = std::string(method.name) + ": invalid cost";
                    Case<T> the_case;
                    the_case.problem.maximize = maximize;
                    lay_out(the_case, rows, cols, layout);
                    const Index i = rows - 1, j = cols * 2 / 3;
                    the_case.at(i, j) = maximize ? -bad : bad;
                    Control control;
                    InvalidCost found{-1, -1};
                    try {
                        method.solve(the_case.problem, control);
                    } catch (const InvalidCost& error) {
                        found = error;
                    }
                    CHECK(found.row == i && found.col == j);
                }
            }
        }
    }
}

// A method ends with an assignment or an error while another thread writes to the matrix, and touches no memory but its
// own.
template <class T>
void test_changing_costs(const Method<T>& method) {
    constexpr T kWritten[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                              -std::numeric_limits<T>::infinity(), 1};
    constexpr int kRounds = 12;
#ifdef LAPWING_CHECK_INVARIANTS
    costs_are_constant = false;
#endif
    for (const auto& [rows, cols] : {std::pair<Index, Index>{6, 6}, {30, 30}, {90, 120}, {150, 150}}) {
        tally().where = std::string(method.name) + ": changing costs";
        Case<T> the_case;
        fill_geometric(the_case, rows, cols, Layout::rows);
        std::vector<Dual<T>> prices(static_cast<std::size_t>(rows), Dual<T>{30000});
        std::atomic<bool> over = false;
        std::thread writer([&, last_row = rows, last_col = cols] {
            for (std::mt19937_64 random(7); !over;) {
                const auto i = static_cast<Index>(random() % static_cast<unsigned>(last_row));
                const auto j = static_cast<Index>(random() % static_cast<unsigned>(last_col));
                const T usual = static_cast<T>(random() % 1024);
                std::atomic_ref(the_case.at(i, j)).store(random() % 4 != 0 ? usual : kWritten[random() % 4]);
            }
        });
        for (int round = 0; round < kRounds; ++round) {
            the_case.problem.unmatched_cost = round % 3 == 2 ? prices.data() : nullptr;
            the_case.problem.maximize = round % 2 == 1;
            Control control(0.1);
            try {
                const auto solution = method.solve(the_case.problem, control);
                for (const Index j : solution.row_to_col) CHECK(-1 <= j && j < cols);
            } catch (const InvalidCost&) {
            } catch (const CostTooLarge&) {
            } catch (const CostsChanged&) {
            }
        }
        over = true;
        writer.join();
    }
#ifdef LAPWING_CHECK_INVARIANTS
    costs_are_constant = true;
#endif
}

}  // namespace

int main(int count, char** arguments) {
    return run_for_method(count, arguments, []<class T>(const Method<T>& method) {
        test_time_limit(method);
        test_hook(method);
        if constexpr (std::is_floating_point_v<T>) {
            test_invalid_costs(method);
            test_changing_costs(method);
        }
    });
}
