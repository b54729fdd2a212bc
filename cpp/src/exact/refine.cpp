#include "lapwing/exact/refine.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lapwing/costs/source.hpp"
#include "lapwing/methods.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/exact/subtract.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

// The costs of a problem, as minimised, less duals.
template <class T>
class RestSource final : public CostSource<double> {
  public:
    RestSource(const Problem<T>& problem, const RefineRequest& duals) : problem_(problem), duals_(duals) {}

    void read(Index i, Index first, Index count, double* out) const override {
        T piece[kPiece];
        double low[kPiece], u[kPiece];
        for (Index done = 0; done < count; done += kPiece) {
            const Index n = std::min(kPiece, count - done), from = first + done;
            double* const high = out + done;
            if (problem_.source != nullptr) {
                problem_.source->read(i, from, n, piece);
            } else {
                for (Index k = 0; k < n; ++k) piece[k] = problem_.cost.at(i, from + k);
            }
            for (Index k = 0; k < n; ++k) high[k] = static_cast<double>(problem_.minimised(piece[k])), low[k] = 0;
            for (int part = 0; part < duals_.u_parts; ++part) {
                std::fill_n(u, n, duals_.u[part * static_cast<std::ptrdiff_t>(problem_.cost.rows) + i]);
                LAPWING_DISPATCH(subtract, u, n, high, low);
            }
            for (int part = 0; part < duals_.v_parts; ++part)
                LAPWING_DISPATCH(subtract, duals_.v + part * static_cast<std::ptrdiff_t>(problem_.cost.cols) + from, n,
                                 high, low);
            for (Index k = 0; k < n; ++k)
                high[k] = problem_.minimised(piece[k]) < kInfinity<T> ? high[k] + low[k] : kInfinity<double>;
        }
    }
    Index rows_at_once() const override { return problem_.source != nullptr ? problem_.source->rows_at_once() : 1; }
    void fetch(Index begin, Index end) const override {
        if (problem_.source != nullptr) problem_.source->fetch(begin, end);
    }

  private:
    static constexpr Index kPiece = 512;
    const Problem<T>& problem_;
    const RefineRequest& duals_;
};

}  // namespace

template <class T>
Solution<double> refine(const Problem<T>& problem, const RefineRequest& request, Control& control) {
    const Index n = problem.cost.cols;
    const RestSource<T> source(problem, request);
    const Problem<double> rest{{nullptr, problem.cost.rows, n, n, 1}, false, nullptr, &source};
    const std::vector<double> zero_prices(static_cast<std::size_t>(n));
    return solve_core<double>(rest, zero_prices.data(), request.threads, control, {}, request.start_rows);
}

template Solution<double> refine(const Problem<float>&, const RefineRequest&, Control&);
template Solution<double> refine(const Problem<double>&, const RefineRequest&, Control&);

}  // namespace lapwing
