// Where costs come from: struct Costs, of which a program has one of three. Its .cu file includes that one before all
// else: a matrix (costs/matrix.cuh), computed costs (costs/computed.cuh), or a matrix on the host, of which a part is
// stored here (costs/host_rows.cuh).
//
//   Costs::Data          what kernels are given the address of, and with it a number, the `pitch`
//   is_in_memory, is_computed, is_on_host   which of the three it is
//   is_short             reading a cost takes little code: several are read side by side
//   costs.at(i, j)       one cost; the same bits wherever and however it is read
//   Costs::Row           Row(costs, i).load(cols, out): costs of row i, in several columns
//   costs.sample_row(k, run), sample_col(k, run)    where member k of a sample (costs/sample.cuh) is; not on the host
//   Costs::ListingPrice  the type of the rounded prices that listings read, at most 8 bytes
//
// Passes over whole rows are written for each of the three, in the folder of the pass: a matrix is read 16 bytes at a
// time, computed costs are made for several rows at once.
#pragma once
#include "common/common.cuh"
#include "costs/sample.cuh"
