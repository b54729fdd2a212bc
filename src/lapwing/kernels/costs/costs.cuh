// Where costs come from: struct Costs, of which a program has one of three.
//
//   Costs::Data        what kernels are given the address of, and with it a number, the `pitch`
//   costs.at(i, j)     one cost; the same bits wherever and however it is read
//
// of a matrix (costs/matrix.cuh), computed (costs/computed.cuh, where the macro COMPUTED is set), or on the host, of
// which a part is stored here (costs/host_rows.cuh, where STORED is set). What walks whole rows is written for each of
// them, where it is done: a matrix is read 16 bytes at a time, computed costs are made for several rows at once.
#pragma once
#include "common/common.cuh"
#include "costs/sample.cuh"

#ifdef COMPUTED
#include "costs/computed.cuh"
#elif defined(STORED)
#include "costs/host_rows.cuh"
#else
#include "costs/matrix.cuh"
#endif
