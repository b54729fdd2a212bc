// The tasks of a Hungarian method, and their order (protocol: reference/hungarian_state.cuh).
#pragma once
#include "reference/hungarian_forest.cuh"
#include "reference/invariants.cuh"

namespace hungarian {

enum class Task : uint32 {
    begin = TASK_BEGIN,
    reduce_rows,
    reduce_cols,
    set_cols,
    list,  // tight pairs, by the method
    bid,
    award,
    gather,
    grow,    // the forest, by the method
    least,   // slack of a pair that leads out of it, by the method
    update,  // of the duals, by the method
    update_more,
    flip,
    polish,
    optimal,
    infeasible,
    invalid,
    stopped,
    unfinished,  // a slack did not fit, or another method is to go on
    done = TASK_DONE
};

template <class Method>
__device__ void perform(const Method& method, Task task) {
    switch (task) {
        case Task::begin: return begin_solve();
        case Task::reduce_rows: return reduce_rows();
        case Task::reduce_cols: return reduce_cols();
        case Task::set_cols: return set_cols();
        case Task::list: return method.list();
        case Task::bid: return bid();
        case Task::award: return award();
        case Task::gather: return gather();
        case Task::grow: return method.grow();
        case Task::least: return method.least();
        case Task::update: return method.update();
        case Task::update_more: return method.update_more();
        case Task::flip: return method.settle(), flip();
        case Task::polish: return polish();
        case Task::optimal: return conclude(SolveStatus::optimal);
        case Task::infeasible: return conclude(SolveStatus::infeasible);
        case Task::invalid: return conclude(SolveStatus::invalid);
        case Task::stopped: return conclude(SolveStatus::stopped);
        case Task::unfinished: return conclude(SolveStatus::unfinished);
        case Task::done: return;
    }
}

__device__ inline Task after_update(const Board& board) {
    return __ldcg(&board.overflow) != 0 ? Task::unfinished : Task::grow;
}

// The task after one that all blocks have performed, by words that it wrote and that the next task does not write.
template <class Method>
__device__ Task next(const Method& method, Task task) {
    const Forest& h = forest();
    const Board& board = *h.board;
    const Matrix& matrix = h.core.matrix;
    const bool square = matrix.rows == matrix.cols;
    switch (task) {
        case Task::begin: return Task::reduce_rows;
        case Task::reduce_rows:
            if (__ldcg(&h.core.report->invalid_row) < matrix.rows) return Task::invalid;
            if (__ldcg(&h.core.report->empty_row) < matrix.rows) return Task::infeasible;
            return square ? Task::reduce_cols : Task::list;
        case Task::reduce_cols: return Task::set_cols;
        case Task::set_cols: return Task::list;
        case Task::list:
            if (__ldcg(&board.overflow) != 0) return Task::unfinished;
            return __ldcg(&board.rounds) == 0 ? Task::bid : Task::gather;
        case Task::bid: return Task::award;
        case Task::award: return __ldcg(&board.rounds) < kStarRounds ? Task::bid : Task::gather;
        case Task::gather: return __ldcg(&board.free_rows) == 0 ? Task::polish : Task::grow;
        case Task::grow:
            if (__ldcg(&board.more[0]) != 0 && method.levels_by_task()) return Task::grow;
            if (__ldcg(&board.goals) != 0 || __ldcg(&board.stopped) != 0) return Task::flip;
            return Method::keeps_slacks ? Task::infeasible : Task::least;
        case Task::least: return is_far(from_order<Dual>(__ldcg(&board.least))) ? Task::infeasible : Task::update;
        case Task::update: return method.updates_more() ? Task::update_more : after_update(board);
        case Task::update_more: return after_update(board);
        case Task::flip:
            if (__ldcg(&board.stopped) != 0) return Task::stopped;
            if (__ldcg(&board.few) != 0) return Task::unfinished;
            return Method::lists_anew && __ldcg(&board.changed) != 0 ? Task::list : Task::gather;
        case Task::polish: return Task::optimal;
        default: return Task::done;
    }
}

// All tasks of a solve from the first on, in one cooperative launch; or that one alone.
template <class Method>
__device__ void run(const Method& method, Task first = Task::begin, bool alone = false) {
    for (Task task = first; task != Task::done;) {
        perform(method, task);
        if (alone) return;
        grid_barrier(forest().core.barrier, gridDim.x);
#ifdef LAPWING_CHECK_INVARIANTS
        if (is_first_thread() && (task == Task::award || task == Task::flip || task == Task::polish)) check_matching();
        if (is_first_thread() && task == Task::polish) check_duals();
        grid_barrier(forest().core.barrier, gridDim.x);
#endif
        task = next(method, task);
    }
}

// In the shared memory of the block. All of its threads call it.
__device__ inline void set_forest(Matrix matrix, Dual* u, Dual* v, unsigned char* workspace, unsigned char* more,
                                  ::HostChannel* watch) {
    Forest& h = forest();
    if (threadIdx.x == 0) {
        h.core.matrix = matrix;
        h.core.u = u;
        h.core.v = v;
        h.core.carve(workspace);
        h.carve(more);
        if (blockIdx.x == 0) h.signals.begin(watch);
    }
    __syncthreads();
}

}  // namespace hungarian

// What every kernel here gets first: the core method's (core/core.cu), the workspace of struct Forest, and what the
// host says meanwhile. cost: rows `row_stride` elements apart; rows <= cols, unmatched columns included if there are
// `prices` (struct Matrix); u: (rows,), v: (cols,), both set here.
#define LAPWING_HUNGARIAN                                                                                             \
    const Cost *cost, int64 row_stride, int64 rows, int64 cols, int64 maximize, const Dual *prices, Dual *u, Dual *v, \
        unsigned char *workspace, unsigned char *more, HostChannel *watch
#define LAPWING_SET_FOREST                                                                                     \
    hungarian::set_forest(                                                                                     \
        {{cost, row_stride}, static_cast<int32>(rows), static_cast<int32>(cols), maximize != 0, prices}, u, v, \
        workspace, more, watch)
