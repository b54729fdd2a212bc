// The emulator itself: what kernels compute with it, and what it must find. Sanitisers run the same test.
#include "cuda_emulation.hpp"

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "../check.hpp"

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kLooksForRaces = true;
#else
constexpr bool kLooksForRaces = false;
#endif

using lapwing::emulation::Launch;
using lapwing::emulation::launch;

__global__ void sum_in_block(const int* values, int* sums) {
    __shared__ int partial[32];
    int x = values[blockIdx.x * blockDim.x + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (unsigned w = 0; w < (blockDim.x + 31) / 32; ++w) sum += partial[w];
        sums[blockIdx.x] = sum;
    }
}

// The grid's own barrier, as persistent kernels have it.
__device__ void grid_barrier(unsigned* arrived, unsigned* generation) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned now = __ldcg(generation);
        __threadfence();
        if (atomicAdd(arrived, 1u) == gridDim.x - 1) {
            __stcg(arrived, 0u);
            __threadfence();
            atomicAdd(generation, 1u);
        } else {
            while (__ldcg(generation) == now) __nanosleep(20);
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void pass_round(int* values, unsigned* barrier, int rounds) {
    for (int r = 0; r < rounds; ++r) {
        int x = 0;
        if (threadIdx.x == 0) x = __ldcg(&values[(blockIdx.x + 1) % gridDim.x]);
        grid_barrier(barrier, barrier + 1);
        if (threadIdx.x == 0) __stcg(&values[blockIdx.x], x);
        grid_barrier(barrier, barrier + 1);
    }
}

__global__ void reverse_in_cluster(int* values) {
    LAPWING_DYNAMIC_SHARED(memory);
    int* mine = reinterpret_cast<int*>(memory);
    const unsigned rank = lapwing::emulation::cluster_rank();
    mine[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
    lapwing::emulation::cluster_barrier();
    const int* theirs = lapwing::emulation::map_shared(mine, 3 - rank);
    values[blockIdx.x * blockDim.x + threadIdx.x] = theirs[blockDim.x - 1 - threadIdx.x];
    lapwing::emulation::cluster_barrier();
}

void computes(std::uint64_t seed) {
    std::vector<int> values(9 * 96), sums(9);
    std::iota(values.begin(), values.end(), 0);
    launch({.grid = {9}, .block = {96}, .seed = seed}, [&] { sum_in_block(values.data(), sums.data()); });
    for (int b = 0; b < 9; ++b) CHECK(sums[b] == 96 * (96 * b) + 95 * 48);

    std::vector<int> ring(7);
    std::iota(ring.begin(), ring.end(), 0);
    unsigned barrier[2] = {};
    launch({.grid = {7}, .block = {33}, .seed = seed, .cooperative = true},
           [&] { pass_round(ring.data(), barrier, 5); });
    for (int b = 0; b < 7; ++b) CHECK(ring[b] == (b + 5) % 7);

    std::vector<int> line(8 * 40);
    std::iota(line.begin(), line.end(), 0);
    launch({.grid = {8}, .block = {40}, .shared_bytes = 160, .seed = seed, .cluster_size = 4},
           [&] { reverse_in_cluster(line.data()); });
    for (int k = 0; k < 320; ++k) CHECK(line[k] == k / 160 * 160 + 159 - k % 160);
}

void warp_operations(std::uint64_t seed) {
    unsigned long long low = 99;
    unsigned wrong = 0;
    launch({.block = {64}, .seed = seed}, [&] {
        const auto expect = [&](bool holds) { atomicAdd(&wrong, holds ? 0u : 1u); };
        const unsigned lane = threadIdx.x % 32, half = lane < 16 ? 0xffffu : 0xffff0000u;
        expect(__ballot_sync(half, lane % 3 == 0) == (0x49249249u & half));
        expect(__reduce_min_sync(half, lane + 5) == (lane < 16 ? 5 : 21));
        expect(__reduce_max_sync(~0u, -static_cast<int>(lane)) == 0);
        expect(__shfl_up_sync(~0u, lane, 1) == (lane == 0 ? 0 : lane - 1));
        expect(__shfl_down_sync(~0u, 1.5 * lane, 4, 8) == 1.5 * (lane % 8 < 4 ? lane + 4 : lane));
        expect(__shfl_sync(~0u, lane, 3, 8) == lane / 8 * 8 + 3);
        expect(__match_any_sync(~0u, lane % 2) == (0x55555555u << lane % 2));
        expect(__all_sync(half, lane < 16) == (lane < 16) && __any_sync(~0u, lane == 31));
        expect(__syncthreads_count(threadIdx.x < 10) == 10 && __syncthreads_or(threadIdx.x == 63) &&
               !__syncthreads_and(threadIdx.x != 5));
        atomicMin(&low, 40 + threadIdx.x);
        if (lane >= 20) return;
        expect(__reduce_add_sync(~0u, 1u) == 20);  // without those that have returned
    });
    CHECK(low == 40 && wrong == 0);
    CHECK(__brev(1) == 0x80000000u && __ffs(0) == 0 && __clz(1) == 31 && __clzll(1) == 63);
    CHECK(__dadd_rd(1, 0x1p-80) == 1 && __dadd_ru(1, 0x1p-80) > 1 && __double2float_ru(0.1) > 0.1);
    CHECK(__dmul_ru(3, 0.1) > 3 * 0.1L && __dmul_ru(4, 0.1) == 4 * 0.1);
}

void finds(const char* words, const Launch& how, const std::function<void()>& kernel) {
    std::string message = "nothing";
    try {
        launch(how, kernel);
    } catch (const std::runtime_error& error) {
        message = error.what();
    }
    lapwing::test::tally().where = message;
    CHECK(message.find(words) != std::string::npos);
}

void finds_mistakes() {
    const Launch how{.grid = {3}, .block = {64}, .patience = 0.2};
    int flag = 0;
    finds("deadlock", how, [] {
        if (threadIdx.x < 32)
            __syncthreads();
        else
            __syncwarp(threadIdx.x == 40 ? 0x300u : ~0u);
    });
    finds("deadlock: thread 5 spins", how, [&] {
        if (threadIdx.x == 5)
            while (__ldcg(&flag) == 0) __nanosleep(10);
        __syncthreads();
    });
    finds("is not in its mask", how, [] { __syncwarp(0xff); });
    finds("different operations", how, [] { threadIdx.x % 2 == 0 ? __syncwarp() : void(__any_sync(~0u, 1)); });
    finds("different barriers", how, [] { threadIdx.x % 2 == 0 ? __syncthreads() : void(__syncthreads_or(1)); });
    finds("thrown by a kernel", how, [] {
        if (threadIdx.x == 7 && blockIdx.x == 1) throw std::runtime_error("thrown by a kernel");
        __syncthreads();
    });
}

void measure() {
    using Clock = std::chrono::steady_clock;
    constexpr int kRounds = 2000;
    const auto began = Clock::now();
    launch({.block = {256}}, [] {
        for (int k = 0; k < kRounds; ++k) __syncthreads();
    });
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - began).count() / (256.0 * kRounds);
    std::printf("%.1f ns for a switch\n", ns);
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    for (const std::uint64_t seed : {std::uint64_t{0}, first}) {
        computes(seed);
        warp_operations(seed);
    }
    if (!kLooksForRaces) {  // it would complain of the threads that a deadlock leaves behind
        finds_mistakes();
        measure();
    }
    return lapwing::test::report();
}
