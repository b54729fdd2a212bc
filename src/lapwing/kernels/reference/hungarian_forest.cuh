// One iteration of the Hungarian methods that list tight pairs: a forest that grows along them, and the paths to flip.
//
// Levels are many and small (at n = 8192 about 80 per iteration, of 30 rows each), so block 0 alone grows all of them.
// A level takes two barriers of the block and about six dependent loads from L2, 1 us. The whole grid would take twice
// that.
#pragma once
#include "reference/hungarian_start.cuh"

namespace hungarian {

// Makes all free rows the roots of a new forest.
__device__ inline void gather() {
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    each_thread_converged(matrix.rows, [&](uint32 i) {
        const bool inside = i < static_cast<uint32>(matrix.rows);
        const bool free = inside && __ldcg(h.core.row_to_col + i) < 0;
        const uint32 place = place_of<true>(&h.board->free_rows, free);
        if (free) {
            __stcg(h.in_forest + place, static_cast<int32>(i));
            __stcg(h.offset + i, __ldcg(h.core.u + i));
        }
        if (inside) {
            __stcg(h.root + i, free ? static_cast<int32>(i) : kNone);
            __stcg(h.goal + i, kNoGoal);
        }
    });
    each_thread(matrix.cols, [&](uint32 j) {
        __stcg(h.rank + j, kNoRank);
        __stcg(h.open_v + j, __ldcg(h.core.v + j));
    });
    if (is_first_thread()) {
        Board& board = *h.board;
        board.goals = board.forest_rows = board.reached_cols = board.new_cols = board.expanded = 0;
        board.theta = Forest::bits_of(Dual(0));
    }
}

// The dual objective, up to rounding. Called by block 0.
__device__ inline double dual_bound() {
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    return sum_in_block(matrix.rows, [&](uint32 i) { return static_cast<double>(__ldcg(h.core.u + i)); }) +
           sum_in_block(matrix.real_cols(), [&](uint32 j) { return static_cast<double>(__ldcg(h.core.v + j)); });
}

// Reports progress to the host. Called by block 0, between iterations.
__device__ inline void tell_news() {
    Forest& h = forest();
    constexpr uint32 search = 2;  // of the stages of gpu/core/monitor.py
    if (h.signals.requested == h.signals.answered) return;
    const double bound = dual_bound();
    if (threadIdx.x != 0) return;
    h.signals.publish(search, h.board->iterations, h.core.matrix.rows - h.board->free_rows, bound);
}

// The counts of block 0 while the forest grows.
struct Growth {
    uint32 forest_rows, new_cols, reached_cols, goals, wide_rows, levels;
};
__device__ inline Growth& growth() {
    __shared__ Growth memory;
    return memory;
}

__device__ inline bool is_open(const Forest& h, int32 j) { return __ldcg(h.open_v + j) > -infinity<Dual>(); }

// Makes row i a possible predecessor of open column j, which is added to new_cols if it is its first. `count`: the size
// of new_cols, in global or shared memory. All lanes of a warp call it; j < 0: no column.
template <bool global>
__device__ inline void relax(uint32* count, int32 i, int32 j) {
    Forest& h = forest();
    bool first = false;
    if (j >= 0) first = atomicMin(h.rank + j, rank_of(h.core.matrix, i, j)) == kNoRank;
    const uint32 place = place_of<global>(count, first);
    if (first) __stcg(h.new_cols + place, j);
}

// Adds the new columns to the forest, and the rows matched to them. Called by block 0, between barriers.
__device__ inline void contract(Dual theta) {
    Forest& h = forest();
    Growth& growing = growth();
    const Matrix& matrix = h.core.matrix;
    const uint32 count = growing.new_cols;
    __syncthreads();
    if (threadIdx.x == 0) growing.new_cols = 0;
    for (uint32 at = threadIdx.x; at - lane_index() < count; at += blockDim.x) {
        int32 row = kNone, free_root = kNone;
        if (at < count) {
            const int32 j = __ldcg(h.new_cols + at);
            row = __ldcg(h.core.col_to_row + j);
            const int32 root = __ldcg(h.root + row_of_rank(matrix, __ldcg(h.rank + j), j));
            __stcg(h.open_v + j, -infinity<Dual>());
            __stcg(h.entered + j, theta);
            __stcg(h.reached_cols + growing.reached_cols + at, j);
            if (row >= 0) {
                __stcg(h.root + row, root);
                __stcg(h.offset + row, __ldcg(h.core.u + row) - theta);
            } else if (atomicMin(h.goal + root, static_cast<uint32>(j)) == kNoGoal) {
                free_root = root;
            }
        }
        const uint32 place = place_of<false>(&growing.forest_rows, row >= 0);
        if (row >= 0) __stcg(h.in_forest + place, row);
        const uint32 goal = place_of<false>(&growing.goals, free_root >= 0);
        if (free_root >= 0) __stcg(h.goal_roots + goal, free_root);
    }
    __syncthreads();
    if (threadIdx.x == 0) growing.reached_cols += count;
    __syncthreads();
}

// Follows the tight pairs of rows `begin` to `end` of the forest. A tree that has an end stops growing. Called by block
// 0.
template <class Method>
__device__ void expand(const Method& method, uint32 begin, uint32 end, Dual theta) {
    Forest& h = forest();
    Growth& growing = growth();
    const uint32 lane = threadIdx.x % HungarianTuning::row_lanes, group = threadIdx.x / HungarianTuning::row_lanes,
                 groups = blockDim.x / HungarianTuning::row_lanes;
    for (uint32 base = begin; base < end; base += groups) {  // all lanes of a warp stay together
        const uint32 at = base + group;
        int32 i = kNone;
        uint32 count = 0;
        if (at < end) {
            i = __ldcg(h.in_forest + at);
            count = __ldcg(h.tight_count + i);
            if (__ldcg(h.goal + __ldcg(h.root + i)) != kNoGoal) count = 0;
        }
        if (count > kTight) {
            if (lane == 0) __stcg(h.core.full_rows + add_in_shared(&growing.wide_rows, 1), i);
            count = 0;
        }
        __syncwarp();
        for (uint32 k = lane; __any_sync(kAllLanes, k < count); k += HungarianTuning::row_lanes) {
            int32 j = kNone;
            if (k < count) j = __ldcg(h.tight + static_cast<int64>(i) * kTight + k);
            relax<false>(&growing.new_cols, i, j >= 0 && is_open(h, j) ? j : kNone);
        }
    }
    __syncthreads();
    const uint32 wide = growing.wide_rows;
    __syncthreads();
    if (threadIdx.x == 0) growing.wide_rows = 0;
    for (uint32 k = 0; k < wide; ++k) {  // rows whose tight pairs exceed their lists: the block reads the whole row
        const int32 i = __ldcg(h.core.full_rows + k);
        method.visit_tight(i, theta, [&](int32 j) { relax<false>(&growing.new_cols, i, j); });
    }
    __syncthreads();
}

// Grows the forest until every tree is exhausted or has an end, or by `most_levels` levels. Called by block 0 alone.
template <class Method>
__device__ void grow(const Method& method, uint32 most_levels) {
    if (blockIdx.x != 0) return;
    Forest& h = forest();
    Board& board = *h.board;
    Growth& growing = growth();
    const uint64 least = __ldcg(&board.least);
    const bool begins = __ldcg(&board.forest_rows) == 0, updated = least != kFar;
    const Dual theta = updated ? Method::theta_after(h.theta(), from_order<Dual>(least)) : h.theta();
    if (begins) tell_news();
    __syncthreads();
    if (threadIdx.x == 0) {
        growing.forest_rows = __ldcg(begins ? &board.free_rows : &board.forest_rows);
        growing.new_cols = __ldcg(&board.new_cols);
        growing.reached_cols = __ldcg(&board.reached_cols);
        growing.goals = __ldcg(&board.goals);
        growing.wide_rows = growing.levels = 0;
        if (updated) board.scanned += growing.forest_rows;
        h.signals.poll(board.levels + board.updates);
    }
    __syncthreads();
    uint32 begin = __ldcg(&board.expanded);
    bool more = true;
    for (uint32 level = 0; more && level < most_levels; ++level) {
        contract(theta);
        const uint32 end = growing.forest_rows;
        more = begin != end && !h.signals.stopped;
        if (!more) break;
        expand(method, begin, end, theta);
        begin = end;
        if (threadIdx.x != 0) continue;
        ++growing.levels;
        if (growing.levels % HungarianTuning::levels_between_looks == 0)
            h.signals.poll(board.levels + board.updates + growing.levels);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (begins) ++board.iterations, board.changed = 0;
        if (updated) ++board.updates, board.changed = 1;
        board.theta = Forest::bits_of(theta);
        board.least = kFar;
        board.forest_rows = growing.forest_rows;
        board.reached_cols = growing.reached_cols;
        board.new_cols = growing.new_cols;
        board.expanded = begin;
        board.goals = growing.goals;
        board.levels += growing.levels;
        board.stopped = h.signals.stopped;
        board.more = more;
    }
}

// Lowers a word of the board to the least of all threads' keys, by one atomic per block. All threads of a block call
// it.
__device__ inline void lower_least(uint64 mine, uint64* word) {
    __shared__ uint64 keys[kMostBlocks / kWarp];
    mine = warp_min(mine);
    __syncthreads();
    if (lane_index() == 0) keys[threadIdx.x / kWarp] = mine;
    __syncthreads();
    if (threadIdx.x >= kWarp) return;
    mine = warp_min(lane_index() < blockDim.x / kWarp ? keys[lane_index()] : kFar);
    if (lane_index() == 0 && mine != kFar) min_in_global(word, mine);
}

// Flips one path in each tree that has an end, one thread per path: from the end to the root, three dependent loads per
// pair.
__device__ inline void flip() {
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    const uint32 goals = __ldcg(&h.board->goals);
    each_thread(goals, [&](uint32 at) {
        const int32 root = __ldcg(h.goal_roots + at);
        int32 j = static_cast<int32>(__ldcg(h.goal + root));
        for (;;) {
            const int32 i = row_of_rank(matrix, __ldcg(h.rank + j), j), next = __ldcg(h.core.row_to_col + i);
            __stcg(h.core.row_to_col + i, j);
            __stcg(h.core.col_to_row + j, i);
            if (i == root) break;
            j = next;
        }
    });
    if (is_first_thread()) {
        Board& board = *h.board;
        const uint32 five = (board.iterations - board.early_iterations - 1) / 5;
        if (board.updates == 0)
            board.early += goals, ++board.early_iterations;
        else if (five < sizeof board.by_five / sizeof *board.by_five)
            board.by_five[five] += goals;
        board.free_rows = 0;
        board.augmentations += goals;
    }
}

// Applies the sum of this iteration's dual updates to the duals: once for each row and column.
__device__ inline void settle_duals() {
    Forest& h = forest();
    const Dual theta = h.theta();
    const uint32 rows = __ldcg(&h.board->forest_rows), cols = __ldcg(&h.board->reached_cols);
    if (theta == Dual(0)) return;
    each_thread(rows, [&](uint32 at) {
        const int32 i = __ldcg(h.in_forest + at);
        __stcg(h.core.u + i, __ldcg(h.offset + i) + theta);
    });
    each_thread(cols, [&](uint32 at) {
        const int32 j = __ldcg(h.reached_cols + at);
        __stcg(h.core.v + j, __ldcg(h.core.v + j) - (theta - __ldcg(h.entered + j)));
    });
}

// Makes matched pairs exactly tight.
__device__ inline void polish() {
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    if (Dual(0.5) == Dual(0)) return;
    each_thread(matrix.rows, [&](uint32 i) {
        const int32 j = __ldcg(h.core.row_to_col + i);
        const bool is_unmatched = j >= matrix.real_cols();
        const Dual cost = is_unmatched ? matrix.prices[i] : matrix.minimised(matrix.costs.row(i)[j]);
        __stcg(h.core.u + i, is_unmatched ? cost : cost - __ldcg(h.core.v + j));
    });
}

// Writes the report at the end. If there is no assignment, also marks the violator (violator in core/core.cu): all rows
// of the forest are free, or matched to columns of the forest, and have no other columns.
__device__ inline void conclude(SolveStatus status) {
    Forest& h = forest();
    const Matrix& matrix = h.core.matrix;
    if (status == SolveStatus::infeasible) {
        each_thread(matrix.cols,
                    [&](uint32 j) { __stcg(h.core.distance + j, is_open(h, static_cast<int32>(j)) ? kFar : 0); });
        each_thread(__ldcg(&h.board->free_rows),
                    [&](uint32 at) { __stcg(h.core.free_rows + at, __ldcg(h.in_forest + at)); });
    }
    if (blockIdx.x != 0) return;
    const double bound = dual_bound();
    if (threadIdx.x != 0) return;
    Report& report = *h.core.report;
    const Board& board = *h.board;
    report.status = static_cast<int64>(status);
    report.free_rows = board.free_rows;
    report.phases = board.iterations;
    report.rounds = board.updates;
    report.bids = static_cast<int64>(board.augmentations);
    report.searches = board.tight_steps;
    report.steps = board.levels;
    report.scans = static_cast<int64>(board.scanned);
    report.left = board.few;
    report.start_bound = -infinity<double>();
    report.bound = bound;
}

}  // namespace hungarian
