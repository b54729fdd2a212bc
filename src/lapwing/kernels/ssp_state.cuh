// What the two kernels of method "ssp" share on the GPU (ssp.cu says how it works), and the blocks that search.
#pragma once
#include "core_watch.cuh"
#include "full_rows.cuh"

namespace ssp {

using namespace costs;

constexpr uint32 kBlocks = 8;  // of the cluster that searches

// Words that all blocks share.
struct Board {
    uint64 magnitude;  // ordered; the largest |cost|. survey.
    uint64 greatest;   // ordered; of the estimates of v. survey.
    // What each block of a scan offers, and whether the host wants an end; two in turn.
    uint64 nearest[2][kBlocks];  // ordered
    uint32 column[2][kBlocks];   // with kOwned
    uint32 stopped[2];
};
constexpr uint32 kOwned = 1u << 31;
constexpr uint32 kNoColumn = ~0u;

struct Ssp {
    State core;
    Lookout lookout;  // block 0's
    Board* board;
    // By row.
    Dual* row_least;  // with v = 0: feasible duals
    Dual* best;       // c - v, under the estimate of v
    Dual* regret;     // of a row that does not get its best column
    int32* order;     // of the rows: greatest regret first
    int32* greedy;    // the columns that they choose in this order; kNone: nothing was left
    // By column.
    Dual* estimate;    // of v
    int32* position;   // in the order, of the row that chose it; kNoRow: none did
    Dual* pair_cost;   // of the pair that it is matched in
    int32* before[2];  // its predecessor in a search and in the next
    // By column, of the thread that has it alone.
    Dual* distance;  // shortest known path; final where closed
    uint32* closed;  // the search that closed it last
    uint8* owned;    // whether it is matched
    unsigned char* end;

