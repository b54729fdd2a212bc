// A copy of a small matrix whose rows are not contiguous, for methods that read rows again and again: of a cost between
// others of its column a whole line of the cache is read.
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
        const MatrixView<T>& cost = problem.cost;
        return problem.source == nullptr && cost.col_stride != 1 &&
               static_cast<std::size_t>(cost.rows) * static_cast<std::size_t>(cost.cols) * sizeof(T) <= kMostBytes;
    }

    explicit ContiguousCopy(const Problem<T>& given)
        : costs_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(given.cost.rows) * given.cost.cols)),
          problem_(given) {
        const Index rows = given.cost.rows, cols = given.cost.cols;
        RowReader<T> reader(given.cost, nullptr);
        reader.expect(0, rows);
        for (Index i = 0; i < rows; ++i)
            std::copy_n(reader.row(i), cols, costs_.get() + static_cast<std::size_t>(i) * cols);
        problem_.cost = {costs_.get(), rows, cols, cols, 1};
    }
    ContiguousCopy(const ContiguousCopy&) = delete;
    ContiguousCopy& operator=(const ContiguousCopy&) = delete;
    const Problem<T>& problem() const { return problem_; }

  private:
    std::unique_ptr<T[]> costs_;
    Problem<T> problem_;
};

}  // namespace lapwing
