#include "lapwing/costs/boxes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "lapwing/numbers/range.hpp"

namespace lapwing {

// A term's boxes: coordinate k of the corners of box b is low[k * stride + b], high[k * stride + b].
template <class T>
struct BoxTerm {
    const PointTerm<T>* points;
    const T *low, *high;
    std::ptrdiff_t stride;
};

inline constexpr Index kMostToSelect = 128;  // values from which kth_smallest selects

}  // namespace lapwing

#define LAPWING_TARGET_INCLUDE "lapwing/costs/boxes.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

// The arithmetic of the metrics for single doubles.
struct Exact {
    using Scalar = double;
    using Number = double;
    static double square_root(double x) { return std::sqrt(x); }
    static double raised_to(double x, double power) { return std::pow(x, power); }
#define METRIC_FUNCTION [[maybe_unused]] static
#include "costs/metrics.cuh"
#undef METRIC_FUNCTION
};

// About the largest magnitude of the term's costs, and of what is computed on the way.
template <class M, class T>
double largest_cost(const PointTerm<T>& term, Index rows, Index cols) {
    double sum = 0;
    for (Index k = 0; k < term.dims; ++k) {
        double x_low = kInfinity<double>, x_high = -x_low, y_low = x_low, y_high = -x_low;
        for (Index i = 0; i < rows; ++i) {
            const double x = static_cast<double>(term.x[std::ptrdiff_t{i} * term.dims + k]);
            x_low = std::min(x_low, x), x_high = std::max(x_high, x);
        }
        for (Index j = 0; j < cols; ++j) {
            const double y = static_cast<double>(term.y[k * term.stride + j]);
            y_low = std::min(y_low, y), y_high = std::max(y_high, y);
        }
        double largest = 0;
        for (const double x : {x_low, x_high})
            for (const double y : {y_low, y_high})
                largest = std::max(largest, std::fabs(M::term(x, y, static_cast<double>(term.power))));
        sum += largest;
    }
    const double power = static_cast<double>(term.power), finished = std::fabs(M::finished(sum, power));
    return std::max({sum, finished, std::fabs(static_cast<double>(term.weight)) * finished});
}

template <class T>
double largest_cost(std::span<const PointTerm<T>> terms, Index rows, Index cols) {
    double sum = 0;
    for (const PointTerm<T>& term : terms) {
        switch (term.metric) {
#define LAPWING_METRIC(name) \
    case Metric::name: sum += largest_cost<Exact::name>(term, rows, cols); break;
            FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
        }
    }
    return sum;
}

bool can_be_tilted(Metric metric) {
    switch (metric) {
#define LAPWING_METRIC(name) \
    case Metric::name: return Exact::name::is_additive || Metric::name == Metric::euclidean;
        FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
    }
    return false;
}

template <class T>
class PointBoxes final : public ColumnBoxes<T> {
  public:
    PointBoxes(Index cols, std::span<const PointTerm<T>> terms) : cols_(cols), points_(terms) {
        std::ptrdiff_t all = 0;
        for (Index size = cols; all == 0 || size > kBoxFan;) {
            size = all == 0 ? boxes_of(size, kBoxColumns) : boxes_of(size, kBoxFan);
            levels_.push_back({all, size});
            all += boxes_of(size, kBoxFan) * kBoxFan;
        }
        for (const PointTerm<T>& term : terms) {
            corners_.push_back(corners_of(term, all));
            const T* low = corners_.back().data();
            terms_.push_back({&term, low, low + term.dims * all, all});
        }
        all_ = all;
        prepare_fits();
    }

    bool can_tilt() const override { return !fits_.empty(); }
    OpenBoxes open_boxes() const override { return {levels_, cols_, kBoxColumns, kBoxFan}; }

    void take_prices(const double* v, BoxPrices<T>& prices) const override {
        std::vector<double>& highest = prices.highest;
        highest.assign(static_cast<std::size_t>(all_), -kInfinity<double>);
        for_each_box(
            [&](std::ptrdiff_t box, Index begin, Index end) { highest[box] = *std::max_element(v + begin, v + end); },
            [&](std::ptrdiff_t box, std::ptrdiff_t begin, std::ptrdiff_t end) {
                highest[box] = *std::max_element(&highest[begin], &highest[begin] + (end - begin));
            });
        if (prices.are_tilted) tilt(v, prices);
    }

