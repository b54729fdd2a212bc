#include "lapwing/exact/refine.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lapwing/costs/contiguous.hpp"
#include "lapwing/costs/rewritten.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/reductions/equal_lines.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/exact/subtract.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

constexpr std::size_t kMostBytesOfEqual = std::size_t{1} << 27;  // of a copy where lines are equal
constexpr double kJvReads = 16;                                  // of each row, before core's lists replace rows

// The costs of a problem, as minimised, less duals.
template <class T>
class RestSource final : public RewrittenCosts<T, double> {
  public:
    RestSource(const Problem<T>& problem, const RefineRequest& duals)
        : RewrittenCosts<T, double>(problem), duals_(duals) {}

  private:
    void rewrite(Index i, Index first, Index count, const T* given, double* out) const override {
        const Problem<T>& problem = this->problem_;
        const auto rows = static_cast<std::ptrdiff_t>(problem.cost.rows), cols = std::ptrdiff_t{problem.cost.cols};
        double low[RewrittenCosts<T, double>::kPiece] = {}, u[RewrittenCosts<T, double>::kPiece];
        for (Index k = 0; k < count; ++k) out[k] = static_cast<double>(problem.minimised(given[k]));
        for (int part = 0; part < duals_.u_parts; ++part) {
            std::fill_n(u, count, duals_.u[part * rows + i]);
            LAPWING_DISPATCH(subtract, u, count, out, low);
        }
        for (int part = 0; part < duals_.v_parts; ++part)
            LAPWING_DISPATCH(subtract, duals_.v + part * cols + first, count, out, low);
        for (Index k = 0; k < count; ++k)
            out[k] = problem.minimised(given[k]) < kInfinity<T> ? out[k] + low[k] : kInfinity<double>;
    }

    const RefineRequest& duals_;
};

Solution<double> solve_rest(const Problem<double>& rest, const RefineRequest& request, Control& control) {
    const std::vector<double> zero_prices(static_cast<std::size_t>(rest.cost.cols));
    return solve_core<double>(rest, zero_prices.data(), request.threads, control, {}, request.start_rows);
}

}  // namespace

template <class T>
Solution<double> refine(const Problem<T>& problem, const RefineRequest& request, Control& control) {
    const Index n = problem.cost.cols;
    const RestSource<T> source(problem, request);
    const Problem<double> rest{{nullptr, problem.cost.rows, n, n, 1}, false, nullptr, &source};
    using Copy = ContiguousCopy<double>;
    const bool repeats = has_equal_lines(problem);
    if (!Copy::fits(rest, repeats ? kMostBytesOfEqual : Copy::kMostBytes)) return solve_rest(rest, request, control);
    const Copy copy(rest);
    Solution<double> solution;
    if (repeats && has_equal_lines(copy.problem()) && solve_equal_lines(copy.problem(), control, solution))
        return solution;
    if (rest.cost.rows <= kJvOrCoreMaxRows &&
        solve_jv_within(copy.problem(), kJvReads * n, control, solution, JvStart::zero))
        return solution;
    return solve_rest(copy.problem(), request, control);
}

template Solution<double> refine(const Problem<float>&, const RefineRequest&, Control&);
template Solution<double> refine(const Problem<double>&, const RefineRequest&, Control&);

}  // namespace lapwing
