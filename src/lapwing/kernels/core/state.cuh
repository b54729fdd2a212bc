// State shared by the stages of the core method on the GPU: the problem, the duals, the matching and the lists, with
// their invariants.
#pragma once
#include "core/arrays.cuh"
#include "core/tuning.cuh"
#include "costs/costs.cuh"

constexpr uint32 kTeamThreads = THREADS;  // of each block of the persistent kernel
constexpr uint32 kTeamWarps = THREADS / kWarp;
constexpr uint32 kMiddleBlocks =
    // blocks of a cluster, where the GPU has clusters
    THREADS < 256 ? Tuning::small_cluster_blocks : Tuning::cluster_blocks;
constexpr uint32 kNarrowRows = Tuning::rows_of_block_warp * kTeamWarps;  // most active rows of a run by block 0 alone
constexpr uint32 kMiddleRows = kMiddleBlocks * kNarrowRows;              // by the cluster of block 0
constexpr uint32 kMostBlocks = 1024;                                     // of a grid
constexpr uint32 kWanted = Tuning::list_size + 1;  // values that a listing finds: those of the list, and tau
constexpr uint32 kLine = 32;                       // 4-byte words of a cache line
constexpr uint32 kCommandBytes = 256;              // room for a Command
constexpr uint32 kArrayAlignment = 256;            // bytes; arrays of a workspace begin at its multiples (Python)
constexpr uint32 kHeadBytes = 9472;  // of a workspace before FOR_EACH_CORE_ARRAY, without row_to_col (Python)
constexpr int32 kNone = -1;
constexpr int32 kNoRow = 0x7fffffff;
constexpr uint64 kFar = ~0ull;  // a distance not found

// The type of costs in lists: that of the costs where it saves memory. Widening it restores the cost exactly.
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
// With `prices`, every row may stay free. Row i then has an unmatched column of its own, column real_cols() + i, beside
// the columns of the matrix. Its cost is prices[i], unless that is infinity. In a list it costs unmatched_cost(i),
// which is prices[i] rounded to the lists' type. Its v begins at unmatched_cost(i) - prices[i] instead of 0, so that
// cost - v equals prices[i] exactly. No other row can have this column. At the end, while it is free, its v therefore
// has its starting value, as has the v of any free column.
struct Matrix {
    Costs costs;
    int32 rows, cols;
    bool maximize;
    const Dual* prices;  // [rows], negated if `maximize`; or null

