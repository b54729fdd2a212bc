// Method "hungarian-tree": the alternating tree variant of Date and Nagi's Hungarian method, in one cooperative launch.
//
// Problem   the linear assignment problem of struct Matrix.
// Method    Starts like "hungarian-bfs" (reference/hungarian_start.cuh). Each column keeps the least slack of its pairs
//           with rows of the forest, and the row that attains it; so a row is read once, when it enters the forest. The
//           next columns to enter, at the present duals or after an update, are those with the least slack of all
//           columns: a minimum of n numbers. In each iteration one path is flipped in each tree that reached a free
//           column.
// Cost      A step reads the rows that entered last, at 2 barriers of the grid. A block owns columns and alone touches
//           their slacks, so slacks need no atomics and predecessors no second pass. At n = 8192 and integers up to 10
//           n: 7,900 steps in 99 iterations, 56 reads of the matrix. O(n^3) time, O(n) memory.
//
// Deviations from the paper: a slack is stored as the `theta` at which it vanishes, so a dual update changes theta
// alone, and duals move once an iteration (reference/hungarian_state.cuh explains why rounding is smaller, too). All
// free rows are roots at once, and a tree that has an end stops growing, as in "hungarian-bfs". Rectangular problems,
// forbidden pairs and unmatched columns are supported.
//
// Protocol: the counts that a step decides by are read directly after a barrier of the grid, and written before the
// next one.
//
// Reference: K. Date, R. Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel
// Computing 57 (2016) 52-72, sections 2.3 (sequential) and 4 (parallel).
#include "costs/matrix.cuh"

#include "reference/hungarian_run.cuh"

namespace hungarian {

// A column's least slack so far: theta, and the rank of its row. Of several rows with the same theta, the least rank.
struct LeastSlack {
    Dual theta = infinity<Dual>();
    uint32 rank = kNoRank;

    __device__ void lower(Dual other, uint32 other_rank) {
        if (other > theta || (other == theta && other_rank > rank)) return;
        theta = other;
        rank = other_rank;
    }
};
// Those that a block has found, for each of its columns several times.
struct Slacks {
    Dual theta[THREADS * kPackCols];
    uint32 rank[THREADS * kPackCols];
};

class Tree {
  public:
    static constexpr bool keeps_slacks = true, lists_anew = false;
    // Another method is to continue if, before half of the free rows are matched, there were more levels for each that
    // is. (Later it would lose more than it could gain.)
    double patience;

    __device__ bool levels_by_task() const { return false; }
    __device__ bool updates_more() const { return false; }
    __device__ void update_more() const {}
    __device__ void update() const {}
    __device__ void least() const {}
    __device__ void list() const { list_tight(); }
    __device__ void settle() const {
        settle_duals();
        if (!is_first_thread()) return;
        Board& board = *forest().board;
        const uint64 free = board.augmentations + __ldcg(&board.free_rows),  // at the beginning
            matched = board.augmentations + __ldcg(&board.goals);            // with those of this iteration
        const double most = HungarianTuning::first_levels + patience * static_cast<double>(matched);
        board.few = 2 * matched < free && board.levels > most;
    }

    // Grows the whole forest, alike in all blocks. Each step reads the words that it decides by directly after a
    // barrier, and no block writes them before the next barrier.
    __device__ void grow() const {
        Forest& h = forest();
        Board& board = *h.board;
        uint32 begin = 0, end = __ldcg(&board.free_rows), goals = 0, updates = 0, steps = 0, stopped = 0;
        Dual theta = 0;
        begin_forest(end);
        for (; stopped == 0; ++steps) {
            uint64* least_word = board.step_least + steps % 2;
            relax(begin, end, goals > 0, least_word);
            grid_barrier(h.core.barrier, gridDim.x);
            const Dual least = from_order<Dual>(__ldcg(least_word));
            if (is_far(least) || (goals > 0 && least > theta)) break;
            updates += least > theta;
            theta = least > theta ? least : theta;
            enter(theta, end);
            if (is_first_thread()) {
                board.step_least[(steps + 1) % 2] = kFar;  // read before the barrier above for the last time
                if (steps % HungarianTuning::steps_between_looks == 0) h.signals.poll(board.levels + steps);
                board.stopped = h.signals.stopped;
            }
            grid_barrier(h.core.barrier, gridDim.x);
            begin = end;
            end = __ldcg(&board.forest_rows);
            goals = __ldcg(&board.goals);
            stopped = __ldcg(&board.stopped);
        }
        if (!is_first_thread()) return;
        board.theta = Forest::bits_of(theta);
        board.updates += updates;
        board.levels += steps;
        board.scanned += end;
        ++board.iterations;
    }

