// Method "ssp": shortest augmenting paths with epsilon-pricing on full rows (Algorithm 1015), searched by one cluster.
//
// Problem   the linear assignment problem of struct Matrix.
// Method    cpp/src/ssp/ssp.cpp explains the start, the phases with falling epsilon, and the virtual rows, which are
//           one sink. Here every thread of a cluster of 8 blocks runs the same program and owns columns. Sums are
//           formed in the CPU's order, so the search closes the same columns and reads the same rows as on the CPU.
// Cost      A row is read when its column closes. A step reads the row's costs from L2 or memory, reduces them in each
//           warp, sends the result to the shared memory of every block, waits at a barrier of the cluster, and reduces
//           these 64 messages: an estimated 0.8 us with 8000 columns. A message carries what the next step needs of the
//           column; the state of a thread's columns is in shared memory (in L2 from some 46,000 float32 columns on).
//           Rows that are likely to be next are prefetched to L2. Every block records the steps, so each thread finds
//           the part of the path among its columns, and the end of a search needs no barrier of its own. O(rows^2 cols)
//           time at worst, O(rows + cols) memory.
//
// Protocol: a message is read after the barrier that follows it, and its place is reused after the barrier after that.
// A thread of each block records a step for this block; the record is read at the end of the search, a barrier later.
//
// Deviations from the paper: those of the CPU. If a row finds no column in the start's first pass, it counts with the
// largest cost of all rows, not of the rows before it. The L2 cache replaces a cache of rows.
//
// Reference: S. Guthe, D. Thuerck, "Algorithm 1015: A Fast Scalable Solver for the Dense Linear (Sum) Assignment
// Problem", ACM Transactions on Mathematical Software 47(2), 2021, sections 3 and 4.
#include "costs/matrix.cuh"

#include "reference/one_gpu.cuh"

#include "reference/ssp_search.cuh"

// A cooperative launch of the whole grid.
extern "C" __global__ void __launch_bounds__(THREADS, 1) survey_ssp(LAPWING_SSP) {
    LAPWING_SET_SSP;
    ssp::survey();
}
// One cluster of ssp::kBlocks blocks; on GPUs without clusters, a cooperative launch of which so many blocks stay.
// from: enum Prices. far_columns: see set_columns.
extern "C" __global__ void __launch_bounds__(ssp::kSearchThreads, 1)
    solve_ssp(LAPWING_SSP, int64 from, unsigned char* far_columns) {
    if (blockIdx.x >= ssp::blocks()) return;
    LAPWING_SET_SSP;
    ssp::set_columns(far_columns);
    ssp::Search().solve(static_cast<ssp::Prices>(from));
}
