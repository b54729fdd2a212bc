// Method "munkres": the classical Hungarian method on a matrix of slacks, as parallelised by Lopes et al.
//
// Problem   the linear assignment problem of struct Matrix.
// Method    The slacks (c - v) - u are a matrix of their own, which every dual update changes. Step 1: row and column
//           reduction, then the slacks. Step 2: zeros are compressed row by row and starred
//           (reference/hungarian_start.cuh). Step 3: the free rows. Step 4: a forest of primed zeros grows from them
//           breadth first. Steps 5a and 5b: one alternating path is flipped in each tree that reached a free column,
//           all at once (reference/hungarian_forest.cuh). Step 6: the least uncovered slack is subtracted from the
//           uncovered slacks and added to those covered twice; zeros are compressed again where slacks changed. Covered
//           are the rows outside the forest and the columns in it.
// Cost      Step 6 reads the rows of the forest for the minimum, then reads and writes them, and of the other rows the
//           columns of the forest; 2 barriers of the grid. At n = 8192 and integers up to 100 n: 880 times, 370 reads
//           of the whole matrix for the minimum, and 180 + 150 reads and writes of it. O(n^4) time; O(m n) memory: 4
//           bytes a slack for integers that fit, else 8.
//
// Stages, of the two reports that followed the paper, numbered as there. Without any of them the kernels are divided as
// in the paper. Each can be switched off, so that its effect can be measured (`lapwing.Munkres`):
//   reductions  (0) zeros are counted by row, and the counts summed by reductions; off: every zero that is listed adds
//               to one counter in global memory
//   fused       (1) add, subtract and compress in one pass; off: one pass changes slacks, another over all of them
//               compresses
//   one_launch  (2) all steps in one cooperative launch; off: the host launches each step, and each level of step 4,
//               and asks what is next
//   registers   (3) a changed slack is compared with zero while it is in a register; off: after it is read again
//   barrier     (4) a barrier of the block in step 6 between the change of a pack of slacks and its comparison with
//               zero, where both are one pass (`fused`)
// The paper's minimum of step 6 is a reduction from the start, and so it is here.
//
// Deviations from the paper: the roles of rows and columns are exchanged (the forest grows from free rows, whose slacks
// are contiguous). Zeros are compressed into lists of at most kTight a row; a row with more is read as a whole. Zeros
// have their places by row, so the counter of all zeros only counts them. Step 4 follows these lists in place of sweeps
// over all zeros; in one launch, one block grows all levels. So barriers meet the ordering conditions S1 to S5 of the
// paper's appendix: a level reads covers that are not written before the next barrier, a prime is the minimum of all
// candidates of a level, and paths are vertex-disjoint because trees are. `switch` is an open idea of the reports: to
// continue with shortest paths ("hungarian-tree") when an iteration has matched few rows. Slacks narrower than duals
// are checked against overflow. Rectangular problems, forbidden pairs and unmatched columns are supported.
//
// References: P. A. C. Lopes, S. S. Yadav, A. Ilic, S. K. Patra, "Fast block distributed CUDA implementation of the
// Hungarian algorithm", Journal of Parallel and Distributed Computing 130 (2019) 50-62, sections 2 and 4 and the
// appendix, and the two reports of 2021 and 2022 on it.
#include "costs/matrix.cuh"

#include "reference/hungarian_run.cuh"
#include "reference/munkres_slacks.cuh"

// `task`: the first task. by_task: the host launches every task, and reads the next one (munkres_next).
#define LAPWING_MUNKRES \
    LAPWING_HUNGARIAN, unsigned char *slacks, int64 pitch, int64 stages, int64 few, int64 by_task, int64 task

extern "C" __global__ void __launch_bounds__(THREADS, 1) solve_munkres(LAPWING_MUNKRES) {
    LAPWING_SET_FOREST;
    const hungarian::Munkres method(slacks, pitch, stages, few, by_task != 0);
    hungarian::run(method, static_cast<hungarian::ForestTask>(task), by_task != 0);
}
// Writes the next task to Board::task. One block.
extern "C" __global__ void munkres_next(LAPWING_MUNKRES) {
    LAPWING_SET_FOREST;
    const hungarian::Munkres method(slacks, pitch, stages, few, by_task != 0);
    const hungarian::ForestTask then = next(method, static_cast<hungarian::ForestTask>(task));
    if (threadIdx.x == 0) hungarian::forest().board->task = static_cast<uint32>(then);
}
