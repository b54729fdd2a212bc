// Boxes: the near columns of a row of points, found without computing the other costs.
//
// Problem: the k columns j with the least c(i, j) - v[j], or all below a limit, for given prices v. Columns are in the
// order of a k-d tree (costs/spatial_order.hpp), kBoxColumns of them in each box; kBoxFan boxes make one of the next
// level. A search begins with the boxes of the highest level and goes into the nearest box first (Friedman, Bentley,
// Finkel, "An algorithm for finding best matches in logarithmic expected time", ACM TOMS 3, 1977); prices are weights
// of the columns, as in additively weighted Voronoi diagrams. A box is left out if
//     (least cost of the box) - (highest price in the box) > limit.
//
// This is rigorous in the arithmetic in which costs are computed, not only in exact numbers. The least cost is that of
// the nearest place of the box, computed by the operations that make a cost, in their order. Each operation is rounded
// monotonically, so no computed cost of a point in the box is below it; overflow to infinity and subnormal numbers
// change nothing. The powers of `minkowski` and the arcsine of `great_circle` need not be monotone; there the bound
// allows for far more than their error. For a term with a negative weight, or where costs are maximised, the greatest
// cost, at the farthest place, takes the place of the least. Prices may fall after they were taken: the highest one of
// a box then is too high, and the bound too low. A box all of which is beyond the limit of a term is left out.
//
// Where rows are matched far away, as between two clouds of points that lie apart, cost and price both vary much within
// a box, and that bound is far too low. There prices are taken *tilted*: as a linear function a . y of the coordinates,
// fitted to the prices in the box, and a rise, which no v[j] - a . y[j] exceeds. If the cost is a sum over dimensions,
//     sum over dimensions of (least of (term - a y) in [low, high]) - rise
// is a bound, too; the greater of the two counts. A Euclidean distance takes the place of such a sum by one that is no
// greater, its slope towards the middle of the box. The bound is computed in double, less a margin for all rounding,
// that of the costs included. Slopes may be any numbers, so their own rounding does not matter.
//
// O(k + log n) costs and bounds a row where dimensions are few and prices vary little from one box to the next, or
// almost linearly within boxes. In many dimensions nothing is left out, and the caller should watch how many costs were
// computed. Memory: dims * cols / 32 numbers, and (dims^2 + 2 dims) * cols / 64 doubles for slopes.
#pragma once

#include <memory>
#include <span>

#include "lapwing/costs/points.hpp"
#include "lapwing/costs/source.hpp"

namespace lapwing {

inline constexpr Index kBoxColumns = kColumnsAtOnce;
inline constexpr Index kBoxFan = 16;
inline constexpr Index kBoxesFrom = 1024;  // columns: of fewer all costs are computed as fast

// Boxes of the columns as they lie, which are in spatial order. Null if there are few columns, or if a cost might be
// too large for sums (numbers/range.hpp), which only a look at all costs can tell. Refers to the terms.
template <class T>
std::unique_ptr<const ColumnBoxes<T>> make_point_boxes(Index rows, Index cols, std::span<const PointTerm<T>> terms);

}  // namespace lapwing
