// Costs with a cap: most costs of a row equal its largest one, as in overlaps that are mostly zero, truncated
// distances, or 0/1 costs.
//
// A cap is a price for staying free. If no cost of row i is above t_i, forbid the pairs at t_i, and let the row stay
// free at the price t_i instead; rows and columns that are left free are then paired arbitrarily. The optimum is the
// same: a pair of a free row and a free column that costs less than t_i would improve the assignment if it were
// matched. And the proof carries over: with rows that may stay free u_i <= t_i and v_j <= 0, so u_i + v_j <= t_i holds
// for all pairs at the cap, with equality where both were left free. The rest is sparse (sparse/solve.hpp), and every
// row of the matrix is read once.
//
// Where all caps are one number M far above the costs below them (large_costs.hpp: M in place of infinity), prices of
// its size would hide the digits of the costs. Any other price E far above these costs gives the same pairs. Let each
// dual be a multiple of E plus a rest of at most E / 4, and let costs be less than E / 4 in magnitude. Then the
// multiples of a pair below the cap add up to at most 0, those of a tight pair to 0, and those of any pair to at most
// 1, which only rows that stay free have, with a rest of 0. So the same multiples of M, and the same rests, prove the
// answer with M.
#pragma once

#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Whether rows, some of them evenly spread, have so few pairs below their caps, on average. A look of some nanoseconds,
// where they have none.
inline constexpr Index kMostBelowCap = 512;
template <class T>
bool has_caps(const Problem<T>& problem, Index most = kMostBelowCap);

// Whether many pairs of a few of these rows are below their caps, and many of them cost the same as others of the row.
template <class T>
bool tie_below_caps(const Problem<T>& problem);

// The multiples of M in duals, [rows] and [cols], where all caps are one number M far above all other costs.
struct LargeParts {
    std::vector<double> u, v;
    bool are_small = false;  // the other prices are small beside the matched costs below M (numbers/trust.hpp)
};

// Solves what has_caps has found. False, with nothing solved, if too many pairs are below their caps, or a pair is
// forbidden. `are_small`: nullptr, or takes LargeParts::are_small if all caps are one number as far above; else it is
// left.
template <class T>
bool solve_capped(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution, bool* are_small = nullptr);

// The same, with duals in two parts; false if not all caps are one number as far above. T: float or double.
template <class T>
bool solve_far_capped(const Problem<T>& problem, Control& control, Solution<double>& solution, LargeParts& parts);

}  // namespace lapwing
