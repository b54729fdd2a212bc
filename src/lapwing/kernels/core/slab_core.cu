// Row caches (costs/host_rows.cuh) of rows that a GPU has computed into a buffer, for the GPU that solves
// (gpu/core/slab_solver.py): of all columns when they are listed, of some columns when they are requested.
//
//   cache_parts   for each row and each part of its columns, those with the smallest cost - v, written to the row's
//                 cache on the GPU that solves; and a bound on the others, which the host joins to the row's
//
// `row` [count][row_pitch] holds columns first_col .. first_col + width - 1 of the rows whose[0] .. whose[count - 1],
// and `v` the prices of these columns. Rows begin at multiples of 16 bytes. A block takes `each` columns of a row, a
// multiple of a pack, and fills `room` places of its cache, from place (first_part + part) * room on: those of a row
// are col_pitch columns, and cost_pitch costs, from those of the row before. Places that remain have a forbidden cost.
// The choice does not depend on the order of threads.
//
// Cost: a read of the row and of v, and a quarter of another (core/lists/build.cuh); caches are written over the link.
#include "costs/host_rows.cuh"

#include "core/lists/build.cuh"
#include "core/problem.cuh"

// A part of a row, as it can be collected (core/lists/build.cuh): `count` costs and prices from column `first` on.
struct RowPart {
    const Cost* row;
    const Dual* v;
    int32 first, count;

    template <class F>
    __device__ void operator()(const State& state, int32, F f) const {
        constexpr int32 size = Pack<Cost>::size, kAhead = Tuning::packs_ahead;
        const int32 packs = (count + size - 1) / size;
        for (int32 base = threadIdx.x; base < packs; base += kAhead * blockDim.x) {
            Pack<Cost> pack[kAhead];
            Dual price[kAhead][size];
#pragma unroll
            for (int32 a = 0; a < kAhead; ++a) {
                const int32 k = (base + a * blockDim.x) * size;
                if (k >= count) break;
                pack[a] = load_pack(row + k);
#pragma unroll
                for (int32 e = 0; e < size; ++e) price[a][e] = v[k + e < count ? k + e : count - 1];
            }
#pragma unroll
            for (int32 a = 0; a < kAhead; ++a) {
                const int32 k = (base + a * blockDim.x) * size;
                if (k >= count) break;
#pragma unroll
                for (int32 e = 0; e < size; ++e) {
                    if (k + e >= count) break;
                    const Dual cost = state.matrix.minimised(pack[a].values[e]);
                    f(first + k + e, cost, cost - price[a][e]);
                }
            }
        }
    }
};

// The part that the block has.
__device__ inline RowPart& own_part() {
    __shared__ RowPart part;
    return part;
}

// See core/lists/build.cuh.
LAPWING_NOINLINE __device__ void collect_ties(int32 i, Dual bound) { collect_ties_of(own_part(), i, bound); }

// Writes the `room` smallest candidates of the block and returns, to every thread, a lower bound of all columns of the
// part that are left out.
__device__ inline Dual write_part(const Matrix& matrix, int32 i, uint32 room, int32* to_cols, Cost* to_costs) {
    ListScratch& scratch = shared().scratch.list;
    const uint32 count = scratch.below, warps = blockDim.x / kWarp;
    const int32 first = first_tie(matrix, i), cols = matrix.cols;
    for (uint32 mine = threadIdx.x / kWarp; mine < count; mine += warps) {
        const Collected its = scratch.collected[mine];
        const uint32 rank = warp_count(count, [&](uint32 k) { return scratch.collected[k].before(its); });
        if (lane_index() != 0) continue;
        if (rank < room) {
            to_cols[rank] = its.order < cols - first ? its.order + first : its.order + first - cols;
            to_costs[rank] = static_cast<Cost>(matrix.maximize ? -its.cost : its.cost);
        } else if (rank == room && its.value < scratch.next_bound) {
            scratch.next_bound = its.value;
        }
    }
    for (uint32 k = count + threadIdx.x; k < room; k += blockDim.x) {
        to_cols[k] = 0;
        to_costs[k] = static_cast<Cost>(matrix.maximize ? -infinity<Dual>() : infinity<Dual>());
    }
    __syncthreads();
    return scratch.next_bound;
}

extern "C" __global__ void __launch_bounds__(256)
    cache_parts(LAPWING_PROBLEM, const Cost* row, int64 row_pitch, const int32* whose, int64 first_col, int64 width,
                int64 each, int64 parts, int64 first_part, int64 room, int32* to_cols, int64 col_pitch, Cost* to_costs,
                int64 cost_pitch, Dual* bounds) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const int64 k = blockIdx.x / parts, part = blockIdx.x % parts, begin = part * each;
    const int64 end = begin + each < width ? begin + each : width;
    const int32 i = whose[k], count = static_cast<int32>(end - begin);
    if (threadIdx.x == 0)
        own_part() = {row + k * row_pitch + begin, state.v + begin, static_cast<int32>(first_col + begin), count};
    __syncthreads();
    const uint32 packs = static_cast<uint32>((count + Pack<Cost>::size - 1) / Pack<Cost>::size);
    collect_from(i, packs < blockDim.x ? packs : blockDim.x, own_part());
    __syncthreads();
    const int64 place = (first_part + part) * room;
    const Dual bound = write_part(state.matrix, i, static_cast<uint32>(room), to_cols + k * col_pitch + place,
                                  to_costs + k * cost_pitch + place);
    if (threadIdx.x == 0) bounds[blockIdx.x] = bound;
}
