// Where costs come from: struct Costs, of which a program has one of four. Its .cu file includes that one before all
// else: a matrix (costs/matrix.cuh), computed costs (costs/computed.cuh), a matrix on the host, of which a part is
// stored here (costs/host_rows.cuh), or sparse costs (costs/sparse.cuh).
//
//   Costs::Data          what kernels are given the address of, and with it a number, the `pitch`
//   is_in_memory, is_computed, is_on_host, is_sparse   which of the four it is
//   is_short             reading a cost takes little code: several are read side by side
//   costs.at(i, j)       one cost; the same bits wherever and however it is read
//   costs.has(i, j)      whether there is one: not of every pair if costs are sparse
//   costs.places(i, real_cols), col_of(i, place), at_place(i, place)    the places of row i, their columns and costs: a
//                        place is a column or, of sparse costs, an entry
//   Costs::Row           Row(costs, i).load(places, out): costs of row i, in several places
//   costs.sample_row(k, run), sample_col(k, run)    where member k of a sample (costs/sample.cuh) is; not on the host,
//                        nor of sparse costs
//   Costs::ListingPrice  the type of the rounded prices that listings read, at most 8 bytes
//
// Passes over whole rows are written for each of them, in the folder of the pass: a matrix is read 16 bytes at a
// time, computed costs are made for several rows at once.
#pragma once
#include "common/common.cuh"
#include "costs/sample.cuh"
