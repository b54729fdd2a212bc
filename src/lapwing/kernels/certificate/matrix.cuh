// The certificate's pass over a matrix; included by certificate/certificate.cu.
#pragma once
#include "certificate/invariants.cuh"
#include "certificate/tuning.cuh"

static_assert(CertificateTuning::most_lines <= 32 && CertificateTuning::most_lines % CertificateTuning::in_flight == 0);

struct Lines {
    const Cost* cost;
    int64 lines, positions, line_stride, position_stride;
    bool maximize;
    const Dual* line_duals;   // [lines]
    const Dual* cross_duals;  // [positions]
    Found found;
};

// A thread's part of a line: 16 aligned bytes, or costs that are `step` apart. The first cost replaces missing costs.
// `in_flight` lines are loaded before the first is examined.
struct Packed {
    static constexpr uint32 size = Pack<Cost>::size, in_flight = CertificateTuning::in_flight;
    static_assert(sizeof(Pack<Cost>) == CertificateTuning::load_bytes);
    static constexpr bool adjacent = true;
    Cost values[size];
    __device__ void load(const Cost* from, int64, uint32) {
        const Pack<Cost> pack = load_pack(from);
        for (uint32 k = 0; k < size; ++k) values[k] = pack.values[k];
    }
};
template <bool kAdjacent, uint32 kSize, uint32 kInFlight>
struct Single {
    static constexpr uint32 size = kSize, in_flight = kInFlight;
    static constexpr bool adjacent = kAdjacent;
    Cost values[size];
    __device__ void load(const Cost* from, int64 step, uint32 count) {
        for (uint32 k = 0; k < size; ++k) values[k] = from[(k < count ? k : 0) * step];
    }
};

// A thread's share: `lines` lines from `begin` on, `sides` apart (after the last line, the last line again), and in
// each of them `count` positions from `first` on, `step` apart.
struct Share {
    int64 begin, sides, first, step;
    uint32 lines, count;
    __device__ int64 line(const Lines& in, uint32 n) const {
        const int64 line = begin + n * sides;
        return line < in.lines ? line : in.lines - 1;
    }
};

// The lines with undecided pairs, one bit each. The duals of the thread's positions stay in registers.
template <class Group>
__device__ uint32 doubtful_lines(const Lines& in, const Share& share) {
    Quick cross[Group::size];
    bool safe = true;
    for (uint32 k = 0; k < Group::size; ++k) {
        const int64 position = share.first + (k < share.count ? k : 0) * share.step;
        const Dual b = negated(in.cross_duals[position], in.maximize);
        if constexpr (!kIsFloat) safe = safe && is_safe(b);
        cross[k] = static_cast<Quick>(b);
    }
    const Cost* const from = in.cost + share.first * in.position_stride;
    const int64 step = share.step * in.position_stride;
    uint32 doubtful = 0;
    for (uint32 n = 0; n < share.lines; n += Group::in_flight) {
        Group groups[Group::in_flight];
        Dual duals[Group::in_flight];
#pragma unroll
        for (uint32 q = 0; q < Group::in_flight; ++q) {
            const int64 line = share.line(in, n + q);
            groups[q].load(from + line * in.line_stride, step, share.count);
            duals[q] = in.line_duals[line];
        }
#pragma unroll
        for (uint32 q = 0; q < Group::in_flight; ++q) {
            const Dual a = negated(duals[q], in.maximize);
            bool certain = safe;
            if constexpr (!kIsFloat) certain = certain && is_safe(a);
#pragma unroll
            for (uint32 k = 0; k < Group::size; ++k) {
                const Quick c = static_cast<Quick>(minimised(groups[q].values[k], in.maximize));
                certain = certain & is_certain(c, static_cast<Quick>(a), cross[k]);
            }
            doubtful |= (certain ? 0u : 1u) << (n + q);
        }
    }
    return doubtful;
}

// See certificate/invariants.cuh.
__device__ inline void require_violations(const Lines& in, const Share& share) {
    if (!kChecksInvariants) return;
    for (uint32 n = 0; n < share.lines; ++n) {
        const int64 line = share.line(in, n);
        const Dual a = negated(in.line_duals[line], in.maximize);
        for (uint32 k = 0; k < share.count; ++k) {
            const int64 position = share.first + k * share.step;
            const Cost c = in.cost[line * in.line_stride + position * in.position_stride];
            require_violation(in.found, minimised(c, in.maximize), a, negated(in.cross_duals[position], in.maximize),
                              line);
        }
    }
}

