// The exact solve: floating-point costs without any rounding, starting from nearly optimal duals.
//
// Problem. A method with float64 duals loses the digits of small costs where duals are large (a large number M in place
// of infinity, costs that span many magnitudes). The certificate then reports a gap, and this solve continues. Method.
// Costs are integers in a common unit (fixed_point.hpp), and the core method runs on them with integer duals, from the
// prices that the first method returned. Its answer is optimal and its duals prove it without rounding; they come back
// as sums of doubles. Int128 serves costs that span up to some 110 binary digits, and others if rounding them down to
// 110 digits leaves the optimum certain up to `precision`; else Wide, which has room for all finite doubles and is some
// twenty times slower. Cost. One pass over the costs for their digits, one to list all rows, and searches for the rows
// that rounding has misled.
#pragma once

#include "lapwing/control.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

struct ExactSolution {
    Status status = Status::optimal;
    bool rounded = false;           // costs were rounded down: the answer is optimal up to `precision`
    std::vector<Index> row_to_col;  // [rows]
    std::vector<std::vector<double>> u,
        v;  // [parts][rows], [parts][cols]: sums over parts are the duals; none at a time limit
    std::vector<Index> hall_rows, hall_cols;  // as in Solution
    bool violator_is_cols = false;            // as in SparseSolution
    Statistics statistics;
};

struct ExactRequest {
    // [start_parts][cols]: prices to start from, as sums of parts; none if start_parts is 0.
    const double* start_v = nullptr;
    int start_parts = 0;
    const Index* start_rows = nullptr;                 // beside prices: [rows] the columns of an assignment, or nullptr
    double most = std::numeric_limits<double>::max();  // pairs that cost more are taken for forbidden
    double precision = 0;
    int threads = 1;
    // nullptr or [cols] prices of columns that stay free (reductions/column_prices.hpp), finite.
    const double* unmatched_cols = nullptr;
};

// T: float or double. Contract as in methods.hpp.
template <class T>
ExactSolution solve_exact(const Problem<T>& problem, const ExactRequest& request, Control& control);

}  // namespace lapwing
