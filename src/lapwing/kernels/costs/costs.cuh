// The interface of costs: struct Costs. Each program has one of five, which its .cu file includes first: a matrix
// (costs/matrix.cuh), a matrix in shards on several GPUs (costs/sharded.cuh), computed costs (costs/computed.cuh), a
// matrix on the host of which a part is on the GPU (costs/host_rows.cuh), or sparse costs (costs/sparse.cuh).
//
//   Costs::Data          the data whose address kernels get, together with a number, the `pitch`
//   is_in_memory, is_computed, is_on_host, is_sparse   the kind
//   may_have_dummies     whether its solves may have dummy rows (core/search/dummies.cuh)
//   is_short             reading a cost takes little code, so several are read side by side
//   costs.at(i, j)       one cost; the same bits wherever and however it is read
//   costs.has(i, j)      whether the pair has a cost; false for some pairs of sparse costs
//   costs.places(i, real_cols), col_of(i, place), at_place(i, place)    the places of row i, their columns and costs: a
//                        place is a column or, for sparse costs, an entry
//   Costs::Row           Row(costs, i).load(places, out): costs of row i, in several places
//   costs.sample_row(k, run), sample_col(k, run)    the row or column of member k of a sample (costs/sample.cuh); not
//                        for a matrix on the host, nor for sparse costs
//   costs.own_first(), own_end(rows)    of a matrix: the rows that this GPU has
//   costs.origin(i)      of a matrix: where row 0 would lie as seen from row i
//   costs.aligned()      of a matrix: whether all rows begin with a pack, an aligned 16 bytes
//   Costs::ListingPrice  the type of the rounded prices that listings read, at most 8 bytes
//
// Passes over whole rows are written for each kind, in the folder of the pass: a matrix is read 16 bytes at a time, and
// computed costs are computed for several rows at once.
#pragma once
#include "common/common.cuh"
#include "costs/sample.cuh"
