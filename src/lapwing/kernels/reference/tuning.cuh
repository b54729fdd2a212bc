// The tuning numbers of the reference methods, one struct each. Sizes by which Python allocates memory are macros:
// `constants` of the programs in gpu/runtime/programs.py, which explains them. (Lists are the core's: core/tuning.cuh.)
#pragma once
#include "common/common.cuh"

struct HungarianTuning {
    static constexpr uint32 star_rounds = 6;  // rounds of the first matching; the forest matches the remaining rows
    static constexpr uint32 band_rows = 64;   // rows per lane before it combines their minimum with other lanes
    static constexpr uint32 row_lanes = 8;    // lanes that read a row's list
    // if at most one column of so many is in the forest, columns are changed one by one
    static constexpr uint32 few_cols = 8;
    static constexpr uint32 levels_between_looks = 16;  // polls of the host channel, for hungarian-bfs and munkres
    static constexpr uint32 steps_between_looks = 4;    // the same for hungarian-tree
    static constexpr uint32 first_levels = 64;          // that hungarian-tree may take before it matches a row
};

struct SspTuning {
    static constexpr uint32 scans_between_looks = 64;   // between polls of the host channel
    static constexpr int unit_bits = 46;                // largest cost / unit, as a power of two
    static constexpr double scaling_limit = 1ll << 57;  // for the scaled range of integers
    static constexpr double epsilon_divisor = 4;        // from phase to phase, at least
    // the next epsilon is at most a column's mean fall of prices divided by this
    static constexpr double path_share = 8;
    static constexpr double good_gap = 1.0 / 4;   // share of the survey's gap: no greedy prices are needed below it
    static constexpr double pure_greedy = 1e-9;   // share of the estimate: greedy prices are used alone up to it
    static constexpr double nothing_left = 1e-6;  // share of the survey's gap: no epsilon is needed below it
    static constexpr double least_per_gap = 1.0 / 16;  // the last epsilon is this times gap / cols^2
};

struct AuctionTuning {
    // A row's list has the columns whose values do not exceed the `list_rank`-th smallest of the minima of
    // `list_groups` groups of columns: about 24 of Tuning::list_size places.
    static constexpr uint32 list_groups = 64, list_rank = 20;
    static constexpr int32 divisor = 5;                  // of epsilon from phase to phase
    static constexpr double least_per_row = 1.0 / 5000;  // the last epsilon is this times range / rows
    static constexpr int unit_bits = 46;                 // largest cost / unit, as a power of two
    static constexpr int32 deepest = 64;                 // v falls by at most so many ranges
    static constexpr int64 room = 1ll << 53;             // for the scaled range of integers
    static constexpr int64 bids_per_row = 512;           // limit, over all phases
    static constexpr uint32 few_listed = 8;              // free rows with which block 0 continues alone, one warp each
    static constexpr uint32 few_read = 2;                // the same without lists
    static constexpr uint32 rounds_between_looks = 32;   // between polls of the host channel, by block 0 alone
};
