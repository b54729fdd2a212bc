// The tuning numbers of the core's kernels; those of computed costs are in costs/tuning.cuh. No other file in core/
// holds a number that could change without changing the method. Run times depend little on nearly all of them: a factor
// of two costs a few per cent.
//
// None of them depends on the architecture. If one should, choose it here by __CUDA_ARCH__. Python reads the numbers
// marked (Python) from this file (gpu/runtime/tuning.py), so each of these is a plain integer.
//
// THREADS, a macro, is the size of a block of the persistent kernel. Emulated tests set it to 64, so that small
// problems reach every team.
#pragma once
#include "common/common.cuh"

struct Tuning {
    // --- lists ---
    static constexpr uint32 list_size = 32;   // candidates of a row: one per lane of the warp that works on it (Python)
    static constexpr uint32 collected = 512;  // candidates that fit a block's shared memory before ranking
    static constexpr uint32 noted = 4096;     // columns that the filter may pass to the exact test
    static constexpr uint32 few_noted = 128;  // columns noted per piece of a row; more only if few of them tie
    static constexpr uint32 many_passing = 16;   // a warp with more passing columns notes them after counting all
    static constexpr int32 most_pieces = 4;      // of a row, read without a barrier
    static constexpr uint32 more_ties = 24;      // expected in a window of ties, beyond the number wanted
    static constexpr int32 first_listers = 256;  // threads that list a row at first; THREADS when it is listed again
    static constexpr int32 held_columns = 32;    // per thread in registers, where a row is listed
    static constexpr int32 packs_ahead = 4;      // 16-byte loads in flight per thread that reads a row
    static constexpr uint32 full_row_ahead = 4;  // columns in flight per thread that reads all columns of a row
    static constexpr uint32 full_rows_together = 64;  // rows of whose columns a warp reads 32
    static constexpr uint32 full_rows_ahead = 16;     // of these, in flight
    static constexpr uint32 tie_cols = 4;             // adjacent columns per thread where ties are collected in order
    static constexpr uint32 rank_lanes = 8;           // lanes that rank two candidates together
    static constexpr uint32 gap_samples = 64;         // rows whose median gap is the list gap
    static constexpr int enough_cached = 4;  // candidates within a row cache's bound; with fewer, the row is read again

    // --- lists of computed costs ---
    static constexpr uint32 room = 128;           // candidates of a row during a warp's pass over it
    static constexpr uint32 survey_share = 16;    // one of so many columns is in a survey
    static constexpr uint32 surveyed = 12;        // the limit is the surveyed-th smallest value of a survey
    static constexpr int32 surveyed_cols = 4096;  // a matrix with fewer columns needs no survey

    // --- teams ---
    static constexpr uint32 cluster_blocks = 8;        // blocks of the middle team, a cluster where available (Python)
    static constexpr uint32 small_cluster_blocks = 2;  // the same for blocks of fewer than 256 threads
    static constexpr uint32 warp_rows = 2;  // active rows per warp at one time (a larger number needs more code)
    static constexpr uint32 rows_of_block_warp = 4;      // active rows per warp up to which block 0 works alone
    static constexpr uint32 commands_between_polls = 4;  // commands between two polls of the host channel
    static constexpr uint32 wide_count = THREADS;        // a task with at least so many items runs on all blocks
    static constexpr uint32 wide_cols = 8 * THREADS;  // the same for columns, of which a thread reads several at once

    // --- auction ---
    static constexpr uint32 row_bits = 24;  // of a bid's word; rows are at most 2^24 (Python)
    static constexpr int unit_bits = 30;  // the grid of bids is 2^-unit_bits of the list gap, rounded to a power of two
    // searches follow if warm-up rounds leave at most one of so many rows free
    static constexpr uint32 warm_up_left = 32;
    // Where the first phase raises the bound much: prices of a sample are better if it leaves more than so many of 32
    // rows, all phases more than one of `doubtful_left`, or the first searches more than one of `doubtful_free` and
    // than a few.
    static constexpr uint32 structured_left = 17, doubtful_left = 32;
    static constexpr uint32 doubtful_searches = 4, doubtful_free = 256, few_free = 16;
    // short phases with finer epsilons follow if the others leave more than one of so many rows: down to a share
    static constexpr uint32 refined_left = 8, refinement = 256, refined_rounds = 8;
    static constexpr double tied = 3;  // tight pairs in a list, on average, where costs tie; without ties at most two
    static constexpr uint32 phase_left = 512;  // a phase ends when at most one of so many rows is free
    // Prices come down for dummy rows after so many rounds, then after twice as many, up to so many, or to the last
    // number where no row loses its column by that. A phase goes on, up to so many times as long, as long as one row
    // for so many of them loses its column.
    static constexpr uint32 level_rounds = 4, busy_level_rounds = 16, most_level_rounds = 64;
    static constexpr uint32 level_times = 4, unsettled = 16;
    static constexpr uint32 level_share = 8;  // the level is found to such a share of epsilon
    static constexpr uint32 far_left = 8;     // prices are far off as long as more than one of so many rows is free

