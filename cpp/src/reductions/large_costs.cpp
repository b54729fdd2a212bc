#include "lapwing/reductions/large_costs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace lapwing {
namespace {

constexpr int kExponents = 2048;  // of doubles
constexpr Index kLongest = 4096;  // costs of a row that are looked at
constexpr Index kFewRows = 3;     // one row in so many has a cost below the gap, or it tells nothing

int exponent_of(double magnitude) { return static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52); }

// Calls visit(costs, count) for costs of some rows, as given, and after_row() after a row; visit_price for the
// unmatched costs. Of rows that are long it takes successive parts.
template <class T, class Visit, class After, class Price>
void visit_some(const Problem<T>& problem, Index rows, const Visit& visit, const After& after_row,
                const Price& visit_price) {
    const Index m = problem.cost.rows, n = problem.cost.cols;
    RowReader<T> reader(problem.cost, problem.source);
    rows = std::min(rows, m);
    const Index taken = std::min(n, kLongest);
    for (std::int64_t t = 0; t < rows; ++t) {
        visit(reader.row(static_cast<Index>(t * m / rows)) + t * (n - taken) / rows, taken);
        after_row();
    }
    if (problem.unmatched_cost != nullptr)
        for (Index i = 0; i < m; ++i) visit_price(problem.unmatched_cost[i]);
}

// The exponents that the costs have, without those of zeros and infinity. A byte each: bits of a word would wait for
// each other.
struct Exponents {
    std::array<char, kExponents> has = {};

    void add(double x) { has[static_cast<std::size_t>(exponent_of(std::fabs(x)))] = 1; }
    // The first exponent after `from` that a cost has; kExponents if there is none.
    int next(int from) const {
        const auto end = has.end() - 1, at = std::find(has.begin() + std::min(from + 1, kExponents - 1), end, 1);
        return at == end ? kExponents : static_cast<int>(at - has.begin());
    }
};

// The costs on both sides of a gap, which begins above exponent `last`.
class Gap {
  public:
    explicit Gap(int last) : bound_(std::bit_cast<double>(static_cast<std::uint64_t>(last + 1) << 52)) {}

    // Costs as given; `sign` makes them as minimised. Four at a time, since each maximum waits for the one before.
    template <class T>
    void compare(const T* costs, Index count, double sign) {
        double below[kLanes] = {}, least[kLanes], most[kLanes] = {};
        std::fill_n(least, kLanes, kInfinity<double>);
        bool negative = false, has_small = false;
        const auto look = [&](double x, Index lane) {
            const double magnitude = std::fabs(x);
            const bool is_small = magnitude < bound_, is_large = !is_small & (magnitude < kInfinity<double>);
            const double small = is_small ? magnitude : 0, large = is_large ? magnitude : kInfinity<double>;
            const double finite = is_large ? magnitude : 0;
            below[lane] = small > below[lane] ? small : below[lane];
            least[lane] = large < least[lane] ? large : least[lane];
            most[lane] = finite > most[lane] ? finite : most[lane];
            has_small |= is_small, negative |= is_large & (x < 0);
        };
        Index k = 0;
        for (; k + kLanes <= count; k += kLanes)
            for (Index lane = 0; lane < kLanes; ++lane) look(sign * static_cast<double>(costs[k + lane]), lane);
        for (; k < count; ++k) look(sign * static_cast<double>(costs[k]), 0);
        below_ = std::max(below_, *std::max_element(below, below + kLanes));
        least_ = std::min(least_, *std::min_element(least, least + kLanes));
        most_ = std::max(most_, *std::max_element(most, most + kLanes));
        negative_ |= negative, has_small_ |= has_small;
    }
    double below() const { return below_; }
    double least() const { return least_; }
    double most() const { return most_; }
    bool has_negative() const { return negative_; }
    bool take_small() { return std::exchange(has_small_, false); }

  private:
    static constexpr Index kLanes = 4;
    double bound_, below_ = 0, least_ = kInfinity<double>, most_ = 0;
    bool negative_ = false, has_small_ = false;  // a large cost below 0; a small one since it was taken
};

