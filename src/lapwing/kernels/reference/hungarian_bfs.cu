// Method "hungarian-bfs": the classical variant of Date and Nagi's Hungarian method, in one cooperative launch.
//
// Problem   the linear assignment problem of struct Matrix.
// Method    Row and column reduction, a list of tight pairs for each row, and a first matching
//           (reference/hungarian_start.cuh). In each iteration a forest grows breadth first from all free rows along
//           the lists (the forward pass), and one path is flipped in each tree that reached a free column
//           (reference/hungarian_forest.cuh). If no tree did, a dual update follows in two stages. The first computes
//           the least slack between rows of the forest and columns outside it, in one pass over these rows. The second
//           changes the duals and lists the columns that became tight, in a pass over the chunks of rows that attain
//           the least slack.
// Cost      A dual update reads the rows of the forest once, at 2 barriers of the grid. An iteration with dual updates
//           lists all rows again, one read of the matrix. At n = 8192 and integers up to 10 n: 90 updates, 35 reads of
//           the matrix, and 7,900 levels in 99 iterations. O(n^4) time; O(n) memory, and 8 bytes for each chunk of a
//           row.
//
// Deviations from the paper: lists of at most kTight columns a row in place of one array with offsets (CSR), so that
// rows are listed independently; a row with more tight pairs is read as a whole when the forest reaches it. One block
// grows all levels, since they are small. Lists are made again after an iteration, not after each dual update: an
// update relaxes along its new tight pairs at once, and the pairs that it loosens lead into the forest, which matters
// only in the next iteration. Rows carry the root of their tree, so a tree that has an end stops growing, and no
// reverse pass is needed. Rectangular problems, forbidden pairs and unmatched columns are supported.
//
// Reference: K. Date, R. Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel
// Computing 57 (2016) 52-72, sections 2.2 (sequential) and 4 (parallel).
#include "costs/matrix.cuh"

#include "reference/hungarian_run.cuh"

namespace hungarian {

class Bfs {
  public:
    static constexpr bool keeps_slacks = false, lists_anew = true;

    // chunk_least: [rows][chunks_of(matrix)], of the rows of the forest
    __device__ explicit Bfs(Dual* chunk_least) : chunk_least_(chunk_least) {}

    __device__ void match_more() const {}
    __device__ bool levels_by_task() const { return false; }
    __device__ bool updates_more() const { return false; }
    __device__ void update_more() const {}
    __device__ void list() const { list_tight(); }
    __device__ void grow() const { hungarian::grow(*this, ~0u); }
    __device__ void settle() const { settle_duals(); }
    __device__ static Dual theta_after(Dual theta, Dual least) { return least > theta ? least : theta; }

    // f(j) for the open columns of row i whose pairs are tight at theta, or f(-1) for lanes without one. All threads of
    // block 0 call it together.
    template <class F>
    __device__ void visit_tight(int32 i, Dual theta, F f) const {
        const Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        const Dual offset = __ldcg(h.offset + i);
        for (int32 chunk = threadIdx.x / kWarp; chunk < chunks_of(matrix); chunk += blockDim.x / kWarp) {
            for_chunk_converged(matrix, i, chunk, h.core.v, [&](int32 j, Dual reduced) {
                f(j >= 0 && reduced - offset <= theta && is_open(h, j) ? j : kNone);
            });
        }
        if (threadIdx.x >= kWarp) return;
        const int32 unmatched = matrix.real_cols() + i;
        f(lane_index() == 0 && has_unmatched_column(matrix, i) && is_open(h, unmatched) &&
                  matrix.prices[i] - offset <= theta
              ? unmatched
              : kNone);
    }

    // Finds the theta at which the next pair that leads out of the forest becomes tight. A warp takes a chunk of a row.
    __device__ void least() const {
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        const uint32 chunks = chunks_of(matrix);
        uint64 best = kFar;
        each_warp(static_cast<uint64>(__ldcg(&h.board->forest_rows)) * chunks, [&](uint64 unit) {
            const int32 i = __ldcg(h.in_forest + unit / chunks), chunk = static_cast<int32>(unit % chunks);
            const Dual offset = __ldcg(h.offset + i);
            Dual least = infinity<Dual>();
            for_chunk(matrix, i, chunk, h.open_v, [&](int32, Dual reduced) {
                const Dual theta = reduced - offset;
                least = theta < least ? theta : least;
            });
            if (chunk == 0 && lane_index() == 0 && has_unmatched_column(matrix, i)) {
                const Dual theta = matrix.prices[i] - offset;
                least = theta < least ? theta : least;
            }
            const uint64 key = warp_min(ordered(least));
            if (lane_index() == 0) __stcg(chunk_least_ + unit, from_order<Dual>(key));
            best = key < best ? key : best;
        });
        lower_least(best, &h.board->least);
    }

    // Finds the columns of the pairs that became tight. The same warps take the same chunks as above.
    __device__ void update() const {
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        const uint32 chunks = chunks_of(matrix);
        const Dual theta = theta_after(h.theta(), from_order<Dual>(__ldcg(&h.board->least)));
        each_warp(static_cast<uint64>(__ldcg(&h.board->forest_rows)) * chunks, [&](uint64 unit) {
            if (__ldcg(chunk_least_ + unit) > theta) return;
            const int32 i = __ldcg(h.in_forest + unit / chunks), chunk = static_cast<int32>(unit % chunks);
            const Dual offset = __ldcg(h.offset + i);
            uint32* count = &h.board->new_cols;
            for_chunk_converged(matrix, i, chunk, h.open_v, [&](int32 j, Dual reduced) {
                relax<true>(count, i, j >= 0 && reduced - offset <= theta ? j : kNone);
            });
            const bool unmatched = chunk == 0 && lane_index() == 0 && has_unmatched_column(matrix, i) &&
                                   matrix.prices[i] - offset <= theta;
            relax<true>(count, i, unmatched ? matrix.real_cols() + i : kNone);
        });
    }

  private:
    Dual* chunk_least_;
};

}  // namespace hungarian

extern "C" __global__ void __launch_bounds__(THREADS, 1) solve_hungarian_bfs(LAPWING_HUNGARIAN, Dual* chunk_least) {
    LAPWING_SET_FOREST;
    hungarian::run(hungarian::Bfs(chunk_least));
}
