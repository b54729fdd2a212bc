#include "lapwing/reductions/large_costs.hpp"

#include <algorithm>
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

// Calls visit(cost) for costs of some rows, as minimised, and for the unmatched costs; after_row() after a row. Of rows
// that are long it takes successive parts.
template <class T, class Visit, class After>
void visit_some(const Problem<T>& problem, Index rows, const Visit& visit, const After& after_row) {
    const Index m = problem.cost.rows, n = problem.cost.cols;
    RowReader<T> reader(problem.cost, problem.source);
    rows = std::min(rows, m);
    const Index taken = std::min(n, kLongest);
    for (std::int64_t t = 0; t < rows; ++t) {
        const T* row = reader.row(static_cast<Index>(t * m / rows)) + t * (n - taken) / rows;
        for (Index j = 0; j < taken; ++j) visit(problem.minimised(row[j]));
        after_row();
    }
    if (problem.unmatched_cost != nullptr)
        for (Index i = 0; i < m; ++i) visit(problem.unmatched_cost[i]);
}

// The exponents that the costs have, a bit each, without those of zeros and infinity.
struct Exponents {
    std::uint64_t bits[kExponents / 64] = {};

    void add(double x) {
        const int e = exponent_of(std::fabs(x));
        bits[e / 64] |= std::uint64_t{1} << e % 64;
    }
    // The first exponent after `from` that a cost has; kExponents if there is none.
    int next(int from) const {
        for (int e = from + 1; e < kExponents - 1;) {
            const std::uint64_t rest = bits[e / 64] >> e % 64;
            if (rest == 0) {
                e = (e / 64 + 1) * 64;
                continue;
            }
            e += std::countr_zero(rest);
            return e < kExponents - 1 ? e : kExponents;
        }
        return kExponents;
    }
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
        constexpr T forbidden = std::numeric_limits<T>::infinity();
        const T most = static_cast<T>(maximize_ ? -above_ : above_);
        if (maximize_)
            for (Index k = 0; k < count; ++k) out[k] = out[k] < most ? -forbidden : out[k];
        else
            for (Index k = 0; k < count; ++k) out[k] = out[k] > most ? forbidden : out[k];
    }

    Index rows_at_once() const override { return source_ != nullptr ? source_->rows_at_once() : 1; }

    void fetch(Index begin, Index end) const override {
        if (source_ != nullptr) source_->fetch(begin, end);
    }

  private:
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
    Exponents seen;
    visit_some(problem, rows, [&seen](double x) { seen.add(x); }, [] {});
    int last = seen.next(0);  // zeros, and numbers next to them, cost no digits
    for (int e = seen.next(last); e < kExponents; last = e, e = seen.next(e)) {
        if (e - last <= wanted) continue;  // so it is for nearly all costs
        double below = 0, least = kInfinity<double>;
        bool negative = false, has_small = false;
        Index looked_at = 0, with_small = 0;
        const auto compare = [&](double x) {
            const double magnitude = std::fabs(x);
            if (exponent_of(magnitude) <= last) {
                below = std::max(below, magnitude);
                has_small = true;
            } else if (magnitude < kInfinity<double>) {
                least = std::min(least, magnitude);
                negative = negative || x < 0;
            }
        };
        visit_some(problem, rows, compare, [&] {
            ++looked_at;
            with_small += std::exchange(has_small, false);
        });
        if (kFewRows * with_small < looked_at) continue;  // a gap among the few least costs
        if (least / apart > below) return negative ? std::nullopt : std::optional(LargeCosts{apart * below, least});
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
