// Rows whose candidate lists tell little: tied ones, and costs of many magnitudes.
//
// A row is tied if many columns attain its minimum, as in dummy rows that make a problem square, and in costs with few
// values. The columns that such a row does not list are as good as those that it lists, and each time a listed price
// changes, the row has to be listed again. Full rows are better there, as searches soon meet a free column among so
// many. When half of 4096 rows were dummy rows, method core took over 30 seconds and jv 0.02. At n = 2000 and 4000,
// costs whose rows had one column in 20 to 115 at their minimum were 1 to 20 times faster with jv; with one in 133, the
// core was up to 3.5 times faster.
//
// One epsilon fits the rows of the core's auction only if they tell their columns apart on one scale. Where the scales
// of rows are far apart, or the least costs of a row are (u^8, u uniform), the auction and the searches from its prices
// read rows again and again: at n = 2000 the core gave up after 54 and 170 ms, and jv took 9 and 80.
//
// Costs that are sums a[i] + b[j] up to rounding, like Manhattan distances of points that lie apart, tie under all
// prices that matter, though no row does by itself: there the core gave up after 160 ms, and jv took 17.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lapwing/core/kernels.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/steep_rows.hpp"

namespace lapwing {

// Looks at up to 64 rows of a problem. Invalid costs are not detected here.
template <class T>
class RowProbe {
  public:
    using D = Dual<T>;

    explicit RowProbe(const Problem<T>& problem)
        : problem_(problem), cols_(problem.cost.cols), kernels_(core_kernels<T>(problem.maximize)), zero_prices_(cols_),
          values_(cols_ + kRoom), found_(cols_ + kRoom) {
        const Index rows = problem.cost.rows, probed = std::min(rows, kProbed);
        RowReader<T> reader(problem.cost, problem.source);
        for (Index t = 0; t < probed; ++t) {
            const T* row = reader.row(static_cast<Index>(static_cast<std::int64_t>(t) * rows / probed));
            count_ties(row);
            if (t % 2 == 0) measure(row);
            if (t % kCompared == 0) compare(row);
        }
        probed_ = probed;
    }

    // Whether at least one row in 16 is tied.
    bool many_are_tied() const {
        constexpr Index kMany = 16;
        return tied_ * kMany >= probed_;
    }
    // Whether the least costs of most rows lie so unevenly that half of them are together at one end.
    bool are_least_costs_uneven() {
        constexpr double kUneven = 1.0 / 32;
        return !spreads_.empty() && quantile(shares_, 2) < kUneven;
    }
    // Whether a quarter of the rows has costs so much farther apart than another quarter.
    bool are_scales_far_apart() {
        constexpr double kFarApart = 1024;
        return !spreads_.empty() && quantile(spreads_, 1) * kFarApart < quantile(spreads_, 3);
    }

    // Whether most rows differ from the first by the same at every column, up to rounding.
    bool are_sums() const { return alike_ * kCompared * 4 > probed_ * 3; }

  private:
    static constexpr Index kProbed = 64, kShare = 96, kRoom = 64;  // of what a pass finds, beyond the columns
    static constexpr Index kSampled = 256, kLeast = 8;  // costs of a row, and how many of the least are compared
    static constexpr Index kCompared = 8;               // one row in so many

    void count_ties(const T* row) {
        const D least = kernels_.minimum(row, cols_, zero_prices_.data());
        const Index ties = kernels_.collect(row, cols_, zero_prices_.data(), least, found_.data(), values_.data());
        tied_ += ties >= std::max<Index>(cols_ / kShare, 2);
    }
    // Some costs of a row, as minimised.
    std::vector<double> sample_of(const T* row) const {
        const Index count = std::min(cols_, kSampled);
        std::vector<double> sample;
        for (Index k = 0; k < count; ++k)
            sample.push_back(
                static_cast<double>(problem_.minimised(row[static_cast<Index>(std::int64_t{k} * cols_ / count)])));
        return sample;
    }
    // Measures how far apart the least costs of a sample are, and how far half of them.
    void measure(const T* row) {
        if (cols_ < kSampled) return;
        std::vector<double> sample = sample_of(row);
        std::nth_element(sample.begin(), sample.begin() + kLeast - 1, sample.end());
        std::sort(sample.begin(), sample.begin() + kLeast);
        const double spread = sample[kLeast - 1] - sample[0];
        if (!(spread > 0 && spread < kInfinity<double>)) return;
        spreads_.push_back(spread);
        shares_.push_back((sample[kLeast / 2 - 1] - sample[0]) / spread);
    }
    // Counts a row if it differs from the first one by the same everywhere, up to rounding.
    void compare(const T* row) {
        constexpr double kUlps = 8;
        std::vector<double> sample = sample_of(row);
        if (first_.empty()) first_ = sample;
        double largest = 0;
        for (std::size_t k = 0; k < sample.size(); ++k) {
            largest = std::max({largest, std::fabs(sample[k]), std::fabs(first_[k])});
            sample[k] -= first_[k];
        }
        const auto [least, most] = std::minmax_element(sample.begin(), sample.end());
        const double rounding = kUlps * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest;
        alike_ += largest < kInfinity<double> && *most - *least <= rounding;
    }
    static double quantile(std::vector<double>& values, std::size_t quarters) {
        const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * quarters / 4);
        std::nth_element(values.begin(), at, values.end());
        return *at;
    }

    const Problem<T>& problem_;
    const Index cols_;
    CoreKernels<T> kernels_;
    std::vector<D> zero_prices_, values_;
    std::vector<Index> found_;
    std::vector<double> spreads_, shares_;  // of rows that have as many different costs
    std::vector<double> first_;             // costs of the first row
    Index tied_ = 0, alike_ = 0, probed_ = 0;
};

// Whether jv starts from prices of zero (steep_rows.hpp): it takes few reads then, and lists are read again and again.
template <class T>
bool fall_steeply(const Problem<T>& problem) {
    SteepRows<Dual<T>> look(problem.cost.rows);
    RowReader<T> reader(problem.cost, problem.source);
    while (look.wants_more()) {
        const T* row = reader.row(look.next());
        for (Index j = 0; j < problem.cost.cols; ++j) look.add(problem.minimised(row[j]), j);
        look.finish();
    }
    return look.are_steep();
}

template <class T>
bool lists_tell_little(const Problem<T>& problem) {
    RowProbe<T> probe(problem);
    return probe.many_are_tied() || probe.are_sums() || probe.are_least_costs_uneven() ||
           probe.are_scales_far_apart() || fall_steeply(problem);
}

}  // namespace lapwing
