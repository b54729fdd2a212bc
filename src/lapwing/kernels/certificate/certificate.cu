// The certificate on the GPU: how far duals are from feasible over *all* pairs, and the exact sums that make it a
// proof.
//
// cpp/include/lapwing/certificate/certificate.hpp defines what is proven, and by what arithmetic. These kernels compute
// the same numbers and share nothing with the methods. All values are as minimised: costs and duals are negated if
// `maximize`.
//
//   certify_packed,    the pass over a matrix (certificate/matrix.cuh): rows * cols costs, each read once (16 bytes a
//   certify_strided    lane where they are aligned and contiguous), four loads in flight; a block keeps the duals of
//                      its tile's positions in registers for up to 32 lines. No barrier.
//   certify_lines      the pass over computed costs (certificate/computed.cuh, in computed_certificate.cu)
//   certify_vectors    O(rows + cols): whether it is a matching, whether the duals are numbers, the primal and dual
//                      sums; it may write the summary to pinned memory of the host, which saves a copy
//   certify_pick       the matched costs of a matrix that arrives in parts
//   certify_place      where in a line its worst violation stands; launched only if there is one
//
// A line is a row, or a column where columns are contiguous; a position is a place in it. `violations` [lines] (bits of
// a non-negative double, or an int64), `owners` [cols] and `summary` are zero before the first kernel.
#include "costs/matrix.cuh"

#include "certificate/matrix.cuh"
#include "certificate/vectors.cuh"
