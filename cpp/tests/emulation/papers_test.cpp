// The methods of papers on the GPU, run on the processor, one after the other on one problem after the other.
//
// The core method's kernels prepare, complete what was interrupted, and deliver.
#include <map>

#include "cuda_emulation.hpp"
#include "reference_constants.hpp"

#define THREADS 64
#define WIDE 0
#include "core/core.cu"
#include "core_cases.hpp"
#include "lapwing/methods.hpp"
#include "reference/auction.cu"
#include "reference/hungarian_bfs.cu"
#include "reference/hungarian_tree.cu"
#include "reference/munkres.cu"
#include "reference/ssp.cu"

namespace {

using lapwing::emulation::launch;

enum class Method { bfs, tree, munkres, ssp, auction };

struct Memory {
    std::vector<unsigned char> bytes;
    explicit Memory(std::size_t count) : bytes(count + 256, 0xa5) {}  // poisoned
    template <class T = unsigned char>
    T* get() {
        return reinterpret_cast<T*>(bytes.data() + (256 - reinterpret_cast<std::size_t>(bytes.data()) % 256));
    }
};
template <class Carved>
std::size_t bytes_of(Carved& carved) {
    carved.carve(nullptr);
    return reinterpret_cast<std::size_t>(carved.end) + 512;
}

// Method ssp reads the rows of the CPU in its searches. (Where a row finds no column in the start, it may count
// otherwise.)
void check_rows(const Case& c, bool pricing, const Report& report) {
    const std::vector<lapwing::Dual<Cost>> prices(c.prices.begin(), c.prices.end());
    const lapwing::Problem<Cost> problem{{c.cost.data(), static_cast<int>(c.rows), static_cast<int>(c.cols), c.cols, 1},
                                         c.maximize,
                                         c.priced() ? prices.data() : nullptr};
    lapwing::Control control;
    const auto expected = lapwing::solve_ssp(problem, {.pricing = pricing}, 1, control);
    std::map<std::string, double> counts(expected.statistics.values.begin(), expected.statistics.values.end());
    CHECK(report.phases == counts["phases"]);
    CHECK(report.scans - report.steps == counts["rows_scanned"] - counts["rows_scanned_start"]);
}

Answer solve_by(Method method, const Case& c) {
    const int64 all_cols = c.cols + (c.priced() ? c.rows : 0);
    const Dual* prices = c.priced() ? c.prices.data() : nullptr;
    State state;
    state.matrix = {{nullptr, c.cols}, static_cast<int32>(c.rows), static_cast<int32>(all_cols), c.maximize, prices};
    hungarian::Forest forest;
    ssp::Ssp search;
    forest.core.matrix = search.core.matrix = state.matrix;
    Memory workspace(bytes_of(state)), more(std::max(bytes_of(forest), bytes_of(search)));
    Answer answer;
    answer.u.assign(c.rows, Dual(77));
    answer.v.assign(all_cols, Dual(78));
    answer.row_to_col.assign(c.rows, 99);
    HostChannel channel = {};
    channel.stop = c.stop;
    std::vector<int64> col_to_row(c.cols);
    std::vector<Dual> picked(c.rows);
    Dual *u = answer.u.data(), *v = answer.v.data();
    const auto launch_as = [&](lapwing::emulation::Launch how, auto kernel, auto... last) {
        how.seed = c.seed;
        launch(how, [&] {
            kernel(c.cost.data(), c.cols, c.rows, all_cols, int64(c.maximize), prices, u, v, workspace.get(), last...);
        });
    };
    const auto run = [&](unsigned grid, unsigned block, bool cooperative, auto kernel, auto... last) {
        launch_as({.grid = {grid}, .block = {block}, .cooperative = cooperative}, kernel, last...);
    };
    const bool pricing = c.seed % 3 != 1;
    const auto solve = [&](auto kernel, auto... last) {
        run(c.blocks, THREADS, true, kernel, more.get(), &channel, last...);
    };

    run(2, 256, false, prepare, static_cast<uint64*>(nullptr), int64(0), int64(0));
    if (method == Method::bfs) {
        Memory chunk_least(c.rows * costs::chunks_of(state.matrix) * sizeof(Dual));
        solve(solve_hungarian_bfs, chunk_least.get<Dual>());
    } else if (method == Method::tree) {
        const bool by_tight_pairs = c.rows == c.cols && !c.priced() && c.seed % 2 == 0;
        const int64 line = (c.rows + 127) / 128 * 16,
                    bytes = (3 * c.rows + 8) * line + 20 * c.rows + 12 * 256;  // trees.py
        Memory tight(bytes);
        hungarian::forest().core.matrix = state.matrix;
        CHECK(hungarian::TightPairs(tight.get()).end() <= tight.get() + bytes);
        solve(solve_hungarian_tree, int64(0), infinity<double>(), by_tight_pairs ? tight.get() : nullptr);
    } else if (method == Method::ssp || method == Method::auction) {
        // With columns in shared memory or not, in a cluster or a grid without.
        const std::size_t room = (c.cols + 4 * THREADS) * ssp::Columns::bytes;
        const bool near = c.seed % 2 == 0;
        const unsigned blocks = c.blocks == 3 ? 4 : c.blocks;
        Memory far(4 * room);
        const ssp::Prices prices = method == Method::auction ? ssp::Prices::given
                                   : pricing                 ? ssp::Prices::estimated
                                                             : ssp::Prices::zero;
        solve(survey_ssp);
        if (method == Method::auction) solve(bid_auction, int64(c.seed % 7 < 5));
        launch_as({.grid = {blocks},
                   .block = {THREADS},
                   .shared_bytes = sizeof(ssp::Near) + (near ? room : 0),
                   .cooperative = true,
                   .cluster_size = c.seed % 5 < 3 ? blocks : 1},
                  solve_ssp, more.get(), &channel, static_cast<int64>(prices), near ? nullptr : far.get());
    } else {
        const int64 pitch = (c.cols + 15) / 16 * 16, stages = c.seed == 0 ? 31 : static_cast<int64>(c.seed >> 8 & 63);
        Memory slacks(c.rows * pitch * sizeof(Dual));
        const auto by_munkres = [&](auto kernel, unsigned blocks, bool cooperative, int64 by_task, int64 task) {
            run(blocks, THREADS, cooperative, kernel, more.get(), &channel, slacks.get(), pitch, stages, int64(0),
                by_task, task);
        };
        forest.carve(more.get());
        if (stages & STAGE_ONE_LAUNCH) {
            by_munkres(solve_munkres, c.blocks, true, 0, 0);
        } else {
            for (int64 task = 0; task != static_cast<int64>(hungarian::ForestTask::done); task = forest.board->task) {
                by_munkres(solve_munkres, c.blocks, false, 1, task);
                by_munkres(munkres_next, 1, false, 1, task);
            }
        }
    }

    if (c.stop > 0) run(c.blocks, THREADS, true, complete_most);
    if (c.stop > 0) run(1, THREADS, false, complete, int64(0), c.rows);
    run(1, 64, false, deliver, int64(c.stop > 0), int64(0), answer.row_to_col.data(), col_to_row.data(), picked.data(),
        u, v);
    state.carve(workspace.get());
    answer.report = *state.report;
    const bool forbidden =
        std::any_of(c.cost.begin(), c.cost.end(), [](Cost cost) { return std::isinf(double(cost)); });
    if (method == Method::ssp && c.stop == 0 && !forbidden) check_rows(c, pricing, answer.report);
    if (c.maximize) {
        for (Dual& x : answer.u) x = -x;
        for (int64 j = 0; j < c.cols; ++j) answer.v[j] = -answer.v[j];
    }
    return answer;
}

// Sums that tie, with more rows than a lane of TightPairs loads at once.
Case tied_sums(int64 n, unsigned blocks) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(0, 10);
    Case c;
    c.rows = c.cols = n;
    c.maximize = false;
    c.stop = 0;
    c.blocks = blocks;
    c.seed = 2;
    std::vector<double> x(n), y(n);
    for (double& p : x) p = uniform(random);
    for (double& p : y) p = uniform(random);
    for (const double p : x)
        for (const double q : y) c.cost.push_back(static_cast<Cost>(std::floor(p + q + uniform(random) / 10)));
    return c;
}

}  // namespace

int main(int argc, char** argv) {
    const Case tied = tied_sums(260, 3);
    const Answer answer = solve_by(Method::tree, tied);
    check_answer(tied, answer);
    CHECK(answer.report.searches > 0);  // steps along tight pairs
    int turn = 0;
    return check_problems(argc, argv, [&](const Case& c) { return solve_by(static_cast<Method>(turn++ % 5), c); });
}
