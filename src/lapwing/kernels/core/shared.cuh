// The static shared memory of a block of the core's kernels: the state, the command at hand, and scratch memory.
//
// Scratch memory is a union. Each task uses one member, from its beginning to its end; a barrier of the block separates
// the tasks. `keys` is beside the union: reductions over the block may run while another member is in use.
#pragma once
#include "core/control/commands.cuh"
#include "costs/tuning.cuh"

constexpr uint32 kTaken = 0xffffffffu;  // more than every key of a float

// A column that may be in the list.
struct alignas(sizeof(ListCost) == 4 ? 16 : 8) Collected {
    Dual value;   // infinity: there is none
    int32 order;  // tie_order of the column
    ListCost cost;

    __device__ bool before(const Collected& other) const {
        return (value < other.value) | ((value == other.value) & (order < other.order));
    }
};

// Of a block that lists a row: what it collected.
struct Collection {
    Collected collected[Tuning::collected];
    Dual smallest[2 *
                  Tuning::list_size];  // to the bound: at least kWanted, and less than as many again as there are warps
    uint32 below, tied;  // collected (more than there is room for: not all); ties with the bound that were not
    Dual next_bound;
};

// Of columns whose bounds tie at `limit`, only those with a tie_order below `width` were noted.
struct Window {
    float limit;  // infinity: all were
    uint32 width;
};

// The same with what the filter needs (core/lists/filter.cuh), which reads rows in memory.
template <bool filters>
struct FilteredCollection : Collection {
    uint32 low_smallest[2 * Tuning::list_size], low_bound;
    uint32 noted_count;               // may exceed what there is room for
    uint32 noted_before;              // of the pieces before
    uint32 many_passing, many_below;  // of a piece, in warps that have many: within the limit, and below it
    uint32 noted_late;                // of these
    Window window;
    Dual left_out;  // what was not collected is not less
    int32 noted[Tuning::noted];
    int32 next_turn;  // of listing all rows
};
template <>
struct FilteredCollection<false> : Collection {};

struct ListScratch : FilteredCollection<Costs::is_in_memory> {
    uint32 ahead[kMostBlockWarps];
};

// A round's rows and their targets, and those of the next.
struct RoundScratch {
    int32 row[2][kNarrowRows], target[2][kNarrowRows];
};

// A step's rows, and those of the next, as far as there is room.
struct StepScratch {
    Edge at[2][kNarrowRows];
    uint64 aside[kNarrowRows];
};

// Pairs of a tree and a free column that could be matched (core/search/augment.cuh): which tree and which column, of
// those that there are; what a column picked, and what column a tree took; in how many pairs each is that are without
// both; which columns are matched.
struct EndScratch {
    uint16 col[Tuning::most_ends], tree[Tuning::most_ends];
    uint32 picked[Tuning::most_trees];
    int32 taken[Tuning::most_trees];
    uint32 col_degree[Tuning::most_trees], tree_degree[Tuning::most_trees];
    bool matched[Tuning::most_trees];
};

// Of a block that puts a row into its row cache.
struct RowCacheScratch {
    uint32 counts[256];  // of a digit
    uint32 kept, tied;
    uint32 ahead[kMostBlockWarps];
};

// Of a block that lists rows of computed costs, several a warp (core/lists/multi_row.cuh); by warp and line.
template <bool computed>
struct MultiRowScratch {
    static constexpr uint32 lines = kTeamWarps * CostTuning::lines;
    int32 room[lines][Tuning::room];
    uint32 met[lines];
    uint32 invalid[kTeamWarps];
};
template <>
struct MultiRowScratch<false> {};

struct Scratch {
    union {
        ListScratch list;
        MultiRowScratch<Costs::is_computed> multi_row;
        RowCacheScratch row_cache;
        RoundScratch rounds;
        StepScratch steps;
        EndScratch ends;
        uint64 sorted[Tuning::sorted];
        Dual gaps[Tuning::gap_samples];
        double sums[kMostBlockWarps];
    };
    uint64 keys[2][kMostBlockWarps];  // of use beside the rest
};

// The static shared memory of a block.
struct Shared {
    State state;
    ControlBlock control;
    Scratch scratch;
};
__device__ inline Shared& shared() {
    __shared__ Shared memory;
    return memory;
}

// The sum of all threads' numbers, in every thread of the block. `turn` alternates from call to call.
__device__ inline uint64 sum_in_block(Scratch& scratch, uint64 mine, uint32 turn) {
    mine = warp_reduce(mine, [](uint64 a, uint64 b) { return a + b; });
    if (lane_index() == 0) scratch.keys[turn % 2][threadIdx.x / kWarp] = mine;
    __syncthreads();
    uint64 sum = 0;
    for (uint32 w = 0; w < kTeamWarps; ++w) sum += scratch.keys[turn % 2][w];
    return sum;
}
