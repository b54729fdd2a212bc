// The certificate's pass over computed costs; included by certificate/computed_certificate.cu. Lines are rows; a warp
// takes kLines of them, from the first position to the last. It computes every cost once, and again where the quick
// test is in doubt. The quick test of floats is done in the costs' own precision, with u, v and their sum rounded up.
#pragma once
#include "certificate/invariants.cuh"

// Whether c - a - b >= 0 is certain; a and b at least the duals that are meant.
__device__ inline bool is_surely_positive(float c, float a, float b) { return c > __fadd_ru(a, b); }
__device__ inline bool is_surely_positive(double c, double a, double b) { return is_certain(c, a, b); }
__device__ inline bool is_surely_positive(int64 c, int64 a, int64 b) {
    return is_safe(a) && is_safe(b) && is_certain(c, a, b);
}

struct RowGroup {
    int64 row[kLines];
    Dual dual[kLines];  // as minimised
    Margin margin[kLines];
    SourceLines lines;
};

// In which of a thread's positions `first`, `first` + kWarp ... there is a pair in doubt, a bit each.
template <bool whole>
__device__ inline uint32 doubtful_positions(const Source& source, const RowGroup& group, int64 first, int64 cols,
                                            const Dual* v, bool maximize) {
    const Margin sign = maximize ? Margin(-1) : Margin(1);  // a multiplication is exact, and no branch
    uint32 bits = 0;
#pragma unroll
    for (uint32 a = 0; a < kAhead; ++a) {
        const int64 k = first + a * kWarp;
        if (!whole && k >= cols) continue;
        Source::Position position;
        Cost costs[kLines];
        source.load_position(k, position);
        source.costs(group.lines, position, costs);
        const Margin b = upward(negated(v[k], maximize));
        bool doubtful = false;
#pragma unroll
        for (uint32 r = 0; r < kLines; ++r) doubtful |= !is_surely_positive(sign * costs[r], group.margin[r], b);
        bits |= static_cast<uint32>(doubtful) << a;
    }
    return bits;
}

__device__ inline void examine_position(const Source& source, const RowGroup& group, const Found& found, int64 k,
                                        const Dual* v, bool maximize) {
    Source::Position position;
    Cost costs[kLines];
    source.load_position(k, position);
    source.costs(group.lines, position, costs);
    const Dual b = negated(v[k], maximize);
#pragma unroll
    for (uint32 r = 0; r < kLines; ++r) {
        const Dual a = group.dual[r], c = minimised(costs[r], maximize);
        bool certain = is_certain(c, a, b);
        if constexpr (!kIsFloat) certain = certain && is_safe(a) && is_safe(b);
        if (!certain) examine(found, c, a, b, group.row[r], k);
    }
}

// See certificate/invariants.cuh; of a thread's positions in one piece.
__device__ inline void require_violations(const Source& source, const RowGroup& group, const Found& found, int64 first,
                                          int64 cols, const Dual* v, bool maximize) {
    if (!kChecksInvariants) return;
    for (int64 k = first; k < cols && k < first + kWarp * kAhead; k += kWarp) {
        Source::Position position;
        Cost costs[kLines];
        source.load_position(k, position);
        source.costs(group.lines, position, costs);
        for (uint32 r = 0; r < kLines; ++r)
            require_violation(found, minimised(costs[r], maximize), group.dual[r], negated(v[k], maximize),
                              group.row[r]);
    }
}

// Rows first .. first + count - 1: a part of all, so that a long pass can be interrupted.
extern "C" __global__ void __launch_bounds__(THREADS)
    certify_lines(const Costs::Data* data, int64 first, int64 count, int64 rows, int64 cols, int64 maximize,
                  const Dual* u, const Dual* v, uint64* violations, uint64* summary, const int64* row_to_col,
                  uint32* owners) {
    if (first == 0) claim_columns(row_to_col, rows, cols, owners);
    const Source source(data);
    const Found found = {violations, summary + kInvalidCost};
    const bool negate = maximize != 0;
    const int64 end = first + count, tile = THREADS / kWarp * kLines, piece = kWarp * kAhead;
    for (int64 base = first + blockIdx.x * tile; base < end; base += gridDim.x * tile) {
        const int64 mine = base + threadIdx.x / kWarp * kLines;
        RowGroup group;
#pragma unroll
        for (uint32 r = 0; r < kLines; ++r) {  // past the end: the last one again
            group.row[r] = mine + r < end ? mine + r : end - 1;
            group.dual[r] = negated(u[group.row[r]], negate);
            group.margin[r] = upward(group.dual[r]);
        }
        source.load(group.row, group.lines);
        for (int64 from = 0; from < cols; from += piece) {
            const int64 k = from + lane_index();
            uint32 doubtful = from + piece <= cols ? doubtful_positions<true>(source, group, k, cols, v, negate)
                                                   : doubtful_positions<false>(source, group, k, cols, v, negate);
            for (; doubtful != 0; doubtful &= doubtful - 1)
                examine_position(source, group, found, k + (__ffs(static_cast<int>(doubtful)) - 1) * kWarp, v, negate);
            require_violations(source, group, found, k, cols, v, negate);
            if (from / piece % kPiecesTogether == kPiecesTogether - 1) __syncthreads();  // at the same coordinates
        }
    }
}

__device__ inline Cost cost_at(const Costs::Data* data, int64 i, int64 j, int64, int64) {
    return Costs{data, 1}.at(i, j);
}

// The first position of row `line` whose violation is `amount`, as a key for report_first. One block.
extern "C" __global__ void __launch_bounds__(THREADS)
    certify_place(const Costs::Data* data, int64 line, int64 positions, int64 maximize, const Dual* line_dual,
                  const Dual* cross_duals, const uint64* amount, uint64* place) {
    const Dual a = negated(*line_dual, maximize != 0);
    bool attained = false;
    for (int64 k = threadIdx.x; k < positions; k += THREADS) {
        const Dual c = minimised(cost_at(data, line, k, 0, 0), maximize != 0);
        if (to_bits(excess(c, a, negated(cross_duals[k], maximize != 0))) != *amount) continue;
        report_first(place, k);
        attained = true;
    }
    require_place(attained);
}

// The cost of one pair, for a message.
extern "C" __global__ void __launch_bounds__(THREADS) read_cost(const Costs::Data* data, int64 i, int64 j, Cost* out) {
    if (threadIdx.x == 0) *out = cost_at(data, i, j, 0, 0);
}
