// The GPU's core method, run on the processor: every answer against a reference, its duals against every pair.
//
// The core's invariants are asserted after each phase and each search (core/invariants.cuh).
// Blocks of 64 threads, and so a low threshold for calling all blocks, make all paths run on small problems.
#include "cuda_emulation.hpp"

#define THREADS 64
#define LAPWING_CHECK_INVARIANTS
#include <stdexcept>

#include "core/core.cu"
#include "core_cases.hpp"

namespace {

using lapwing::emulation::launch;

Answer solve_emulated(const Case& c) {
    const int64 all_cols = c.cols + (c.priced() ? c.rows : 0);
    const Dual* prices = c.priced() ? c.prices.data() : nullptr;
    State state;
    state.matrix = {nullptr, c.cols, static_cast<int32>(c.rows), static_cast<int32>(all_cols), c.maximize, prices};
    state.carve(nullptr);
    const auto bytes = reinterpret_cast<std::size_t>(state.end) + 4096;
    std::vector<unsigned char> memory(bytes, 0xa5);  // poisoned
    unsigned char* workspace = memory.data() + (256 - reinterpret_cast<std::size_t>(memory.data()) % 256);
    Answer answer;
    answer.u.assign(c.rows, Dual(77));
    answer.v.assign(all_cols, Dual(77));
    answer.row_to_col.assign(c.rows, 99);
    HostChannel channel = {};
    Report mail = {};
    channel.stop = c.stop;
    std::vector<int64> col_to_row(c.cols);
    std::vector<Dual> picked(c.rows);
    Dual *u = answer.u.data(), *v = answer.v.data();
    const auto run = [&](unsigned grid, unsigned block, bool cooperative, auto kernel, auto... more) {
        launch({.grid = {grid}, .block = {block}, .seed = c.seed, .cooperative = cooperative}, [&] {
            kernel(c.cost.data(), c.cols, c.rows, all_cols, int64(c.maximize), prices, u, v, workspace, more...);
        });
    };
    run(2, 256, false, prepare, static_cast<uint64*>(nullptr), int64(0), int64(0));
    run(2, 256, false, lower_prices);
    run(2, 256, false, list_rows);
    run(c.blocks, THREADS, true, solve, 1.0, 1.0 / 1024, 0.25, int64(64), int64(c.seed % 2 == 0 ? 1 : 4),
        int64(c.seed % 3 == 0 ? 8 : 0), int64(~0u), infinity<double>(), infinity<double>(), c.rows,
        int64(c.has_dummies), &channel, &mail);
    if (c.stop > 0) run(c.blocks, THREADS, true, complete_most);
    if (c.stop > 0) run(1, THREADS, false, complete, int64(0), c.rows);
    if (c.priced() && c.stop == 0) run(c.blocks, THREADS, true, match_ties, int64(c.seed % 2));
    run(1, 64, false, deliver, int64(c.stop > 0), int64(0), answer.row_to_col.data(), col_to_row.data(), picked.data(),
        u, v);
    state.carve(workspace);
    answer.report = mail;
    if (c.maximize) {
        for (Dual& x : answer.u) x = -x;
        for (int64 j = 0; j < c.cols; ++j) answer.v[j] = -answer.v[j];
    }
    return answer;
}

}  // namespace

int main(int argc, char** argv) { return check_problems(argc, argv, solve_emulated); }
