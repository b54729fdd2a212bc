// A copy of a small matrix for methods that read rows again and again: of one whose rows are not contiguous, where a
// cost between others of its column takes a whole line of the cache, or of one that is computed.
#pragma once

#include <algorithm>
#include <memory>

#include "lapwing/costs/source.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

template <class T>
class ContiguousCopy {
  public:
    static constexpr std::size_t kMostBytes = std::size_t{1} << 25;

    static bool is_of_use(const Problem<T>& problem) {
        return problem.source == nullptr && problem.cost.col_stride != 1 && fits(problem);
    }
    static bool fits(const Problem<T>& problem, std::size_t most_bytes = kMostBytes) {
        return static_cast<std::size_t>(problem.cost.rows) * static_cast<std::size_t>(problem.cost.cols) * sizeof(T) <=
               most_bytes;
    }

    explicit ContiguousCopy(const Problem<T>& given)
        : costs_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(given.cost.rows) * given.cost.cols)),
          problem_(given) {
        const Index rows = given.cost.rows, cols = given.cost.cols;
        RowReader<T> reader(given.cost, given.source);
        reader.expect(0, rows);
        for (Index i = 0; i < rows; ++i)
            std::copy_n(reader.row(i), cols, costs_.get() + static_cast<std::size_t>(i) * cols);
        problem_.cost = {costs_.get(), rows, cols, cols, 1};
        problem_.source = nullptr;
    }
    ContiguousCopy(const ContiguousCopy&) = delete;
    ContiguousCopy& operator=(const ContiguousCopy&) = delete;
    const Problem<T>& problem() const { return problem_; }

  private:
    std::unique_ptr<T[]> costs_;
    Problem<T> problem_;
};

}  // namespace lapwing
