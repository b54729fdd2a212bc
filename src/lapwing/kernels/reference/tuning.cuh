// The tuning numbers of the reference methods, a struct each. Sizes that Python allocates by are macros: `constants` of
// the programs in gpu/runtime/programs.py, where each is explained. (Lists are the core's: core/tuning.cuh.)
#pragma once
#include "common/common.cuh"

struct HungarianTuning {
    static constexpr uint32 star_rounds = 6;  // of the first matching; what they leave over, the forest does
    static constexpr uint32 band_rows = 64;   // of a lane that finds their least before it tells others
    static constexpr uint32 row_lanes = 8;    // that look at a row's list
    static constexpr uint32 few_cols = 8;     // one column of so many in the forest: these are touched one by one
    static constexpr uint32 levels_between_looks = 16;  // at the host's channel, of method hungarian-bfs and munkres
    static constexpr uint32 steps_between_looks = 4;    // of method hungarian-tree
};

struct SspTuning {
    static constexpr uint32 scans_between_looks = 64;   // at the host's channel
    static constexpr int unit_bits = 46;                // largest cost / unit, as a power of two
    static constexpr double scaling_limit = 1ll << 57;  // for the scaled range of integers
    static constexpr double epsilon_divisor = 4;        // from phase to phase, at least
    static constexpr double path_share = 8;  // divides the fall of prices that a column had: at most the next epsilon
    static constexpr double good_gap = 1.0 / 4;   // of the survey's: no greedy prices are needed
    static constexpr double pure_greedy = 1e-9;   // share of the estimate, up to which greedy prices are taken alone
    static constexpr double nothing_left = 1e-6;  // of the survey's gap: no epsilon is needed
    static constexpr double least_per_gap = 1.0 / 16;  // the last epsilon is this times gap / cols^2
};

struct AuctionTuning {
    // A row's list are the columns whose values do not exceed the `list_rank`-th smallest of the minima of
    // `list_groups` groups of columns: some 24 of the Tuning::list_size that it has room for.
    static constexpr uint32 list_groups = 64, list_rank = 20;
    static constexpr int32 divisor = 5;                  // of epsilon from phase to phase
    static constexpr double least_per_row = 1.0 / 5000;  // the last epsilon is this times range / rows
    static constexpr int unit_bits = 46;                 // largest cost / unit, as a power of two
    static constexpr int32 deepest = 64;                 // v falls by at most so many ranges
    static constexpr int64 room = 1ll << 53;             // for the scaled range of integers
    static constexpr int64 bids_per_row = 512;           // limit, over all phases
    static constexpr uint32 few_listed = 8;              // free rows with which block 0 continues alone, a warp each
    static constexpr uint32 few_read = 2;                // the same without lists
    static constexpr uint32 rounds_between_looks = 32;   // at the host's channel, by block 0 alone
};
