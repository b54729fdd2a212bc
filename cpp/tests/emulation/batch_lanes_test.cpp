// The engine for tiny problems, on the processor: every size, every kind of cost, against the reference.
#include "batch_cases.hpp"

#define WARPS 2
#include "batch/lanes.cu"

namespace {

using namespace batch_test;

void launch_lanes(const Batch& batch, std::uint64_t seed) {
    const auto run = [&]<int G>(std::integral_constant<int, G>) {
        const unsigned per_block = WARPS * 32 / G;
        const unsigned blocks = static_cast<unsigned>((batch.count + per_block - 1) / per_block);
        lapwing::emulation::launch({.grid = {blocks}, .block = {WARPS * 32}, .seed = seed},
                                   [&] { solve_in_lanes<G>(batch); });
    };
    const int64 longest = std::max(batch.rows, batch.cols);
    if (longest <= 8)
        run(std::integral_constant<int, 8>{});
    else if (longest <= 16)
        run(std::integral_constant<int, 16>{});
    else
        run(std::integral_constant<int, 32>{});
}

}  // namespace

// The seed, and how many shapes are left out between two.
int main(int argc, char** argv) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int step = argc > 2 ? std::atoi(argv[2]) : 1;
    std::vector<std::pair<int, int>> shapes;
    for (int m = 1; m <= 32; m += step) {
        shapes.emplace_back(m, m);
        for (int n = 1; n <= 32; n += 3 * step) shapes.emplace_back(m, n);
    }
    run_shapes(shapes, 9, launch_lanes, seed);
    return lapwing::test::report();
}
