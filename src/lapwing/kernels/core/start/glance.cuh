// A look at a few costs. Their exponents show whether some costs are far above all others (gpu/core/large_costs.py),
// the share of the greatest whether costs are capped (gpu/core/capped.py).
#pragma once
#include "core/problem.cuh"

constexpr uint32 kGlancedRows = 16, kExponents = 2048;
// Words of the mail, as gpu/core/glance.py reads them.
enum GlanceWord : uint32 {
    kGlanceIsOver = 0,     // 1 at the end
    kGlanceExponents = 1,  // [kExponents / 32]: bit e is set if a cost has exponent e as a double
    kGlanceCapped = 65,    // how many costs, as minimised, equal the greatest of those that were read
    kGlanceRead = 66,      // how many were read
    kGlanceGreatest = 68,  // the greatest, a Dual
};
static_assert(kGlanceCapped == kGlanceExponents + kExponents / 32);

// Reads pieces of some rows, which move to the right from row to row in the upper half of the matrix, and to the left
// in the lower half. One block; mail is host memory.
extern "C" __global__ void __launch_bounds__(256) glance(LAPWING_PROBLEM, uint32* mail) {
    __shared__ uint32 seen[kExponents / 32], capped;
    __shared__ uint64 greatest;
    for (uint32 k = threadIdx.x; k < kExponents / 32; k += blockDim.x) seen[k] = 0;
    if (threadIdx.x == 0) capped = 0, greatest = 0;
    __syncthreads();
    const int64 real_cols = prices != nullptr ? cols - rows : cols;
    const int64 count = rows < kGlancedRows ? rows : kGlancedRows, upper = count / 2;
    const int64 width = real_cols < blockDim.x ? real_cols : blockDim.x, room = real_cols - width;
    const int64 shift = room / (count - upper > 1 ? count - upper - 1 : 1);
    const int64 step = rows / count;
    Dual x[kGlancedRows];
#pragma unroll
    for (uint32 t = 0; t < kGlancedRows; ++t) {
        const int64 first = t < upper ? t * shift : room - (t - upper) * shift;
        const bool is_there = t < count && threadIdx.x < width;
        x[t] = is_there ? Dual(widened(costs[t * step * pitch + first + threadIdx.x])) : Dual(0);
    }
    uint32 word = 0, bits = 0;  // this thread's exponents in one word
#pragma unroll
    for (uint32 t = 0; t < kGlancedRows; ++t) {
        const uint32 e = static_cast<uint32>(__double_as_longlong(static_cast<double>(x[t])) >> 52) & (kExponents - 1);
        if (e / 32 != word) {
            atomicOr(&seen[word], bits);
            word = e / 32, bits = 0;
        }
        bits |= 1u << e % 32;
    }
    atomicOr(&seen[word], bits);

    const uint32 own = threadIdx.x < width ? static_cast<uint32>(count) : 0;
    uint64 best = 0;
#pragma unroll
    for (uint32 t = 0; t < kGlancedRows; ++t) {
        if (maximize != 0) x[t] = -x[t];
        const uint64 key = t < own ? ordered(x[t]) : 0;
        best = key > best ? key : best;
    }
    best = warp_reduce(best, [](uint64 a, uint64 b) { return a > b ? a : b; });
    if (lane_index() == 0) atomicMax(&greatest, best);
    __syncthreads();
    const Dual cap = from_order<Dual>(greatest);
    uint32 equal = 0;
#pragma unroll
    for (uint32 t = 0; t < kGlancedRows; ++t) equal += t < own && x[t] == cap;
    equal = warp_sum(equal);
    if (lane_index() == 0) atomicAdd(&capped, equal);
    __syncthreads();

    for (uint32 k = threadIdx.x; k < kExponents / 32; k += blockDim.x) mail[kGlanceExponents + k] = seen[k];
    if (threadIdx.x == 0) {
        mail[kGlanceCapped] = capped;
        mail[kGlanceRead] = static_cast<uint32>(count * width);
        *reinterpret_cast<Dual*>(mail + kGlanceGreatest) = cap;
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *static_cast<volatile uint32*>(mail + kGlanceIsOver) = 1;
}
