// The certificate's pass over computed costs; included by certificate/computed_certificate.cu. Lines are rows. A warp
// takes kLines of them, from the first position to the last. It computes every cost once, and once more if the quick
// test does not decide. The quick test of floats uses the costs' own precision, with u, v and their sum rounded up.
#pragma once
#include "certificate/computed_pair.cuh"

struct RowGroup {
    int64 row[kLines];
    Dual dual[kLines];  // as minimised
    Margin margin[kLines];
    SourceLines lines;
};

// The undecided pairs among a thread's positions `first`, `first` + kWarp ..., one bit each.
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

// See certificate/invariants.cuh; checks a thread's positions in one piece.
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

// Checks rows first .. first + count - 1. A long pass is several launches, so that it can be interrupted.
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
        for (uint32 r = 0; r < kLines; ++r) {  // past the end: the last line again
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
            // keeps warps at the same coordinates
            if (from / piece % kPiecesTogether == kPiecesTogether - 1) __syncthreads();
        }
    }
}
