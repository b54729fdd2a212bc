// What the stages of the core method share on the GPU: the problem, the state with its invariants, and who works on it.
//
// A persistent cooperative kernel runs the whole method. The first warp of block 0 leads: it decides, and has everything done
// by a team: the threads of block 0 where few rows are at work, those of all blocks where there are many. Whoever does not
// lead waits for an `Order` (core_leader.cuh). So a step costs two barriers of a block (0.04 us each) or of the grid (1 us).
#pragma once
#include "common.cuh"

constexpr uint32 kListSize = 32;                           // candidates of a row
constexpr uint32 kRowLanes = 8;                            // lanes that work on one row
constexpr uint32 kLaneCandidates = kListSize / kRowLanes;  // 16 bytes of column numbers
constexpr uint32 kWarpRows = kWarp / kRowLanes;
constexpr uint32 kTeamThreads = THREADS;  // of each block of the persistent kernel
constexpr uint32 kOrderBytes = 256;       // room for an Order
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

// Minimise `cost` (its negative if `maximize`) over assignments of all rows; rows <= cols.
struct Matrix {
    const Cost* cost;  // [rows][row_stride], elements
    int64 row_stride;
    int32 rows, cols;
    bool maximize;

    __device__ const Cost* row(int32 i) const { return cost + i * row_stride; }
    __device__ Dual minimised(Cost c) const { return maximize ? -widened(c) : Dual(widened(c)); }
    // Not NaN, not infinite with the wrong sign, and not so large that sums overflow (cost_limit in cpp/include/lapwing/range.hpp).
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
    // Rows begin at 16-byte boundaries.
    __device__ bool aligned() const {
        return reinterpret_cast<uint64>(cost) % 16 == 0 && row_stride * sizeof(Cost) % 16 == 0;
    }
};

// `unfinished`: more rows were free after the auction than the caller wanted searches for.
enum class Status : int64 { optimal = 0, infeasible = 1, invalid = 2, contradiction = 3, unfinished = 4 };

// Counts of the lists below. Block 0 keeps them in its shared memory, and in global memory while all blocks add to them.
struct Counts {
    uint32 next;     // rows that go on: free ones in an auction, the next frontier in a search
    uint32 refresh;  // in refresh_rows
    uint32 changed;  // in changed_cols
    uint32 reached;  // in reached_cols
    uint32 full;     // in full_rows
    uint32 met;      // in met_cols
    uint32 nearer;   // not 0 if the distance of a free column fell
    uint32 moved;    // not 0 if a price moved or a row was matched
    uint32 unsound;  // not 0 if something contradicts the invariants
    uint64 answer;   // of a task that finds a number
};

// What is said about a solve, in this order to Python too (gpu/core.py).
struct Report {
    int64 status;
    int64 invalid_row;              // the first with a cost that is not valid; no such row: at least `rows`
    int64 free_rows, reached_cols;  // if infeasible: these rows, and those of these columns, have these columns alone
    int64 phases, rounds, offers;   // of the auction
    int64 searches, steps, scans;   // of the searches; scans are of lists
    int64 refreshes, full_rows;     // rows listed again, and rows all of whose columns a search looked at
    int64 left;                     // free rows after the auction
    double width;                   // of a list, tau - first: the median of some rows
    double start_bound, bound;      // the dual objective at the start and at the end, up to rounding
};

struct State {
    Matrix matrix;
    // The duals and the matching. Where lists are valid, for every row: no column outside its list has cost - v below tau; and
    // prices only rise (v only falls), so tau stays a bound. In a search u + v <= cost everywhere, with equality on matched pairs.
    Dual *u, *v;
    int32 *row_to_col, *col_to_row;
    // Candidate lists, [rows][kListSize]; a col of kNone ends a list.
    int32* list_col;
    ListCost* list_cost;
    Dual* tau;
    // Lists of rows and columns, counted in Counts.
    int32* rows_at_work[2];  // free rows or a frontier, where a row may stand twice: the present one and the next
    int32* refresh_rows;
    int32* free_rows;
    int32* changed_cols;
    int32* reached_cols;
    int32* met_cols;  // the free ones of the reached
    int32* full_rows;
    // Auction: the best offer for a column, and for which column a row offered; of this round and the one before.
    uint64* offer[2];
    int32* target[2];
    // Search: distances from the free rows (orders as unsigned; kFar), the step in which they last fell, and what leads there.
    uint64* distance;  // by column
    uint32* step;
    int32* leader;
    Dual* row_distance;   // of rows that were reached
    Dual* full_distance;  // at which all of the row's columns were looked at in search `full_search`
    uint32* full_search;
    int32* claim;  // by free row: the free column that it is matched to
    int32* roots;  // of each of met_cols the free row whose tree it is in, or kNone
    uint32* barrier;
    Counts* counts;
    struct Order* order;
    Report* report;
    unsigned char* end;  // of the workspace

