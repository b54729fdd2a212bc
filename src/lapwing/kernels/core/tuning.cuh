// The tuning numbers of the core's kernels; those of computed costs are in costs/tuning.cuh. Nothing else in core/
// holds a number that could be another one without changing the method. Times are flat in nearly all of them: within a
// few per cent for factors of two.
//
// None of them depends on the architecture; where one should, choose it here by __CUDA_ARCH__. Python reads some of
// them from this file (gpu/runtime/tuning.py), so each of these is a plain integer: they are marked (Python).
//
// THREADS, a macro, is the size of a block of the persistent kernel. Emulated tests set it to 64, so that small
// problems reach every team.
#pragma once
#include "common/common.cuh"

struct Tuning {
    // --- lists ---
    static constexpr uint32 list_size =
        32;  // candidates of a row: one for each lane of the warp that works on it (Python)
    static constexpr uint32 collected = 512;     // candidates that fit a block's shared memory before they are ranked
    static constexpr uint32 noted = 4096;        // columns that the filter may pass to the exact test
    static constexpr uint32 few_noted = 128;     // of a piece of a row; more only if few of them tie
    static constexpr uint32 many_passing = 16;   // a warp with more passing columns notes them after all are counted
    static constexpr uint32 more_ties = 24;      // expected in a window of ties, beyond those that are wanted
    static constexpr int32 first_listers = 256;  // threads that list a row at first; again: THREADS
    static constexpr int32 held_at_first = 32, held_again = 16;  // columns of a thread in registers
    static constexpr int32 packs_ahead = 4;                      // 16-byte loads in flight of a thread that reads a row
    static constexpr uint32 full_row_ahead = 4;  // columns in flight of a thread that reads all columns of a row
    static constexpr uint32 tie_cols = 4;        // columns of a thread, side by side, where ties are collected in order
    static constexpr uint32 rank_lanes = 8;      // lanes that rank two candidates together
    static constexpr uint32 gap_samples = 64;    // rows of which the list gap is the median
    static constexpr int enough_cached = 4;      // candidates within a row cache's bound; fewer: the row is read again

    // --- lists of computed costs ---
    static constexpr uint32 room = 128;           // candidates of a row while a warp walks
    static constexpr uint32 survey_share = 16;    // of the columns, one of so many is in a survey
    static constexpr uint32 surveyed = 12;        // the limit is the so-manieth smallest value of a survey
    static constexpr int32 surveyed_cols = 4096;  // matrices with fewer columns do without a survey

    // --- teams ---
    static constexpr uint32 cluster_blocks = 8;  // blocks of the middle team, a cluster where there are any (Python)
    static constexpr uint32 small_cluster_blocks = 2;    // the same of blocks of fewer than 256 threads
    static constexpr uint32 warp_rows = 2;               // rows that a warp has at work at once (more: more code)
    static constexpr uint32 rows_of_block_warp = 4;      // rows at work for each warp, up to which block 0 works alone
    static constexpr uint32 commands_between_polls = 4;  // commands between two looks at the host's channel
    static constexpr uint32 wide_count = THREADS;        // items of a task from which all blocks take part
    static constexpr uint32 wide_cols = 8 * THREADS;     // columns, of which a thread reads several at once

    // --- auction ---
    static constexpr uint32 row_bits = 24;      // of a bid's word, so that rows are at most 2^24 (Python)
    static constexpr int unit_bits = 30;        // the grid of bids is so many powers of two finer than the list gap
    static constexpr uint32 warm_up_left = 32;  // searches follow if rounds without epsilon leave one row of so many
    static constexpr uint32 phase_left = 512;   // a phase ends when one row of so many is free

    // --- searches ---
    static constexpr double first_search_buckets = 128;  // buckets of the first search in a list gap
    // Buckets of another search in the radius of the one before. Narrow buckets save scans and cost steps: their number
    // is halved after searches that had few rows at work, and doubled after those that had many.
    static constexpr uint32 first_buckets = 8, most_buckets = 64;
    static constexpr uint32 few_at_work = 2, many_at_work = 16;  // times the most rows of block 0
    static constexpr uint32 few_ahead = 2;  // times the most rows of a cluster: a bucket with fewer is too narrow
    static constexpr uint32 most_extensions =
        32;  // of the bucket limit in a run, after which the coordinator sees the clock
    static constexpr uint32 narrow_cols = 32;  // times THREADS: of more columns, block 0 alone looks for no waiting row
    static constexpr uint32 cols_ahead = 4;    // distances in flight of a thread that reads all of them
    static constexpr uint32 unwanted_share = 8;   // of the free columns, one of so many is not searched for
    static constexpr uint32 singly = 16;          // free rows that are matched one by one, where columns outnumber rows
    static constexpr uint32 kept_distances = 4;   // distances of free columns in a thread's registers
    static constexpr uint32 radius_halvings = 8;  // of the interval that holds the radius, while steps go on
    static constexpr uint32 sorted = THREADS < 512 ? THREADS : 512;  // distances that are ranked by comparing all pairs
    static constexpr uint32 parents_ahead = 2;                    // reached columns of a warp at once (more: more code)
    static constexpr uint32 most_ends = 2048, most_trees = 1024;  // pairs and trees that are matched by degrees
    static constexpr uint32 degree_bits = 3;                      // of a tree's degree in a column's choice
    static constexpr uint32 edges_in_l1 = 1 << 14;                // parent edges that block 0 reads from its L1

    // --- start and end ---
    static constexpr int32 sample_step = 16;       // of so many rows one is in the sample of column minima (Python)
    static constexpr int32 sample_ahead = 16;      // costs in flight of a thread that takes the sample
    static constexpr int32 judged_cols = 8;        // columns of a thread that judges the sample
    static constexpr uint32 zero_share = 4;        // prices are zero if one column of so many has the least cost
    static constexpr uint32 exception_share = 16;  // of columns that may differ from the others by more than a constant
    static constexpr uint32 complete_rounds = 8;   // that match free rows of an interrupted solve side by side
};
