// Method "hungarian-tree": the alternating-tree variant of Date and Nagi's Hungarian method.
//
// Problem   the linear assignment problem of types.hpp.
// Method    Row and column reduction and a first matching (hungarian/start.hpp). Then, in each iteration, a forest grows from
//           all free rows at once (hungarian/state.hpp). Every column keeps its least slack to the rows of the forest, and
//           the row where it is attained; a row that enters lowers them, in one pass over its costs. Columns whose slack is 0
//           are the frontier: free ones end their trees, matched ones bring their rows in. Without a frontier, the least
//           column slack is the dual update. Once trees have ends and nothing else is tight, one path in each is flipped.
// Cost      O(n) a dual update or a level of the search, O(n) a row that enters: O(n^2) an iteration, O(n^3) in all;
//           O(m + n) memory.
// Threads   share the columns: each column's slack and predecessor have one writer, which takes rows in their order. All
//           else is done by one.
//
// Deviations: a dual update raises one number, theta, instead of n column slacks, and is O(n) for the minimum alone; a tree that
// has an end grows no more; a reverse pass is not needed (state.hpp); rectangular problems, forbidden pairs and exits.
//
// Reference: K. Date, R. Nagi, "GPU-accelerated Hungarian algorithms for the Linear Assignment Problem", Parallel Computing 57
// (2016) 52-72.
#include "lapwing/hungarian/tree.hpp"

#include "lapwing/hungarian/start.hpp"
#include "lapwing/methods.hpp"

namespace lapwing {

template <class T>
Solution<Dual<T>> solve_hungarian_tree(const Problem<T>& problem, int threads, Control& control) {
    HungarianState<T> state(problem, threads, control);
    {
        const StageClock clock(state.statistics, control, "reduction_seconds");
        reduce(state);
        if (!state.expired()) match_tight(state, std::vector<Index>(state.free_rows));
    }
    return state.finish(TreeSearch<T>(state).run());
}

#define LAPWING_INSTANTIATE(T) template Solution<Dual<T>> solve_hungarian_tree(const Problem<T>&, int, Control&);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

}  // namespace lapwing
