// Costs with a cap: most costs of a row equal its largest one, as in overlaps that are mostly zero, truncated
// distances, or 0/1 costs.
//
// A cap is a price for staying free. If no cost of row i is above t_i, forbid the pairs at t_i, and let the row stay
// free at the price t_i instead; rows and columns that are left free are then paired arbitrarily. The optimum is the
// same: a pair of a free row and a free column that costs less than t_i would improve the assignment if it were
// matched. And the proof carries over: with rows that may stay free u_i <= t_i and v_j <= 0, so u_i + v_j <= t_i holds
// for all pairs at the cap, with equality where both were left free. The rest is sparse: lists hold all pairs below
// the cap, and no row is read twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/core/kernels.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/numbers/range.hpp"

namespace lapwing {

// Reads rows: the cap of each, and the pairs below it.
template <class T>
class CapReader {
  public:
    using D = Dual<T>;

    explicit CapReader(const Problem<T>& problem)
        : problem_(problem), kernels_(core_kernels<T>(problem.maximize)), opposite_(core_kernels<T>(!problem.maximize)),
          zeros_(problem.cost.cols), values_(problem.cost.cols + kRoom), found_(problem.cost.cols + kRoom),
          reader_(problem.cost, problem.source) {}

    // Reads row i. False if a cost is not a number, infinite or out of range, or a pair of floats is forbidden.
    bool read(Index i) {
        row_ = reader_.row(i);
        if constexpr (std::is_floating_point_v<T>) {
            T most = std::numeric_limits<T>::max();
            if constexpr (std::is_same_v<T, double>) most = cost_limit<double>(problem_.cost.rows);
            Index odd = 0;
            for (Index j = 0; j < problem_.cost.cols; ++j) odd += !(std::fabs(row_[j]) <= most);
            if (odd != 0) return false;
        }
        cap_ = -opposite_.minimum(row_, problem_.cost.cols, zeros_.data());
        if constexpr (std::is_integral_v<T>) cap_ -= 1;  // ~x is -x - 1
        below = collect(before(cap_));
        return true;
    }
    // As minimised: signed_cost makes integers that are maximised 1 less.
    D cap() const { return std::is_integral_v<T> && problem_.maximize ? cap_ + 1 : cap_; }
    // Whether so many pairs share the least cost, and it is below the cap, that any free column will do.
    bool is_tied() {
        constexpr Index kShare = 32;  // as in tied_rows.hpp
        const D least = kernels_.minimum(row_, problem_.cost.cols, zeros_.data());
        return least < cap_ && collect(least) >= std::max<Index>(problem_.cost.cols / kShare, 2);
    }

    // The pairs below the cap, costs in the signs of the kernels; valid until the next read.
    Index below = 0;
    const Index* cols() const { return found_.data(); }
    const D* costs() const { return values_.data(); }

  private:
    static constexpr Index kRoom = 64;  // for a blind write

    Index collect(D limit) {
        return kernels_.collect(row_, problem_.cost.cols, zeros_.data(), limit, found_.data(), values_.data());
    }
    static D before(D x) {
        if constexpr (std::is_integral_v<T>) return x - 1;
        if constexpr (!std::is_integral_v<T>) return std::nextafter(x, -kInfinity<D>);
    }

    const Problem<T>& problem_;
    CoreKernels<T> kernels_, opposite_;
    std::vector<D> zeros_, values_;
    std::vector<Index> found_;
    RowReader<T> reader_;
    const T* row_ = nullptr;
    D cap_ = 0;  // in the signs of the kernels
};

// Whether most of a few costs of a few rows are equal: a look of some nanoseconds.
template <class T>
bool may_have_caps(const Problem<T>& problem) {
    constexpr Index kRows = 3, kCols = 8;
    const Index m = problem.cost.rows, n = problem.cost.cols;
    Index massed = 0;
    for (Index t = 0; t < kRows; ++t) {
        const Index i = static_cast<Index>(static_cast<std::int64_t>(t) * (m - 1) / (kRows - 1));
        T most = problem.cost.at(i, 0);
        Index count = 0;
        for (Index s = 0; s < kCols; ++s) {
            const T c = problem.cost.at(i, static_cast<Index>(static_cast<std::int64_t>(s) * (n - 1) / (kCols - 1)));
            if (problem.maximize ? c < most : c > most) most = c, count = 0;
            count += c == most;
        }
        massed += 2 * count >= kCols;
    }
    return 2 * massed > kRows;
}

// Whether rows, some of them evenly spread, have few enough pairs below their caps.
template <class T>
bool has_caps(const Problem<T>& problem) {
    constexpr Index kSampled = 5, kMostBelow = 96, kShare = 4;  // a quarter of a row at most
    constexpr Index kLeast = 32;                                // columns: fewer are quickly searched
    if (problem.source != nullptr || problem.unmatched_cost != nullptr || problem.cost.cols < kLeast) return false;
    if (!may_have_caps(problem)) return false;
    const Index most = std::min(kMostBelow, problem.cost.cols / kShare);
    const Index sampled = std::min(kSampled, problem.cost.rows);
    CapReader<T> row(problem);
    Index below = 0, tied = 0;
    for (Index t = 0; t < sampled; ++t) {
        if (!row.read(static_cast<Index>(static_cast<std::int64_t>(t) * problem.cost.rows / sampled))) return false;
        below += row.below;
        if (below > sampled * most) return false;
        tied += row.is_tied();
    }
    return 2 * tied <= sampled;
}

// The costs of a matrix, as given, without those at the caps: these are forbidden. Of floats.
template <class T>
class BelowCaps final : public CostSource<T> {
  public:
    BelowCaps(const Problem<T>& problem, const std::vector<Dual<T>>& caps) : problem_(problem), caps_(caps) {}
    void read(Index i, Index first, Index count, T* out) const override {
        constexpr T forbidden = std::numeric_limits<T>::infinity();
        for (Index k = 0; k < count; ++k) {
            const T c = problem_.cost.at(i, first + k);
            out[k] = problem_.minimised(c) < caps_[i] ? c : problem_.maximize ? -forbidden : forbidden;
        }
    }

  private:
    const Problem<T>& problem_;
    const std::vector<Dual<T>>& caps_;
};

}  // namespace lapwing
