// Costs computed from points: every metric against its definition, bit for bit, on every instruction set.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "check.hpp"
#include "lapwing/costs/points.hpp"

using namespace lapwing;

namespace {

template <class T>
struct Term {
    Metric metric;
    Index dims;
    std::vector<T> x, y;
    T weight, power;
};

// The definition in points.hpp, pair by pair.
template <class T>
T defined(const Term<T>& term, Index i, Index j) {
    const bool product = term.metric == Metric::inner_product || term.metric == Metric::cosine;
    T sum = 0;
    for (Index k = 0; k < term.dims; ++k) {
        const T a = term.x[static_cast<std::size_t>(i * term.dims + k)];
        const T b = term.y[static_cast<std::size_t>(j * term.dims + k)];
        const T d = a - b;
        if (product)
            sum += a * b;
        else if (term.metric == Metric::manhattan)
            sum += std::fabs(d);
        else if (term.metric == Metric::chebyshev)
            sum = std::max(sum, std::fabs(d));
        else if (term.metric == Metric::minkowski)
            sum += std::pow(std::fabs(d), term.power);
        else
            sum += d * d;
    }
    switch (term.metric) {
        case Metric::euclidean: return std::sqrt(sum);
        case Metric::minkowski: return std::pow(sum, 1 / term.power);
        case Metric::cosine: return 1 - sum;
        case Metric::great_circle: return static_cast<T>(2 * std::asin(std::min(1.0, std::sqrt(double{sum}) / 2)));
        default: return sum;
    }
}

template <class T>
void test_metric(Metric metric, const std::vector<std::pair<Index, Index>>& shapes) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    for (const auto& [rows, cols] : shapes) {
        for (const Index dims : {0, 1, 2, 3, 4, 5, 6, 9, 140}) {  // of both terms, from 16 on in tiles
            PointCosts<T> costs(rows, cols);
            std::vector<Term<T>> terms;
            for (const T weight : {T(1), T(-0.3)}) {
                Term<T> term{metric, dims, {}, {}, weight, T(3)};
                // Unit vectors are no longer than that: each coordinate within 1 / sqrt(dims).
                const double scale = metric == Metric::great_circle ? 0.2 : 1;
                for (Index k = 0; k < rows * dims; ++k) term.x.push_back(static_cast<T>(scale * normal(random)));
                for (Index k = 0; k < cols * dims; ++k) term.y.push_back(static_cast<T>(scale * normal(random)));
                if (dims > 0) std::copy_n(term.x.begin(), dims, term.y.begin());  // a pair of equal points
                costs.add(metric, dims, term.x.data(), term.y.data(), term.weight, term.power);
                terms.push_back(term);
            }
            lapwing::test::tally().where = "metric " + std::to_string(static_cast<int>(metric)) + ", " +
                                           std::to_string(rows) + " x " + std::to_string(cols) + ", dims " +
                                           std::to_string(dims) + ", size " + std::to_string(sizeof(T));
            const std::ptrdiff_t stride = cols + 1;
            std::vector<T> row(static_cast<std::size_t>(cols)), all(static_cast<std::size_t>(rows * stride), T(-7));
            costs.read_block(0, rows, 0, cols, all.data(), stride);
            for (Index i = 0; i < rows; ++i) {
                costs.read(i, 0, cols, row.data());
                CHECK(std::equal(row.begin(), row.end(), all.begin() + i * stride) && all[i * stride + cols] == T(-7));
                for (Index j = 0; j < cols; ++j) {
                    const T got = row[static_cast<std::size_t>(j)];
                    const T wanted = T(1) * defined(terms[0], i, j) + T(-0.3) * defined(terms[1], i, j);
                    if (metric == Metric::great_circle)
                        CHECK(std::fabs(got - wanted) <= 16 * std::numeric_limits<T>::epsilon());
                    else
                        CHECK(got == wanted);
                    T alone = -1;
                    costs.read(i, j, 1, &alone);
                    CHECK(alone == got);
                }
                for (const Index first : {Index{0}, cols / 3, cols / 2}) {  // a piece, and nothing beyond it
                    const Index count = std::min<Index>(cols - first, 70);
                    std::vector<T> piece(static_cast<std::size_t>(count) + 1, T(-7));
                    costs.read(i, first, count, piece.data());
                    CHECK(std::equal(piece.begin(), piece.end() - 1, row.begin() + first) && piece.back() == T(-7));
                }
            }
            const std::vector<Index> some_rows{0, rows - 1}, some_cols{0, cols / 2, cols - 1};
            const auto part = costs.part(some_rows, some_cols);
            for (Index a = 0; a < 2; ++a) {
                T chosen[3];
                part->read(a, 0, 3, chosen);
                for (std::size_t b = 0; b < 3; ++b) {
                    T whole;
                    costs.read(some_rows[static_cast<std::size_t>(a)], some_cols[b], 1, &whole);
                    CHECK(chosen[b] == whole);
                }
            }
        }
    }
}

// Half the chord is the sine of half the angle: over the whole half circle, ends included.
template <class T>
void test_great_circle() {
    lapwing::test::tally().where = "great circle";
    constexpr Index kSteps = 2000;
    std::vector<T> points;
    for (Index j = 0; j <= kSteps; ++j) {
        const double angle = std::numbers::pi * j / kSteps;
        points.insert(points.end(), {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle)), T(0)});
    }
    PointCosts<T> costs(1, kSteps + 1);
    costs.add(Metric::great_circle, 3, points.data(), points.data(), T(1), T(1));
    std::vector<T> row(kSteps + 1);
    costs.read(0, 0, kSteps + 1, row.data());
    for (Index j = 0; j <= kSteps; ++j) {
        // Near the antipode an angle is known to the root of the rounding.
        const double angle = std::numbers::pi * j / kSteps, rounding = 4 * std::numeric_limits<T>::epsilon();
        const double slack = rounding / std::max(std::cos(angle / 2), std::sqrt(rounding));
        CHECK(std::fabs(row[static_cast<std::size_t>(j)] - angle) <= slack);
    }
    CHECK(row[0] == 0);
}

template <class T>
void test_all() {
    const std::vector<std::pair<Index, Index>> shapes{{1, 1}, {3, 63}, {2, 64}, {3, 65}, {5, 200}};
#define LAPWING_METRIC(name)              \
    test_metric<T>(Metric::name, shapes); \
    CHECK(metric_named(#name) == std::optional(Metric::name));
    FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
    CHECK(!metric_named("none"));
    test_great_circle<T>();
}

}  // namespace

int main() {
    test_all<float>();
    test_all<double>();
    return lapwing::test::report();
}
