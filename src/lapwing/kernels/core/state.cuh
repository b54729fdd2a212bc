// Shared by the stages of the core method on the GPU: the problem, and the state with its invariants.
#pragma once
#include "core/arrays.cuh"
#include "core/tuning.cuh"
#include "costs/costs.cuh"

constexpr uint32 kTeamThreads = THREADS;  // of each block of the persistent kernel
constexpr uint32 kTeamWarps = THREADS / kWarp;
constexpr uint32 kMiddleBlocks =
    THREADS < 256 ? Tuning::small_cluster_blocks : Tuning::cluster_blocks;  // a cluster, where there are clusters
constexpr uint32 kNarrowRows = Tuning::rows_of_block_warp * kTeamWarps;  // most rows at work in a run of block 0 alone
constexpr uint32 kMiddleRows = kMiddleBlocks * kNarrowRows;              // of its cluster
constexpr uint32 kMostBlocks = 1024;                                     // of a grid
constexpr uint32 kWanted = Tuning::list_size + 1;  // values that a listing looks for: the list, and tau
constexpr uint32 kLine = 32;                       // words of a line of the cache
constexpr uint32 kCommandBytes = 256;              // room for a Command
constexpr uint32 kArrayAlignment = 256;            // bytes; each array of a workspace begins at a multiple (Python)
constexpr uint32 kHeadBytes = 9472;  // of a workspace: what stands before FOR_EACH_CORE_ARRAY but row_to_col (Python)
constexpr int32 kNone = -1;
constexpr int32 kNoRow = 0x7fffffff;
constexpr uint64 kFar = ~0ull;  // a distance that was not found

// Candidates keep the type of the costs where that saves memory; widened, they are the costs.
template <class C>
struct ListCostOf {
    using type = typename DualOf<C>::type;
};
template <>
struct ListCostOf<float> {
    using type = float;
};
template <>
struct ListCostOf<float16> {
    using type = float;
};
template <>
struct ListCostOf<bfloat16> {
    using type = float;
};
using ListCost = ListCostOf<Cost>::type;
using ListingPrice = Costs::ListingPrice;

// Minimise `cost` (its negative if `maximize`) over assignments of all rows; rows <= cols.
//
// With `prices` every row may stay free: beside the columns of the matrix it has one of its own, its unmatched column,
// column real_cols() + i, at prices[i] unless that is infinity. In a list an unmatched column costs unmatched_cost(i),
// the price as far as the lists' type holds it; its v begins at unmatched_cost(i) - prices[i], not 0, so that cost - v
// is the price to the last bit. No other row can have an unmatched column, so while it is free its v stays where it
// began, as that of any free column.
struct Matrix {
    Costs costs;
    int32 rows, cols;
    bool maximize;
    const Dual* prices;  // [rows], as minimised, or null

    __device__ int32 real_cols() const { return prices == nullptr ? cols : cols - rows; }
    __device__ Dual unmatched_cost(int32 i) const {
        const Dual price = prices[i];
        if constexpr (sizeof(ListCost) == sizeof(Dual)) return price;
        if (!(price < infinity<Dual>())) return price;
        constexpr double most = 3.4028234663852886e38;  // of the lists' floats
        return static_cast<ListCost>(price > most ? most : price < -most ? -most : price);
    }
    // As minimised; infinity for what row i must not have.
    __device__ Dual at(int32 i, int32 j) const {
        const int32 real = real_cols();
        if (j >= real) return j - real == i ? unmatched_cost(i) : infinity<Dual>();
        return costs.has(i, j) ? minimised(costs.at(i, j)) : infinity<Dual>();
    }
    // The places of a row (costs/costs.cuh), those of unmatched columns behind them: of sparse costs its own alone.
    __device__ int32 places(int32 i) const {
        return Costs::is_sparse ? costs.places(i, cols) + (prices != nullptr ? 1 : 0) : cols;
    }
    __device__ int32 col_of(int32 i, int32 place) const {
        const int32 real = real_cols();
        return place < costs.places(i, real) ? costs.col_of(i, place) : Costs::is_sparse ? real + i : place;
    }
    // As minimised; infinity for what row i must not have.
    __device__ Dual at_place(int32 i, int32 place) const {
        const int32 real = real_cols();
        if (place < costs.places(i, real)) return minimised(costs.at_place(i, place));
        return Costs::is_sparse || place - real == i ? unmatched_cost(i) : infinity<Dual>();
    }
    __device__ Dual minimised(Cost c) const { return maximize ? -widened(c) : Dual(widened(c)); }
    // Not NaN, not infinite with the wrong sign, and not so large that sums overflow (cost_limit in
    // cpp/include/lapwing/numbers/range.hpp).
    __device__ bool valid(Dual cost) const {
        if constexpr (sizeof(Cost) < 8) return cost > -infinity<Dual>();
        if constexpr (Dual(0.5) != Dual(0)) {
            const double limit = 1.7976931348623157e308 / (2.0 * rows + 4);
            return cost >= -limit && (cost <= limit || cost == infinity<Dual>());
        } else {
            const int64 limit = ((int64(1) << 62) - 1) / (2 * (int64(rows) + 1)) - 1;
            return cost >= -limit && cost <= limit;
        }
    }
};

