// Costs that are made of those of another problem, pair by pair: less prices, in other numbers.
#pragma once

#include <algorithm>

#include "lapwing/costs/source.hpp"

namespace lapwing {

// From costs of type T, in a matrix or a source, to costs of type F. It refers to the costs.
template <class T, class F>
class RewrittenCosts : public CostSource<F> {
  public:
    explicit RewrittenCosts(const Problem<T>& problem) : problem_(problem) {}

    void read(Index i, Index first, Index count, F* out) const final {
        T given[kPiece];
        for (Index done = 0; done < count; done += kPiece) {
            const Index n = std::min(kPiece, count - done), from = first + done;
            if (problem_.source != nullptr) {
                problem_.source->read(i, from, n, given);
            } else {
                for (Index k = 0; k < n; ++k) given[k] = problem_.cost.at(i, from + k);
            }
            rewrite(i, from, n, given, out + done);
        }
    }
    Index rows_at_once() const final { return problem_.source != nullptr ? problem_.source->rows_at_once() : 1; }
    void fetch(Index begin, Index end) const final {
        if (problem_.source != nullptr) problem_.source->fetch(begin, end);
    }

  protected:
    static constexpr Index kPiece = 512;

    // Makes out[count] of `given`, at most kPiece costs of row i from column `first` on.
    virtual void rewrite(Index i, Index first, Index count, const T* given, F* out) const = 0;

    const Problem<T> problem_;
};

}  // namespace lapwing
