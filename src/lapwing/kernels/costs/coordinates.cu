// Coordinates of points that are on the GPU: a copy of them in the order in which costs are computed, and their range.
//
//   take_points    to[k * points + i] = coordinate k of point i; a block takes DIMS dimensions of some points, which
//                  pass through shared memory, so that reads and writes are coalesced. The least and the largest number
//                  of each dimension, and the first one that is not finite. Bytes: each coordinate is read and written
//                  once.
#include "common/common.cuh"

#include "common/warp.cuh"

template <class T>
struct ComputedWith {
    using type = float;  // numbers of 16 bits, too
};
template <>
struct ComputedWith<double> {
    using type = double;
};
using Coordinate = ComputedWith<Cost>::type;

constexpr uint32 kSide = DIMS, kAtOnce = THREADS / kSide, kTurns = kSide / kAtOnce;
static_assert(DIMS == kWarp);

// POINTS points a block, of DIMS dimensions. All blocks together: `least` and `largest`, keys (common/numbers.cuh) for
// each dimension, from all bits set and from 0; `infinite`, point * dims + dimension of the first number that is not
// finite, from all bits set.
extern "C" __global__ void __launch_bounds__(THREADS)
    take_points(const Cost* from, int64 point_stride, int64 dim_stride, int64 points, int64 dims, Coordinate* to,
                uint64* least, uint64* largest, uint64* infinite) {
    __shared__ Coordinate tile[kSide][kSide + 1];
    const int64 groups = (points + POINTS - 1) / POINTS;
    const int64 begin = blockIdx.x % groups * POINTS, end = begin + POINTS < points ? begin + POINTS : points;
    const int64 first_dim = blockIdx.x / groups * kSide;
    const uint32 x = threadIdx.x % kSide, y = threadIdx.x / kSide;
    double low[kTurns], high[kTurns];  // of dimensions first_dim + turn * kAtOnce + y
    for (uint32 turn = 0; turn < kTurns; ++turn) low[turn] = infinity<double>(), high[turn] = -infinity<double>();
    for (int64 first = begin; first < end; first += kSide) {
        for (uint32 turn = 0; turn < kTurns; ++turn) {
            const int64 i = first + turn * kAtOnce + y, k = first_dim + x;
            if (i < end && k < dims)
                tile[turn * kAtOnce + y][x] = static_cast<Coordinate>(widened(from[i * point_stride + k * dim_stride]));
        }
        __syncthreads();
        for (uint32 turn = 0; turn < kTurns; ++turn) {
            const int64 i = first + x, k = first_dim + turn * kAtOnce + y;
            if (i >= end || k >= dims) continue;
            const Coordinate number = tile[x][turn * kAtOnce + y];
            to[k * points + i] = number;
            if (!(number - number == 0)) atomicMin(infinite, static_cast<uint64>(i * dims + k));
            if (number < low[turn]) low[turn] = number;
            if (number > high[turn]) high[turn] = number;
        }
        __syncthreads();
    }
    for (uint32 turn = 0; turn < kTurns; ++turn) {
        const int64 k = first_dim + turn * kAtOnce + y;
        const double lowest = warp_reduce(low[turn], [](double a, double b) { return a < b ? a : b; });
        const double highest = warp_reduce(high[turn], [](double a, double b) { return a > b ? a : b; });
        if (x != 0 || k >= dims) continue;
        atomicMin(least + k, ordered(lowest));
        atomicMax(largest + k, ordered(highest));
    }
}
