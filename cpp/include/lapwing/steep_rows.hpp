// Rows whose least costs are few and far apart.
//
// Column reduction (jv/jv.inc.hpp) puts every column's price at its least cost. If rows attain the minima of several
// columns, all but one of these are too cheap for every other row, and a search ends at such a column only after it has
// read nearly all rows. It matters where the least costs of a line are far below the others: heavy tails that are
// maximised, overlaps of few boxes, outliers. From prices of zero, rows find the columns that are theirs at once. Where
// many costs are close to the least, as for uniform ones, rows that bid from prices of zero fight for the same columns,
// and column reduction is better. Rows read for each row of the matrix, n = 1000, from columns and from zero: negative
// Pareto 99 and 2.5, exponentials of distances 128 and 2.4, normal 18 and 11, uniform 10 and 20, ranks 6 and 13,
// rounded sums 48 and 162.
//
// The measure is a tail index, after Pickands: how much of the distance from the least to the eighth least cost lies
// before the third. Costs with a bounded density at their least have 2/7 = 0.29, exponential tails 0.58, Pareto's
// 0.76. Where most rows have the same nearest column, they would fight for it.
//
// Reference: J. Pickands, "Statistical inference using extreme order statistics", Annals of Statistics 3 (1975).
#pragma once

#include <algorithm>
#include <cstdint>

#include "lapwing/types.hpp"

namespace lapwing {

// Looks at a few rows, one after another.
template <class D>
class SteepRows {
  public:
    explicit SteepRows(Index rows) : rows_(rows) {}

    // Whether another row is to be looked at: add its costs, and finish it.
    bool wants_more() const {
        constexpr Index kFewest = 64, kFirstLooks = 4;
        constexpr double kFlat = 0.45;
        return rows_ >= kFewest && looks_ < kLooks && !(looks_ == kFirstLooks && sum_ < kFlat * counted_);
    }
    Index next() {
        std::fill_n(least_, kFew, kInfinity<D>);
        column_ = -1;
        return static_cast<Index>(static_cast<std::int64_t>(looks_) * rows_ / kLooks);
    }
    D limit() const { return least_[kFew - 1]; }  // costs at or above it need not be added
    void add(D cost, Index column) {
        if (!(cost < limit())) return;
        int at = kFew - 1;
        for (; at > 0 && cost < least_[at - 1]; --at) least_[at] = least_[at - 1];
        least_[at] = cost;
        if (at == 0) column_ = column;
    }
    void finish() {
        ++looks_;
        const double spread = distance(kFew - 1);
        if (!(spread > 0 && spread < kInfinity<double>) || limit() >= kInfinity<D>) return;
        sum_ += distance(kNear) / spread;
        if (std::find(columns_, columns_ + distinct_, column_) == columns_ + distinct_) columns_[distinct_++] = column_;
        ++counted_;
    }
    bool are_steep() const {
        constexpr double kSteep = 0.6;
        constexpr Index kFewest = 2;
        return looks_ == kLooks && counted_ >= kFewest && sum_ > kSteep * counted_ && 4 * distinct_ >= 3 * counted_;
    }

  private:
    static constexpr Index kLooks = 16;
    static constexpr int kFew = 8, kNear = 2;

    double distance(int k) const { return static_cast<double>(least_[k]) - static_cast<double>(least_[0]); }

    const Index rows_;
    D least_[kFew];      // of the row at hand, in increasing order
    Index column_ = -1;  // of the first of them
    double sum_ = 0;     // over the rows whose least costs differ
    Index looks_ = 0, counted_ = 0, distinct_ = 0, columns_[kLooks];
};

}  // namespace lapwing
