#include "lapwing/jv/jv.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "lapwing/methods.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/saturated_rows.hpp"
#include "lapwing/steep_rows.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/jv/jv.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {

template <class T>
std::size_t direct_workspace_bytes(const Problem<T>& problem) {
    constexpr std::size_t kArrays = 23, kLongestLanes = 8, kMostInRegisters = 32;
    const auto rows = static_cast<std::size_t>(problem.cost.rows), cols = static_cast<std::size_t>(problem.cost.cols);
    const std::size_t padded = cols + kLongestLanes;
    const bool copies = copies_for_direct(problem);
    const std::size_t by_col = padded * (6 * sizeof(std::int64_t) + 4 * sizeof(Index) + 2);
    const std::size_t by_row = rows * ((1 + kLongestLanes) * sizeof(std::int64_t) + 6 * sizeof(Index));
    const std::size_t entries = (copies ? rows * cols : 0) + (cols <= kMostInRegisters ? padded * padded : 0);
    return by_col + by_row + entries * sizeof(Dual<T>) + kArrays * kDirectAlignment;
}

template <class T>
DirectAnswer<Dual<T>> solve_direct(const Problem<T>& problem, std::byte* workspace, bool with_u, Control* control,
                                   JvLimit limit, JvStart start, const JvState<Dual<T>>* state) {
    require_range(problem, control);
#ifdef LAPWING_HAS_AVX512
    // Twelve columns are three vectors of four, whose lanes are reduced faster than those of two vectors of eight.
    if (simd_target() == SimdTarget::avx512 && problem.cost.cols <= 12)
        return avx2::solve_direct(problem, workspace, with_u, control, limit, start, state);
#endif
    return LAPWING_DISPATCH(solve_direct, problem, workspace, with_u, control, limit, start, state);
}

template <class T>
bool solve_jv_within(const Problem<T>& problem, JvLimit limit, Control& control, Solution<Dual<T>>& solution,
                     JvStart start, const JvState<Dual<T>>* state) {
    const Workspace workspace = make_workspace(direct_workspace_bytes(problem));
    const auto answer = solve_direct(problem, workspace.get(), true, &control, limit, start, state);
    if (answer.gave_up) return false;
    solution = {};
    solution.status = answer.status;
    solution.row_to_col.assign(answer.row_to_col, answer.row_to_col + problem.cost.rows);
    solution.u.assign(answer.u, answer.u + problem.cost.rows);
    solution.v.assign(answer.v, answer.v + problem.cost.cols);
    if (answer.status == Status::infeasible) {
        solution.hall_rows.assign(answer.hall_rows, answer.hall_rows + answer.hall_size + 1);
        solution.hall_cols.assign(answer.hall_cols, answer.hall_cols + answer.hall_size);
    }
    solution.statistics.set("rows_read", answer.rows_read);
    solution.statistics.set("seconds", control.seconds());
    return true;
}

template <class T>
Solution<Dual<T>> solve_jv(const Problem<T>& problem, Control& control) {
    Solution<Dual<T>> solution;
    solve_jv_within(problem, {}, control, solution);
    return solution;
}

#define LAPWING_JV(T)                                                                                            \
    template std::size_t direct_workspace_bytes(const Problem<T>&);                                              \
    template DirectAnswer<Dual<T>> solve_direct(const Problem<T>&, std::byte*, bool, Control*, JvLimit, JvStart, \
                                                const JvState<Dual<T>>*);                                        \
    template bool solve_jv_within(const Problem<T>&, JvLimit, Control&, Solution<Dual<T>>&, JvStart,             \
                                  const JvState<Dual<T>>*);                                                      \
    template Solution<Dual<T>> solve_jv(const Problem<T>&, Control&);
LAPWING_JV(float)
LAPWING_JV(double)
LAPWING_JV(std::int32_t)
LAPWING_JV(std::int64_t)
#undef LAPWING_JV

}  // namespace lapwing
