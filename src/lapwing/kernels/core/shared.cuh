// The static shared memory of a block of the core's kernels: the state, the current command, and scratch memory.
//
// Scratch memory is a union. Each task uses one member from beginning to end, and a barrier of the block separates the
// tasks. `keys` and the boxes are outside the union, so they may be used together with any member of it.
#pragma once
#include "core/control/commands.cuh"
#include "costs/tuning.cuh"

constexpr uint32 kTaken = 0xffffffffu;  // greater than every key of a float

// A candidate for the list.
struct alignas(sizeof(ListCost) == 4 ? 16 : 8) Collected {
    Dual value;   // infinity: no candidate
    int32 order;  // tie_order of the column
    ListCost cost;

    __device__ bool before(const Collected& other) const {
        return (value < other.value) | ((value == other.value) & (order < other.order));
    }
};

// The candidates that a block collects while it lists a row.
struct Collection {
    Collected collected[Tuning::collected];
    Dual smallest[2 *
                  // values up to the bound: at least kWanted, and fewer than kWanted plus the number of warps
                  Tuning::list_size];
    // number of candidates below the bound (if it exceeds the capacity, some are missing); ties not collected
    uint32 below, tied;
    Dual next_bound;
};

// Of the columns whose bounds tie at `limit`, only those with a tie_order below `width` were noted.
struct Window {
    float limit;  // infinity: all columns were noted
    uint32 width;
};

// The same, with the data of the filter (core/lists/filter.cuh), which reads rows in memory.
template <bool filters>
struct FilteredCollection : Collection {
    uint32 low_smallest[2 * Tuning::list_size], low_bound;
    uint32 noted_count;               // may exceed the capacity of `noted`
    uint32 noted_before;              // noted in earlier pieces
    uint32 many_passing, many_below;  // in warps with many passing columns of a piece: within the limit, and below it
    uint32 noted_late;                // columns noted after all were counted
    Window window;
    Dual left_out;  // lower bound of all values that were not collected
    int32 noted[Tuning::noted];
    int32 next_turn;  // next row's turn when all rows are listed
};
template <>
struct FilteredCollection<false> : Collection {};

struct ListScratch : FilteredCollection<Costs::is_in_memory> {
    uint32 ahead[kMostBlockWarps];
};

// The rows and targets of a round, and those of the next round.
struct RoundScratch {
    int32 row[2][kNarrowRows], target[2][kNarrowRows];
};

// The rows of a step, and those of the next step, as far as they fit.
struct StepScratch {
    Edge at[2][kNarrowRows];
};

// Pairs of a tree and a free column that could be matched (core/search/augment.cuh). col, tree: the pairs. picked: the
// choice of each column. taken: the column that each tree took. col_degree, tree_degree: number of pairs in which
// neither side is matched. matched: whether a column is matched.
struct EndScratch {
    uint16 col[Tuning::most_ends], tree[Tuning::most_ends];
    uint32 picked[Tuning::most_trees];
    int32 taken[Tuning::most_trees];
    uint32 col_degree[Tuning::most_trees], tree_degree[Tuning::most_trees];
    bool matched[Tuning::most_trees];
};

// Rows of a backward search that a block holds, with their arcs (core/search/backward.cuh).
struct BackwardHeld {
    Edge at;
    Dual distance;
    uint64 backward;
    uint32 begin, count;  // of its arcs; none: no row
    bool fell;            // in the sweep before
};
struct BackwardScratch {
    static constexpr uint32 rows = Tuning::held_rows, most_arcs = Tuning::held_arcs;
    Dual reduced_cost[most_arcs];
    int32 col[most_arcs];
    BackwardHeld row[rows];
    uint32 arcs;  // so many were asked for
};

// Scratch memory of a block that puts a row into its row cache.
struct RowCacheScratch {
    uint32 counts[256];  // by digit
    uint32 kept, tied;
    uint32 ahead[kMostBlockWarps];
};

// Scratch memory of a block that lists rows of computed costs, several per warp (core/lists/multi_row.cuh), by warp and
// line.
template <bool computed>
struct MultiRowScratch {
    static constexpr uint32 lines = kTeamWarps * CostTuning::lines;
    int32 room[lines][Tuning::room];
    uint32 met[lines];
    uint32 invalid[kTeamWarps];
};
template <>
struct MultiRowScratch<false> {};

// The outer boxes that a block wants of those that it examines, and the boxes that it wants of a chunk, by their
// numbers from the first on; and the highest price that each warp found (core/lists/boxes.cuh).
template <bool computed>
struct BoxScratch {
    uint32 wanted;
    uint16 outer[THREADS], box[THREADS];
    ListingPrice highest[kMostBlockWarps];
};
template <>
struct BoxScratch<false> {};

// A base, which takes no room where there are no boxes.
struct Scratch : BoxScratch<Costs::is_computed> {
    union {
        ListScratch list;
        MultiRowScratch<Costs::is_computed> multi_row;
        RowCacheScratch row_cache;
        RoundScratch rounds;
        StepScratch steps;
        EndScratch ends;
        BackwardScratch backward;
        uint64 sorted[Tuning::sorted];
        Dual gaps[Tuning::gap_samples];
        double sums[kMostBlockWarps];
    };
    uint64 keys[2][kMostBlockWarps];

    __device__ BoxScratch<Costs::is_computed>& boxes() { return *this; }
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

// Returns the sum of all threads' numbers to every thread of the block. `turn` alternates from call to call.
__device__ inline uint64 sum_in_block(Scratch& scratch, uint64 mine, uint32 turn) {
    mine = warp_reduce(mine, [](uint64 a, uint64 b) { return a + b; });
    if (lane_index() == 0) scratch.keys[turn % 2][threadIdx.x / kWarp] = mine;
    __syncthreads();
    uint64 sum = 0;
    for (uint32 w = 0; w < kTeamWarps; ++w) sum += scratch.keys[turn % 2][w];
    return sum;
}