    // --- searches ---
    static constexpr double first_search_buckets = 128;  // buckets per list gap, in the first search
    // Buckets per search radius of the previous search. Narrow buckets save scans but cost steps. Their number is
    // halved after searches that reached few rows per step, and doubled after searches that reached many. (Scans are
    // some ten times as many where rows are many.)
    static constexpr uint32 first_buckets = 4, most_buckets = 64;
    static constexpr uint32 few_reached = 1, many_reached = 2;  // in units of block 0's most rows
    static constexpr uint32 few_ahead = 2;  // in units of a cluster's most rows: a bucket with fewer rows is too narrow
    static constexpr uint32 most_extensions =
        32;  // of the bucket limit per run; then the coordinator checks for the host's signals
    // times THREADS: with more columns per block of a team, all blocks look for waiting rows instead
    static constexpr uint32 cols_of_block = 32;
    // buckets are too narrow if a search reached fewer than one row per bucket for so many columns
    static constexpr uint32 cols_of_row = 256;
    static constexpr uint32 cols_ahead = 4;         // distances in flight per thread that reads all of them
    static constexpr uint32 computed_full_row = 8;  // listings that a full row of computed costs takes as long as
    static constexpr uint32 unwanted_share = 8;     // a search omits one of so many free columns
    static constexpr uint32 singly = 4;  // up to so many free rows are matched one by one, where columns outnumber rows
    static constexpr uint32 local_room = 4;   // columns per lane that a local search's tree leads to
    static constexpr uint32 local_share = 8;  // sweeps go on while one of so many rows is matched or given up
    static constexpr uint32 kept_keys = 4;    // of a list, in a thread's registers
    // The pace of searches shows after one of so many of the steps that they may take. They end if they would take so
    // many thirds of these: rows take longer and longer.
    static constexpr uint32 pace_share = 16, slow_thirds = 2;
    static constexpr uint32 steps_of_radius = 8;  // a search for several columns finds its radius after so many steps
    static constexpr uint32 radius_halvings = 8;  // halvings of the interval that contains the radius, between steps
    static constexpr uint32 sorted = THREADS < 512 ? THREADS : 512;  // distances ranked by comparing all pairs
    // reached columns per warp at one time (a larger number needs more code)
    static constexpr uint32 parents_ahead = 2;
    static constexpr uint32 most_ends = 2048, most_trees = 1024;  // pairs and trees matched by degrees
    static constexpr uint32 degree_bits = 3;                      // bits of a tree's degree in a column's choice
    static constexpr uint32 edges_in_l1 = 1 << 14;                // parent edges that block 0 reads through its L1

    // Of a backward search, what a block holds: rows, and arcs.
    static constexpr uint32 held_rows = THREADS / 4, held_arcs = 7 * THREADS / 2;

    // --- start and end ---
    static constexpr int32 sample_step = 16;   // the sample of column minima has one of so many rows (Python)
    static constexpr int32 sample_ahead = 16;  // costs in flight per thread that takes the sample
    static constexpr uint32 bound_rows = 4,
                            bound_cols = 4;  // lines whose minima a warp or a thread takes at once (Python)
    static constexpr int32 judged_cols = 8;  // columns per thread that evaluates the sample
    static constexpr uint32 zero_share = 4;  // prices are zero if at least one of so many columns has the least cost
    // share of columns that may differ from the others by more than a constant
    static constexpr uint32 exception_share = 16;
    static constexpr uint32 complete_rounds = 8;  // rounds that match the free rows of an interrupted solve in parallel
};