    __device__ int32 real_cols() const { return prices == nullptr ? cols : cols - rows; }
    __device__ Dual unmatched_cost(int32 i) const {
        const Dual price = prices[i];
        if constexpr (sizeof(ListCost) == sizeof(Dual)) return price;
        if (!(price < infinity<Dual>())) return price;
        constexpr double most = 3.4028234663852886e38;  // largest finite value of the lists' floats
        return static_cast<ListCost>(price > most ? most : price < -most ? -most : price);
    }
    // The cost to minimise; infinity if row i must not have column j.
    __device__ Dual at(int32 i, int32 j) const {
        const int32 real = real_cols();
        if (j >= real) return j - real == i ? unmatched_cost(i) : infinity<Dual>();
        return costs.has(i, j) ? minimised(costs.at(i, j)) : infinity<Dual>();
    }
    // Number of places of a row (costs/costs.cuh); its unmatched column, if it has one, is last.
    __device__ int32 places(int32 i) const { return costs.places(i, real_cols()) + (prices != nullptr ? 1 : 0); }
    __device__ int32 col_of(int32 i, int32 place) const {
        const int32 real = real_cols();
        return place < costs.places(i, real) ? costs.col_of(i, place) : real + i;
    }
    // The cost to minimise; infinity if row i must not have the column at this place.
    __device__ Dual at_place(int32 i, int32 place) const {
        return place < costs.places(i, real_cols()) ? minimised(costs.at_place(i, place)) : unmatched_cost(i);
    }
    __device__ Dual minimised(Cost c) const { return maximize ? -widened(c) : Dual(widened(c)); }
    // True if the cost is not NaN, not -infinity, and small enough that sums cannot overflow (cost_limit in
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

// `unfinished`: the auction left more free rows than the caller allows searches for. `stopped`: the host stopped the
// solve. `tied`: searches read many rows again, since costs tie; alternating trees can finish.
enum class SolveStatus : int64 {
    optimal = 0,
    infeasible = 1,
    invalid = 2,
    contradiction = 3,
    unfinished = 4,
    stopped = 5,
    tied = 6
};

// Counts of a round or a step. A team takes several in turn. Threads add to one before the step's last barrier and read
// it after that barrier; it is reset in the step before. If there were two, a late thread might not have read it yet.
constexpr uint32 kStepCounts = 3;
struct StepCounts {
    uint32 next;     // rows that continue: free rows of an auction, the next frontier of a search
    uint32 refresh;  // number of rows in refresh_rows
    uint32 event;    // auction: not 0 if a price moved or a row was matched; search: not 0 if a free column came nearer
    uint64 waiting;  // search: inverted bits of the nearest distance beyond the bucket limit; 0: there is none
};

// Sizes of the lists below, and other counts. Block 0 keeps them in its shared memory. While all blocks add to them,
// they are in global memory.
struct Counts {
    StepCounts step[2 * kStepCounts];  // for block 0 or for all blocks, and for its cluster: see counts_of
    uint32 refresh;                    // in refresh_rows
    uint32 insufficient;  // in insufficient_rows (costs/host_rows.cuh); of shards: in own_rows (core/lists/owners.cuh)
    uint32 full;          // in full_rows
    uint32 whole;         // rows all of whose columns are relaxed together, in successor (core/search/resolve.cuh)
    uint32 met;           // in met_cols
    uint32 displaced;     // rows that lost their columns (core/search/dummies.cuh)
    uint32 ends;          // pairs of a tree and a free column that it reaches (core/search/augment.cuh)
    uint32 free_rows;     // in free_rows
    uint32 free_cols;     // in free_cols
    uint32 at_start;      // in frontier[0], at the start of a search
    uint32 unsound;       // not 0 if something contradicts the invariants
    uint32 tried;         // rows of a sweep of local searches
    uint64 nearest;       // distance of the nearest free column, in a search for one free column
    uint64 answer;        // result of a task that computes a number
    uint64 list_gap;      // list gap, as a key, after the preparation
    uint32 listed;        // rows that blocks took to list, beyond the first row of each block
    uint32 reached;       // rows of columns within the search radius, and the latest step that set such a distance
    uint32 latest;
    uint32 settled;  // rows of a sweep of local searches that were matched or given up
};

// An active row of a search, and its column (kNone: the row is free).
struct alignas(8) Edge {
    int32 row, col;
};

// The report of a solve. Python reads it field by field (gpu/core/solver.py).
struct Report {
    int64 status;
    int64 invalid_row;  // first row with an invalid cost; at least `rows` if there is none
    // if infeasible: the number of free rows; they and the rows of reached columns have only the reached columns
    int64 free_rows;
    int64 phases, rounds, bids;    // of the auction
    int64 searches, steps, scans;  // of the searches; a scan reads one list
    int64 refreshes, full_rows;    // rows listed again; rows of which a search read all columns
    int64 left;                    // free rows after the auction
    int64 local;                   // those that local searches matched
    int64 empty_row;               // first row without any column; at least `rows` if there is none
    uint64 pieces_read;            // of boxes of columns, by the listing of all rows
    double list_gap;               // median of tau - minimum over the lists of sampled rows
    double start_bound, bound;     // dual objective at the start and, unless optimal, at the end, up to rounding
};

__device__ constexpr uint64 aligned(uint64 bytes) {
    return (bytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
}
static_assert(aligned(sizeof(Report)) + kCommandBytes + aligned(3 * kLine * sizeof(uint32)) +
                  aligned(kMostBlocks * sizeof(double)) + aligned(sizeof(Counts)) ==
              kHeadBytes);

struct State {
    Matrix matrix;
    // The duals and the matching. Where lists are valid, every row satisfies: no column outside its list has cost - v
    // below tau. Prices only rise (v only falls), so tau stays a lower bound. During a search u + v <= cost everywhere,
    // with equality on matched pairs.
    Dual *u, *v;
    int32 *row_to_col, *col_to_row;
    // Candidate lists, [rows][Tuning::list_size]; a col of kNone ends a list.
    int32* list_col;
    ListCost* list_cost;
    Dual* tau;
    // Lists of rows and columns, whose sizes are in Counts.
    int32* rows_at_work[2];  // free rows of an auction's round: current and next
    Edge* frontier[2];       // rows of a search's step, possibly with duplicates: current and next
    int32* refresh_rows;
    int32* free_rows;
    int32* free_cols;  // if the problem is square; with dummy rows, those below the level
    int32* met_cols;   // free columns within the search radius; columns that fell (core/search/backward.cuh)
    int32* full_rows;
    // Auction: the best bid for each column, and the column that each row bid for, of this round and the previous one.
    // The first of them also holds a copy of the backward distances of columns (core/search/backward.cuh), or the reach
    // of boxes (core/lists/reach.cuh).
    uint64* best_bid[2];
    int32* target[2];
    // Search: distances from the free rows (keys, ordered as unsigned numbers; kFar: not reached), the time when each
    // last fell (stamp in core/search/relax.cuh), and the predecessor: its row, and that row with its column.
    uint64* distance;  // by column
    uint32* stamp;
    int32* parent_row;
    Edge* parent_edge;
    // Where columns outnumber rows (core/search/rectangular.cuh): backward distances to free columns, by column and
    // then by free row; and the successor column of each row. Otherwise `backward_distance` holds, at the end of a
    // search, the positions of free columns and rows in their lists.
    uint64* backward_distance;
    int32* successor;
    Dual* row_distance;  // of rows in refresh_rows
    // The search that last read all columns of the row, or found that it brings none nearer (kNoneNearer), at which
    // distance of the row.
    Dual* full_distance;
    uint32* full_search;
    int32* claim;  // by free row: the free column matched to it
    // By column: the column that leads to it or, at the end, ~ the free row whose tree contains it. Where columns
    // outnumber rows, by free row: the last column of its path.
    int32* roots;
    ListingPrice* listing_price;
    // Counters of the barrier of the grid, of the barrier of the first blocks, and of commands to all blocks; each in
    // its own cache line.
    uint32* barrier;
    double* partial;  // sums, by block
    Counts* counts;
    struct Command* command;
    Report* report;
    unsigned char* end;  // of the workspace

    // Every array in one workspace, which begins at a 256-byte boundary.
    __device__ void carve(unsigned char* base) {
        const uint64 rows = matrix.rows, cols = matrix.cols;
        take(base, report, 1);  // first, so that Python finds them
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

// Distances are never negative, so their bit patterns have the same order.
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

// A reduced cost under feasible duals.
__device__ inline Dual reduced(Dual cost, Dual v, Dual u) {
    const Dual x = cost - v - u;  // may be slightly negative by rounding
    return x > Dual(0) ? x : Dual(0);
}

// Loads a value that no thread writes before the next barrier of the team. L1 may hold it, since barriers of the grid
// and of clusters invalidate L1, and stores of the block write through it. Values that atomics change or that other
// threads may write must be read past L1 (__ldcg).
template <class T>
__device__ inline T load_stable(const T* from) {
    return load_plain(from);
}
// While an object of this type exists, values may be loaded before the code knows whether it needs them. Other threads
// may be writing the values that it does not need.
#ifdef LAPWING_EMULATION
using lapwing::emulation::UnstableLoads;
#else
struct UnstableLoads {
    __device__ UnstableLoads() {}
};
#endif
// Selects one of a pair without indexing, which would put the pair into local memory.
template <class T>
__device__ inline T* pick(T* const (&pair)[2], uint32 which) {
    return which ? pair[1] : pair[0];
}

// A lane's candidate: one place of row i's list. The cost keeps its narrow type, since the lists of several rows are in
// flight before the first is used.
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
