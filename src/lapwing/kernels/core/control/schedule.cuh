// The schedule of a solve, as Python chooses it: struct Schedule of gpu/core/solver.py, and dummy rows.
#pragma once
#include "common/common.cuh"

struct Schedule {
    double first, last, factor;  // epsilons in units of the list gap: from `first` to `last` by the factor, then zero
    uint32 rounds, times;        // most rounds of a phase; so many times as many where prices prove far off
    uint32 warm_up;              // most rounds of the warm-up phase with epsilon zero
    uint32 most_steps;           // of all searches: after as many the solve ends, unfinished
    // in list gaps per row: if the first phase raises the bound by more, the starting prices are doubtful. They are
    // poor if it leaves many rows, too, or all phases do, or the first searches.
    double structure_threshold;
    double most_reads;  // rows that searches read again, for each row: with more of them, another method may be better
    bool has_dummies;   // columns that outnumber rows go to dummy rows (core/search/dummies.cuh)
};