    __device__ void carve(unsigned char* base) {
        const uint64 rows = core.matrix.rows, cols = core.matrix.cols;
        State::take(base, board, 1);
        State::take(base, row_least, rows);
        State::take(base, best, rows);
        State::take(base, regret, rows);
        State::take(base, order, rows);
        State::take(base, greedy, rows);
        State::take(base, estimate, cols);
        State::take(base, position, cols);
        State::take(base, pair_cost, cols);
        State::take(base, before[0], cols);
        State::take(base, before[1], cols);
        State::take(base, distance, cols);
        State::take(base, closed, cols);
        State::take(base, owned, cols);
        end = base;
    }
};
__device__ inline Ssp& self() {
    __shared__ Ssp memory;
    return memory;
}

// More columns than rows, or rows that may stay free: v begins at 0, and there is one phase (ssp.cu).
__device__ inline bool is_square(const Matrix& matrix) { return matrix.rows == matrix.cols; }

// --- the cluster that searches ------------------------------------------------------------------------------------

__device__ inline uint32 blocks() { return gridDim.x < kBlocks ? gridDim.x : kBlocks; }
__device__ inline uint32 member() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline uint32 members() { return blocks() * blockDim.x; }
// What all threads wrote to global memory before is seen by all after.
__device__ inline void barrier() {
#if !defined(LAPWING_EMULATION) && __CUDA_ARCH__ >= 900
    __syncwarp();
    cluster_barrier();
#else
    grid_barrier(self().core.barrier + kLine, blocks());
#endif
}
// body(index) for each index below count, a thread of the cluster each.
template <class Body>
__device__ void each(uint32 count, Body body) {
#pragma unroll 1
    for (uint32 index = member(); index < count; index += members()) body(index);
}
// body(j) for the columns that are this thread's.
template <class Body>
__device__ void each_own_col(Body body) {
    const int32 cols = self().core.matrix.real_cols();
    const uint32 packs = (cols + kPackCols - 1) / kPackCols;
#pragma unroll 1
    for (uint32 pack = member(); pack < packs; pack += members()) {
        for (int32 j = static_cast<int32>(pack) * kPackCols, k = 0; k < kPackCols && j < cols; ++j, ++k) body(j);
    }
}

// A thread's numbers of a pack of its columns, which begin at a multiple of a pack.
template <class T>
__device__ inline void load_own(const T* from, T (&to)[kPackCols]) {
#pragma unroll
    for (int32 k = 0; k < kPackCols; ++k) to[k] = from[k];
}

// The column that offers the least, an unowned one where there are several, of these the first.
struct Nearest {
    Dual distance;
    int32 col;  // kNone if there is none
    bool owned;
    bool stopped;  // the host wants an end
};

// offer(own, k, j, cost as minimised less by_col) for all columns of row i, each by the thread that has it; infinity: nothing. own =
// load(first) is what it needs of a pack of columns, of which j is number k: on its way with the costs. In every thread;
// with a barrier between. `turn` counts scans.
template <class Load, class Offer>
__device__ Nearest scan(int32 i, uint32& turn, const Dual* by_col, Load load, Offer offer) {
    __shared__ uint64 warp_key[kMostBlocks / kWarp];
    __shared__ uint32 warp_col[kMostBlocks / kWarp];
    Ssp& s = self();
    const Matrix& matrix = s.core.matrix;
    const Cost* row = matrix.costs.row(i);
    const bool aligned = matrix.costs.aligned();
    const int32 cols = matrix.real_cols();
    const uint32 packs = (cols + kPackCols - 1) / kPackCols, warps = blockDim.x / kWarp, now = turn++ % 2;
    uint64 key = kFar;
    uint32 col = kNoColumn;
    const auto reduce = [&] {
        const uint64 least = warp_min(key);
        col = warp_min(key == least ? col : kNoColumn);
        key = least;
    };
#pragma unroll 1
    for (uint32 pack = member(); pack < packs; pack += members()) {
        const int32 first = static_cast<int32>(pack) * kPackCols;
        Pack<Cost> values;
        Dual reduced[kPackCols];
        uint8 owned[kPackCols];
        load_costs(matrix, row, aligned, first, values);
        load_by_col(by_col, first, cols, reduced);
#pragma unroll
        for (int32 k = 0; k < kPackCols; ++k) owned[k] = s.owned[first + k];  // arrays are longer than their columns
        const auto own = load(first);
#pragma unroll
        for (int32 k = 0; k < kPackCols; ++k) {
            const int32 j = first + k;
            if (j >= cols) continue;
            const Dual offered = offer(own, k, j, matrix.minimised(values.values[k]) - reduced[k]);
            if (is_far(offered)) continue;
            const uint64 mine = ordered(offered);
            const uint32 place = static_cast<uint32>(j) | (owned[k] != 0 ? kOwned : 0);
            if (mine > key || (mine == key && place > col)) continue;
            key = mine;
            col = place;
        }
    }
    reduce();
    if (lane_index() == 0) {
        warp_key[threadIdx.x / kWarp] = key;
        warp_col[threadIdx.x / kWarp] = col;
    }
    __syncthreads();
    key = lane_index() < warps ? warp_key[lane_index()] : kFar;
    col = lane_index() < warps ? warp_col[lane_index()] : kNoColumn;
    reduce();
    Board& board = *s.board;
    if (threadIdx.x == 0) {
        __stcg(&board.nearest[now][blockIdx.x], key);
        __stcg(&board.column[now][blockIdx.x], col);
        if (blockIdx.x == 0) __stcg(&board.stopped[now], s.lookout.stopped ? 1u : 0u);
    }
    if (key != kFar && (col & kOwned)) {  // its row is perhaps the next: on its way while all wait
        const int32 next = __ldcg(s.core.col_to_row + (col & ~kOwned));
        constexpr uint32 line = 128 / sizeof(Cost);
        if (next >= 0 && threadIdx.x * line < static_cast<uint32>(cols))
            prefetch_far(matrix.costs.row(next) + threadIdx.x * line);
    }
    barrier();
    const bool mine = lane_index() < blocks();
    key = mine ? __ldcg(&board.nearest[now][lane_index()]) : kFar;
    col = mine ? __ldcg(&board.column[now][lane_index()]) : kNoColumn;
    const bool stopped = __ldcg(&board.stopped[now]) != 0;
    reduce();
    if (key == kFar) return {infinity<Dual>(), kNone, false, stopped};
    return {from_order<Dual>(key), static_cast<int32>(col & ~kOwned), (col & kOwned) != 0, stopped};
}

__device__ inline void set_self(Matrix matrix, Dual* u, Dual* v, unsigned char* workspace, unsigned char* more,
                                ::Watch* watch) {
    Ssp& s = self();
    if (threadIdx.x == 0) {
        s.core.matrix = matrix;
        s.core.u = u;
        s.core.v = v;
        s.core.carve(workspace);
        s.carve(more);
        if (blockIdx.x == 0) s.lookout.begin(watch);
    }
    __syncthreads();
}

}  // namespace ssp

// As LAPWING_HUNGARIAN (hungarian_run.cuh), with the workspace of struct Ssp. pricing: 0 for plain shortest augmenting paths.
#define LAPWING_SSP                                                                                                   \
    const Cost *cost, int64 row_stride, int64 rows, int64 cols, int64 maximize, const Dual *prices, Dual *u, Dual *v, \
        unsigned char *workspace, unsigned char *more, Watch *watch, int64 pricing
#define LAPWING_SET_SSP                                                                                               \
    ssp::set_self({{cost, row_stride}, static_cast<int32>(rows), static_cast<int32>(cols), maximize != 0, prices}, u, \
                  v, workspace, more, watch)
