// The tasks of a Hungarian method, and their order (protocol: reference/hungarian_state.cuh).
#pragma once
#include "reference/hungarian_forest.cuh"
#include "reference/invariants.cuh"

namespace hungarian {

enum class ForestTask : uint32 {
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
__device__ void perform(const Method& method, ForestTask task) {
    switch (task) {
        case ForestTask::begin: return begin_solve();
        case ForestTask::reduce_rows: return reduce_rows();
        case ForestTask::reduce_cols: return reduce_cols();
        case ForestTask::set_cols: return set_cols();
        case ForestTask::list: return method.list();
        case ForestTask::bid: return bid();
        case ForestTask::award: return award();
        case ForestTask::gather:
            method.match_more();  // ends with a barrier, if it does anything
            return gather();
        case ForestTask::grow: return method.grow();
        case ForestTask::least: return method.least();
        case ForestTask::update: return method.update();
        case ForestTask::update_more: return method.update_more();
        case ForestTask::flip: return method.settle(), flip();
        case ForestTask::polish: return polish();
        case ForestTask::optimal: return conclude(SolveStatus::optimal);
        case ForestTask::infeasible: return conclude(SolveStatus::infeasible);
        case ForestTask::invalid: return conclude(SolveStatus::invalid);
        case ForestTask::stopped: return conclude(SolveStatus::stopped);
        case ForestTask::unfinished: return conclude(SolveStatus::unfinished);
        case ForestTask::done: return;
    }
}

__device__ inline ForestTask after_update(const Board& board) {
    return __ldcg(&board.overflow) != 0 ? ForestTask::unfinished : ForestTask::grow;
}

// The task after one that all blocks have performed. It depends on words that this task wrote and that the next task
// does not write.
template <class Method>
__device__ ForestTask next(const Method& method, ForestTask task) {
    const Forest& h = forest();
    const Board& board = *h.board;
    const Matrix& matrix = h.core.matrix;
    const bool square = matrix.rows == matrix.cols;
    switch (task) {
        case ForestTask::begin: return ForestTask::reduce_rows;
        case ForestTask::reduce_rows:
            if (__ldcg(&h.core.report->invalid_row) < matrix.rows) return ForestTask::invalid;
            if (__ldcg(&h.core.report->empty_row) < matrix.rows) return ForestTask::infeasible;
            return square ? ForestTask::reduce_cols : ForestTask::list;
        case ForestTask::reduce_cols: return ForestTask::set_cols;
        case ForestTask::set_cols: return ForestTask::list;
        case ForestTask::list:
            if (__ldcg(&board.overflow) != 0) return ForestTask::unfinished;
            return __ldcg(&board.rounds) == 0 ? ForestTask::bid : ForestTask::gather;
        case ForestTask::bid: return ForestTask::award;
        case ForestTask::award:
            return __ldcg(&board.rounds) < HungarianTuning::star_rounds ? ForestTask::bid : ForestTask::gather;
        case ForestTask::gather: return __ldcg(&board.free_rows) == 0 ? ForestTask::polish : ForestTask::grow;
        case ForestTask::grow:
            if (__ldcg(&board.more) != 0 && method.levels_by_task()) return ForestTask::grow;
            if (__ldcg(&board.goals) != 0 || __ldcg(&board.stopped) != 0) return ForestTask::flip;
            return Method::keeps_slacks ? ForestTask::infeasible : ForestTask::least;
        case ForestTask::least:
            return is_far(from_order<Dual>(__ldcg(&board.least))) ? ForestTask::infeasible : ForestTask::update;
        case ForestTask::update: return method.updates_more() ? ForestTask::update_more : after_update(board);
        case ForestTask::update_more: return after_update(board);
        case ForestTask::flip:
            if (__ldcg(&board.stopped) != 0) return ForestTask::stopped;
            if (__ldcg(&board.few) != 0) return ForestTask::unfinished;
            return Method::lists_anew && __ldcg(&board.changed) != 0 ? ForestTask::list : ForestTask::gather;
        case ForestTask::polish: return ForestTask::optimal;
        default: return ForestTask::done;
    }
}

// Performs all tasks of a solve from `first` on in one cooperative launch, or that task alone.
template <class Method>
__device__ void run(const Method& method, ForestTask first = ForestTask::begin, bool alone = false) {
    uint64 began = nanoseconds();
    for (ForestTask task = first; task != ForestTask::done;) {
        perform(method, task);
        if (alone) return;
        grid_barrier(forest().core.barrier, gridDim.x);
        if (is_first_thread()) {
            const uint64 now = nanoseconds();
            forest().board->time[static_cast<uint32>(task)] += now - began;
            began = now;
        }
#ifdef LAPWING_CHECK_INVARIANTS
        if (is_first_thread() && (task == ForestTask::award || task == ForestTask::gather || task == ForestTask::flip ||
                                  task == ForestTask::polish))
            check_matching(forest().core);
        if (is_first_thread() && task == ForestTask::polish) check_duals(forest().core);
        grid_barrier(forest().core.barrier, gridDim.x);
#endif
        task = next(method, task);
    }
}

// Sets up the forest in the shared memory of the block. All threads of the block call it.
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

// The first arguments of every kernel here: those of the core method (core/problem.cuh), the workspace of struct
// Forest, and the host channel. cost: rows `row_stride` elements apart. rows <= cols, where cols includes the unmatched
// columns if there are `prices` (struct Matrix). u: (rows,) and v: (cols,), both set here.
#define LAPWING_HUNGARIAN                                                                                             \
    const Cost *cost, int64 row_stride, int64 rows, int64 cols, int64 maximize, const Dual *prices, Dual *u, Dual *v, \
        unsigned char *workspace, unsigned char *more, HostChannel *watch
#define LAPWING_SET_FOREST                                                                                     \
    hungarian::set_forest(                                                                                     \
        {{cost, row_stride}, static_cast<int32>(rows), static_cast<int32>(cols), maximize != 0, prices}, u, v, \
        workspace, more, watch)
