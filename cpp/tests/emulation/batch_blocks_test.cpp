// The engines with a block a problem, on the processor: matrices in shared memory, and staged in global memory.
#include "batch_cases.hpp"

#define THREADS 64
#define COLUMNS 128
#ifndef COLUMNS_A_THREAD
#define COLUMNS_A_THREAD 2
#endif
#ifndef RECTANGULAR
#define RECTANGULAR 0
#endif
#include "batch/memory.cu"
#include "batch/shared.cu"
#include "batch/stage.cu"
#include "batch/ties.cu"

namespace {

using namespace batch_test;
using lapwing::emulation::launch;

// For problems of at most so many rows and columns as solved.
std::size_t state_bytes(const Batch& batch) {
    const bool priced = batch.priced != 0;
    const auto rows = priced ? batch.rows : std::min(batch.rows, batch.cols),
               cols = priced ? batch.cols : std::max(batch.rows, batch.cols);
    BlockState state;
    return reinterpret_cast<std::size_t>(state.carve(nullptr, static_cast<int32>(rows), static_cast<int32>(cols)));
}
std::size_t matrix_bytes(const Batch& batch) {
    const auto rows = static_cast<std::size_t>(batch.rows), cols = static_cast<std::size_t>(batch.cols);
    if (batch.priced != 0) return rows * (cols | 1) * sizeof(Stored);
    return std::min(rows, cols) * (std::max(rows, cols) | 1) * sizeof(Stored);
}
// The matching of ties, which follows the engines.
void match_more(const Batch& batch, std::uint64_t seed) {
    if (batch.priced == 0 || batch.u == nullptr) return;
    launch({.grid = {static_cast<unsigned>(batch.count)},
            .block = {THREADS},
            .shared_bytes = static_cast<std::size_t>(12 * (batch.cols + batch.rows)),
            .seed = seed},
           [&] { match_ties_of(batch); });
}

template <int kColumns>
void in_shared(const Batch& batch, std::uint64_t seed) {
    launch({.grid = {static_cast<unsigned>(batch.count)},
            .block = {BlockForm<kColumns>::threads},
            .shared_bytes = state_bytes(batch) + matrix_bytes(batch),
            .seed = seed},
           [&] { solve_block_in_shared<kColumns>(batch); });
}

template <int kColumns>
void in_memory(const Batch& batch, std::uint64_t seed) {
    const unsigned blocks = static_cast<unsigned>(batch.count);
    std::vector<Stored> staged(static_cast<std::size_t>(batch.count * batch.rows * batch.cols) + 1);
    const unsigned tiles = static_cast<unsigned>((batch.rows + 31) / 32 * ((batch.cols + 31) / 32));
    launch({.grid = {blocks * tiles}, .block = {64}, .seed = seed}, [&] { stage_tile(batch, staged.data(), tiles); });
    launch(
        {.grid = {blocks}, .block = {BlockForm<kColumns>::threads}, .shared_bytes = state_bytes(batch), .seed = seed},
        [&] { solve_block_in_memory<kColumns>(batch, staged.data()); });
}

// The smallest block, or now and then a larger one.
void in_any_shared(const Batch& batch, std::uint64_t seed) {
    seed % 11 == 0 ? in_shared<256>(batch, seed) : in_shared<128>(batch, seed);
    match_more(batch, seed);
}
void in_any_memory(const Batch& batch, std::uint64_t seed) {
    seed % 11 == 0 ? in_memory<256>(batch, seed) : in_memory<128>(batch, seed);
    match_more(batch, seed);
}

}  // namespace

// The seed; how many shapes are left out between two; the largest size.
int main(int argc, char** argv) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int step = argc > 2 ? std::atoi(argv[2]) : 7, most = argc > 3 ? std::atoi(argv[3]) : 70;
    std::vector<std::pair<int, int>> shapes;
    for (int m = 1; m <= most; m += step) {
        shapes.emplace_back(m, m);
        for (int n = 1; n <= 40 && m <= 40; n += 2 * step) shapes.emplace_back(m, n);
    }
    run_shapes(shapes, 3, in_any_shared, seed);
    run_shapes(shapes, 3, in_any_memory, seed + 1);
    return lapwing::test::report();
}
