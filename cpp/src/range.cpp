#include "lapwing/range.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <system_error>
#include <thread>
#include <vector>

#define LAPWING_TARGET_INCLUDE "lapwing/range.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

double magnitude(double x) { return std::isfinite(x) ? std::fabs(x) : 0; }
std::int64_t magnitude(std::int64_t x) { return x ^ (x >> 63); }

// Largest magnitude of each line of `lines` (rows, or columns where those are contiguous).
template <class D>
class LineMagnitudes {
  public:
    explicit LineMagnitudes(const MatrixView<D>& lines)
        : lines_(lines), largest_(static_cast<std::size_t>(lines.rows)) {}

    const std::vector<D>& run(int threads) {
        const double pairs = static_cast<double>(lines_.rows) * static_cast<double>(lines_.cols);
        const int useful = static_cast<int>(std::min(pairs / kPairsPerThread, static_cast<double>(threads)));
        std::vector<std::jthread> helpers;
        try {
            for (int t = 1; t < useful; ++t) helpers.emplace_back([this] { work(); });
        } catch (const std::system_error&) {  // no more threads to be had: fewer do it too
        }
        work();
        helpers.clear();
        return largest_;
    }

  private:
    static constexpr double kPairsPerThread = 100'000;
    static constexpr Index kLinesPerTurn = 16;
    MatrixView<D> lines_;
    std::vector<D> largest_;  // [lines]; each written by one thread
    std::atomic<Index> next_ = 0;

    void work() {
        for (Index start; (start = next_.fetch_add(kLinesPerTurn)) < lines_.rows;) {
            for (Index i = start; i < std::min(start + kLinesPerTurn, lines_.rows); ++i) {
                D& largest = largest_[static_cast<std::size_t>(i)];
                if (lines_.col_stride == 1) {
                    largest = LAPWING_DISPATCH(range_largest_magnitude, lines_.row(i), lines_.cols);
                    continue;
                }
                for (Index j = 0; j < lines_.cols; ++j) largest = std::max(largest, magnitude(lines_.at(i, j)));
            }
        }
    }
};

template <class D>
void find_extreme_cost(const Problem<D>& problem, int threads, CostRange<D>& range) {
    const MatrixView<D>& cost = problem.cost;
    const bool by_columns = cost.row_stride == 1 && cost.col_stride != 1;
    const MatrixView<D> lines = by_columns ? cost.transposed() : cost;
    LineMagnitudes<D> magnitudes(lines);
    const std::vector<D>& largest = magnitudes.run(threads);
    const auto worst = std::max_element(largest.begin(), largest.end());
    if (worst == largest.end() || *worst <= magnitude(range.extreme)) return;
    const auto line = static_cast<Index>(worst - largest.begin());
    Index position = 0;
    while (magnitude(lines.at(line, position)) != *worst) ++position;
    range.row = by_columns ? position : line;
    range.col = by_columns ? line : position;
    range.extreme = cost.at(range.row, range.col);
}

}  // namespace

template <class T>
CostRange<Dual<T>> check_range(const Problem<T>& problem, int threads) {
    using D = Dual<T>;
    CostRange<D> range;
    range.limit = cost_limit<D>(std::min(problem.cost.rows, problem.cost.cols));
    if (problem.unmatched_cost != nullptr) {
        for (Index i = 0; i < problem.cost.rows; ++i) {
            const D cost = problem.unmatched_cost[i];
            if (cost == kInfinity<D> || magnitude(cost) <= magnitude(range.extreme)) continue;
            range.extreme = cost;
            range.row = i;
        }
    }
    if constexpr (std::is_same_v<T, D>) find_extreme_cost(problem, threads, range);
    range.fits = magnitude(range.extreme) <= range.limit;
    return range;
}

template <class T>
void require_range(const Problem<T>& problem) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
        if (const auto range = check_range(problem, 1); !range.fits) throw CostTooLarge{range.row, range.col};
    } else if (problem.unmatched_cost != nullptr) {
        const auto limit = cost_limit<Dual<T>>(std::min(problem.cost.rows, problem.cost.cols));
        for (Index i = 0; i < problem.cost.rows; ++i) {
            const auto price = std::max(problem.unmatched_cost[i], -problem.unmatched_cost[i]);
            if (price > limit && price < kInfinity<Dual<T>>) throw CostTooLarge{i, -1};
        }
    }
}

template CostRange<double> check_range(const Problem<float>&, int);
template CostRange<double> check_range(const Problem<double>&, int);
template CostRange<std::int64_t> check_range(const Problem<std::int32_t>&, int);
template CostRange<std::int64_t> check_range(const Problem<std::int64_t>&, int);

template void require_range(const Problem<float>&);
template void require_range(const Problem<double>&);
template void require_range(const Problem<std::int32_t>&);
template void require_range(const Problem<std::int64_t>&);

}  // namespace lapwing