  private:
    __device__ void begin_forest(uint32 free_rows) const {
        Forest& h = forest();
        each_thread(h.core.matrix.cols, [&](uint32 j) { __stcg(h.entered + j, infinity<Dual>()); });
        if (blockIdx.x == 0) tell_news();
        if (is_first_thread()) {
            h.board->step_least[0] = h.board->step_least[1] = kFar;
            h.board->forest_rows = free_rows;
        }
        grid_barrier(h.core.barrier, gridDim.x);
    }

    // Number of lanes that share a row, with one pack of columns each: as few as suffice to give all blocks work.
    __device__ static uint32 row_lanes(const Matrix& matrix) {
        uint32 lanes = 8;
        while (lanes < blockDim.x && lanes * kPackCols * gridDim.x < static_cast<uint32>(matrix.real_cols()))
            lanes *= 2;
        return lanes;
    }
    // f(first column) for each group of columns of this block, which are the same in every call.
    template <class F>
    __device__ static void each_group(const Matrix& matrix, uint32 lanes, F f) {
        const uint32 width = lanes * kPackCols, groups = (matrix.real_cols() + width - 1) / width;
        for (uint32 group = blockIdx.x; group < groups; group += gridDim.x) f(static_cast<int32>(group * width));
    }

    // Computes the slacks with rows `begin` to `end` of the forest, and the least slack of all open columns.
    // `some_ended`: some of their trees may have an end.
    __device__ void relax(uint32 begin, uint32 end, bool some_ended, uint64* least_word) const {
        __shared__ Slacks slacks;
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        const bool aligned = matrix.costs.aligned();
        const uint32 lanes = row_lanes(matrix), width = lanes * kPackCols;
        const uint32 row_group = threadIdx.x / lanes, row_groups = blockDim.x / lanes;
        const uint32 wide = lanes < kWarp ? kWarp : lanes, found = blockDim.x / wide;  // times that a column is found
        uint64 best = kFar;
        each_group(matrix, lanes, [&](int32 first) {
            constexpr uint32 ahead = 4;
            const int32 j = first + static_cast<int32>(threadIdx.x % lanes * kPackCols);
            Dual v[kPackCols];
            LeastSlack least[kPackCols];
#pragma unroll
            for (int32 k = 0; k < kPackCols; ++k)
                v[k] = j + k < matrix.real_cols() ? __ldcg(h.open_v + j + k) : -infinity<Dual>();
            for (uint32 base = begin + row_group; base < end; base += ahead * row_groups) {
                int32 row[ahead], root[ahead];
                Pack<Cost> pack[ahead];
                Dual offset[ahead];
                bool takes_part[ahead];
#pragma unroll
                for (uint32 a = 0; a < ahead; ++a) {
                    const uint32 at = base + a * row_groups;
                    row[a] = at < end ? __ldcg(h.in_forest + at) : kNone;
                }
#pragma unroll
                for (uint32 a = 0; a < ahead; ++a) {
                    root[a] = some_ended && row[a] >= 0 ? __ldcg(h.root + row[a]) : kNone;
                    offset[a] = row[a] >= 0 ? __ldcg(h.offset + row[a]) : Dual(0);
                    if (row[a] >= 0) load_costs(matrix, matrix.costs.row(row[a]), aligned, j, pack[a]);
                }
#pragma unroll
                for (uint32 a = 0; a < ahead; ++a)
                    takes_part[a] = row[a] >= 0 && (root[a] < 0 || __ldcg(h.goal + root[a]) == kNoGoal);
#pragma unroll
                for (uint32 a = 0; a < ahead; ++a) {
                    if (!takes_part[a]) continue;
#pragma unroll
                    for (int32 k = 0; k < kPackCols; ++k) {
                        if (j + k >= matrix.real_cols()) continue;
                        const Dual theta = (matrix.minimised(pack[a].values[k]) - v[k]) - offset[a];
                        least[k].lower(theta, rank_of(matrix, row[a], j + k));
                    }
                }
            }
            for (uint32 apart = lanes; apart < kWarp; apart *= 2) {  // lanes of a warp with the same columns
#pragma unroll
                for (LeastSlack& mine : least)
                    mine.lower(__shfl_xor_sync(kAllLanes, mine.theta, apart),
                               __shfl_xor_sync(kAllLanes, mine.rank, apart));
            }
            __syncthreads();
            if (threadIdx.x % wide < lanes) {
                const uint32 place = threadIdx.x / wide * width + threadIdx.x % lanes * kPackCols;
#pragma unroll
                for (int32 k = 0; k < kPackCols; ++k) {
                    slacks.theta[place + k] = least[k].theta;
                    slacks.rank[place + k] = least[k].rank;
                }
            }
            __syncthreads();
            for (uint32 c = threadIdx.x; c < width; c += blockDim.x) {
                const int32 col = first + static_cast<int32>(c);
                if (col >= matrix.real_cols()) continue;
                Dual kept = __ldcg(h.entered + col);
                if (!is_open(h, col)) continue;
                LeastSlack now;
                for (uint32 g = 0; g < found; ++g) now.lower(slacks.theta[g * width + c], slacks.rank[g * width + c]);
                if (now.theta < kept) {
                    kept = now.theta;
                    __stcg(h.entered + col, kept);
                    __stcg(h.rank + col, now.rank);
                }
                best = ordered(kept) < best ? ordered(kept) : best;
            }
        });
        if (matrix.prices != nullptr) {
            each_thread(end,
                        [&](uint32 at) {  // unmatched columns of the whole forest, each by the thread that enters it
                            const int32 i = __ldcg(h.in_forest + at), col = matrix.real_cols() + i;
                            if (!has_unmatched_column(matrix, i) || !is_open(h, col)) return;
                            if (some_ended && __ldcg(h.goal + __ldcg(h.root + i)) != kNoGoal) return;
                            const Dual theta = matrix.prices[i] - __ldcg(h.offset + i);
                            __stcg(h.entered + col, theta);
                            __stcg(h.rank + col, rank_of(matrix, i, col));
                            best = ordered(theta) < best ? ordered(theta) : best;
                        });
        }
        lower_least(best, least_word);
    }

