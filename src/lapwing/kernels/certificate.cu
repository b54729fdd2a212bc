#include "common.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    certify_lines(const Cost* cost, int64 count, const Dual* u, int64* doubtful) {
    const int64 first = (blockIdx.x * static_cast<int64>(THREADS) + threadIdx.x) * Pack<Cost>::size;
    if (first + Pack<Cost>::size > count) return;
    const Pack<Cost> pack = load_pack(cost + first);
    int64 found = 0;
    for (const Cost c : pack.values) found += widened(c) - u[0] < Dual(0);
    found = warp_reduce(found, [](int64 a, int64 b) { return a + b; });
    if (lane_index() == 0) atomicAdd(reinterpret_cast<uint64*>(doubtful), static_cast<uint64>(found));
}
