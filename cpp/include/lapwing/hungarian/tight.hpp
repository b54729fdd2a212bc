// Tight pairs row by row, and the forward pass over them: for the methods that list them ("hungarian-bfs", "munkres").
//
// Every row has a list of its own, so that rows are compacted by themselves, by whichever thread: the papers' one array of
// pairs and its offsets (CSR) need a prefix sum for that, and all rows at once. A row's exit is column n of its list.
#pragma once

#include <algorithm>
#include <vector>

#include "lapwing/hungarian/state.hpp"

namespace lapwing {

using TightPairs = std::vector<std::vector<Index>>;  // [m] columns

// Grows the forest breadth first from the rows of `frontier` along tight pairs until no tree can grow, or each that can has an end.
// Serial: it touches tight pairs alone, few beside the matrix, and its order makes the answer the same for any number of threads.
template <class T>
void grow_forest(HungarianState<T>& state, const TightPairs& tight, std::vector<Index> frontier) {
    std::vector<Index> next;
    for (; !frontier.empty(); frontier.swap(next)) {  // expansion of a level, contraction to the rows of the next
        ++state.counts.levels;
        next.clear();
        for (const Index i : frontier) {
            if (!state.may_grow(i)) continue;
            const std::vector<Index>& cols = tight[i];
            state.counts.edges_visited += static_cast<std::int64_t>(cols.size());
            const auto end = std::find_if(cols.begin(), cols.end(), [&](Index j) {
                return j == state.n || (state.col_to_row[j] == state.kFree && state.open[j] != 0);
            });
            if (end != cols.end()) {
                *end == state.n ? state.enter_exit(i) : static_cast<void>(state.enter(i, *end));
                continue;
            }
            for (const Index j : cols)
                if (state.open[j] != 0) next.push_back(state.enter(i, j));
        }
        state.poll();
    }
}

}  // namespace lapwing