    // Adds the columns whose slack vanishes at theta, with the rows matched to them. `rows`: size of the forest before.
    __device__ void enter(Dual theta, uint32 rows) const {
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        const uint32 lanes = row_lanes(matrix), width = lanes * kPackCols;
        const auto look = [&](int32 col) {  // kNone: nothing
            const Dual at = col >= 0 ? __ldcg(h.entered + col) : infinity<Dual>();
            const bool is_there = col >= 0 && is_open(h, col);
            enter_col(is_there && at <= theta ? col : kNone, theta);
        };
        each_group(matrix, lanes, [&](int32 first) {
            for (uint32 c = threadIdx.x; c - lane_index() < width; c += blockDim.x) {
                const int32 col = first + static_cast<int32>(c);
                look(c < width && col < matrix.real_cols() ? col : kNone);
            }
        });
        if (matrix.prices == nullptr) return;
        each_thread_converged(rows, [&](uint32 at) {
            const int32 i = at < rows ? __ldcg(h.in_forest + at) : kNone;
            look(i >= 0 && has_unmatched_column(matrix, i) ? matrix.real_cols() + i : kNone);
        });
    }
    // All lanes of a warp call it; the counts are the board's.
    __device__ void enter_col(int32 j, Dual theta) const {
        Forest& h = forest();
        Board& board = *h.board;
        int32 row = kNone, ended = kNone;
        if (j >= 0) {
            row = __ldcg(h.core.col_to_row + j);
            const uint32 rank = __ldcg(h.rank + j);
            const Dual u = row >= 0 ? __ldcg(h.core.u + row) : Dual(0);
            const int32 root = __ldcg(h.root + row_of_rank(h.core.matrix, rank, j));
            __stcg(h.open_v + j, -infinity<Dual>());
            __stcg(h.entered + j, theta);
            if (row >= 0) {
                __stcg(h.root + row, root);
                __stcg(h.offset + row, u - theta);
            } else if (atomicMin(h.goal + root, static_cast<uint32>(j)) == kNoGoal) {
                ended = root;
            }
        }
        // Places in the three lists, by atomics of three lanes at once.
        const uint32 lower = (1u << lane_index()) - 1, columns = __ballot_sync(kAllLanes, j >= 0),
                     rows = __ballot_sync(kAllLanes, row >= 0), ends = __ballot_sync(kAllLanes, ended >= 0);
        if (columns == 0) return;
        uint32 base = 0;
        if (lane_index() == 0) base = add_in_global(&board.reached_cols, __popc(columns));
        if (lane_index() == 1 && rows != 0) base = add_in_global(&board.forest_rows, __popc(rows));
        if (lane_index() == 2 && ends != 0) base = add_in_global(&board.goals, __popc(ends));
        const uint32 first_col = __shfl_sync(kAllLanes, base, 0), first_row = __shfl_sync(kAllLanes, base, 1),
                     first_end = __shfl_sync(kAllLanes, base, 2);
        if (j >= 0) __stcg(h.reached_cols + first_col + __popc(columns & lower), j);
        if (row >= 0) __stcg(h.in_forest + first_row + __popc(rows & lower), row);
        if (ended >= 0) __stcg(h.goal_roots + first_end + __popc(ends & lower), ended);
    }
};

}  // namespace hungarian

// `resumed`: continue with the given duals and matching. patience: see Tree.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    solve_hungarian_tree(LAPWING_HUNGARIAN, int64 resumed, double patience) {
    LAPWING_SET_FOREST;
    hungarian::run(hungarian::Tree{patience},
                   resumed != 0 ? hungarian::ForestTask::gather : hungarian::ForestTask::begin);
}
