// Candidate lists of the GPU's core method, at first and again: columns in the order of cost - v, and a bound that all
// others keep.
#include "cuda_emulation.hpp"

#define THREADS 64
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../check.hpp"
#include "core/core.cu"

extern "C" __global__ void relist_all(LAPWING_PROBLEM) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    lower_all_prices(Team{state, shared().control.counts, true, gridDim.x});
    for (int64 i = blockIdx.x; i < rows; i += gridDim.x) relist_row(static_cast<int32>(i));
}

namespace {

using Random = std::mt19937_64;
constexpr bool kReal = Dual(0.5) != Dual(0);
constexpr int kKinds = 10;

double uniform(Random& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

struct Rows {
    std::vector<Cost> memory;
    int64 first, pitch, rows, cols;  // rows may begin anywhere
    bool maximize;
    std::vector<Dual> prices, v;

    int64 all_cols() const { return cols + static_cast<int64>(prices.size()); }
    const Cost* cost() const { return memory.data() + first; }
    Matrix matrix() const {
        return {{cost(), pitch},
                static_cast<int32>(rows),
                static_cast<int32>(all_cols()),
                maximize,
                prices.empty() ? nullptr : prices.data()};
    }
};

double draw_cost(Random& random, int kind, const Rows& r, int64 i, int64 j) {
    constexpr double far = 1e9;
    const double x = uniform(random);
    switch (kind) {
        case 0: return x * far;
        case 1: return std::floor(5 * x) - 2;                                                       // few values
        case 2: return x < 0.5 ? 0 : 1;                                                             // two
        case 3: return far - std::floor(3 * x);                                                     // three, large
        case 4: return j < r.cols / 3 ? 7 : 7 + std::floor(50 * x);                                 // equal on one side
        case 5: return 100 + std::floor(20 * std::sqrt(std::abs(double(j) - double(r.cols) / 2)));  // side by side
        case 6: return kReal && x < 0.8 ? (r.maximize ? -1 : 1) * infinity<double>() : x * far;     // few allowed
        case 7: return (kReal ? 1 : 1e8) * (0.1 + 0.3 * double(i) + double(j * 7919 % 10007) / 10007);  // sums
        case 8: return (kReal ? 1 : far) + (kReal ? 1e-7 : 60) * x;  // nearly one value
        default: return kReal ? std::numeric_limits<float>::denorm_min() * std::floor(4 * x - 2) : 0;
    }
}

Rows draw(Random& random, int kind, int64 most_cols) {
    Rows r;
    r.cols = 1 + static_cast<int64>(random() % most_cols);
    r.rows = std::min<int64>(r.cols, 1 + random() % 6);
    r.pitch = r.cols + (random() % 2 ? 0 : random() % 5);
    r.first = random() % 2 ? 0 : random() % 4;
    r.maximize = random() % 3 == 0;
    r.memory.resize(r.first + r.rows * r.pitch);
    for (int64 i = 0; i < r.rows; ++i) {
        for (int64 j = 0; j < r.cols; ++j)
            r.memory[r.first + i * r.pitch + j] = static_cast<Cost>(draw_cost(random, kind, r, i, j));
    }
    if (random() % 4 == 0) {
        for (int64 i = 0; i < r.rows; ++i)
            r.prices.push_back(random() % 5 ? Dual(10 * uniform(random)) : infinity<Dual>());
    }
    const int of_prices = static_cast<int>(random() % 4);
    for (int64 j = 0; j < r.all_cols(); ++j) {
        const double x = uniform(random);
        if (kind == 7)
            r.v.push_back(Dual((kReal ? 1 : 1e8) * double(j * 7919 % 10007) / 10007 + (kReal ? 1e-8 : 3) * x));
        else
            r.v.push_back(Dual(of_prices == 0   ? 0
                               : of_prices == 1 ? std::floor(3 * x)
                               : of_prices == 2 ? -1e9 * x
                                                : 1e9));
    }
    return r;
}

void check_row(const Rows& r, const State& state, int64 i) {
    const Matrix matrix = r.matrix();
    std::vector<char> listed(r.all_cols());
    Dual last = -infinity<Dual>(), least = infinity<Dual>();
    int64 count = 0, usable = 0;
    for (; count < Tuning::list_size; ++count) {
        const int64 j = state.list_col[i * Tuning::list_size + count];
        if (j < 0) break;
        if (!CHECK(j < r.all_cols() && !listed[j])) return;
        const Dual cost = state.list_cost[i * Tuning::list_size + count], x = cost - r.v[j];
        CHECK(cost == matrix.at(static_cast<int32>(i), static_cast<int32>(j)) && cost < infinity<Dual>());
        CHECK(x >= last);
        listed[j] = 1;
        last = x;
    }
    for (int64 j = 0; j < r.all_cols(); ++j) {
        const Dual cost = matrix.at(static_cast<int32>(i), static_cast<int32>(j));
        if (!(cost < infinity<Dual>())) continue;
        ++usable;
        if (!listed[j]) least = std::min(least, Dual(cost - r.v[j]));
    }
    CHECK(least >= state.tau[i]);
    CHECK(count >= std::min<int64>(usable, Tuning::list_size / 2));
}

void list(Random& random, Rows& r) {
    State state;
    state.matrix = r.matrix();
    state.carve(nullptr);
    std::vector<unsigned char> memory(reinterpret_cast<std::size_t>(state.end) + 4096, 0xa5);  // poisoned
    unsigned char* workspace = memory.data() + (256 - reinterpret_cast<std::size_t>(memory.data()) % 256);
    std::vector<Dual> u(r.rows);
    std::vector<uint64> keys(2 * r.all_cols());
    const Dual* prices = r.prices.empty() ? nullptr : r.prices.data();
    const auto run = [&](unsigned threads, bool cooperative, auto kernel, auto... more) {
        const lapwing::emulation::Launch shape{
            .grid = {2}, .block = {threads}, .seed = random() % 2 ? random() : 0, .cooperative = cooperative};
        lapwing::emulation::launch(shape, [&] {
            kernel(r.cost(), r.pitch, r.rows, r.all_cols(), int64(r.maximize), prices, u.data(), r.v.data(), workspace,
                   more...);
        });
    };
    run(256, false, prepare, keys.data(), r.all_cols(), int64(0));
    run(256, false, lower_prices);
    run(256, false, list_rows);
    state.carve(workspace);
    for (int64 i = 0; i < r.rows; ++i) check_row(r, state, i);
    for (Dual& x : r.v) x -= Dual(random() % 3);
    run(THREADS, true, relist_all);
    for (int64 i = 0; i < r.rows; ++i) check_row(r, state, i);
}

}  // namespace

int main(int argc, char** argv) {
    const auto seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const int problems = argc > 2 ? std::atoi(argv[2]) : 100;
    const int64 most_cols = argc > 3 ? std::atoll(argv[3]) : 1000;
    Random random(seed);
    for (int k = 0; k < problems; ++k) {
        Rows r = draw(random, k % kKinds, most_cols);
        lapwing::test::tally().where =
            "problem " + std::to_string(k) + ": " + std::to_string(r.rows) + " x " + std::to_string(r.cols);
        list(random, r);
    }
    return lapwing::test::report();
}
