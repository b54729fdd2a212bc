// Components of sparse costs, solved one by one, side by side.
//
// Problem. Rows and columns that no chain of pairs connects do not matter to each other: each connected component is a
// problem of its own, with prices on a scale of its own.
// Method. Disjoint sets of columns, which every row unites (union by index, path halving: Tarjan and van Leeuwen,
// Journal of the ACM 31, 1984). Where one component soon has half of the columns, that is all: the problem is solved as
// one. Else rows are sorted by component; small components are packed into groups, which threads take in turns. A row
// without a pair joins no component, and costs one look.
// Complexity. O(nnz) in effect, and a copy of the group that a thread works on.
// Deviations. A solve that is watched or kept is solved as one, whose bound grows while it runs; so is one on a single
// thread where columns may stay free: without phases, prices need no scale of their own.
#pragma once

#include "lapwing/sparse/solve.hpp"

namespace lapwing {

// As solve_adjacency. `threads`: an upper limit; of several optimal answers it may decide which is found.
template <class T>
SparseSolution<Dual<T>> solve_components(Adjacency<T>& pairs, Index cols, const Dual<T>* exits, const Dual<T>* start_v,
                                         int threads, Control& control, const Keep<Dual<T>>& keep,
                                         const Dual<T>* free_cols, bool whole = false);

}  // namespace lapwing
