// The same problem with rows and columns in the order of a k-d tree, where the source of the costs puts columns into
// boxes (costs/boxes.hpp): there a box is a run of columns, and what is near lies together in memory.
#pragma once

#include <optional>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

template <class T>
class InBoxes {
  public:
    using D = Dual<T>;

    // Nothing if the source has no boxes, if they are of no use, or if the time limit comes first.
    static std::optional<InBoxes> of(const Problem<T>& problem, int threads, Control& control);

    Problem<T> problem() const {
        return {{nullptr, count(rows_), count(cols_), count(cols_), 1},
                maximize_,
                unmatched_cost_.empty() ? nullptr : unmatched_cost_.data(),
                source_.get()};
    }
    // [cols] values, ordered as here.
    std::vector<D> of_cols(const D* v) const { return picked(v, cols_); }
    // [rows] columns, -1 for none, as they are numbered here.
    std::vector<Index> assignment(const Index* row_to_col) const;

    // From here to the order in which the problem was given.
    void give_back(std::vector<D>& u, std::vector<D>& v, std::vector<Index>& row_to_col) const;
    void give_back(Solution<D>& solution) const;
    Index row(Index i) const { return i < 0 ? i : rows_[i]; }

  private:
    InBoxes(const Problem<T>& problem, std::vector<Index>&& rows, std::vector<Index>&& cols,
            std::unique_ptr<CostSource<T>>&& source)
        : maximize_(problem.maximize), rows_(std::move(rows)), cols_(std::move(cols)), source_(std::move(source)) {
        if (problem.unmatched_cost != nullptr) unmatched_cost_ = picked(problem.unmatched_cost, rows_);
    }
    static Index count(const std::vector<Index>& lines) { return static_cast<Index>(lines.size()); }
    static std::vector<D> picked(const D* values, const std::vector<Index>& lines);

    bool maximize_;
    std::vector<Index> rows_, cols_;  // what is where
    std::unique_ptr<CostSource<T>> source_;
    std::vector<D> unmatched_cost_;
};

}  // namespace lapwing