template <class T>
class SmallCostsSource final : public CostSource<T> {
  public:
    SmallCostsSource(const MatrixView<T>& cost, const CostSource<T>* source, bool maximize, double above)
        : cost_(cost), source_(source), maximize_(maximize), above_(above) {}

    void read(Index i, Index first, Index count, T* out) const override {
        if (source_ != nullptr) {
            source_->read(i, first, count, out);
        } else if (cost_.col_stride == 1) {
            std::copy_n(cost_.row(i) + first, count, out);
        } else {
            for (Index k = 0; k < count; ++k) out[k] = cost_.at(i, first + k);
        }
        const T most = static_cast<T>(maximize_ ? -above_ : above_);
        if (maximize_)
            for (Index k = 0; k < count; ++k) out[k] = out[k] < most ? -kForbidden : out[k];
        else
            for (Index k = 0; k < count; ++k) out[k] = out[k] > most ? kForbidden : out[k];
    }

    Index rows_at_once() const override { return source_ != nullptr ? source_->rows_at_once() : 1; }

    void fetch(Index begin, Index end) const override {
        if (source_ != nullptr) source_->fetch(begin, end);
    }

  private:
    static constexpr T kForbidden = std::numeric_limits<T>::infinity();

    MatrixView<T> cost_;
    const CostSource<T>* source_;
    bool maximize_;
    double above_;
};

}  // namespace

template <class T>
std::optional<LargeCosts> find_large_costs(const Problem<T>& problem, Index rows, Index pairs) {
    const Index m = problem.cost.rows, n = problem.cost.cols;
    if (pairs == 0) pairs = problem.unmatched_cost != nullptr ? m : std::min(m, n);
    const double apart = 4.0 * pairs;
    const int wanted = static_cast<int>(std::log2(apart)) - 1;  // exponents in a row that no cost has
    const double sign = problem.maximize ? -1 : 1;
    Exponents seen;
    visit_some(
        problem, rows,
        [&seen](const T* costs, Index count) {
            for (Index k = 0; k < count; ++k) seen.add(static_cast<double>(costs[k]));
        },
        [] {}, [&seen](double price) { seen.add(price); });
    int last = seen.next(0);  // zeros, and numbers next to them, cost no digits
    for (int e = seen.next(last); e < kExponents; last = e, e = seen.next(e)) {
        if (e - last <= wanted) continue;  // so it is for nearly all costs
        Gap gap(last);
        Index looked_at = 0, with_small = 0;
        visit_some(
            problem, rows, [&](const T* costs, Index count) { gap.compare(costs, count, sign); },
            [&] { ++looked_at, with_small += gap.take_small(); }, [&gap](double price) { gap.compare(&price, 1, 1); });
        if (kFewRows * with_small < looked_at) continue;  // a gap among the few least costs
        if (gap.least() / apart > gap.below())
            return gap.has_negative()
                       ? std::nullopt
                       : std::optional(LargeCosts{apart * gap.below(), gap.least(), gap.most(), gap.below()});
    }
    return std::nullopt;
}

template <class T>
std::shared_ptr<const CostSource<T>> small_costs(const MatrixView<T>& cost, const CostSource<T>* source, bool maximize,
                                                 double above) {
    return std::make_shared<SmallCostsSource<T>>(cost, source, maximize, above);
}

// Instantiated here alone: where a generic lambda is the first to use a class, Clang 22 omits some virtual members.
template std::shared_ptr<const CostSource<float>> small_costs(const MatrixView<float>&, const CostSource<float>*, bool,
                                                              double);
template std::shared_ptr<const CostSource<double>> small_costs(const MatrixView<double>&, const CostSource<double>*,
                                                               bool, double);
template std::optional<LargeCosts> find_large_costs(const Problem<float>&, Index, Index);
template std::optional<LargeCosts> find_large_costs(const Problem<double>&, Index, Index);

}  // namespace lapwing
