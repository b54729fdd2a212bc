// Tight pairs row by row, and the forward pass over them: for the methods that list them ("hungarian-bfs", "munkres").
//
// Every row has a list of its own, so that rows are compacted by themselves, by whichever thread: the papers' one array
// of pairs and its offsets (CSR) need a prefix sum for that, and all rows at once. A row's unmatched column is column n
// of its list.
#pragma once

#include <vector>

#include "lapwing/hungarian/state.hpp"

namespace lapwing {

using TightPairs = std::vector<std::vector<Index>>;  // [m] columns

// Grows the forest breadth first from the rows of `frontier` along tight pairs until no tree can grow, or each that can
// has an end. Serial: it touches tight pairs alone, few beside the matrix, and its order makes the answer the same for
// any number of threads.
template <class D>
void grow_forest(HungarianState<D>& state, const TightPairs& tight, std::vector<Index> frontier);

}  // namespace lapwing