// `unfinished`: more rows were free after the auction than the caller wanted searches for. `stopped`: by the host.
enum class SolveStatus : int64 {
    optimal = 0,
    infeasible = 1,
    invalid = 2,
    contradiction = 3,
    unfinished = 4,
    stopped = 5
};

// Of a round or a step. A team has two in turn: what is added to between the round's barriers is read after the second,
// and the other one is set back meanwhile.
struct StepCounts {
    uint32 next;     // rows that go on: free ones in an auction, the next frontier in a search
    uint32 refresh;  // in refresh_rows
    uint32
        event;  // not 0 if, in an auction, a price moved or a row was matched; in a search, a free column came nearer
    uint64
        // Of a search: all bits of a distance turned, that of the nearest column beyond the bucket limit; 0: there is
        // none
        waiting;
};

// Counts of the lists below. Block 0 keeps them in its shared memory, and in global memory while all blocks add to
// them.
struct Counts {
    StepCounts step[4];   // two for block 0, or for all blocks; two for its cluster: see counts_of
    uint32 refresh;       // in refresh_rows
    uint32 insufficient;  // in insufficient_rows (costs/host_rows.cuh)
    uint32 full;          // in full_rows
    uint32 met;           // in met_cols
    uint32 ends;          // pairs of a row and a free column to which it leads (core/search/augment.cuh)
    uint32 free_rows;     // in free_rows
    uint32 free_cols;     // in free_cols
    uint32 at_start;      // in frontier[0], where a search begins
    uint32 unsound;       // not 0 if something contradicts the invariants
    uint64 nearest;       // distance of the nearest free column, in a search for that one alone
    uint64 answer;        // of a task that finds a number
    uint64 list_gap;      // of a list, as a key, when the preparation has found it
    uint32 listed;        // rows that a block has taken to list, beside the first of each
};

// A row at work in a search, and its column (kNone: the row is free).
struct alignas(8) Edge {
    int32 row, col;
};

// The report of a solve, field by field as in Python (gpu/core/solver.py).
struct Report {
    int64 status;
    int64 invalid_row;  // the first with a cost that is not valid; no such row: at least `rows`
    int64 free_rows;    // if infeasible: these rows, and those of the columns with a distance, have these columns alone
    int64 phases, rounds, bids;    // of the auction
    int64 searches, steps, scans;  // of the searches; scans are of lists
    int64 refreshes, full_rows;    // rows listed again, and rows all of whose columns a search looked at
    int64 left;                    // free rows after the auction
    int64 empty_row;               // the first that has no column at all; no such row: at least `rows`
    double list_gap;               // of a list, tau - first: the median of some rows
    double start_bound, bound;     // the dual objective at the start and, unless optimal, at the end, up to rounding
};

