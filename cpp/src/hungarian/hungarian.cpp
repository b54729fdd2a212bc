// The Hungarian methods of methods.hpp: costs of any type and layout become rows behind kernels.
#include <utility>
#include <vector>

#include "lapwing/certificate/hall.hpp"
#include "lapwing/hungarian/methods.hpp"

namespace lapwing {
namespace {

// The matrix row by row, where its own rows are not contiguous.
template <class T>
std::vector<T> contiguous_copy(const MatrixView<T>& cost, Control& control) {
    std::vector<T> copy;
    if (cost.col_stride == 1) return copy;
    copy.reserve(static_cast<std::size_t>(cost.rows) * static_cast<std::size_t>(cost.cols));
    for (Index i = 0; i < cost.rows; ++i) {
        control.poll({"copy"});
        for (Index j = 0; j < cost.cols; ++j) copy.push_back(cost.at(i, j));
    }
    return copy;
}

template <class T, class Method>
Solution<Dual<T>> solve_hungarian(const Problem<T>& problem, Control& control, const Method& method) {
    const MatrixView<T>& cost = problem.cost;
    const std::vector<T> copy = contiguous_copy(cost, control);
    const std::ptrdiff_t item = sizeof(T);
    auto solution = method(HungarianProblem<Dual<T>>{
        hungarian_kernels<T>(), problem.maximize, cost.rows, cost.cols, problem.unmatched_cost,
        reinterpret_cast<const std::byte*>(copy.empty() ? cost.data : copy.data()),
        (copy.empty() ? cost.row_stride : cost.cols) * item, item});
    if (solution.status == Status::infeasible) {
        auto found = find_hall_violator(problem, solution.row_to_col, solution.hall_rows.front());
        if (!found) refuse_changed_costs();
        solution.hall_rows = std::move(found->rows);
        solution.hall_cols = std::move(found->cols);
    }
    return solution;
}

}  // namespace

template <class T>
Solution<Dual<T>> solve_hungarian_bfs(const Problem<T>& problem, int threads, Control& control) {
    return solve_hungarian(problem, control, [&](const auto& p) { return hungarian_bfs(p, threads, control); });
}

template <class T>
Solution<Dual<T>> solve_hungarian_tree(const Problem<T>& problem, int threads, Control& control) {
    return solve_hungarian(problem, control, [&](const auto& p) { return hungarian_tree(p, threads, control); });
}

template <class T>
Solution<Dual<T>> solve_munkres(const Problem<T>& problem, const MunkresOptions& options, int threads,
                                Control& control) {
    return solve_hungarian(problem, control, [&](const auto& p) { return munkres(p, options, threads, control); });
}

#define LAPWING_INSTANTIATE(T)                                                         \
    template Solution<Dual<T>> solve_hungarian_bfs(const Problem<T>&, int, Control&);  \
    template Solution<Dual<T>> solve_hungarian_tree(const Problem<T>&, int, Control&); \
    template Solution<Dual<T>> solve_munkres(const Problem<T>&, const MunkresOptions&, int, Control&);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

}  // namespace lapwing