// Block b takes tile b % tiles of positions and lines [b / tiles * sides * lines_per_thread, ...). Along a line there
// are `across` threads (a power of two), each with Group::size positions; sides = THREADS / across lines are taken at
// once. A thread takes at most CertificateTuning::most_lines lines, a multiple of in_flight. It examines undecided
// lines after it has read all of them.
template <class Group>
__device__ void check_lines(const Lines& in, uint32 across, uint32 lines_per_thread) {
    const uint32 sides = THREADS / across;
    const int64 tile = static_cast<int64>(across) * Group::size;
    const int64 tiles = (in.positions + tile - 1) / tile;
    Share share;
    share.begin = blockIdx.x / tiles * sides * lines_per_thread + threadIdx.x / across;
    share.sides = sides;
    share.first = blockIdx.x % tiles * tile + threadIdx.x % across * (Group::adjacent ? Group::size : 1);
    share.step = Group::adjacent ? 1 : across;
    share.lines = lines_per_thread;
    const int64 left = (in.positions - share.first + share.step - 1) / share.step;
    if (left <= 0 || share.begin >= in.lines) return;
    share.count = left < Group::size ? static_cast<uint32>(left) : Group::size;
    uint32 doubtful = share.count == Group::size ? doubtful_lines<Group>(in, share)
                                                 : doubtful_lines<Single<Group::adjacent, Group::size, 1>>(in, share);
    for (; doubtful != 0; doubtful &= doubtful - 1) {
        const int64 line = share.line(in, __ffs(static_cast<int>(doubtful)) - 1);
        const Dual a = negated(in.line_duals[line], in.maximize);
        for (uint32 k = 0; k < share.count; ++k) {
            const int64 position = share.first + k * share.step;
            const Cost c = in.cost[line * in.line_stride + position * in.position_stride];
            const Dual b = negated(in.cross_duals[position], in.maximize);
            examine(in.found, minimised(c, in.maximize), a, b, line, position);
        }
    }
    require_violations(in, share);
}

#define LAPWING_LINE_KERNEL(name, group)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS, 3)                                                           \
        name(const Cost* cost, int64 lines, int64 positions, int64 line_stride, int64 position_stride, int64 maximize, \
             const Dual* line_duals, const Dual* cross_duals, uint64* violations, uint64* summary, int64 across,       \
             int64 lines_per_thread, const int64* row_to_col, int64 rows, int64 cols, uint32* owners) {                \
        claim_columns(row_to_col, rows, cols, owners);                                                                 \
        const Lines in{cost,        lines,           positions,                                                        \
                       line_stride, position_stride, maximize != 0,                                                    \
                       line_duals,  cross_duals,     {violations, summary + kInvalidCost}};                            \
        check_lines<group>(in, static_cast<uint32>(across), static_cast<uint32>(lines_per_thread));                    \
    }
LAPWING_LINE_KERNEL(certify_packed, Packed)
using Strided = Single<false, CertificateTuning::strided_width, CertificateTuning::in_flight>;
LAPWING_LINE_KERNEL(certify_strided, Strided)

__device__ inline bool find_cost(const Cost* costs, int64 i, int64 j, int64 row_stride, int64 col_stride, Cost& cost) {
    cost = costs[i * row_stride + j * col_stride];
    return true;
}

// The first position of one line whose violation is `amount`, as a key for report_first. One block.
extern "C" __global__ void __launch_bounds__(THREADS)
    certify_place(const Cost* cost, int64 positions, int64 position_stride, int64 maximize, const Dual* line_dual,
                  const Dual* cross_duals, const uint64* amount, uint64* place) {
    const Dual a = negated(*line_dual, maximize != 0);
    bool attained = false;
    for (int64 k = threadIdx.x; k < positions; k += THREADS) {
        const Dual c = minimised(cost[k * position_stride], maximize != 0);
        if (to_bits(excess(c, a, negated(cross_duals[k], maximize != 0))) != *amount) continue;
        report_first(place, k);
        attained = true;
    }
    require_place(attained);
}

// For a matrix that arrives in parts: picks the costs of matched pairs in lines first .. first + count - 1, which begin
// at `cost` and are `pitch` apart. picked: [rows].
extern "C" __global__ void __launch_bounds__(THREADS)
    certify_pick(const Cost* cost, int64 pitch, int64 first, int64 count, int64 by_columns, int64 rows, int64 cols,
                 const int64* row_to_col, Cost* picked) {
    for (int64 i = blockIdx.x * int64{THREADS} + threadIdx.x; i < rows; i += gridDim.x * int64{THREADS}) {
        const int64 j = row_to_col[i], line = by_columns != 0 ? j : i, position = by_columns != 0 ? i : j;
        if (j < 0 || j >= cols || line < first || line >= first + count) continue;
        picked[i] = cost[(line - first) * pitch + position];
    }
}
