// Method "hungarian-tree": the alternating tree variant of Date and Nagi's Hungarian method, in one cooperative launch.
//
// Problem   the linear assignment problem of struct Matrix.
// Method    Starts like "hungarian-bfs" (reference/hungarian_start.cuh). Each column keeps the least slack of its pairs
//           with rows of the forest, and the row that attains it; so a row is read once, when it enters the forest. The
//           next columns to enter, at the present duals or after an update, are those with the least slack of all
//           columns: a minimum of n numbers. In each iteration one path is flipped in each tree that reached a free
//           column.
// Cost      A step reads the rows that entered last, at one barrier of the grid; an update takes another. A block owns
//           columns and alone touches their slacks, so slacks need no atomics and predecessors no second pass. At n =
//           8192 and integers up to 10 n: 7,900 steps in 99 iterations, 56 reads of the matrix. O(n^3) time, O(n)
//           memory.
//
// Deviations from the paper: a slack is stored as the `theta` at which it vanishes, so a dual update changes theta
// alone, and duals move once an iteration (reference/hungarian_state.cuh explains why rounding is smaller, too). All
// free rows are roots at once, and a tree that has an end stops growing, as in "hungarian-bfs". Rectangular problems,
// forbidden pairs and unmatched columns are supported.
//
// Protocol: the words that a step decides by are read directly after the barrier that ends it. Since fast blocks then
// write those of the next step, each step has one of three sets of words; it is cleared in the step before. One word is
// read while others write it: the step in which a tree had an end first. That is this step then, or not yet, and either
// way the tree still takes part.
//
// Reference: K. Date, R. Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel
// Computing 57 (2016) 52-72, sections 2.3 (sequential) and 4 (parallel).
#include "costs/matrix.cuh"

