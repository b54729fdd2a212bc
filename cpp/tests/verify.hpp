// One verdict on any method's answer: the contract of solution.hpp, the certificate, and the reference's optimum.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "cases.hpp"
#include "check.hpp"
#include "lapwing/certificate/certificate.hpp"
#include "lapwing/methods.hpp"
#include "reference.hpp"

namespace lapwing::test {

// The rows of a matrix, as if no matrix held them.
template <class T>
class MatrixSource final : public CostSource<T> {
  public:
    explicit MatrixSource(const MatrixView<T>& matrix) : matrix_(matrix) {
        for (Index i = 0; i < matrix.rows; ++i) rows_.push_back(i);
        for (Index j = 0; j < matrix.cols; ++j) cols_.push_back(j);
    }
    void read(Index i, Index first, Index count, T* out) const override {
        for (Index k = 0; k < count; ++k)
            out[k] = matrix_.at(rows_[static_cast<std::size_t>(i)], cols_[static_cast<std::size_t>(first + k)]);
    }
    std::unique_ptr<CostSource<T>> part(std::span<const Index> rows, std::span<const Index> cols) const override {
        if (cols.size() % 2 != 0) return nullptr;  // to be copied
        auto chosen =
            std::make_unique<MatrixSource>(MatrixView<T>{matrix_.data, 0, 0, matrix_.row_stride, matrix_.col_stride});
        for (const Index i : rows) chosen->rows_.push_back(rows_[static_cast<std::size_t>(i)]);
        for (const Index j : cols) chosen->cols_.push_back(cols_[static_cast<std::size_t>(j)]);
        return chosen;
    }