    Index nearest(const NearQuery<T>& query, double& limit, std::vector<NearColumn<T>>& found) const override {
        return Search(*this, query, limit, found).run();
    }

  private:
    using Level = OpenBoxes::Level;         // `first` is a multiple of kBoxFan
    static constexpr int kMostLevels = 8;   // of 2^31 columns
    static constexpr int kMostTilted = 16;  // dimensions

    class Search;

    static Index boxes_of(Index count, Index each) { return (count + each - 1) / each; }

    // Calls lowest(box, begin, end) with the columns of the lowest boxes, then higher(box, begin, end) with the boxes
    // in each box of the other levels.
    template <class Lowest, class Higher>
    void for_each_box(const Lowest& lowest, const Higher& higher) const {
        for (Index b = 0; b < levels_[0].size; ++b)
            lowest(std::ptrdiff_t{b}, b * kBoxColumns, std::min(cols_, (b + 1) * kBoxColumns));
        for (std::size_t l = 1; l < levels_.size(); ++l) {
            const Level &mine = levels_[l], &under = levels_[l - 1];
            for (Index b = 0; b < mine.size; ++b)
                higher(mine.first + b, under.first + b * kBoxFan,
                       under.first + std::min(under.size, (b + 1) * kBoxFan));
        }
    }

    // Calls use(k, coordinates by column, low corners, high corners) for all dimensions of all terms.
    template <class Use>
    void for_each_dimension(const Use& use) const {
        std::ptrdiff_t k = 0;
        for (std::size_t t = 0; t < points_.size(); ++t)
            for (Index d = 0; d < points_[t].dims; ++d, ++k)
                use(k, points_[t].y + d * points_[t].stride, terms_[t].low + d * all_, terms_[t].high + d * all_);
    }
    void prepare_fits();
    void fit(const double* v, std::ptrdiff_t box, Index begin, Index end, double* slope) const;
    void tilt(const double* v, BoxPrices<T>& prices) const;

    // Low corners, then high ones: [2, dims, all].
    std::vector<T> corners_of(const PointTerm<T>& term, std::ptrdiff_t all) const {
        std::vector<T> corners(static_cast<std::size_t>(2 * term.dims * all));
        for (Index k = 0; k < term.dims; ++k) {
            const T* y = term.y + k * term.stride;
            T *low = corners.data() + k * all, *high = low + term.dims * all;
            for_each_box(
                [&](std::ptrdiff_t box, Index begin, Index end) {
                    const auto [least, most] = std::minmax_element(y + begin, y + end);
                    low[box] = *least, high[box] = *most;
                },
                [&](std::ptrdiff_t box, std::ptrdiff_t begin, std::ptrdiff_t end) {
                    low[box] = *std::min_element(low + begin, low + end);
                    high[box] = *std::max_element(high + begin, high + end);
                });
        }
        return corners;
    }

    Index cols_;
    std::span<const PointTerm<T>> points_;
    std::vector<Level> levels_;  // from the lowest on; the last has kBoxFan boxes at most
    std::ptrdiff_t all_ = 0;     // boxes, and room at the end of each level
    std::vector<std::vector<T>> corners_;
    std::vector<BoxTerm<T>> terms_;  // refer to points_ and corners_
    std::ptrdiff_t dims_ = 0;        // of all terms
    std::vector<double> fits_;       // of each of the lowest boxes: the mean of its points, and the inverse of their
                                     // covariance; empty if prices cannot be tilted
};

