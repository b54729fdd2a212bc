#include "lapwing/reductions/in_boxes.hpp"
#include "lapwing/costs/spatial_order.hpp"

#include "lapwing/exact/wide.hpp"

namespace lapwing {
namespace {

constexpr Index kBoxedFrom = 2048;  // columns: with fewer, a row is read as fast as its boxes

template <class X>
void scatter(std::vector<X>& values, const std::vector<Index>& lines) {
    std::vector<X> given(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) given[lines[k]] = values[k];
    values = std::move(given);
}

// Whether few costs are computed to find the near columns of a row, all prices being 0.
template <class T>
bool are_worthwhile(const ColumnBoxes<T>& boxes, Index rows, Index cols, bool maximize) {
    constexpr Index kMost = 28;
    const std::vector<Dual<T>> v(static_cast<std::size_t>(cols), Dual<T>{0});
    BoxPrices<T> prices;
    boxes.take_prices(v.data(), prices);
    std::vector<NearColumn<T>> near;
    double computed = 0;
    for (std::int64_t t = 0; t < BoxTuning::kTrials; ++t) {
        Dual<T> limit = kInfinity<Dual<T>>;
        const auto row = static_cast<Index>(t * rows / BoxTuning::kTrials);
        computed += boxes.nearest({row, maximize, v.data(), &prices, kMost}, limit, near);
    }
    return computed <= BoxTuning::kWorthwhile * BoxTuning::kTrials * cols;
}

}  // namespace

template <class T>
std::optional<InBoxes<T>> InBoxes<T>::of(const Problem<T>& problem, int threads, Control& control) {
    if (problem.source == nullptr) return {};
    // Where rows that may stay free want far columns, all want the same few ones: whole rows took an eighth of the time
    // on clustered points.
    if (problem.maximize && problem.unmatched_cost != nullptr) return {};
    try {
        const auto poll = [&control] {
            if (control.look({"start"}) && control.is_late()) throw TimeIsUp{};
        };
        if (problem.cost.cols < kBoxedFrom) return {};
        Team team(threads);
        std::vector<Index> rows = problem.source->in_order(true, kNested, team, poll),
                           cols = problem.source->in_order(false, kNested, team, poll);
        if (rows.empty() || cols.empty()) return {};
        auto source = problem.source->in_boxes(rows, cols);
        if (source == nullptr) return {};
        if (!are_worthwhile(*source->boxes(), problem.cost.rows, problem.cost.cols, problem.maximize)) return {};
        return InBoxes(problem, std::move(rows), std::move(cols), std::move(source));
    } catch (const TimeIsUp&) {
        return {};
    }
}

template <class T>
std::vector<Dual<T>> InBoxes<T>::picked(const D* values, const std::vector<Index>& lines) {
    std::vector<D> some;
    some.reserve(lines.size());
    for (const Index line : lines) some.push_back(values[line]);
    return some;
}

template <class T>
std::vector<Index> InBoxes<T>::assignment(const Index* row_to_col) const {
    std::vector<Index> place(cols_.size()), here;
    for (std::size_t k = 0; k < cols_.size(); ++k) place[cols_[k]] = static_cast<Index>(k);
    here.reserve(rows_.size());
    for (const Index i : rows_) here.push_back(row_to_col[i] < 0 ? row_to_col[i] : place[row_to_col[i]]);
    return here;
}

template <class T>
void InBoxes<T>::give_back(std::vector<D>& u, std::vector<D>& v, std::vector<Index>& row_to_col) const {
    for (Index& j : row_to_col)
        if (j >= 0) j = cols_[j];
    scatter(row_to_col, rows_);
    scatter(u, rows_);
    scatter(v, cols_);
}

template <class T>
void InBoxes<T>::give_back(Solution<D>& solution) const {
    for (Index& i : solution.hall_rows) i = rows_[i];
    for (Index& j : solution.hall_cols) j = cols_[j];
    if (!solution.row_to_col.empty()) give_back(solution.u, solution.v, solution.row_to_col);
}

template class InBoxes<float>;
template class InBoxes<double>;
template class InBoxes<std::int32_t>;
template class InBoxes<std::int64_t>;
template class InBoxes<Int128>;
template class InBoxes<Wide>;

}  // namespace lapwing