#include "reference/hungarian_run.cuh"
#include "reference/tight_pairs.cuh"

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
    // Null, or memory for TightPairs, which match what rows can be at the present duals before a forest grows. If they
    // have matched none, twice as many forests grow before they try again.
    unsigned char* tight;

    __device__ void match_more() const {
        Board& board = *forest().board;
        const uint32 iterations = __ldcg(&board.iterations);
        if (tight == nullptr || __ldcg(&board.no_free_rows) != 0 || iterations < __ldcg(&board.next_match)) return;
        const uint32 matched = TightPairs(tight).match();
        if (!is_first_thread()) return;
        board.augmentations += matched;
        board.pause = matched > 0 || board.pause == 0 ? 1 : 2 * board.pause;
        board.next_match = iterations + board.pause;
    }
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
        board.no_free_rows = matched == free;
    }

    // Grows the whole forest, alike in all blocks. A step enters the columns whose slack vanishes. If there are none,
    // theta rises to the least slack, and another step enters the columns that have it.
    __device__ void grow() const {
        Forest& h = forest();
        Board& board = *h.board;
        ForestCounts all = {__ldcg(&board.free_rows), 0, 0};
        uint32 begin = 0, updates = 0, step = 0, stopped = 0;
        Dual theta = 0;
        begin_forest();
        for (bool rises = false; stopped == 0; ++step) {
            Step& now = board.steps[step % 3];
            if (rises)
                enter(theta, step, all, now);
            else
                relax(begin, theta, step, all, now);
            if (is_first_thread()) {
                board.steps[(step + 1) % 3] = {kFar, {0, 0, 0}, 0};
                if (step % HungarianTuning::steps_between_looks == 0)
                    h.signals.poll(board.levels + board.tight_steps + step);
                now.stopped = h.signals.stopped;
            }
            grid_barrier(h.core.barrier, gridDim.x);
            const ForestCounts entered = {__ldcg(&now.entered.rows), __ldcg(&now.entered.cols),
                                          __ldcg(&now.entered.goals)};
            stopped = __ldcg(&now.stopped);
            begin = all.rows;
            all.rows += entered.rows;
            all.cols += entered.cols;
            all.goals += entered.goals;
            rises = entered.cols == 0;
            if (!rises) continue;
            const Dual least = from_order<Dual>(__ldcg(&now.least));
            if (is_far(least) || all.goals > 0) break;
            theta = least;
            ++updates;
        }
        if (!is_first_thread()) return;
        board.forest_rows = all.rows;
        board.reached_cols = all.cols;
        board.goals = all.goals;
        board.stopped = stopped;
        board.theta = Forest::bits_of(theta);
        board.updates += updates;
        board.levels += step - updates;
        board.scanned += all.rows;
        ++board.iterations;
    }

  private:
    __device__ void begin_forest() const {
        Forest& h = forest();
        each_thread(h.core.matrix.cols, [&](uint32 j) {
            __stcg(h.entered + j, infinity<Dual>());
            __stcg(h.new_cols + j, kNotEnded);
        });
        if (blockIdx.x == 0) tell_news();
        if (is_first_thread()) h.board->steps[0] = {kFar, {0, 0, 0}, 0};
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

    // Computes the slacks with the rows of the forest from `begin` on, enters the columns where they vanish at theta,
    // and finds the least slack of all other open columns. A tree that had an end before this step stops growing.
    __device__ void relax(uint32 begin, Dual theta, int32 step, const ForestCounts& all, Step& now) const {
        __shared__ Slacks slacks;
        const uint32 end = all.rows;
        const bool some_ended = all.goals > 0;
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
                    takes_part[a] = row[a] >= 0 && (root[a] < 0 || __ldcg(h.new_cols + root[a]) >= step);
#pragma unroll
                for (uint32 a = 0; a < ahead; ++a) {
                    if (!takes_part[a]) continue;
#pragma unroll
                    for (int32 k = 0; k < kPackCols; ++k) {
                        if (j + k >= matrix.real_cols()) continue;
                        least[k].lower((matrix.minimised(pack[a].values[k]) - v[k]) - offset[a],
                                       rank_of(matrix, row[a], j + k));
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
            for (uint32 c = threadIdx.x; c - lane_index() < width; c += blockDim.x) {
                const int32 col = c < width ? first + static_cast<int32>(c) : kNone;
                bool enters = false;
                if (col >= 0 && col < matrix.real_cols() && is_open(h, col)) {
                    Dual kept = __ldcg(h.entered + col);
                    LeastSlack own;
                    for (uint32 g = 0; g < found; ++g)
                        own.lower(slacks.theta[g * width + c], slacks.rank[g * width + c]);
                    if (own.theta < kept) {
                        kept = own.theta;
                        __stcg(h.entered + col, kept);
                        __stcg(h.rank + col, own.rank);
                    }
                    enters = kept <= theta;
                    if (!enters && ordered(kept) < best) best = ordered(kept);
                }
                enter_if(enters ? col : kNone, theta, step, all, now);
            }
        });
        if (matrix.prices != nullptr) {
            each_thread_converged(end, [&](uint32 at) {  // unmatched columns of the whole forest
                const int32 i = at < end ? __ldcg(h.in_forest + at) : kNone, col = matrix.real_cols() + i;
                bool enters = false;
                if (i >= 0 && has_unmatched_column(matrix, i) && is_open(h, col) &&
                    (!some_ended || __ldcg(h.new_cols + __ldcg(h.root + i)) >= step)) {
                    const Dual slack = matrix.prices[i] - __ldcg(h.offset + i);
                    __stcg(h.entered + col, slack);
                    __stcg(h.rank + col, rank_of(matrix, i, col));
                    enters = slack <= theta;
                    if (!enters && ordered(slack) < best) best = ordered(slack);
                }
                enter_if(enters ? col : kNone, theta, step, all, now);
            });
        }
        lower_least(best, &now.least);
    }

    // Enters the columns whose slack vanishes at theta.
    __device__ void enter(Dual theta, int32 step, const ForestCounts& all, Step& now) const {
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        const uint32 lanes = row_lanes(matrix), width = lanes * kPackCols;
        const auto look = [&](int32 col) {  // kNone: nothing
            const Dual at = col >= 0 ? __ldcg(h.entered + col) : infinity<Dual>();
            const bool is_there = col >= 0 && is_open(h, col);
            enter_if(is_there && at <= theta ? col : kNone, theta, step, all, now);
        };
        each_group(matrix, lanes, [&](int32 first) {
            for (uint32 c = threadIdx.x; c - lane_index() < width; c += blockDim.x) {
                const int32 col = first + static_cast<int32>(c);
                look(c < width && col < matrix.real_cols() ? col : kNone);
            }
        });
        if (matrix.prices == nullptr) return;
        each_thread_converged(all.rows, [&](uint32 at) {
            const int32 i = at < all.rows ? __ldcg(h.in_forest + at) : kNone;
            look(i >= 0 && has_unmatched_column(matrix, i) ? matrix.real_cols() + i : kNone);
        });
    }
    // Adds column j, if it is one, with the row matched to it. `all`: the counts before this step. All lanes of a warp
    // call it.
    __device__ void enter_if(int32 j, Dual theta, int32 step, const ForestCounts& all, Step& now) const {
        Forest& h = forest();
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
                __stcg(h.new_cols + root, step);
            }
        }
        // Places in the three lists, by atomics of three lanes at once.
        const uint32 lower = (1u << lane_index()) - 1, columns = __ballot_sync(kAllLanes, j >= 0),
                     rows = __ballot_sync(kAllLanes, row >= 0), ends = __ballot_sync(kAllLanes, ended >= 0);
        if (columns == 0) return;
        uint32 base = 0;
        if (lane_index() == 0) base = all.cols + add_in_global(&now.entered.cols, __popc(columns));
        if (lane_index() == 1 && rows != 0) base = all.rows + add_in_global(&now.entered.rows, __popc(rows));
        if (lane_index() == 2 && ends != 0) base = all.goals + add_in_global(&now.entered.goals, __popc(ends));
        const uint32 first_col = __shfl_sync(kAllLanes, base, 0), first_row = __shfl_sync(kAllLanes, base, 1),
                     first_end = __shfl_sync(kAllLanes, base, 2);
        if (j >= 0) __stcg(h.reached_cols + first_col + __popc(columns & lower), j);
        if (row >= 0) __stcg(h.in_forest + first_row + __popc(rows & lower), row);
        if (ended >= 0) __stcg(h.goal_roots + first_end + __popc(ends & lower), ended);
    }
};

}  // namespace hungarian

// `resumed`: continue with the given duals and matching. patience: see Tree. tight: null, or of square problems without
// prices memory for TightPairs.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    solve_hungarian_tree(LAPWING_HUNGARIAN, int64 resumed, double patience, unsigned char* tight) {
    LAPWING_SET_FOREST;
    hungarian::run(hungarian::Tree{patience, tight},
                   resumed != 0 ? hungarian::ForestTask::gather : hungarian::ForestTask::begin);
}
