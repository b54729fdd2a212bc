// The certificate on the GPU: a bound on the violation of dual feasibility over *all* pairs, and the exact sums that
// make it a proof.
//
// cpp/include/lapwing/certificate/certificate.hpp defines the claim and its arithmetic. These kernels compute the same
// numbers and share nothing with the methods. All values are as minimised: costs and duals are negated if `maximize`.
//
//   certify_packed,    the pass over a matrix (certificate/matrix.cuh): rows * cols costs, each read once (16 bytes a
//   certify_strided    lane if they are aligned and contiguous), four loads in flight. A block keeps the duals of its
//                      tile's positions in registers for up to 32 lines. No barrier.
//   certify_lines      the pass over computed costs (certificate/computed.cuh, in computed_certificate.cu)
//   certify_vectors    O(rows + cols): checks that the assignment is a matching and that the duals are numbers, and
//                      computes the primal and dual sums; may write the summary to pinned host memory
//   certify_pick       the matched costs of a matrix that arrives in parts
//   certify_place      the position of a line's worst violation; launched only if there is one
//
// A line is a row, or a column if columns are contiguous; a position is an index into a line. `violations` [lines]
// (bits of a non-negative double, or an int64), `owners` [cols] and `summary` are zero before the first kernel.
#include "costs/matrix.cuh"

#include "certificate/matrix.cuh"
#include "certificate/vectors.cuh"
