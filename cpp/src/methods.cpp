// What stands between the methods: one that hands over to another, and the completion of interrupted answers.
#include "lapwing/methods.hpp"

#include "lapwing/exact/wide.hpp"
#include "lapwing/indifferent.hpp"
#include "lapwing/source.hpp"

namespace lapwing {

template <class T>
Solution<Dual<T>> solve_jv_or_core(const Problem<T>& problem, int threads, Control& control) {
    // Searches of jv a row: 4 to 10 on uniform and integer costs at n = 1000, 33 on points, 140 to 500 on other structures.
    constexpr std::uint64_t kPollsPerRow = 16;
    control.set_budget(kPollsPerRow * static_cast<std::uint64_t>(problem.cost.rows));
    Solution<Dual<T>> solution = solve_jv(problem, control);
    if (!control.lift_budget() || solution.status != Status::time_limit) return solution;
    if (many_are_indifferent(problem)) return solve_jv(problem, control);
    return solve_core<T>(problem, nullptr, threads, control);
}

template <class T>
Solution<Dual<T>> solve_core_or_jv(const Problem<T>& problem, int threads, Control& control) {
    const bool as_it_is = problem.source == nullptr && !problem.maximize && problem.cost.col_stride == 1;
    if (as_it_is && many_are_indifferent(problem)) return solve_jv(problem, control);
    return solve_core<T>(problem, nullptr, threads, control);
}

template <class T>
void complete_greedily(const Problem<T>& problem, std::vector<Index>& row_to_col, Control& control) {
    std::vector<char> taken(problem.cost.cols, 0);
    Index matched = 0;
    for (const Index j : row_to_col)
        if (j >= 0) taken[j] = 1, ++matched;
    RowReader<T> reader(problem.cost, problem.source);
    Index expected = 0;
    for (Index i = 0; i < problem.cost.rows; ++i) {
        if (row_to_col[i] >= 0) continue;
        if (i >= expected) {
            for (expected = i; expected < problem.cost.rows && row_to_col[expected] < 0;) ++expected;
            reader.expect(i, expected);
        }
        control.poll({"complete", 0, matched});
        const T* row = reader.row(i);
        Dual<T> least = problem.unmatched_cost ? problem.unmatched_cost[i] : kInfinity<Dual<T>>;
        for (Index j = 0; j < problem.cost.cols; ++j) {
            const Dual<T> cost = problem.minimised(row[j]);
            if (taken[j] || !(cost < least)) continue;
            least = cost;
            row_to_col[i] = j;
        }
        if (row_to_col[i] >= 0) taken[row_to_col[i]] = 1, ++matched;
    }
}

template <class T>
Dual<T> total_cost(const Problem<T>& problem, const std::vector<Index>& row_to_col) {
    constexpr Dual<T> infinity = kInfinity<Dual<T>>;
    Dual<T> sum = 0;
    for (Index i = 0; i < problem.cost.rows; ++i) {
        const Index j = row_to_col[i] < problem.cost.cols ? row_to_col[i] : -1;  // or its exit
        const Dual<T> cost = j >= 0                   ? at_pair(problem, i, j)
                             : problem.unmatched_cost ? problem.unmatched_cost[i]
                                                      : infinity;
        if (!(cost < infinity)) return infinity;
        sum += cost;
    }
    return sum;
}

#define LAPWING_INSTANTIATE(T)                                                            \
    template Solution<Dual<T>> solve_jv_or_core<T>(const Problem<T>&, int, Control&);     \
    template Solution<Dual<T>> solve_core_or_jv<T>(const Problem<T>&, int, Control&);     \
    template void complete_greedily<T>(const Problem<T>&, std::vector<Index>&, Control&); \
    template Dual<T> total_cost<T>(const Problem<T>&, const std::vector<Index>&);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

#define LAPWING_INSTANTIATE_WIDE(T)                                                       \
    template void complete_greedily<T>(const Problem<T>&, std::vector<Index>&, Control&); \
    template Dual<T> total_cost<T>(const Problem<T>&, const std::vector<Index>&);
LAPWING_INSTANTIATE_WIDE(Int128)
LAPWING_INSTANTIATE_WIDE(Wide)
#undef LAPWING_INSTANTIATE_WIDE

}  // namespace lapwing
