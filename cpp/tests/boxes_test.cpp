// Boxes of columns: their bounds against every cost, computed in the stated arithmetic; what they find against whole
// rows; and the certificate's own boxes, which must find every wrong dual.
#include <algorithm>
#include <cmath>
#include <random>

#include "check.hpp"
#include "lapwing/certificate/certificate.hpp"
#include "lapwing/certificate/point_boxes.hpp"
#include "lapwing/costs/boxes.hpp"
#include "lapwing/costs/spatial_order.hpp"
#include "verify.hpp"

using namespace lapwing;

namespace {

enum class Scatter { uniform, clusters, grid, equal, line, subnormal, huge, wide, apart };
constexpr Scatter kScatters[] = {Scatter::uniform,   Scatter::clusters, Scatter::grid, Scatter::equal, Scatter::line,
                                 Scatter::subnormal, Scatter::huge,     Scatter::wide, Scatter::apart};

template <class T>
std::vector<T> points(Scatter scatter, Index count, Index dims, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    std::vector<T> x;
    for (Index i = 0; i < count; ++i) {
        const double shared = normal(random), centre = static_cast<double>(random() % 5);
        const int exponent = static_cast<int>(random() % 40) - 20;
        for (Index k = 0; k < dims; ++k) {
            const double own = normal(random);
            const double of_scatter[] = {own,
                                         centre + 0.01 * own,
                                         std::round(2 * own),
                                         0.3,
                                         shared,
                                         own * 8 * static_cast<double>(std::numeric_limits<T>::denorm_min()),
                                         own * (sizeof(T) == 4 ? 1e10 : 1e80),
                                         std::ldexp(own, exponent),
                                         own};
            x.push_back(static_cast<T>(of_scatter[static_cast<int>(scatter)]));
        }
    }
    return x;
}

template <class T>
void normalise(std::vector<T>& x, Index dims) {
    for (std::size_t i = 0; i < x.size(); i += dims) {
        double length = 0;
        for (Index k = 0; k < dims; ++k) length = std::hypot(length, static_cast<double>(x[i + k]));
        for (Index k = 0; k < dims; ++k) x[i + k] = static_cast<T>(length > 0 ? x[i + k] / length : k == 0);
    }
}

// Costs of one term, or two, the second with a negative weight.
template <class T>
std::unique_ptr<PointCosts<T>> made(Metric metric, Scatter scatter, Index rows, Index cols, Index dims, bool two,
                                    std::mt19937_64& random) {
    auto costs = std::make_unique<PointCosts<T>>(rows, cols);
    for (const T weight : {T(0.7), T(-0.2)}) {
        auto x = points<T>(scatter, rows, dims, random), y = points<T>(scatter, cols, dims, random);
        if (scatter == Scatter::apart)
            for (T& coordinate : y) coordinate += T(25);
        if (metric == Metric::cosine || metric == Metric::great_circle) normalise(x, dims), normalise(y, dims);
        costs->add(metric, dims, x.data(), y.data(), two ? weight : T(1), T(3));
        if (!two) break;
    }
    return costs;
}

// Reads row 0 into `row`, and returns by how much its costs differ.
template <class T>
double read_first(const CostSource<T>& source, std::vector<T>& row) {
    source.read(0, 0, static_cast<Index>(row.size()), row.data());
    const auto [least, most] = std::minmax_element(row.begin(), row.end());
    return static_cast<double>(*most) - static_cast<double>(*least);
}

// The k nearest, and all within a limit, by boxes and by whole rows.
template <class T>
void test_nearest(const CostSource<T>& source, Index rows, Index cols, bool maximize, std::mt19937_64& random) {
    const ColumnBoxes<T>* boxes = source.boxes();
    std::vector<T> row(cols);
    const double spread = read_first(source, row) / 4;
    std::vector<double> v(cols), value(cols);
    for (const double scale : {random() % 2 != 0 ? 0.0 : spread}) {
        // Half of the prices follow the costs of a row, nearly: those of a box are then nearly linear.
        const double follow = random() % 2 != 0 ? 1 : 0;
        for (Index j = 0; j < cols; ++j)
            v[j] = scale * (follow != 0 ? 1e-3 : 1) * std::normal_distribution<double>()(random) +
                   follow * (maximize ? -1 : 1) * static_cast<double>(row[j]);
        BoxPrices<T> prices{.are_tilted = boxes->can_tilt() && random() % 4 != 0};
        boxes->take_prices(v.data(), prices);
        for (Index turn = 0; turn < 2; ++turn) {
            for (double& price : v) price -= turn * scale * static_cast<double>(random() % 100) / 100;  // they may fall
            for (Index i = 0; i < rows; i += 1 + rows / 2) {
                source.read(i, 0, cols, row.data());
                for (Index j = 0; j < cols; ++j)
                    value[j] = (maximize ? -1.0 : 1.0) * static_cast<double>(row[j]) - v[j];
                std::vector<double> sorted = value;
                std::sort(sorted.begin(), sorted.end());
                for (const Index wanted : {Index{1}, Index{28}, Index{100}, cols}) {
                    for (double limit : {kInfinity<double>, sorted[0], sorted[cols / 20]}) {
                        const double given = limit;
                        std::vector<NearColumn<T>> found;
                        boxes->nearest({i, maximize, v.data(), &prices, wanted}, limit, found);
                        const auto within = std::upper_bound(sorted.begin(), sorted.end(), given) - sorted.begin();
                        CHECK(static_cast<std::ptrdiff_t>(found.size()) == std::min<std::ptrdiff_t>(within, wanted));
                        std::vector<char> listed(cols, 0);
                        bool is_right = true;
                        for (const auto& [c_less_v, col, cost] : found) {
                            is_right = is_right && !listed[col] && cost == row[col] && c_less_v == value[col];
                            listed[col] = 1;
                        }
                        CHECK(is_right);
                        bool is_bound = true;
                        for (Index j = 0; j < cols; ++j) is_bound = is_bound && (listed[j] || value[j] >= limit);
                        CHECK(is_bound);
                        CHECK(limit <= given);
                    }
                }
            }
        }
    }
}

// Boxes without an open column are left out, and no others.
template <class T>
void test_open(const CostSource<T>& source, Index rows, Index cols, bool maximize, std::mt19937_64& random) {
    const ColumnBoxes<T>* boxes = source.boxes();
    const std::vector<double> v(cols, 0.0);
    BoxPrices<T> prices;
    boxes->take_prices(v.data(), prices);
    OpenBoxes open = boxes->open_boxes();
    std::vector<char> is_open(cols, 1);
    const auto all = [&] {
        std::vector<NearColumn<T>> found;
        double limit = kInfinity<double>;
        const Index row = static_cast<Index>(random() % rows);
        const Index computed = boxes->nearest({row, maximize, v.data(), &prices, cols, open.open()}, limit, found);
        std::vector<char> listed(cols, 0);
        for (const auto& near : found) listed[near.col] = 1;
        for (Index j = 0; j < cols; ++j) CHECK(listed[j] || !is_open[j]);
        return computed;
    };
    CHECK(all() == cols);
    for (Index j = 0; j < cols; ++j)
        if (j < cols / 2 || random() % 4 != 0) is_open[j] = 0, open.close(j);
    CHECK(all() <= cols - cols / 2 + kBoxColumns);
    for (Index j = 0; j < cols; ++j)
        if (!is_open[j]) is_open[j] = 1, open.reopen(j);
    CHECK(all() == cols);
    for (Index j = 0; j < cols; ++j) is_open[j] = 0, open.close(j);
    CHECK(all() == 0);
}

// Rows find the columns that they bring nearer, under falling prices, and no box forgets one of them.
template <class T>
void test_nearer(const CostSource<T>& source, Index rows, Index cols, bool maximize, std::mt19937_64& random) {
    const ColumnBoxes<T>* boxes = source.boxes();
    std::vector<T> row(cols);
    const double spread = read_first(source, row);
    std::vector<double> v(cols), reached(cols);
    for (double& price : v) price = spread * static_cast<double>(random() % 100) / 400;
    BoxPrices<T> prices{.are_tilted = boxes->can_tilt() && random() % 2 != 0};
    boxes->take_prices(v.data(), prices);
    for (double& price : v) price -= spread * static_cast<double>(random() % 10) / 1000;
    OpenBoxes open = boxes->open_boxes();
    BoxReach reach(open);
    for (int search = 0; search < 2; ++search) {
        for (Index j = 0; j < cols; ++j) {
            const bool is_known = random() % 4 == 0, is_closed = random() % 4 == 0 || j < cols / 4;
            reached[j] = is_closed  ? -kInfinity<double>
                         : is_known ? spread * static_cast<double>(random() % 100) / 50
                                    : kInfinity<double>;
            if (is_closed) open.close(j);
        }
        reach.start(cols, [&](Index j) { return reached[j]; });
        for (Index turn = 0; turn < 8; ++turn) {
            const Index i = static_cast<Index>(random() % rows);
            const double base = spread * static_cast<double>(random() % 100) / 100;
            const double given = turn % 4 == 3 ? spread / 4 : kInfinity<double>;
            double limit = given;
            std::vector<NearColumn<T>> found;
            boxes->nearest({i, maximize, v.data(), &prices, cols, open.open(), &reach, base}, limit, found);
            source.read(i, 0, cols, row.data());
            std::vector<char> listed(cols, 0);
            bool is_right = true;
            for (const auto& near : found) {
                is_right = is_right && !listed[near.col] && near.cost == row[near.col];
                listed[near.col] = 1;
            }
            for (Index j = 0; j < cols; ++j) {
                const double value = (maximize ? -1.0 : 1.0) * static_cast<double>(row[j]) - v[j];
                const bool is_nearer = value <= given && base + value < reached[j];
                is_right = is_right && is_nearer == (listed[j] != 0);
                if (is_nearer) reached[j] = base + value;
                is_right = is_right && reach.columns(j / kBoxColumns)[j % kBoxColumns] == reached[j];
                is_right = is_right && reached[j] <= reach.of_box(j / kBoxColumns);
            }
            CHECK(is_right);
            const Index closed = static_cast<Index>(random() % cols);
            if (reached[closed] > -kInfinity<double>) open.close(closed);
            reach.close(closed);
            reached[closed] = -kInfinity<double>;
        }
        open = boxes->open_boxes();
    }
}

template <class T>
std::unique_ptr<CostSource<T>> in_order(const PointCosts<T>& costs) {
    Team team(2);
    return costs.in_boxes(costs.in_order(true, kNested, team, [] {}), costs.in_order(false, kNested, team, [] {}));
}

template <class T>
void test_metrics() {
    std::mt19937_64 random(3);
    const Metric metrics[] = {
#define LAPWING_METRIC(name) Metric::name,
        FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
    };
    constexpr Index kRows = 7, kCols = kBoxesFrom + 333;
    for (const Metric metric : metrics)
        for (const Scatter scatter : kScatters)
            for (const Index dims : {random() % 2 != 0 ? 1 : 3}) {
                test::tally().where = "metric " + std::to_string(static_cast<int>(metric)) + ", scatter " +
                                      std::to_string(static_cast<int>(scatter)) + ", dims " + std::to_string(dims);
                const bool two = random() % 2 != 0, maximize = random() % 2 != 0;
                const auto costs = made<T>(metric, scatter, kRows, kCols, dims, two, random);
                const auto boxed = in_order(*costs);
                CHECK(boxed != nullptr);
                if (boxed != nullptr) test_nearest(*boxed, kRows, kCols, maximize, random);
                if (boxed != nullptr) test_nearer(*boxed, kRows, kCols, maximize, random);
                if (boxed != nullptr && scatter == Scatter::uniform) test_open(*boxed, kRows, kCols, maximize, random);
                if (boxed != nullptr && dims == 3)
                    CHECK(boxed->turned(std::vector<Index>{0, 1}) == nullptr);  // too few
            }
}

// Beyond a limit pairs are forbidden, and neither rows nor boxes have them; boxes are left out that are beyond it.
template <class T>
void test_gate(Metric metric, Scatter scatter, bool maximize, std::mt19937_64& random) {
    constexpr Index kRows = 3, kCols = kBoxesFrom + 99, kDims = 2;
    auto x = points<T>(scatter, kRows, kDims, random), y = points<T>(scatter, kCols, kDims, random);
    if (metric == Metric::cosine || metric == Metric::great_circle) normalise(x, kDims), normalise(y, kDims);
    PointCosts<T> plain(kRows, kCols), gated(kRows, kCols);
    plain.add(metric, kDims, x.data(), y.data(), T(1), T(3));
    std::vector<T> row(kCols), of_gated(kCols);
    plain.read(0, 0, kCols, row.data());
    std::vector<T> sorted = row;
    std::sort(sorted.begin(), sorted.end());
    const T limit = sorted[kCols / 20], forbidden = std::numeric_limits<T>::infinity();
    gated.add(metric, kDims, x.data(), y.data(), T(1), T(3), limit, maximize ? -forbidden : forbidden);
    const auto boxed = in_order(gated);
    CHECK(boxed != nullptr);
    if (boxed == nullptr) return;
    const std::vector<double> v(kCols, 0.0);
    BoxPrices<T> prices{.are_tilted = boxed->boxes()->can_tilt()};
    boxed->boxes()->take_prices(v.data(), prices);
    for (Index i = 0; i < kRows; ++i) {
        plain.read(i, 0, kCols, row.data());
        gated.read(i, 0, kCols, of_gated.data());
        bool is_right = true;
        for (Index j = 0; j < kCols; ++j)
            is_right = is_right && of_gated[j] == (row[j] > limit ? (maximize ? -forbidden : forbidden) : row[j]);
        CHECK(is_right);
        boxed->read(i, 0, kCols, of_gated.data());
        const auto allowed =
            std::count_if(of_gated.begin(), of_gated.end(), [&](T c) { return c > -forbidden && c < forbidden; });
        for (const Index most : {Index{5}, kCols}) {
            double within = kInfinity<double>;
            std::vector<NearColumn<T>> found;
            const Index computed = boxed->boxes()->nearest({i, maximize, v.data(), &prices, most}, within, found);
            CHECK(static_cast<std::ptrdiff_t>(found.size()) == std::min<std::ptrdiff_t>(allowed, most));
            for (const auto& near : found) CHECK(near.cost == of_gated[near.col] && near.value < kInfinity<double>);
            if (!maximize && scatter == Scatter::uniform) CHECK(computed < kCols);
        }
    }
}

void test_gates() {
    std::mt19937_64 random(7);
    for (const Metric metric : {Metric::squared_euclidean, Metric::euclidean, Metric::manhattan, Metric::chebyshev,
                                Metric::minkowski, Metric::cosine, Metric::great_circle})
        for (const Scatter scatter : {Scatter::uniform, Scatter::clusters, Scatter::grid})
            for (const bool maximize : {false, true}) {
                test::tally().where = "gate, metric " + std::to_string(static_cast<int>(metric));
                test_gate<float>(metric, scatter, maximize, random);
                test_gate<double>(metric, scatter, maximize, random);
            }
}

// Of clouds that lie apart, under prices that follow the costs, the nearest are found by tilted prices only.
template <class T>
void test_tilt(Metric metric, bool maximize) {
    test::tally().where = "tilt, metric " + std::to_string(static_cast<int>(metric));
    constexpr Index kRows = 3, kCols = 64 * kBoxColumns, kMost = 28;
    std::mt19937_64 random(5);
    const auto boxed = in_order(*made<T>(metric, Scatter::apart, kRows, kCols, 2, false, random));
    CHECK(boxed != nullptr && boxed->boxes()->can_tilt());
    std::vector<T> row(kCols);
    boxed->read(0, 0, kCols, row.data());
    std::vector<double> v;
    for (const T cost : row) v.push_back((maximize ? -1 : 1) * static_cast<double>(cost));
    Index computed[2];
    for (const bool tilted : {false, true}) {
        BoxPrices<T> prices{.are_tilted = tilted};
        boxed->boxes()->take_prices(v.data(), prices);
        double limit = kInfinity<double>;
        std::vector<NearColumn<T>> found;
        computed[tilted] = boxed->boxes()->nearest({1, maximize, v.data(), &prices, kMost}, limit, found);
    }
    CHECK(computed[1] * 4 <= computed[0]);
}

// Nor does the certificate look at most of their pairs.
template <class T>
void test_certified_slopes() {
    test::tally().where = "slopes of the certificate";
    constexpr Index kRows = 40, kCols = 64 * kBoxColumns;
    std::mt19937_64 random(6);
    const auto costs = made<T>(Metric::squared_euclidean, Scatter::apart, kRows, kCols, 2, false, random);
    std::vector<T> row(kCols);
    costs->read(0, 0, kCols, row.data());
    const std::vector<double> v(row.begin(), row.end());
    const auto boxes = CertificatePointBoxes<T>::of(costs.get(), kRows, kCols, false, v.data(), 1, [] {});
    CHECK(boxes != nullptr);
    Index visited = 0;
    for (Index i = 1; i < kRows; ++i) {
        costs->read(i, 0, kCols, row.data());
        double u = kInfinity<double>;
        for (Index j = 0; j < kCols; ++j) u = std::min(u, static_cast<double>(row[j]) - v[j]);
        visited += boxes->visit_doubtful(i, u, [](const T*, const std::int32_t*, const double*, Index) {});
    }
    CHECK(visited > 0 && visited < kRows * kCols / 4);
}

// Costs that might be infinite, or no numbers, are left to whole rows.
void test_overflow() {
    test::tally().where = "overflow";
    for (const Metric metric : {Metric::squared_euclidean, Metric::inner_product, Metric::minkowski}) {
        std::vector<float> x{3e25f}, y(kBoxesFrom, -3e25f);
        PointCosts<float> costs(1, kBoxesFrom);
        costs.add(metric, 1, x.data(), y.data(), 1.0f, 3.0f);
        CHECK(in_order(costs) == nullptr);
        const std::vector<double> v(kBoxesFrom, 0.0);
        CHECK(CertificatePointBoxes<float>::of(&costs, 1, kBoxesFrom, false, v.data(), 1, [] {}) == nullptr);
    }
}

// Row minima under random prices are duals that are feasible up to rounding. One dual after the other is raised, a
// little or much: the certificate must measure it as the dense one does.
template <class T>
void test_certificate(Metric metric, Scatter scatter, bool maximize) {
    constexpr Index kSize = kBoxesFrom + 77;
    std::mt19937_64 random(11);
    const auto costs = made<T>(metric, scatter, kSize, kSize, 2, false, random);
    std::vector<T> matrix(static_cast<std::size_t>(kSize) * kSize);
    for (Index i = 0; i < kSize; ++i) costs->read(i, 0, kSize, matrix.data() + static_cast<std::size_t>(i) * kSize);
    const Problem<T> dense{{matrix.data(), kSize, kSize, kSize, 1}, maximize};
    const Problem<T> computed{{nullptr, kSize, kSize, kSize, 1}, maximize, nullptr, costs.get()};
    Solution<double> solution;
    for (Index i = 0; i < kSize; ++i) solution.row_to_col.push_back(i);
    for (Index j = 0; j < kSize; ++j)
        solution.v.push_back(-static_cast<double>(random() % 100) / 1000 +
                             (scatter == Scatter::apart ? dense.at(0, j) : 0));
    for (Index i = 0; i < kSize; ++i) {
        double least = kInfinity<double>;
        for (Index j = 0; j < kSize; ++j) least = std::min(least, dense.at(i, j) - solution.v[j]);
        solution.u.push_back(least);
    }
    const auto same = [&] {
        const auto by_boxes = test::certify_solution(computed, solution),
                   whole = test::certify_solution(dense, solution);
        CHECK(by_boxes.fault == whole.fault && by_boxes.violation == whole.violation && by_boxes.bound == whole.bound);
        CHECK(by_boxes.primal == whole.primal && by_boxes.dual == whole.dual && by_boxes.exact == whole.exact);
        return by_boxes;
    };
    const double scale = std::max(std::fabs(same().primal) / kSize, 1e-3);
    for (int turn = 0; turn < 6; ++turn) {
        auto& duals = turn % 2 != 0 ? solution.u : solution.v;
        double& dual = duals[random() % duals.size()];
        const double before = dual, raise = turn < 3 ? scale * 1e-6 : 3 * scale;
        dual += raise;
        const bool is_wrong = same().violation > 0;  // u was tight; a higher v may still be right
        CHECK(is_wrong || turn % 2 == 0 || dual == before);
        dual = before;
    }
}

void test_certificates() {
    for (const Scatter scatter : {Scatter::uniform, Scatter::clusters, Scatter::grid, Scatter::line, Scatter::apart}) {
        test::tally().where = "certificate, scatter " + std::to_string(static_cast<int>(scatter));
        test_certificate<float>(Metric::squared_euclidean, scatter, false);
        test_certificate<double>(Metric::euclidean, scatter, false);
    }
    test::tally().where = "certificate of other metrics";
    test_certificate<float>(Metric::cosine, Scatter::uniform, false);
    test_certificate<double>(Metric::manhattan, Scatter::uniform, true);
}

}  // namespace

int main() {
    test_metrics<float>();
    test_metrics<double>();
    test_gates();
    for (const bool maximize : {false, true}) {
        test_tilt<float>(Metric::squared_euclidean, maximize);
        test_tilt<double>(Metric::squared_euclidean, maximize);
    }
    test_tilt<float>(Metric::euclidean, false);
    test_tilt<double>(Metric::euclidean, false);
    test_certified_slopes<float>();
    test_certified_slopes<double>();
    test_overflow();
    test_certificates();
    return lapwing::test::report();
}