// A line through the prices of a box takes the mean of its points and the inverse of their covariance, which stay the
// same. A little is added to the diagonal, since points may lie in a line or be equal.
template <class T>
void PointBoxes<T>::prepare_fits() {
    constexpr double kRidge = 1e-9;
    for (const PointTerm<T>& term : points_) {
        dims_ += term.dims;
        if (!can_be_tilted(term.metric)) return;
    }
    if (dims_ > kMostTilted) return;
    const auto d = static_cast<std::size_t>(dims_);
    fits_.resize(static_cast<std::size_t>(levels_[0].size) * (d + d * d));
    std::vector<double> apart(d * kBoxColumns), left(d * d);
    for (Index b = 0; b < levels_[0].size; ++b) {
        const Index begin = b * kBoxColumns, end = std::min(cols_, begin + kBoxColumns);
        double *mean = &fits_[static_cast<std::size_t>(b) * (d + d * d)], *inverse = mean + d;
        for_each_dimension([&](std::ptrdiff_t k, const T* y, const T*, const T*) {
            double sum = 0;
            for (Index j = begin; j < end; ++j) sum += static_cast<double>(y[j]);
            mean[k] = sum / (end - begin);
            for (Index j = begin; j < end; ++j)
                apart[k * kBoxColumns + (j - begin)] = static_cast<double>(y[j]) - mean[k];
        });
        double trace = 0;
        for (std::size_t r = 0; r < d; ++r)
            for (std::size_t c = 0; c < d; ++c) {
                double sum = 0;
                for (Index j = 0; j < end - begin; ++j) sum += apart[r * kBoxColumns + j] * apart[c * kBoxColumns + j];
                left[r * d + c] = sum, inverse[r * d + c] = r == c;
                if (r == c) trace += sum;
            }
        for (std::size_t r = 0; r < d; ++r) left[r * d + r] += kRidge * trace;
        for (std::size_t p = 0; p < d; ++p) {  // Gauss and Jordan; positive definite, so in any order
            const double pivot = left[p * d + p];
            if (!(pivot > 0)) {  // all points are equal
                std::fill(inverse, inverse + d * d, 0.0);
                break;
            }
            for (std::size_t c = 0; c < d; ++c) left[p * d + c] /= pivot, inverse[p * d + c] /= pivot;
            for (std::size_t r = 0; r < d; ++r) {
                const double times = left[r * d + p];
                if (r == p || times == 0) continue;
                for (std::size_t c = 0; c < d; ++c) {
                    left[r * d + c] -= times * left[p * d + c];
                    inverse[r * d + c] -= times * inverse[p * d + c];
                }
            }
        }
    }
}

// The slopes of the prices in a box, by least squares.
template <class T>
void PointBoxes<T>::fit(const double* v, std::ptrdiff_t box, Index begin, Index end, double* slope) const {
    const auto d = static_cast<std::size_t>(dims_);
    const double *mean = &fits_[static_cast<std::size_t>(box) * (d + d * d)], *inverse = mean + d;
    double together[kMostTilted];
    for_each_dimension([&](std::ptrdiff_t k, const T* y, const T*, const T*) {
        double sum = 0;
        for (Index j = begin; j < end; ++j) sum += v[j] * (static_cast<double>(y[j]) - mean[k]);
        together[k] = sum;
    });
    for (std::size_t r = 0; r < d; ++r) {
        slope[r] = 0;
        for (std::size_t c = 0; c < d; ++c) slope[r] += inverse[r * d + c] * together[c];
        if (!std::isfinite(slope[r])) return std::fill(slope, slope + d, 0.0);
    }
}

