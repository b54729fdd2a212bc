// Number types, and the problem that every method solves.
//
// Costs are read as T, one of float, double, int32_t and int64_t. All sums and duals are of Dual<T>: double for
// floating-point costs, int64_t for integers. Sums of float and int32_t costs are exact in practice, which the
// certificate (certificate/certificate.hpp) proves for each answer; int64_t costs are checked for overflow before a
// solve begins (numbers/range.hpp). Wide integers, which are their own duals, serve the exact solve of floating-point
// costs (exact/solve.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lapwing {

using Index = std::int32_t;  // a row or a column; -1 means "none"

template <class T>
struct DualOf {
    using type = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
};
template <class T>
using Dual = typename DualOf<T>::type;

__extension__ typedef __int128 Int128;

// Larger than every distance and dual; an absent bound. For integers it leaves room to add any valid cost.
template <class D>
inline constexpr D kInfinity =
    std::is_floating_point_v<D> ? std::numeric_limits<D>::infinity()
                                : static_cast<D>(std::numeric_limits<std::int64_t>::max() / 2);

// rows x cols costs in memory that the caller owns; without data, the shape alone, of costs that a source supplies.
// Strides are counted in elements and may be negative.
template <class T>
struct MatrixView {
    const T* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    std::ptrdiff_t row_stride = 0;
    std::ptrdiff_t col_stride = 1;

    const T* row(Index i) const { return data + static_cast<std::ptrdiff_t>(i) * row_stride; }
    T at(Index i, Index j) const { return row(i)[static_cast<std::ptrdiff_t>(j) * col_stride]; }
    MatrixView transposed() const { return {data, cols, rows, col_stride, row_stride}; }
};

template <class T>
class CostSource;  // costs/source.hpp

// One linear assignment problem. Every row gets a column of its own (rows <= cols), unless `unmatched_cost` is given:
// then row i may stay free at the price unmatched_cost[i], and the shape is arbitrary.
//
// Everything is minimised. With `maximize` the costs are the negated matrix and `unmatched_cost` is already negated;
// a cost of +inf (after negation) forbids its pair; -inf and NaN are errors (InvalidCost).
template <class T>
struct Problem {
    MatrixView<T> cost;  // without data if there is a source
    bool maximize = false;
    const Dual<T>* unmatched_cost = nullptr;  // [rows], finite or kInfinity
    const CostSource<T>* source = nullptr;    // where the costs come from, if no matrix holds them

    // A cost of the matrix (at_pair in costs/source.hpp: of any problem), as it is minimised.
    Dual<T> at(Index i, Index j) const { return minimised(cost.at(i, j)); }
    Dual<T> minimised(T given) const {
        const auto c = static_cast<Dual<T>>(given);
        return maximize ? -c : c;
    }
};

}  // namespace lapwing
