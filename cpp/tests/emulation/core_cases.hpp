// Problems of all kinds for a method on the GPU, and the check of its answers: the cost against a reference, the duals
// against every pair.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "../check.hpp"
#include "../reference.hpp"

struct Case {
    std::vector<Cost> cost;  // [rows][cols]
    int64 rows, cols;
    bool maximize;
    std::vector<Dual> prices;  // as minimised; empty if all rows must be matched
    uint32 stop;               // after so many orders
    unsigned blocks;
    std::uint64_t seed;
    bool has_dummies = false;  // where columns outnumber rows (core/search/dummies.cuh)

    bool priced() const { return !prices.empty(); }
    double at(int64 i, int64 j) const { return (maximize ? -1.0 : 1.0) * cost[i * cols + j]; }  // as minimised
};

struct Answer {
    Report report;
    std::vector<Dual> u, v;  // as minimised
    std::vector<int64> row_to_col;
};

void check_answer(const Case& c, const Answer& answer) {
    const std::vector<lapwing::Dual<Cost>> prices(c.prices.begin(), c.prices.end());
    const lapwing::Problem<Cost> problem{{c.cost.data(), static_cast<int>(c.rows), static_cast<int>(c.cols), c.cols, 1},
                                         c.maximize,
                                         c.priced() ? prices.data() : nullptr};
    const auto optimum = lapwing::test::reference_optimum(problem);
    const auto status = static_cast<SolveStatus>(answer.report.status);
    if (status != SolveStatus::stopped &&
        !CHECK(status == (optimum ? SolveStatus::optimal : SolveStatus::infeasible))) {
        std::printf("status %lld searches %lld left %lld free %lld\n", answer.report.status, answer.report.searches,
                    answer.report.left, answer.report.free_rows);
        return;
    }
    if (status == SolveStatus::infeasible) return;
    std::vector<char> taken(c.cols);
    double objective = 0, dual = 0, worst = 0, slack = 0, scale = 1;
    bool complete = true;
    for (int64 i = 0; i < c.rows; ++i) {
        const int64 j = answer.row_to_col[i];
        const double price = c.priced() ? c.prices[i] : infinity<Dual>();
        dual += answer.u[i];
        if (c.priced() && price < infinity<Dual>()) worst = std::max(worst, answer.u[i] - price);
        for (int64 k = 0; k < c.cols; ++k) {
            if (std::isinf(c.at(i, k))) continue;
            worst = std::max(worst, -(c.at(i, k) - answer.u[i] - answer.v[k]));
            scale = std::max(scale, std::abs(c.at(i, k)));
        }
        if (j < 0) {
            complete &= price < infinity<Dual>();
            objective += price;
            slack = std::max(slack, std::abs(price - answer.u[i]));
            continue;
        }
        if (!CHECK(j < c.cols && !taken[j])) return;
        taken[j] = 1;
        objective += c.at(i, j);
        slack = std::max(slack, std::abs(c.at(i, j) - answer.u[i] - answer.v[j]));
    }
    for (int64 j = 0; j < c.cols; ++j) {
        dual += answer.v[j];
        if (c.rows < c.cols || c.priced()) CHECK(answer.v[j] <= 0);
        if ((c.rows < c.cols || c.priced()) && status == SolveStatus::optimal) CHECK(taken[j] || answer.v[j] == 0);
    }
    CHECK(worst <= 1e-13 * scale);
    if (!optimum) return;
    const auto best = static_cast<double>(*optimum);
    const double tolerance = 1e-11 * scale * c.rows;
    if (status == SolveStatus::stopped) {
        CHECK(dual <= best + tolerance);
        CHECK(!complete || objective >= best - tolerance);
        return;
    }
    CHECK(complete);
    CHECK(slack <= 1e-13 * scale);
    CHECK(std::abs(objective - best) <= tolerance);
    CHECK(std::abs(objective - dual) <= tolerance);
}

// Costs of many kinds.
std::vector<Cost> draw(std::mt19937_64& random, int64 rows, int64 cols, int kind) {
    std::vector<Cost> cost(rows * cols);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<double> x(rows + cols), y(rows + cols);
    for (double& p : x) p = uniform(random);
    for (double& p : y) p = uniform(random);
    const double ranges[] = {0.9, 2, 30, 1000};
    for (int64 i = 0; i < rows; ++i) {
        for (int64 j = 0; j < cols; ++j) {
            double c = uniform(random) * 1000;
            if (kind < 4) c = std::floor(uniform(random) * ranges[kind]);
            if (kind == 5) c = 1000 * (std::pow(x[i] - x[rows + j], 2) + std::pow(y[i] - y[rows + j], 2));
            if (kind == 6) c = 100 * x[i] * y[rows + j];
            if (kind == 7) c = -c;
            if (kind == 8) c = 10 * std::floor(10 * x[i]) + std::floor(10 * y[rows + j]);
            cost[i * cols + j] = static_cast<Cost>(c);
            if constexpr (Dual(0.5) != Dual(0)) {
                if (kind == 9 && uniform(random) < 0.7) cost[i * cols + j] = INFINITY;
            }
        }
    }
    return cost;
}

// Solves so many problems of at most so many rows; `solve` gives an Answer for a Case.
template <class Solve>
int check_problems(int argc, char** argv, Solve solve) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int problems = argc > 2 ? std::atoi(argv[2]) : 60, largest = argc > 3 ? std::atoi(argv[3]) : 120;
    std::mt19937_64 random(seed);
    for (int k = 0; k < problems; ++k) {
        const int64 rows = 1 + static_cast<int64>(random() % largest);
        int64 cols = random() % 3 ? rows : rows + static_cast<int64>(random() % largest);
        const int kind = static_cast<int>(random() % 10);
        Case c;
        c.maximize = kind != 9 && random() % 4 == 0;
        c.blocks = 1 + random() % 3;
        c.stop = random() % 4 ? 0 : 1 + random() % 30;
        c.seed = k % 2 ? random() : 0;
        if (random() % 4 == 0) {
            cols = 1 + static_cast<int64>(random() % largest);
            for (int64 i = 0; i < rows; ++i) {
                const double price = static_cast<double>(random() % 1000) / (Dual(0.5) != Dual(0) ? 7 : 1);
                c.prices.push_back(random() % 16 ? Dual(c.maximize ? -price : price) : infinity<Dual>());
            }
        }
        c.rows = rows, c.cols = cols;
        c.cost = draw(random, rows, cols, kind);
        c.has_dummies = (rows < cols || c.priced()) && random() % 2 == 0;
        lapwing::test::tally().where = "problem " + std::to_string(k) + ": " + std::to_string(rows) + " x " +
                                       std::to_string(cols) + (c.priced() ? " priced" : "") +
                                       (c.has_dummies ? " dummies" : "") + ", kind " + std::to_string(kind) +
                                       ", blocks " + std::to_string(c.blocks) + ", stop " + std::to_string(c.stop);
        check_answer(c, solve(c));
    }
    return lapwing::test::report();
}
