// Costs of few values: phases of largest matchings of tight pairs.
//
// Problem. Costs that are counts, ranks, ages, percentages, minutes, rounded distances, rounded sums: many costs of a
// row are equal. Candidate lists tell little then, and a method that searches for one row at a time walks through the
// same tight pairs (cost = u + v) again and again.
//
// Method. The Hungarian method in phases. Let v be the columns' minima, or zero where columns far outnumber rows, and u
// the rows' minima of cost - v. In each phase
//   1. a largest matching of the tight pairs, by depth-first searches from all free rows, repeated until none finds a
//      free column; a row tries free columns first;
//   2. one search for shortest paths from all rows that are still free (Dijkstra, by levels), over the columns that
//      step 1 has reached and on;
//   3. prices that make tight the paths to the free columns found: u rises by D - distance, v falls by as much.
// D is the distance of the nearest free column where free columns must keep their price of zero. In a square problem
// every column gets a row in the end, so D may be larger: there a phase goes on until it has found a third as many free
// columns as rows are free, which takes up to two thirds fewer phases. Where columns are up to 1.75 times as many as
// rows, dummy rows make the problem square. Their costs are zero, and column minima do not count them: else they would
// be as good as prices of zero, for which rows fight.
//
// Whole multiples of a unit (a power of two, or 10^-1 to 10^-4 of doubles) become integers of 16 bits, once. So a pass
// over a row reads a quarter of the memory of doubles, takes four times as many costs at a time, and is exact. Tight
// pairs are bits, a row of a matrix of bits for each row. Costs too far above their row's least, and infinite ones,
// become the largest such integer. That makes no cost larger, so an answer that uses none of them is optimal; rows that
// do use one are free at the end.
//
// Complexity. A phase reads the rows that it reaches twice, O(rows cols), and matches at least one row more. With costs
// from 0 to C there are O(sqrt(rows C)) phases where D is the nearest distance, since that grows in each. Measured: 2
// to 100 for up to 4000 rows.
//
// When to give up. The method ends early when it seems to take too many phases, judged by how fast the free rows became
// fewer, or when a price leaves its range. Its prices and pairs are a state from which jv goes on. They are worth
// nothing if many rows are still free, or if dummy rows took part: then another method begins anew.
//
// References: H. W. Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics Quarterly 2
// (1955); H. N. Gabow, R. E. Tarjan, "Faster scaling algorithms for network problems", SIAM Journal on Computing 18
// (1989), for phases and their number; A. Pothen, C.-J. Fan, "Computing the block triangular form of a sparse matrix",
// ACM Transactions on Mathematical Software 16 (1990), for step 1.
#pragma once

#include <optional>

#include "lapwing/control.hpp"
#include "lapwing/jv/jv.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Costs are whole multiples of 1 / scale, or of no unit that is tried, where scale is 0. `decimal`: the scale is a
// power of ten, and costs are the nearest numbers to such multiples; else it is a power of two.
struct Unit {
    double scale = 0;
    bool decimal = false;
};

// The findings of a look at some costs.
struct FewValues {
    Unit unit;                  // without a scale where costs have too many values, too
    double ties = 0;            // other pairs of a row that have the cost of a pair, on average
    bool least_abound = false;  // so many pairs of a row have the least cost of all that it finds a column at once

    explicit operator bool() const { return unit.scale != 0; }
};

// A look of some microseconds, of nanoseconds where costs are no multiples of a unit. Finds nothing where there are
// fewer ties, where rows may stay free, or where the matrix is not one of contiguous rows or columns.
template <class T>
FewValues look_for_few_values(const Problem<T>& problem, double fewest_ties);

template <class D>
struct TightPairs {
    JvState<D> state;
    bool all;  // rows have their column in an optimal answer
    Index phases;
};

// Prices and pairs of an optimal answer, or of a part of one, for jv to go on from. None if costs prove not to be
// multiples of the unit, or if the phases would be too many and most rows are still free.
// Memory: 17 bits for each pair.
template <class T>
std::optional<TightPairs<Dual<T>>> match_tight_pairs(const Problem<T>& problem, Unit unit, Control& control);

}  // namespace lapwing
