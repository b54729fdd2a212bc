// The Hungarian methods, behind those of methods.hpp: for duals of double and int64_t, whatever the costs are.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/hungarian/state.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/solution.hpp"

namespace lapwing {

template <class D>
Solution<D> hungarian_bfs(const HungarianProblem<D>& problem, int threads, Control& control);
template <class D>
Solution<D> hungarian_tree(const HungarianProblem<D>& problem, int threads, Control& control);
template <class D>
Solution<D> munkres(const HungarianProblem<D>& problem, const MunkresOptions& options, int threads, Control& control);

// Matches the rows that are free, by shortest alternating paths from all of them at once (hungarian_tree.cpp).
template <class D>
Status match_by_trees(HungarianState<D>& state);

}  // namespace lapwing
