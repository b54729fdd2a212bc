// The state that the Hungarian methods share on the GPU: "munkres", "hungarian-bfs" and "hungarian-tree".
//
// A forest of alternating paths grows from all free rows at once, along tight pairs. An iteration ends when some trees
// have reached a free column (or an unmatched column); one path in each of them is flipped, and these paths have no
// vertex in common. When the forest cannot grow, the least slack of a pair that leads out of it is added to u of its
// rows and subtracted from v of its columns.
//
// Protocol: a solve is a sequence of tasks (reference/hungarian_run.cuh). All blocks of a cooperative launch perform
// the same task, and a barrier of the grid follows each. Other threads read what a task wrote only after that barrier,
// except atomics. Every thread chooses the next task by itself, from words of the board that the next task does not
// write.
//
// Deterministic: the order of lists varies from run to run, but results depend on sets, minima and maxima alone.
//
// Rounding: each pass decides tightness once, from the slack that it computed. A pair that attains the least slack
// enters the forest, whatever a second computation would give, and a matched pair is tight by definition. So an
// iteration has at most as many dual updates as there are columns. On costs with exact sums this changes nothing.
//
// Duals, matching, report and barrier are the core method's (core/state.cuh), and so are the kernels that prepare,
// deliver, complete an interrupted solve, and mark a violator (core/core.cu).
#pragma once
#include "core/control/host_channel.cuh"
#include "core/state.cuh"
#include "reference/full_rows.cuh"

namespace hungarian {

using namespace costs;

constexpr int32 kTight = TIGHT;          // columns in a row's list of tight pairs
constexpr uint32 kNoRank = ~0u;          // no predecessor
constexpr uint32 kNoGoal = ~0u;          // no end
constexpr int32 kNotEnded = 0x7fffffff;  // of a tree without an end, in place of the step in which it had one first

// Lines of the forest, or those that a step enters. goals: free rows whose trees have an end.
struct ForestCounts {
    uint32 rows, cols, goals;
};
// The findings of a step of "hungarian-tree".
struct Step {
    uint64 least;          // slack of an open column, as `ordered`
    ForestCounts entered;  // in this step
    uint32 stopped;
};

// Words that all blocks share, each with its writer and the time of the write.
struct Board {
    // First the words that Python reads (gpu/reference/hungarian.py).
    uint32 task;              // the next task, if the host launches each task (reference/munkres.cu)
    uint32 early;             // augmentations before the first dual update. flip.
    uint32 early_iterations;  // that made them
    uint32 by_five[7];        // augmentations of every five iterations after these
    uint64 time[TASK_DONE];   // nanoseconds per task, if one launch performs all. The first thread, between tasks.
    uint64 zeros;             // number of zeros listed by "munkres", over all listings of a row

    uint64 least;         // result of task least, as `ordered`: minimum over all blocks. Reset by block 0 in grow.
    uint64 theta;         // bits of a Dual: sum of this iteration's dual updates. Block 0, in gather and grow.
    Step steps[3];        // of "hungarian-tree", in turn. All blocks, in grow; cleared in the step before.
    uint32 rounds;        // of the first matching. Block 0, in take.
    uint32 free_rows;     // gather: counted. Block 0 resets it in flip.
    uint32 forest_rows;   // in `in_forest`. Block 0, in grow.
    uint32 new_cols;      // in `new_cols`, to enter. update: counted. Block 0 resets it in grow.
    uint32 reached_cols;  // in `reached_cols`. Block 0, in gather and grow.
    uint32 goals;         // in `goal_roots`. Block 0, in grow; reset in gather.
    uint32 stopped;       // Block 0, in grow.
    uint32 overflow;      // not 0 if a slack does not fit its type. form and update.
    uint32 changed;       // whether duals moved since tight pairs were listed. Block 0, in grow.
    uint32 expanded;      // rows of the forest whose tight pairs were followed. Block 0, in gather and grow.
    uint32 few;           // whether an iteration matched so few rows that another method is to continue. flip.
    uint32 more;          // whether levels are left, if the host launches each level. grow.
    uint32 no_free_rows;  // whether all rows are matched. Block 0, in flip, by "hungarian-tree".
    uint32 next_match;    // the iteration before which tight pairs are matched next. Block 0, in gather.
    uint32 pause;         // iterations between the last two such matchings. Block 0, in gather.
    // Counts for the report. Block 0.
    uint32 iterations, updates, levels, tight_steps;
    uint64 augmentations, scanned;
};

// In the shared memory of every block.
struct Forest {
    State core;
    HostSignals signals;  // block 0's
    Board* board;
    // By row.
    int32* in_forest;       // rows of the forest, in the order in which they entered
    int32* root;            // the free row whose tree it is in; kNone: outside the forest
    Dual* offset;           // u - theta when it entered: (c - v) - offset is the theta at which a pair becomes tight
    uint32* goal;           // of a free row: the end of its tree
    int32* goal_roots;      // free rows that have one
    uint32* tight_count;    // of tight pairs; more than kTight: the list is not complete
    int32* tight;           // [rows][kTight] columns
    float* regret;          // of a row that does not get its cheapest column; 0 if regret is not used
    Dual* unmatched_slack;  // prices - u, of rows that may stay free
    // By column.
    Dual* open_v;   // v, or -infinity for a column of the forest
    uint32* rank;   // of its predecessor (rank_of); kNoRank: outside the forest
    Dual* entered;  // theta when it entered; before that, in "hungarian-tree", the least theta at which it could enter
    // Columns to enter the forest; in "hungarian-tree", by free row: the step in which its tree had an end first.
    int32* new_cols;
    int32* reached_cols;  // of the forest, in the order in which they entered
    unsigned char* end;