// Slopes [dims, all] and rises [all]. A box of the other levels has the mean slope of its boxes; a rise of one of these
// counts with what its own slope adds between its corners. Rises are rounded upwards, by far more than their error.
template <class T>
void PointBoxes<T>::tilt(const double* v, BoxPrices<T>& prices) const {
    constexpr double kError = 0x1p-44;
    prices.slopes.assign(static_cast<std::size_t>(dims_ * all_), 0.0);
    prices.rises.assign(static_cast<std::size_t>(all_), -kInfinity<double>);
    double slope[kMostTilted], rise[kBoxColumns];
    const auto lowest = [&](std::ptrdiff_t box, Index begin, Index end) {
        fit(v, box, begin, end, slope);
        double size = 0;
        for (Index j = begin; j < end; ++j) rise[j - begin] = v[j], size = std::max(size, std::fabs(v[j]));
        for_each_dimension([&](std::ptrdiff_t k, const T* y, const T* low, const T* high) {
            for (Index j = begin; j < end; ++j) rise[j - begin] -= slope[k] * static_cast<double>(y[j]);
            size += std::fabs(slope[k]) * static_cast<double>(std::max(std::fabs(low[box]), std::fabs(high[box])));
            prices.slopes[k * all_ + box] = slope[k];
        });
        prices.rises[box] = *std::max_element(rise, rise + (end - begin)) + kError * size;
    };
    const auto higher = [&](std::ptrdiff_t box, std::ptrdiff_t begin, std::ptrdiff_t end) {
        for (std::ptrdiff_t b = begin; b < end; ++b) rise[b - begin] = prices.rises[b];
        for_each_dimension([&](std::ptrdiff_t k, const T*, const T* low, const T* high) {
            double* const of = &prices.slopes[k * all_];
            double sum = 0;
            for (std::ptrdiff_t b = begin; b < end; ++b) sum += of[b];
            const double mean = sum / static_cast<double>(end - begin);
            of[box] = mean;
            for (std::ptrdiff_t b = begin; b < end; ++b) {
                const double l = static_cast<double>(low[b]), h = static_cast<double>(high[b]), apart = of[b] - mean;
                rise[b - begin] += std::max(apart * l, apart * h) + kError * ((std::fabs(of[b]) + std::fabs(mean)) *
                                                                                  std::max(std::fabs(l), std::fabs(h)) +
                                                                              std::fabs(rise[b - begin]));
            }
        });
        prices.rises[box] = *std::max_element(rise, rise + (end - begin));
    };
    for_each_box(lowest, higher);
}

// One walk, depth first, into the nearest box first.
template <class T>
class PointBoxes<T>::Search {
  public:
    Search(const PointBoxes& boxes, const NearQuery<T>& query, double& limit, std::vector<NearColumn<T>>& found)
        : boxes_(boxes), query_(query), limit_(limit), found_(found) {
        found.clear();
    }

    Index run() {
        open(static_cast<int>(boxes_.levels_.size()) - 1, 0);
        while (height_ > 0) {
            const Entry next = stack_[--height_];
            if (is_out(next.bound)) continue;
            if (next.level == 0)
                look_into(next.box);
            else
                open(next.level - 1, next.box * kBoxFan);
        }
        if (count() > query_.most) keep_least();
        return computed_;
    }

  private:
    struct Entry {
        double bound;
        int level;
        Index box;
    };
    static constexpr Index kRoom = 32;  // columns beyond `most` that are found before the least are chosen

    Index count() const { return static_cast<Index>(found_.size()); }
    // NaN bounds nothing. All pairs with a box of infinite bound are forbidden.
    bool is_out(double bound) const {
        return bound == kInfinity<double> || (is_full_ ? bound >= limit_ : bound > limit_);
    }

    // Puts the boxes of a level from `first` on, those in one box of the next, on the stack, the nearest on top.
    void open(int level, Index first) {
        const Level& of = boxes_.levels_[level];
        const std::ptrdiff_t at = of.first + first;
        double bound[kBoxFan];
        const BoxPrices<T>& prices = *query_.prices;
        const auto terms = static_cast<Index>(boxes_.terms_.size());
        LAPWING_DISPATCH(bound_boxes<T>, boxes_.terms_.data(), terms, query_.row, query_.maximize, at,
                         prices.highest.data() + at, bound);
        if (prices.are_tilted)
            LAPWING_DISPATCH(tilt_bounds<T>, boxes_.terms_.data(), terms, query_.row, query_.maximize, at,
                             prices.slopes.data(), boxes_.all_, prices.rises.data(), bound);
        const Index size = std::min(of.size - first, kBoxFan), turn = turned(level, size);
        const int bottom = height_;
        for (Index t = 0; t < size; ++t) {
            const Index b = t + turn < size ? t + turn : t + turn - size;
            if (is_out(bound[b]) || (query_.open != nullptr && query_.open[at + b] == 0)) continue;
            if (query_.reach != nullptr && query_.base + bound[b] >= query_.reach->of_box(at + b)) continue;
            int place = height_++;
            for (; place > bottom && stack_[place - 1].bound <= bound[b]; --place) stack_[place] = stack_[place - 1];
            stack_[place] = {bound[b], level, first + b};
        }
    }
    // With which of a number of boxes of one bound this row begins: rows to which all columns are alike shall not all
    // want the same ones.
    Index turned(int level, Index size) const {
        return static_cast<Index>(mixed(static_cast<std::uint32_t>(query_.row)) >> (4 * level) & 0xffff) % size;
    }
    static std::uint32_t mixed(std::uint32_t x) {
        x = (x ^ x >> 16) * 0x85EBCA6Bu;
        x = (x ^ x >> 13) * 0xC2B2AE35u;
        return x ^ x >> 16;
    }

