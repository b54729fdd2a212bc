// How the coordinator gives commands and reads their results, and what it keeps between them: the input of the next run
// of rounds or steps.
//
// All lanes of its warp run this code alike; lane 0 writes. A value of the command or a count is read by all lanes
// before the next command is written.
#pragma once
#include "core/control/workers.cuh"

// Called by the coordinator's warp when all lanes have read that the host requests progress.
LAPWING_NOINLINE __device__ void publish_progress(uint32 stage, uint32 phase, uint32 matched, double bound) {
    __syncwarp();
    if (lane_index() == 0) shared().control.signals.publish(stage, phase, matched, bound);
    __syncwarp();
}

class Commander {
  protected:
    __device__ explicit Commander(bool has_dummies)
        : state_(shared().state), counts_(shared().control.counts), signals_(shared().control.signals),
          command_(shared().control.command) {
        auction_.has_dummies = search_.has_dummies = kMayHaveDummies && has_dummies;
        auction_.level = infinity<Dual>();
    }

    __device__ bool progress_wanted() const { return signals_.requested != signals_.answered; }
    __device__ bool square() const { return state_.matrix.rows == state_.matrix.cols; }
    __device__ bool has_dummies() const { return kMayHaveDummies && search_.has_dummies; }
    // Whether the square method solves it.
    __device__ bool as_square() const { return square() || has_dummies(); }

    __device__ void perform(Task task, uint32 count, bool wide, uint32 blocks) {
        if (lane_index() == 0) command_ = {task, wide, blocks, count, auction_, search_};
        __syncwarp();
        dispatch();
    }
    // Dispatches a task to all blocks if it has at least `wide_from` items, otherwise to block 0.
    __device__ void perform(Task task, uint32 count, uint32 wide_from = Tuning::wide_count) {
        if (count == 0) return;
        const bool wide = count >= wide_from;
        perform(task, count, wide, wide ? gridDim.x : 1);
    }
    // The counts of rounds, steps or turns begin at zero.
    __device__ void clear_steps() {
        if (lane_index() < 2 * kStepCounts) counts_.step[lane_index()] = {};
        __syncwarp();
    }
    // Dispatches a run of rounds or steps, or its preparation, to a team whose size fits the number of active rows.
    __device__ void run(Task task, uint32 rows) {
        clear_steps();
        perform(task, rows, rows > kNarrowRows, blocks_for(rows));
        auction_ = command_.auction;
        search_ = command_.search;
        __syncwarp();
    }
    __device__ uint64 ask(Task task, uint32 count, uint32 wide_from = ~0u) {
        perform(task, count, wide_from);
        return counts_.answer;
    }
    // Returns a count and resets it.
    __device__ uint32 take(uint32& count) {
        const uint32 value = count;
        __syncwarp();
        if (lane_index() == 0) count = 0;
        __syncwarp();
        return value;
    }
    // The answer of a task on all columns, which raises or lowers `begin`.
    __device__ uint64 ask_columns(Task task, uint64 begin) {
        __syncwarp();
        if (lane_index() == 0) counts_.answer = begin;
        __syncwarp();
        return ask(task, state_.matrix.cols, Tuning::wide_cols);
    }
    __device__ double ask_bound(Task task) {
        const double bound =
            __longlong_as_double(static_cast<int64>(ask(task, state_.matrix.rows, Tuning::wide_count)));
        return has_dummies() ? bound - of_dummies(level_) : bound;
    }

    // --- dummy rows (core/search/dummies.cuh) ---

    // Minus the sum of the dummy rows' duals.
    __device__ double of_dummies(Dual level) const {
        return static_cast<double>(level) * (state_.matrix.cols - state_.matrix.rows);
    }
    __device__ void find_highest() { level_ = from_order<Dual>(ask_columns(Task::find_highest, 0)); }
    // Moves the duals to those of a problem without dummy rows.
    __device__ void settle() {
        if (!has_dummies()) return;
        find_highest();
        auction_.level = level_;
        perform(Task::settle, state_.matrix.cols, Tuning::wide_cols);
    }
    __device__ uint32 list_below_level() {
        search_.level = level_;
        perform(Task::list_below_level, state_.matrix.cols, Tuning::wide_cols);
        return take(counts_.free_cols);
    }

    State& state_;
    Counts& counts_;
    HostSignals& signals_;
    Command& command_;
    AuctionRun auction_ = {};
    SearchRun search_ = {};
    Dual level_ = Dual(0);  // of dummy rows: no price is higher
};