    // Bytes per row and per column of the arrays above. The host allocates by these (gpu/reference/hungarian.py).
    static constexpr uint64 row_bytes = 4 * kTight + 2 * sizeof(Dual) + 6 * 4, col_bytes = 2 * sizeof(Dual) + 3 * 4;
    static_assert(sizeof(Board) <= BOARD_BYTES && row_bytes == FOREST_ROW_BYTES && col_bytes == FOREST_COL_BYTES);

    // Every array in one workspace, each at a 256-byte boundary.
    __device__ void carve(unsigned char* base) {
        const uint64 rows = core.matrix.rows, cols = core.matrix.cols;
        State::take(base, board, 1);
        State::take(base, in_forest, rows);
        State::take(base, root, rows);
        State::take(base, offset, rows);
        State::take(base, goal, rows);
        State::take(base, goal_roots, rows);
        State::take(base, tight_count, rows);
        State::take(base, tight, rows * kTight);
        State::take(base, regret, rows);
        State::take(base, unmatched_slack, rows);
        State::take(base, open_v, cols);
        State::take(base, rank, cols);
        State::take(base, entered, cols);
        State::take(base, new_cols, cols);
        State::take(base, reached_cols, cols);
        end = base;
    }
    __device__ Dual theta() const { return from_bits_of_dual(__ldcg(&board->theta)); }
    __device__ static Dual from_bits_of_dual(uint64 bits) {
        if constexpr (Dual(0.5) != Dual(0))
            return __longlong_as_double(static_cast<int64>(bits));
        else
            return static_cast<int64>(bits);
    }
    __device__ static uint64 bits_of(Dual x) {
        if constexpr (Dual(0.5) != Dual(0))
            return static_cast<uint64>(__double_as_longlong(x));
        else
            return static_cast<uint64>(x);
    }
};
__device__ inline Forest& forest() {
    __shared__ Forest memory;
    return memory;
}

// Reserves places in a list for the lanes that want one, by its count in global or shared memory. All lanes of a warp
// call it.
template <bool global>
__device__ inline uint32 place_of(uint32* count, bool wants) {
    const uint32 wanting = __ballot_sync(kAllLanes, wants);
    if (wanting == 0) return 0;
    uint32 base = 0;
    if (lane_index() == 0)
        base = global ? add_in_global(count, __popc(wanting)) : add_in_shared(count, __popc(wanting));
    return __shfl_sync(kAllLanes, base, 0) + __popc(wanting & ((1u << lane_index()) - 1));
}

// --- predecessors -------------------------------------------------------------------------------------------------

// Among the possible predecessors of column j, the first row from j on is chosen, so that adjacent columns are in
// different trees even if all pairs are tight. rank_of is least for it; the other function inverts rank_of.
__device__ inline uint32 rank_of(const Matrix& matrix, int32 i, int32 j) {
    const int32 first = j < matrix.rows ? j : j % matrix.rows;
    return static_cast<uint32>(i >= first ? i - first : i - first + matrix.rows);
}
__device__ inline int32 row_of_rank(const Matrix& matrix, uint32 rank, int32 j) {
    const int32 first = j < matrix.rows ? j : j % matrix.rows;
    const int32 i = static_cast<int32>(rank) + first;
    return i >= matrix.rows ? i - matrix.rows : i;
}

}  // namespace hungarian
