// The GPU's core method, run on the processor: every answer against a reference, its duals against every pair.
//
// Blocks of 64 threads, and so a low threshold for calling all blocks, make all paths run on small problems.
#include "cuda_emulation.hpp"

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "../check.hpp"
#include "../reference.hpp"

#define THREADS 64
#include "core.cu"

namespace {

using lapwing::emulation::launch;

struct Answer {
    Report report;
    std::vector<Dual> u, v;
    std::vector<int64> row_to_col;
};

Answer solve_emulated(const std::vector<Cost>& cost, int64 rows, int64 cols, bool maximize, std::uint64_t seed,
                      unsigned blocks) {
    State state;
    state.matrix = {cost.data(), cols, static_cast<int32>(rows), static_cast<int32>(cols), maximize};
    state.carve(nullptr);
    const auto bytes = reinterpret_cast<std::size_t>(state.end) + 4096;
    std::vector<unsigned char> memory(bytes, 0xa5);  // poisoned
    unsigned char* workspace = memory.data() + (256 - reinterpret_cast<std::size_t>(memory.data()) % 256);
    Answer answer;
    answer.u.assign(rows, Dual(77));
    answer.v.assign(cols, Dual(0));
    answer.row_to_col.assign(rows, 99);
    const int64 sense = maximize;
    Dual *u = answer.u.data(), *v = answer.v.data();
    launch({.grid = {2}, .block = {256}, .seed = seed},
           [&] { prepare(cost.data(), cols, rows, cols, sense, u, v, workspace); });
    launch({.grid = {2}, .block = {256}, .seed = seed},
           [&] { list_rows(cost.data(), cols, rows, cols, sense, u, v, workspace); });
    launch({.grid = {blocks}, .block = {THREADS}, .seed = seed, .cooperative = true},
           [&] { solve(cost.data(), cols, rows, cols, sense, u, v, workspace, 1.0, 1.0 / 1024, 0.25, 64, rows); });
    std::vector<int64> col_to_row(cols);
    std::vector<Dual> picked(rows);
    launch({.grid = {1}, .block = {64}, .seed = seed}, [&] {
        deliver(cost.data(), cols, rows, cols, sense, u, v, workspace, answer.row_to_col.data(), col_to_row.data(),
                picked.data());
    });
    state.carve(workspace);
    answer.report = *state.report;
    return answer;
}

void check_answer(const std::vector<Cost>& cost, int64 rows, int64 cols, bool maximize, std::uint64_t seed,
                  unsigned blocks) {
    const Answer answer = solve_emulated(cost, rows, cols, maximize, seed, blocks);
    lapwing::Problem<Cost> problem{
        {cost.data(), static_cast<int>(rows), static_cast<int>(cols), cols, 1}, maximize, nullptr};
    const auto optimum = lapwing::test::reference_optimum(problem);
    if (!optimum) {
        CHECK(answer.report.status == static_cast<int64>(Status::infeasible));
        return;
    }
    if (!CHECK(answer.report.status == static_cast<int64>(Status::optimal))) {
        std::printf("status %lld searches %lld left %lld free %lld\n", answer.report.status, answer.report.searches,
                    answer.report.left, answer.report.free_rows);
        return;
    }
    std::vector<char> taken(cols);
    const double sign = maximize ? -1 : 1;
    double objective = 0, dual = 0, worst = 0, slack = 0, scale = 1;
    for (int64 i = 0; i < rows; ++i) {
        const int64 j = answer.row_to_col[i];
        if (!CHECK(j >= 0 && j < cols && !taken[j])) return;
        taken[j] = 1;
        objective += cost[i * cols + j];
        dual += answer.u[i];
        slack = std::max(slack, std::abs(static_cast<double>(cost[i * cols + j]) - answer.u[i] - answer.v[j]));
        for (int64 k = 0; k < cols; ++k) {
            if (std::isinf(static_cast<double>(cost[i * cols + k]))) continue;
            worst = std::max(worst, -sign * (cost[i * cols + k] - answer.u[i] - answer.v[k]));
            scale = std::max(scale, std::abs(static_cast<double>(cost[i * cols + k])));
        }
    }
    for (int64 j = 0; j < cols; ++j) {
        dual += answer.v[j];
        if (rows < cols) CHECK(taken[j] ? sign * answer.v[j] <= 0 : answer.v[j] == 0);
    }
    CHECK(worst <= 1e-13 * scale);
    CHECK(slack <= 1e-13 * scale);
    CHECK(std::abs(sign * objective - static_cast<double>(*optimum)) <= 1e-11 * scale * rows);
    CHECK(std::abs(objective - dual) <= 1e-11 * scale * rows);
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

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int problems = argc > 2 ? std::atoi(argv[2]) : 60, largest = argc > 3 ? std::atoi(argv[3]) : 120;
    std::mt19937_64 random(seed);
    for (int k = 0; k < problems; ++k) {
        const int64 rows = 1 + static_cast<int64>(random() % largest);
        const int64 cols = random() % 3 ? rows : rows + static_cast<int64>(random() % largest);
        const int kind = static_cast<int>(random() % 10);
        const bool maximize = kind != 9 && random() % 4 == 0;
        const unsigned blocks = 1 + random() % 4;
        lapwing::test::tally().where = "problem " + std::to_string(k) + ": " + std::to_string(rows) + " x " +
                                       std::to_string(cols) + ", kind " + std::to_string(kind) + ", blocks " +
                                       std::to_string(blocks);
        check_answer(draw(random, rows, cols, kind), rows, cols, maximize, k % 2 ? random() : 0, blocks);
    }
    return lapwing::test::report();
}