__device__ constexpr uint64 aligned(uint64 bytes) {
    return (bytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
}
static_assert(aligned(sizeof(Report)) + kCommandBytes + aligned(3 * kLine * sizeof(uint32)) +
                  aligned(kMostBlocks * sizeof(double)) + aligned(sizeof(Counts)) ==
              kHeadBytes);

struct State {
    Matrix matrix;
    // The duals and the matching. Where lists are valid, for every row: no column outside its list has cost - v below
    // tau; and prices only rise (v only falls), so tau stays a bound. In a search u + v <= cost everywhere, with
    // equality on matched pairs.
    Dual *u, *v;
    int32 *row_to_col, *col_to_row;
    // Candidate lists, [rows][Tuning::list_size]; a col of kNone ends a list.
    int32* list_col;
    ListCost* list_cost;
    Dual* tau;
    // Lists of rows and columns, counted in Counts.
    int32* rows_at_work[2];  // free rows of an auction's round: the present one and the next
    Edge* frontier[2];       // rows of a search's step, where one may stand twice: the present one and the next
    int32* refresh_rows;
    int32* free_rows;
    int32* free_cols;  // if the problem is square
    int32* met_cols;   // free ones within the search radius
    int32* full_rows;
    // Auction: the best bid for a column, and for which column a row bid; of this round and the one before. best_bid[0]
    // is also what rows find in a sweep (core/search/rectangular.cuh).
    uint64* best_bid[2];
    int32* target[2];
    // Search: distances from the free rows (keys, ordered as unsigned numbers; kFar: not reached), when they last fell
    // (stamp in core/search/relax.cuh), and what leads there: a row, and that row with its column.
    uint64* distance;  // by column
    uint32* stamp;
    int32* parent_row;
    Edge* parent_edge;
    // Where columns outnumber rows (core/search/rectangular.cuh): backward distances to free columns, by column, then
    // by free row; by what column a row goes on; and what rows in full_rows found. Else `backward_distance` holds what
    // long steps put aside, then the places of free columns and rows in their lists.
    uint64* backward_distance;
    int32* successor;
    uint64* full_backward_distance;
    Dual* row_distance;   // of rows in refresh_rows
    Dual* full_distance;  // at which all of the row's columns were looked at in search `full_search`
    uint32* full_search;
    int32* claim;  // by free row: the free column that it is matched to
    // By column, what it goes back to: the column that leads to it or, at last, ~ the free row whose tree it is in.
    // Where columns outnumber rows, by free row: the column at the end of its path.
    int32* roots;
    ListingPrice* listing_price;
    // Of the grid; a line later, of the first blocks; another line later, commands to all blocks so far
    uint32* barrier;
    double* partial;  // sums, by block
    Counts* counts;
    struct Command* command;
    Report* report;
    unsigned char* end;  // of the workspace

    // Every array in one workspace, which begins at a 256-byte boundary.
    __device__ void carve(unsigned char* base) {
        const uint64 rows = matrix.rows, cols = matrix.cols;
        take(base, report, 1);  // these first, where Python reads them
        take(base, row_to_col, rows);
        unsigned char* bytes;
        take(base, bytes, kCommandBytes);
        command = reinterpret_cast<struct Command*>(bytes);
        take(base, barrier, 3 * kLine);
        take(base, partial, kMostBlocks);
        take(base, counts, 1);
#define TAKE(name, type, count) take<type>(base, name, count);
        FOR_EACH_CORE_ARRAY(TAKE)
#undef TAKE
        end = base;
    }
    template <class T>
    __device__ static void take(unsigned char*& base, T*& array, uint64 count) {
        array = reinterpret_cast<T*>(base);
        base += aligned(count * sizeof(T));
    }
};

// Distances are never negative: their bits order as they do.
__device__ inline uint64 as_key(double x) { return static_cast<uint64>(__double_as_longlong(x)); }
__device__ inline uint64 as_key(int64 x) { return static_cast<uint64>(x); }
template <class D>
__device__ D from_key(uint64 key) {
    if constexpr (D(0.5) != D(0)) {
        return __longlong_as_double(static_cast<int64>(key));
    } else {
        return static_cast<int64>(key);
    }
}

// A reduced cost of feasible duals.
__device__ inline Dual reduced(Dual cost, Dual v, Dual u) {
    const Dual x = cost - v - u;  // rounding may leave it below 0
    return x > Dual(0) ? x : Dual(0);
}

// A value that no thread writes before the next barrier of the team: L1 may have it, since barriers of the grid and of
// clusters empty L1, and stores of the block pass through it. Values that atomics change, or that other threads may
// write, are read past L1 (__ldcg).
template <class T>
__device__ inline T load_stable(const T* from) {
    return load_plain(from);
}
// While one lives, values are loaded before it is known whether they are needed: those that are not may be changing.
#ifdef LAPWING_EMULATION
using lapwing::emulation::UnstableLoads;
#else
struct UnstableLoads {
    __device__ UnstableLoads() {}
};
#endif
// One of a pair, where an index would put the pair into local memory.
template <class T>
__device__ inline T* pick(T* const (&pair)[2], uint32 which) {
    return which ? pair[1] : pair[0];
}

// A lane's candidate: one place of row i's list. Its cost as it is kept: several rows' lists are in flight before the
// first is looked at.
struct Candidate {
    int32 col;
    ListCost cost;
};
__device__ inline Candidate load_candidate(const State& state, int32 i) {
    const int64 at = static_cast<int64>(i) * Tuning::list_size + lane_index();
    return {load_stable(state.list_col + at), load_stable(state.list_cost + at)};
}
__device__ inline void prefetch_list(const State& state, int32 i) {
    prefetch(state.list_col + static_cast<int64>(i) * Tuning::list_size);
    prefetch(state.list_cost + static_cast<int64>(i) * Tuning::list_size);
}