    // Every array in one workspace, which begins at a 256-byte boundary; gpu/core.py knows how much is enough.
    __device__ void carve(unsigned char* base) {
        const uint64 rows = matrix.rows, cols = matrix.cols;
        take(base, report, 1);  // first, where Python reads it
        unsigned char* bytes;
        take(base, bytes, kOrderBytes);
        order = reinterpret_cast<struct Order*>(bytes);
        take(base, barrier, 1);
        take(base, counts, 1);
        take(base, list_col, rows * kListSize);
        take(base, list_cost, rows * kListSize);
        take(base, tau, rows);
        take(base, row_distance, rows);
        take(base, full_distance, rows);
        take(base, full_search, rows);
        take(base, row_to_col, rows);
        take(base, rows_at_work[0], 2 * rows);
        take(base, rows_at_work[1], 2 * rows);
        take(base, refresh_rows, rows);
        take(base, free_rows, rows);
        take(base, full_rows, rows);
        take(base, target[0], rows);
        take(base, target[1], rows);
        take(base, claim, rows);
        take(base, col_to_row, cols);
        take(base, offer[0], cols);
        take(base, offer[1], cols);
        take(base, distance, cols);
        take(base, step, cols);
        take(base, leader, cols);
        take(base, changed_cols, cols);
        take(base, reached_cols, cols);
        take(base, met_cols, cols);
        take(base, roots, cols);
        end = base;
    }
    template <class T>
    __device__ static void take(unsigned char*& base, T*& array, uint64 count) {
        array = reinterpret_cast<T*>(base);
        base += (count * sizeof(T) + 255) / 256 * 256;
    }
};

// Who carries out an order: block 0 alone, or all blocks. References are to shared memory, and known to be when inlined.
struct Team {
    State& state;
    Counts& own;  // of block 0
    bool wide;

    __device__ uint32 thread() const { return wide ? blockIdx.x * kTeamThreads + threadIdx.x : threadIdx.x; }
    __device__ uint32 threads() const { return wide ? gridDim.x * kTeamThreads : kTeamThreads; }
    __device__ uint32 block() const { return wide ? blockIdx.x : 0; }
    __device__ uint32 blocks() const { return wide ? gridDim.x : 1; }
    // All that the team wrote before is seen by all of it after.
    __device__ void sync() const {
        if (wide) {
            grid_barrier(state.barrier);
        } else {
            __syncthreads();
        }
    }
    // body(index) for each index below count, a thread each.
    template <class Body>
    __device__ void each(uint32 count, Body body) const {
        for (uint32 index = thread(); index < count; index += threads()) body(index);
    }
    // body(index) with whole warps, so that it may use warp operations; index may be count and more.
    template <class Body>
    __device__ void each_converged(uint32 count, Body body) const {
        for (uint32 index = thread(); index - lane_index() < count; index += threads()) body(index);
    }
    // body(index, part) for each index below count by kRowLanes lanes; index may be count and more.
    template <class Body>
    __device__ void each_by_lanes(uint32 count, Body body) const {
        for (uint32 at = thread(); at / kWarp * kWarpRows < count; at += threads()) {
            body(at / kRowLanes, at % kRowLanes);
        }
    }
};

// Returns a count as it was, and adds to it.
__device__ inline uint32 add_count(const Team& team, uint32 Counts::* count, uint32 more) {
    return team.wide ? atomicAdd(&(team.state.counts->*count), more) : atomicAdd(&(team.own.*count), more);
}
// Adds `item` to a list, unless it is negative. All lanes of a warp call it. The order of a list is left to chance; nothing
// that is computed depends on it.
__device__ inline void append(const Team& team, int32* list, uint32 Counts::* count, int32 item) {
    const uint32 adding = __ballot_sync(kAllLanes, item >= 0);
    if (adding == 0) return;
    const uint32 lane = lane_index(), first = __ffs(adding) - 1;
    uint32 base = 0;
    if (lane == first) base = add_count(team, count, __popc(adding));
    base = __shfl_sync(kAllLanes, base, first);
    if (item >= 0) list[base + __popc(adding & ((1u << lane) - 1))] = item;
}
// Sets a count to 1. All lanes of a warp call it.
__device__ inline void raise(const Team& team, uint32 Counts::* flag, bool raised) {
    if (!__any_sync(kAllLanes, raised) || lane_index() != 0) return;
    if (team.wide)
        atomicExch(&(team.state.counts->*flag), 1u);
    else
        atomicExch(&(team.own.*flag), 1u);
}

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

// A value that no one writes before the next barrier of the team: L1 may have it, since barriers of the grid empty L1, and
// stores of the block pass through it. What atomics change, and what others may write, is read past L1 (__ldcg).
template <class T>
__device__ inline T settled(const T* from) {
    return *from;
}

// The candidates of one lane: part `part` of row i's list.
struct Candidates {
    int32 col[kLaneCandidates];
    Dual cost[kLaneCandidates];
};
template <class T>
__device__ inline void load_four(const T* from, T* to) {
    if constexpr (sizeof(T) == 4) {
        const int4 x = settled(reinterpret_cast<const int4*>(from));
        memcpy(to, &x, 16);
    } else {
        const longlong2 x = settled(reinterpret_cast<const longlong2*>(from));
        const longlong2 y = settled(reinterpret_cast<const longlong2*>(from) + 1);
        memcpy(to, &x, 16);
        memcpy(to + 2, &y, 16);
    }
}
__device__ inline Candidates load_candidates(const State& state, int32 i, uint32 part) {
    const int64 at = static_cast<int64>(i) * kListSize + part * kLaneCandidates;
    Candidates mine;
    ListCost cost[kLaneCandidates];
    load_four(state.list_col + at, mine.col);
    load_four(state.list_cost + at, cost);
#pragma unroll
    for (uint32 k = 0; k < kLaneCandidates; ++k) mine.cost[k] = cost[k];
    return mine;
}
