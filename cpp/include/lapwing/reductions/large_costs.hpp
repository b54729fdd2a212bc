// Costs far above all others: detected before a solve, which is then tried without them.
//
// People write a large number M where a pair is forbidden. Prices then rise to its size and lose the digits of the
// other costs. Sort the magnitudes of all costs: where the next one is more than 4 n times the largest before it (n:
// pairs of an assignment), no sum of costs below this gap is worth one above it. So if there is an assignment without
// the large costs, the best of these is the optimum, and its prices are of the size of the costs below the gap.
//
// Prices of a moderate M keep enough digits for the other costs: the problem can be solved as it is. Prices of any M
// do, once they are refined (exact/refine.hpp).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lapwing/costs/source.hpp"

namespace lapwing {

struct LargeCosts {
    double above;  // costs above this, as minimised, are large
    double least;  // the least large cost that was seen
    double most;   // the largest
    double below;  // the largest magnitude below the gap

    // Whether rounding of sums of large costs is a millionth of a small one at most, if that is a 64th of the largest.
    bool leave_digits() const { return most * 0x1p-52 <= below / 64 * 0x1p-20; }
};

// Looks at `rows` rows, evenly spread, of long ones at a part, and at the unmatched costs. None where there is no gap,
// or where large costs are negative, too. A look at some rows is enough: what is found is only a better way to begin,
// since every answer is proven. `pairs`: of an assignment, where the problem holds but some rows of one; 0: of an
// assignment of its own.
template <class T>
std::optional<LargeCosts> find_large_costs(const Problem<T>& problem, Index rows, Index pairs = 0);

// The costs of a problem, as given, without the large ones: these are forbidden. It refers to the costs.
template <class T>
std::shared_ptr<const CostSource<T>> small_costs(const MatrixView<T>& cost, const CostSource<T>* source, bool maximize,
                                                 double above);

}  // namespace lapwing
