// Tied rows: rows whose minimum is attained by many columns, such as dummy rows that make a problem square, and rows of
// costs with few values.
//
// With many tied rows, candidate lists carry no information: the columns that such a row does not list are as good as
// those that it lists, and each time a listed price changes, the row has to be listed again. Full rows are better
// there, as searches soon meet a free column among so many. When half of 4096 rows were dummy rows, method core took
// over 30 seconds and jv 0.02. At n = 2000 and 4000, costs whose rows had one column in 20 to 115 at their minimum were
// 1 to 20 times faster with jv; with one in 133, the core was up to 3.5 times faster.
#pragma once

#include <algorithm>
#include <vector>

#include "lapwing/core/kernels.hpp"
#include "lapwing/costs/source.hpp"

namespace lapwing {

// Whether at least one row in 16 is tied, estimated from up to 64 rows. Invalid costs are not detected here.
template <class T>
bool many_rows_are_tied(const Problem<T>& problem) {
    constexpr Index kProbed = 64, kMany = 16, kShare = 96, kRoom = 64;  // of what a pass finds, beyond the columns
    const Index rows = problem.cost.rows, cols = problem.cost.cols, probed = std::min(rows, kProbed);
    const CoreKernels<T> kernels = core_kernels<T>(problem.maximize);
    const std::vector<Dual<T>> zero_prices(cols);
    std::vector<Dual<T>> values(cols + kRoom);
    std::vector<Index> found(cols + kRoom);
    RowReader<T> reader(problem.cost, problem.source);
    Index tied = 0;
    for (Index t = 0; t < probed; ++t) {
        const T* row = reader.row(static_cast<Index>(static_cast<std::int64_t>(t) * rows / probed));
        const Dual<T> least = kernels.minimum(row, cols, zero_prices.data());
        const Index ties = kernels.collect(row, cols, zero_prices.data(), least, found.data(), values.data());
        tied += ties >= std::max<Index>(cols / kShare, 2);
    }
    return tied * kMany >= probed;
}

}  // namespace lapwing
