#include "lapwing/certificate/hall.hpp"

#include <algorithm>
#include <numeric>

#include "lapwing/costs/source.hpp"

namespace lapwing {

template <class T>
std::optional<HallViolator> find_hall_violator(const Problem<T>& problem, const std::vector<Index>& row_to_col,
                                               Index free_row) {
    const Index cols = problem.cost.cols;
    std::vector<Index> col_to_row(static_cast<std::size_t>(cols), -1);
    for (std::size_t i = 0; i < row_to_col.size(); ++i) {
        if (row_to_col[i] >= 0) col_to_row[static_cast<std::size_t>(row_to_col[i])] = static_cast<Index>(i);
    }
    std::vector<Index> unreached(static_cast<std::size_t>(cols));
    std::iota(unreached.begin(), unreached.end(), 0);

    RowReader<T> reader(problem.cost, problem.source);
    HallViolator found;
    found.rows.push_back(free_row);
    for (std::size_t k = 0; k < found.rows.size(); ++k) {  // found.rows is the queue
        const Index i = found.rows[k];
        if (problem.unmatched_cost != nullptr && problem.unmatched_cost[i] < kInfinity<Dual<T>>) return std::nullopt;
        const T* row = reader.row(i);
        std::size_t kept = 0;
        for (const Index j : unreached) {
            if (problem.minimised(row[j]) == std::numeric_limits<Dual<T>>::infinity() && std::is_floating_point_v<T>) {
                unreached[kept++] = j;
                continue;
            }
            const Index next = col_to_row[static_cast<std::size_t>(j)];
            if (next < 0) return std::nullopt;
            found.cols.push_back(j);
            found.rows.push_back(next);
        }
        unreached.resize(kept);
    }
    std::sort(found.rows.begin(), found.rows.end());
    std::sort(found.cols.begin(), found.cols.end());
    return found;
}

template std::optional<HallViolator> find_hall_violator(const Problem<float>&, const std::vector<Index>&, Index);
template std::optional<HallViolator> find_hall_violator(const Problem<double>&, const std::vector<Index>&, Index);
template std::optional<HallViolator> find_hall_violator(const Problem<std::int32_t>&, const std::vector<Index>&, Index);
template std::optional<HallViolator> find_hall_violator(const Problem<std::int64_t>&, const std::vector<Index>&, Index);

}  // namespace lapwing
