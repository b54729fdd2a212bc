// Rows that hardly care: many of their columns cost the same, and no other costs less. Dummy rows that make a problem square are such, and
// rows of costs with few values.
//
// Where there are many of them, candidate lists tell nothing: the columns that such a row did not list are as good as those
// that it did, and every price that rises has it listed again. Full rows are the better way, as searches soon meet a free column
// among so many: half of 4096 rows being dummies, method core took over 30 seconds, jv 0.02. Where fewer than one column in kShare
// ties, either may be the faster, by three times.
#pragma once

#include <algorithm>
#include <vector>

#include "lapwing/core/kernels.hpp"
#include "lapwing/costs/source.hpp"

namespace lapwing {

// Whether one row in 16 is indifferent, as far as some of them tell. A cost that is not valid is not noticed here.
template <class T>
bool many_are_indifferent(const Problem<T>& problem) {
    constexpr Index kProbed = 64, kMany = 16, kShare = 32, kRoom = 64;  // of what a pass finds, beyond the columns
    const Index rows = problem.cost.rows, cols = problem.cost.cols, probed = std::min(rows, kProbed);
    const CoreKernels<T> kernels = core_kernels<T>(problem.maximize);
    const std::vector<Dual<T>> zero_prices(cols);
    std::vector<Dual<T>> values(cols + kRoom);
    std::vector<Index> found(cols + kRoom);
    RowReader<T> reader(problem.cost, problem.source);
    Index indifferent = 0;
    for (Index t = 0; t < probed; ++t) {
        const T* row = reader.row(static_cast<Index>(static_cast<std::int64_t>(t) * rows / probed));
        const Dual<T> least = kernels.minimum(row, cols, zero_prices.data());
        const Index ties = kernels.collect(row, cols, zero_prices.data(), least, found.data(), values.data());
        indifferent += ties >= std::max<Index>(cols / kShare, 2);
    }
    return indifferent * kMany >= probed;
}

}  // namespace lapwing
