// The core method on one GPU: minimum-cost assignment by candidate lists, an auction with falling epsilon, and shortest
// augmenting paths from all free rows at once.
//
// Terms. u, v: the duals ("prices") of rows and columns, feasible if u[i] + v[j] <= cost[i, j]. A matched pair is tight
// if it attains equality. A row's list holds the 32 columns with the smallest cost - v. tau is a lower bound of cost -
// v over all other columns. Prices only rise (v only falls) while lists are in use, so tau stays valid.
//
//   glance         reads a few costs to detect large and capped ones (core/start/glance.cuh)  one block of 256
//   prepare        initialises the state, and the prices or the keys for them               a grid of any size
//   column_minima  prices of a square matrix (core/start/minima.cuh)                        256 threads a block
//   lower_prices   -v rounded down, for the listings of a matrix                            a grid of any size
//   list_rows      the list of every row under the prices v                                 256 threads a row
//   solve          everything else in one cooperative launch: u, v, row_to_col and a Report. It also writes the
//                  Report to pinned host memory, which saves a copy.
//
// Cost: list_rows reads the matrix once. `solve` reads lists, 256 to 384 bytes per bid or scan, and reads whole rows
// only where a list is insufficient. A round has two barriers of the team that runs it, a
// step one to three.
//
// Every result is deterministic: lists and prices depend only on sets, maxima and minima, never on the order of
// threads.
//
// This is the program for a matrix in memory. The programs for computed costs (core/computed_core.cu), for a matrix on
// the host (core/host_core.cu) and for sparse costs (core/sparse_core.cu) have other costs and list rows in other ways
// (core/lists/listing.cuh).
//
// References: R. Jonker and A. Volgenant, Computing 38 (1987), shortest augmenting paths with a reduced start; D. P.
// Bertsekas, Annals of Operations Research 14 (1988), and Linear Network Optimization (1991), the auction; A. V.
// Goldberg and R. Kennedy, Mathematical Programming 71 (1995), epsilon scaling; U. Meyer and P. Sanders, Journal of
// Algorithms 49 (2003), delta-stepping; K. Date and R. Nagi, Parallel Computing 57 (2016), and S. Guthe and D. Thuerck,
// Algorithm 1015, ACM TOMS 47 (2021), augmenting paths on GPUs.
#include "costs/matrix.cuh"

#include "core/lists/pass.cuh"

using Listing = MatrixListing;

#include "core/complete.cuh"
#include "core/solve.cuh"
#include "core/start/glance.cuh"
#include "core/start/minima.cuh"
#include "core/ties.cuh"