    void look_into(Index box) {
        const Index first = box * kBoxColumns, columns = std::min(boxes_.cols_ - first, kBoxColumns);
        NearColumn<T> more[kBoxColumns];
        computed_ += columns;
        if (query_.reach != nullptr) return look_for_nearer(box, first, columns, more);
        const Index count_more =
            LAPWING_DISPATCH(near_in_box<T>, boxes_.points_.data(), static_cast<Index>(boxes_.points_.size()),
                             query_.row, query_.maximize, first, columns, query_.v, limit_, is_full_, more);
        found_.insert(found_.end(), more, more + count_more);
        if (count() > (is_full_ ? query_.most + kRoom : query_.most)) keep_least();
    }

    void look_for_nearer(Index box, Index first, Index columns, NearColumn<T>* more) {
        double farthest;
        const Index count_more =
            LAPWING_DISPATCH(nearer_in_box<T>, boxes_.points_.data(), static_cast<Index>(boxes_.points_.size()),
                             query_.row, query_.maximize, first, columns, query_.v, limit_, more, query_.base,
                             query_.reach->columns(box), &farthest);
        query_.reach->set(box, farthest);
        found_.insert(found_.end(), more, more + count_more);
    }

    void keep_least() {
        if (count() <= kMostToSelect) {
            limit_ = LAPWING_DISPATCH(kth_smallest<T>, found_.data(), count(), query_.most - 1);
            auto kept = found_.begin();
            for (const NearColumn<T> near : found_) {
                *kept = near;
                kept += near.value <= limit_;
            }
            found_.erase(kept, found_.end());
        }
        if (count() > query_.most) choose_least();
        is_full_ = true;
    }

    // The same of many, or of some that tie: among columns with equal values, each row prefers different ones.
    void choose_least() {
        const std::uint32_t row = mixed(static_cast<std::uint32_t>(query_.row));
        const auto rank = [row](Index col) { return (static_cast<std::uint32_t>(col) + row) * 0x9E3779B1u; };
        const auto last = found_.begin() + (query_.most - 1);
        std::nth_element(found_.begin(), last, found_.end(), [&](const auto& a, const auto& b) {
            return a.value < b.value || (a.value == b.value && rank(a.col) < rank(b.col));
        });
        limit_ = last->value;
        found_.resize(static_cast<std::size_t>(query_.most));
    }

    const PointBoxes& boxes_;
    const NearQuery<T>& query_;
    double& limit_;
    std::vector<NearColumn<T>>& found_;
    bool is_full_ = false;  // found_ has the `most` nearest of the columns seen, and what came since: all below limit_
    Index computed_ = 0;
    int height_ = 0;
    Entry stack_[kMostLevels * kBoxFan];
};

}  // namespace

template <class T>
std::unique_ptr<const ColumnBoxes<T>> make_point_boxes(Index rows, Index cols, std::span<const PointTerm<T>> terms) {
    constexpr double kRoom = 4;  // for rounding, and sums on the way
    if (cols < kBoxesFrom) return nullptr;
    double limit = static_cast<double>(std::numeric_limits<T>::max());
    if (sizeof(T) == sizeof(double)) limit = cost_limit<double>(std::min(rows, cols));
    if (!(largest_cost(terms, rows, cols) <= limit / kRoom)) return nullptr;
    return std::make_unique<PointBoxes<T>>(cols, terms);
}

template std::unique_ptr<const ColumnBoxes<float>> make_point_boxes(Index, Index, std::span<const PointTerm<float>>);
template std::unique_ptr<const ColumnBoxes<double>> make_point_boxes(Index, Index, std::span<const PointTerm<double>>);

}  // namespace lapwing