  private:
    MatrixView<T> matrix_;
    std::vector<Index> rows_, cols_;
};

// The same problem without its matrix.
template <class T>
Problem<T> from_source(const Problem<T>& problem, const MatrixSource<T>& source) {
    return {{nullptr, problem.cost.rows, problem.cost.cols, problem.cost.cols, 1},
            problem.maximize,
            problem.unmatched_cost,
            &source};
}

// Rows of the problems that are not compared with the reference; fewer in the sanitized tree, whose every step is dear.
#ifdef LAPWING_CHECK_INVARIANTS
constexpr Index kLarge = 200, kLargeHungarian = 70;
#else
constexpr Index kLarge = 300, kLargeHungarian = 100;
#endif

template <class T>
struct Method {
    const char* name;
    Solution<Dual<T>> (*solve)(const Problem<T>&, Control&);
    Index large = kLarge;
};

// Those of the papers, smaller, since products take classical Hungarian methods n^4 steps.
template <class T>
std::vector<Method<T>> hungarian_methods() {
    return {
        {"hungarian-bfs", [](const Problem<T>& p, Control& c) { return solve_hungarian_bfs(p, 2, c); },
         kLargeHungarian},
        {"hungarian-tree", [](const Problem<T>& p, Control& c) { return solve_hungarian_tree(p, 2, c); },
         kLargeHungarian},
        {"munkres", [](const Problem<T>& p, Control& c) { return solve_munkres(p, {}, 2, c); }, kLargeHungarian},
        {"munkres, other options",
         [](const Problem<T>& p, Control& c) { return solve_munkres(p, {.fused = false, .by_regret = true}, 1, c); },
         kLargeHungarian},
        {"munkres, switching",
         [](const Problem<T>& p, Control& c) { return solve_munkres(p, {.switches = true}, 2, c); }, kLargeHungarian}};
}

// Every method, as every test sees it.
template <class T>
std::vector<Method<T>> methods() {
    return {
        {"jv", [](const Problem<T>& p, Control& c) { return solve_jv(p, c); }},
        {"ssp", [](const Problem<T>& p, Control& c) { return solve_ssp(p, {}, 1, c); }},
        {"auction", [](const Problem<T>& p, Control& c) { return solve_auction(p, AuctionVariant::optimised, c); }},
        {"auction, plain", [](const Problem<T>& p, Control& c) { return solve_auction(p, AuctionVariant::plain, c); }},
        {"core", [](const Problem<T>& p, Control& c) { return solve_core<T>(p, nullptr, 1, c); }},
        {"core, 2 threads", [](const Problem<T>& p, Control& c) { return solve_core<T>(p, nullptr, 2, c); }},
        {"core, from a source",
         [](const Problem<T>& p, Control& c) {
             const MatrixSource<T> source(p.cost);
             return solve_core<T>(from_source(p, source), nullptr, 2, c);
         }},
        {"ssp, from a source", [](const Problem<T>& p, Control& c) {
             const MatrixSource<T> source(p.cost);
             return solve_ssp(from_source(p, source), {.pricing = false}, 1, c);
         }}};
}

template <class T>
Certificate<Dual<T>> certify_solution(const Problem<T>& problem, const Solution<Dual<T>>& solution, int threads = 1) {
    const std::vector<std::int64_t> row_to_col(solution.row_to_col.begin(), solution.row_to_col.end());
    return certify<T>({problem.cost, problem.maximize, problem.unmatched_cost, row_to_col.data(), solution.u.data(),
                       solution.v.data(), problem.source},
                      threads);
}

// The same proof without the matrix.
template <class T>
bool is_certified_alike(const Problem<T>& problem, const Solution<Dual<T>>& solution) {
    const MatrixSource<T> source(problem.cost);
    const auto given = certify_solution(problem, solution),
               same = certify_solution(from_source(problem, source), solution);
    return same.fault == given.fault && same.exact == given.exact && same.primal == given.primal &&
           same.dual == given.dual && same.violation == given.violation &&
           (same.bound == given.bound || lies_by_columns(problem.cost));  // a bound adds up violations by lines
}

template <class T>
bool is_forbidden(const Problem<T>& problem, Index i, Index j) {
    return std::is_floating_point_v<T> && problem.at(i, j) == kInfinity<Dual<T>>;
}

template <class T>
void verify_hall(const Problem<T>& problem, const Solution<Dual<T>>& solution) {
    CHECK(solution.hall_rows.size() > solution.hall_cols.size());
    CHECK(solution.hall_rows.size() <= static_cast<std::size_t>(problem.cost.rows));
    std::vector<bool> listed(static_cast<std::size_t>(problem.cost.cols)),
        seen(static_cast<std::size_t>(problem.cost.rows));
    for (const Index j : solution.hall_cols) listed[static_cast<std::size_t>(j)] = true;
    for (const Index i : solution.hall_rows) {
        CHECK(!seen[static_cast<std::size_t>(i)]);
        seen[static_cast<std::size_t>(i)] = true;
        CHECK(problem.unmatched_cost == nullptr || problem.unmatched_cost[i] == kInfinity<Dual<T>>);
        for (Index j = 0; j < problem.cost.cols; ++j) {
            CHECK(listed[static_cast<std::size_t>(j)] || is_forbidden(problem, i, j));
        }
    }
}

// The most that rounding may add to an objective: in proportion to the largest finite magnitude.
template <class T>
double rounding_of(const Problem<T>& problem) {
    double scale = 0;
    for (Index i = 0; i < problem.cost.rows; ++i) {
        for (Index j = 0; j < problem.cost.cols; ++j) {
            if (!is_forbidden(problem, i, j)) scale = std::max(scale, std::fabs(static_cast<double>(problem.at(i, j))));
        }
        if (problem.unmatched_cost != nullptr && problem.unmatched_cost[i] < kInfinity<Dual<T>>) {
            scale = std::max(scale, std::fabs(static_cast<double>(problem.unmatched_cost[i])));
        }
    }
    return 1e-14 * scale * (problem.cost.rows + 10);
}

// Optimal: certified; complementary slackness.
template <class T>
void verify_optimal(const Problem<T>& problem, const Solution<Dual<T>>& solution, bool on_grid) {
    const auto certificate = certify_solution(problem, solution);
    CHECK(certificate.fault == Fault::none);
    CHECK(certificate.complete);
    CHECK(is_certified_alike(problem, solution));
    if (on_grid) {
        CHECK(certificate.exact);
    } else {
        CHECK(static_cast<double>(certificate.bound) <= rounding_of(problem));
    }
    const bool v_is_signed = problem.unmatched_cost != nullptr || problem.cost.rows < problem.cost.cols;
    std::vector<bool> taken(static_cast<std::size_t>(problem.cost.cols));
    for (std::size_t i = 0; i < solution.row_to_col.size(); ++i) {
        const Index j = solution.row_to_col[i];
        if (j >= 0) taken[static_cast<std::size_t>(j)] = true;
        if (j < 0) CHECK(problem.unmatched_cost != nullptr && solution.u[i] == problem.unmatched_cost[i]);
        if (on_grid && problem.unmatched_cost != nullptr) CHECK(solution.u[i] <= problem.unmatched_cost[i]);
    }
    for (std::size_t j = 0; v_is_signed && j < taken.size(); ++j) {
        CHECK(solution.v[j] <= 0);
        CHECK(taken[j] || solution.v[j] == 0);
    }
}

template <class T>
Solution<Dual<T>> solve_case(const Case<T>& the_case, const Method<T>& method) {
    tally().where = std::string(method.name) + ": " + the_case.name + ", " +
                    (std::is_floating_point_v<T> ? "float" : "int") + std::to_string(8 * sizeof(T));
    Control control;
    return method.solve(the_case.problem, control);
}

// The whole verdict on small problems.
template <class T>
void verify_with_reference(Case<T>& the_case, const Method<T>& method) {
    const Problem<T>& problem = the_case.problem;
    const auto solution = solve_case(the_case, method);
    const auto optimum = reference_optimum(problem);
    if (!CHECK(solution.status == (optimum ? Status::optimal : Status::infeasible))) return;
    if (!optimum) return verify_hall(problem, solution);
    verify_optimal(problem, solution, the_case.on_grid);
    const auto primal = static_cast<Wide<T>>(certify_solution(problem, solution).primal);
    if (the_case.on_grid) {
        CHECK(primal == *optimum);
    } else {
        CHECK(std::fabs(static_cast<double>(primal - *optimum)) <= rounding_of(problem));
    }
}

// Larger ones: either answer carries its own proof.
template <class T>
void verify_by_proof(Case<T>& the_case, const Method<T>& method) {
    const auto solution = solve_case(the_case, method);
    if (solution.status == Status::infeasible) return verify_hall(the_case.problem, solution);
    CHECK(solution.status == Status::optimal);
    verify_optimal(the_case.problem, solution, the_case.on_grid);
}

// main of a test that runs for METHOD, by its name in the table: test(method) with every number type.
template <class Test>
int run_for_method(int count, char** arguments, const Test& test) {
    with_every_type([&]<class T>() {
        for (const auto& table : {methods<T>(), hungarian_methods<T>()})
            for (const Method<T>& method : table)
                if (count == 2 && std::strcmp(method.name, arguments[1]) == 0) test(method);
    });
    CHECK(tally().checks > 100);  // or the method has no such name
    return report();
}

}  // namespace lapwing::test
