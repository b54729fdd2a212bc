// The certificate: what it must reject, what it must not round, and that threads, layouts and targets agree.
#include <cmath>
#include <limits>

#include "lapwing/certificate/exact_sum.hpp"
#include "verify.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// A square problem with known optimal duals: c = u + v + slack, slack 0 on the diagonal.
template <class T>
struct Known {
    Index n;
    std::vector<T> cost;
    std::vector<Dual<T>> u, v;
    std::vector<std::int64_t> row_to_col;

    explicit Known(Index size, unsigned seed = 1) : n(size) {
        std::mt19937_64 random(seed);
        const auto draw = [&] { return static_cast<Dual<T>>(random() % 1000); };
        for (Index i = 0; i < n; ++i) {
            u.push_back(draw());
            v.push_back(-draw());
            row_to_col.push_back(i);
        }
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < n; ++j) {
                const Dual<T> slack = i == j ? 0 : draw();
                cost.push_back(static_cast<T>(u[static_cast<std::size_t>(i)] + v[static_cast<std::size_t>(j)] + slack));
            }
        }
    }
    Certificate<Dual<T>> certificate(int threads = 1) const {
        return certify<T>({{cost.data(), n, n, n, 1}, false, nullptr, row_to_col.data(), u.data(), v.data()}, threads);
    }
    T& at(Index i, Index j) {
        return cost[static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)];
    }
};

template <class T>
void test_accepts_and_rejects() {
    Known<T> good(150);
    auto c = good.certificate();
    CHECK(c.exact && c.gap == 0 && c.violation == 0 && c.bound == 0 && c.matched == 150 && c.fault == Fault::none);
    CHECK(c.violation_row == -1 && c.violation_col == -1);

    auto wrong = good;  // a worse assignment
    std::swap(wrong.row_to_col[3], wrong.row_to_col[7]);
    c = wrong.certificate();
    CHECK(!c.exact && c.gap > 0 && c.bound == c.gap && c.violation == 0 && c.complete);

    wrong = good;  // an infeasible dual, in every position of a block
    for (const Index i : {0, 1, 63, 64, 127, 149}) {
        wrong.u[static_cast<std::size_t>(i)] += 1;
        c = wrong.certificate();
        CHECK(!c.exact && c.violation == 1 && c.gap == -1 && c.bound >= 0 && c.violation_row == i);
        wrong.u = good.u;
        wrong.at(i, 149 - i) =
            static_cast<T>(good.u[static_cast<std::size_t>(i)] + good.v[static_cast<std::size_t>(149 - i)] - 5);
        c = wrong.certificate();
        CHECK(!c.exact && c.violation == 5 && c.violation_row == i && c.violation_col == 149 - i && c.bound == 5);
        wrong.cost = good.cost;
    }
    wrong = good;
    wrong.row_to_col[5] = 6;
    c = wrong.certificate();
    CHECK(c.fault == Fault::column_twice && c.fault_row == 6 && c.fault_col == 6 && c.bound == kInfinity<Dual<T>>);
    for (const std::int64_t j :
         {std::int64_t{-2}, std::int64_t{150}, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::min()}) {
        wrong = good;
        wrong.row_to_col[9] = j;
        c = wrong.certificate();
        CHECK(c.fault == Fault::column_range && c.fault_row == 9 && !c.exact && c.bound == kInfinity<Dual<T>>);
    }
    wrong = good;
    wrong.row_to_col[9] = -1;
    c = wrong.certificate();
    CHECK(c.fault == Fault::none && !c.complete && !c.exact && c.matched == 149 && c.bound == kInfinity<Dual<T>>);
}

template <class T>
void test_layouts_and_threads() {
    for (int k = 0; k < 4; ++k) {
        Case<T> moved;
        Known<T> known(333, 5);
        moved.problem.maximize = k % 2 == 1;
        lay_out(moved, known.n, known.n, static_cast<Layout>(k));
        for (int violated = 0; violated < 2; ++violated) {
            if (violated == 1) known.at(200, 17) = known.at(200, 17) > 0 ? T{-2000} : T{-2500};
            for (Index i = 0; i < known.n; ++i) {
                for (Index j = 0; j < known.n; ++j)
                    moved.at(i, j) = moved.problem.maximize ? -known.at(i, j) : known.at(i, j);
            }
            const auto expected = known.certificate();
            for (const int threads : {1, 2, 3}) {
                const auto c = certify<T>({moved.problem.cost, moved.problem.maximize, nullptr, known.row_to_col.data(),
                                           known.u.data(), known.v.data()},
                                          threads);
                CHECK(c.exact == (violated == 0) && c.primal == expected.primal && c.dual == expected.dual);
                CHECK(c.violation == expected.violation && c.violation_row == expected.violation_row);
                CHECK(c.violation_col == expected.violation_col && c.bound == expected.bound);
            }
        }
    }
}

// Rectangular and unmatched costs: v <= 0 and u <= unmatched_cost are part of feasibility.
template <class T>
void test_signs() {
    using D = Dual<T>;
    const std::vector<T> cost = {1, 5, 9, 6, 2, 9};
    const std::vector<std::int64_t> row_to_col = {0, 1};
    const std::vector<D> u = {1, 2}, good_v = {0, 0, 0}, bad_v = {-1, 0, 3};
    const MatrixView<T> view{cost.data(), 2, 3, 3, 1};
    CHECK(certify<T>({view, false, nullptr, row_to_col.data(), u.data(), good_v.data()}, 1).exact);
    const auto bad = certify<T>({view, false, nullptr, row_to_col.data(), u.data(), bad_v.data()}, 1);
    CHECK(bad.violation == 3 && bad.violation_row == -1 && bad.violation_col == 2 && !bad.exact);
    CHECK(bad.gap == -2 && bad.bound == 1);

    const std::vector<D> prices = {10, 1};
    const auto exit = certify<T>({view, false, prices.data(), row_to_col.data(), u.data(), good_v.data()}, 1);
    CHECK(exit.violation == 1 && exit.violation_row == 1 && exit.violation_col == -1 && exit.bound == 1 && !exit.exact);
    const std::vector<std::int64_t> alone = {0, -1};
    const std::vector<D> alone_u = {1, 1};
    const auto optimal = certify<T>({view, false, prices.data(), alone.data(), alone_u.data(), good_v.data()}, 1);
    CHECK(optimal.exact && optimal.complete && optimal.primal == 2 && optimal.matched == 1);
    const std::vector<D> must = {10, kInfinity<D>};
    CHECK(!certify<T>({view, false, must.data(), alone.data(), alone_u.data(), good_v.data()}, 1).complete);
}

// Nothing that is no number may certify anything.
void test_not_numbers() {
    for (const double bad : {kNaN, -kInf}) {
        for (const bool by_columns : {false, true}) {
            Known<double> known(70);
            known.at(3, 66) = bad;
            MatrixView<double> view{known.cost.data(), 70, 70, 70, 1};
            const auto c = certify<double>(
                {by_columns ? view.transposed() : view, false, nullptr, known.row_to_col.data(),
                 by_columns ? known.v.data() : known.u.data(), by_columns ? known.u.data() : known.v.data()},
                1);
            CHECK(c.fault == Fault::invalid_cost && !c.exact && c.bound == kInf && c.violation == kInf);
            CHECK(c.fault_row == (by_columns ? 66 : 3) && c.fault_col == (by_columns ? 3 : 66));
        }
    }
    for (const double bad : {kNaN, -kInf, kInf}) {
        Known<double> known(70);
        known.u[64] = bad;
        auto c = known.certificate();
        CHECK(c.fault == Fault::invalid_dual && c.fault_row == 64 && c.fault_col == -1 && !c.exact && c.bound == kInf);
        known = Known<double>(70);
        known.v[65] = bad;
        c = known.certificate();
        CHECK(c.fault == Fault::invalid_dual && c.fault_row == -1 && c.fault_col == 65 && !c.exact && c.bound == kInf);
    }
    Known<double> known(70);
    known.at(8, 8) = kInf;
    const auto c = known.certificate();
    CHECK(c.fault == Fault::forbidden_pair && c.fault_row == 8 && c.fault_col == 8 && !c.exact);
    known = Known<double>(70);
    known.at(8, 9) = kInf;  // forbidden pairs that are not matched constrain nothing
    CHECK(known.certificate().exact);
}

// Violations and gaps far below the rounding error of the obvious expressions.
void test_rounding() {
    const std::vector<double> one = {1.0};
    const std::vector<std::int64_t> row_to_col = {0};
    const auto single = [&](double c, double u, double v) {
        return certify<double>({{&c, 1, 1, 1, 1}, false, nullptr, row_to_col.data(), &u, &v}, 1);
    };
    CHECK(single(1.0, 1.0, 0.0).exact);
    const auto below = single(1.0, 1.0, 0x1p-80);  // 1 - 1 - 2^-80
    CHECK(below.violation == 0x1p-80 && below.gap == -0x1p-80 && !below.exact && below.bound == 0);
    const auto above = single(1.0, 1.0, -0x1p-80);
    CHECK(above.violation == 0 && above.gap == 0x1p-80 && above.bound == 0x1p-80 && !above.exact);
    const auto lost = single(1.0, 0x1p-80, 1.0);  // (1 - 2^-80) - 1 is 0 in floating point
    CHECK(lost.violation == 0x1p-80 && !lost.exact);
    const auto cancelled = single(0.1, 0.3, -0.2);  // 0.1 - (0.3 - 0.2), not 0
    CHECK(!cancelled.exact && (cancelled.gap != 0));
    CHECK(single(0x1p-1074, 0x1p-1074, 0.0).exact);
    const auto rounded_up = single(1.0, 0.1, 0.2);
    CHECK(rounded_up.dual == 0.1 + 0.2 && rounded_up.dual_below == std::nextafter(0.1 + 0.2, 0.0));
    CHECK(single(1.0, 0.25, 0.5).dual_below == 0.75 && single(1.0, 0x1p-80, 1.0).dual_below == 1.0);
    CHECK(single(0.0, 0x1p-1074, 0.0).violation == 0x1p-1074);
    CHECK(single(1e300, 1e300, 1e-300).violation == 1e-300);
    CHECK(single(1e308, -1e308, 1e308).violation == 0);     // the slack, 1e308, fits though c - u does not
    CHECK(single(-1e308, 1e308, 1e308).violation == kInf);  // u + v - c does not

    // Sums that leave the range on the way, and one that is beyond it.
    const std::vector<double> large = {1e308, kInf, kInf, kInf, 1e308, kInf, kInf, kInf, -1e308};
    const std::vector<double> at_once = {1e308, 1e308, -1e308};
    const std::vector<std::int64_t> diagonal = {0, 1, 2};
    const std::vector<double> no_prices(3, 0.0);
    const auto three = certify<double>(
        {{large.data(), 3, 3, 3, 1}, false, nullptr, diagonal.data(), at_once.data(), no_prices.data()}, 1);
    CHECK(three.exact && three.primal == 1e308 && three.dual == 1e308 && three.bound == 0);
    const auto two = certify<double>(
        {{large.data(), 2, 2, 3, 1}, false, nullptr, diagonal.data(), at_once.data(), no_prices.data()}, 1);
    CHECK(!two.exact && two.primal == kInf && two.bound == kInf);
    CHECK(two.dual_below == std::numeric_limits<double>::max());

    // Sums: 1e16 + many small terms, where each addition to a double would lose the term.
    constexpr Index n = 1000;
    std::vector<double> cost(n, 0.0), u(n), v(1, 0.0), price(n);
    std::vector<std::int64_t> alone(n, -1);
    for (std::size_t i = 0; i < n; ++i) price[i] = u[i] = i == 0 ? 1e16 : i % 2 == 0 ? 0.7 : -0.3;
    std::swap(u[0], u[500]);
    std::swap(price[0], price[500]);
    for (double& c : cost) c = kInf;
    auto c = certify<double>({{cost.data(), n, 1, 1, 1}, false, price.data(), alone.data(), u.data(), v.data()}, 1);
    CHECK(c.exact && c.gap == 0 && c.primal == c.dual);
    u[7] -= 0x1p-60;  // no change: rounds back
    CHECK(u[7] == price[7]);
    u[7] = std::nextafter(u[7], -1.0);
    c = certify<double>({{cost.data(), n, 1, 1, 1}, false, price.data(), alone.data(), u.data(), v.data()}, 1);
    CHECK(!c.exact && c.gap == price[7] - u[7] && c.violation == 0);
}

// A sum of runs is that of its numbers: with few and many of them, of magnitudes near each other and far apart, that
// cancel, and at the ends of the range.
void test_sums() {
    constexpr int kKinds = 8;
    std::mt19937_64 random(13);
    for (const std::size_t count : {1, 7, 15, 16, 17, 23, 24, 25, 100, 255, 256, 257, 1000}) {
        for (int kind = 0; kind < kKinds; ++kind) {
            tally().where = std::to_string(count) + " numbers of kind " + std::to_string(kind);
            std::vector<double> numbers;
            for (std::size_t k = 0; k < count; ++k) {
                const double drawn = static_cast<double>(random() % (std::uint64_t{1} << 53)) * 0x1p-53 - 0.4;
                const int far = static_cast<int>(random() % 1800) - 900, near = static_cast<int>(random() % 60);
                const double of_kind[kKinds] = {drawn,
                                                std::ldexp(drawn, -near),
                                                std::ldexp(drawn, far),
                                                drawn * 0x1p-1022,
                                                drawn * 0x1p1015,
                                                k % 2 == 0 ? drawn : -numbers.back(),
                                                0,
                                                3.4 + drawn};
                numbers.push_back(of_kind[kind]);
            }
            if (kind == 5 && count > 2) numbers[count / 2] += 0x1p-70;
            ExactSum<double> runs, one_by_one;
            runs.add(0.1), one_by_one.add(0.1);
            runs.add_all(numbers.data(), count);
            for (const double x : numbers) one_by_one.add(x);
            CHECK(runs.nearest() == one_by_one.nearest());
            CHECK(runs.upward() == one_by_one.upward() && runs.downward() == one_by_one.downward());
            runs.add(one_by_one, -1);
            CHECK(runs.nearest() == 0 && runs.upward() == 0 && runs.downward() == 0);
        }
    }
    for (const std::size_t count : {9, 30}) {
        ExactSum<double> infinite, none;
        std::vector<double> numbers(count, 1.5);
        numbers[count / 2] = kInf;
        infinite.add_all(numbers.data(), count);
        numbers[count / 2] = kNaN;
        none.add_all(numbers.data(), count);
        CHECK(infinite.nearest() == kInf && std::isnan(none.nearest()));
    }
}

// Costs within a rounding or two of the sum of their duals, at any place of a line, of any magnitude, beside duals that
// are far larger: the worst violation of a row is that of exact sums, and the first pair that has it is named. One pair
// in `rare` is so close.
template <class T>
void test_every_pair(double scale, double outlier, unsigned rare) {
    using D = Dual<T>;
    std::mt19937_64 random(11);
    for (const Index n : {1, 3, 8, 9, 63, 64, 65, 130, 200}) {
        for (const bool maximize : {false, true}) {
            tally().where = std::to_string(n) + " pairs, scale " + std::to_string(scale);
            const auto draw = [&] { return scale * (static_cast<double>(random() % 2000) / 1000.0 - 1.1); };
            std::vector<D> u, v;
            std::vector<std::int64_t> row_to_col;
            for (Index i = 0; i < n; ++i) {
                u.push_back(static_cast<D>(draw()));
                v.push_back(static_cast<D>(draw()));
                row_to_col.push_back(i);
            }
            v[static_cast<std::size_t>(n / 2)] += static_cast<D>(outlier);
            std::vector<T> cost;
            std::vector<D> violation(static_cast<std::size_t>(n), 0);
            std::vector<Index> col(static_cast<std::size_t>(n), -1);
            for (Index i = 0; i < n; ++i) {
                const auto at = static_cast<std::size_t>(i);
                for (Index j = 0; j < n; ++j) {
                    const D a = u[static_cast<std::size_t>(i)], b = v[static_cast<std::size_t>(j)];
                    auto c = static_cast<T>(a + b);
                    const bool is_close = random() % rare == 0;
                    if (!is_close) c = static_cast<T>(c + static_cast<T>(scale));
                    for (auto steps = is_close ? random() % 7 : 0; steps > 0; --steps) {  // mostly above
                        const bool is_up = random() % 8 != 0;
                        if constexpr (std::is_floating_point_v<T>)
                            c = std::nextafter(c,
                                               is_up ? std::numeric_limits<T>::max() : -std::numeric_limits<T>::max());
                        else
                            c = static_cast<T>(c + (is_up ? 1 : -1));
                    }
                    if (random() % 5 == 0) c = std::numeric_limits<T>::has_infinity ? kInfinity<T> : c;
                    cost.push_back(maximize ? -c : c);
                    ExactSum<D> excess;
                    if (std::is_floating_point_v<T> && static_cast<D>(c) == kInfinity<D>) continue;
                    excess.add(a), excess.add(b), excess.add(-static_cast<D>(c));
                    if (excess.upward() > violation[at]) violation[at] = excess.upward(), col[at] = j;
                }
            }
            const MatrixView<T> view{cost.data(), n, n, n, 1};
            const auto rows = certify_rows<T>({view, maximize, nullptr, row_to_col.data(), u.data(), v.data()}, 1);
            for (std::size_t i = 0; i < rows.size(); ++i)
                CHECK(rows[i].violation == violation[i] && rows[i].col == col[i]);
        }
    }
}

// Integers beyond 2^53 and sums beyond 2^63.
void test_large_integers() {
    const std::int64_t big = (std::int64_t{1} << 60) + 1;
    Known<std::int64_t> known(100);
    for (Index i = 0; i < 100; ++i) {
        for (Index j = 0; j < 100; ++j) known.at(i, j) += (std::int64_t{1} << 54);
        known.u[static_cast<std::size_t>(i)] += std::int64_t{1} << 54;
    }
    CHECK(known.certificate().exact);
    known.u[50] += 1;
    CHECK(known.certificate().violation == 1 && known.certificate().gap == -1);

    const auto single = [&](std::int64_t c, std::int64_t u, std::int64_t v) {
        const std::int64_t row_to_col = 0;
        return certify<std::int64_t>({{&c, 1, 1, 1, 1}, false, nullptr, &row_to_col, &u, &v}, 1);
    };
    constexpr auto most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
    CHECK(single(big, big, 0).exact);
    CHECK(single(big, big - 1, 2).violation == 1);
    CHECK(single(most, most, 0).exact && single(most, most, 0).primal == most);
    CHECK(single(most, most, most).dual == Int128{2} * most && single(most, most, most).gap == -Int128{most});
    CHECK(single(most, least, least).violation == 0);
    CHECK(single(least, most, most).violation == kInfinity<std::int64_t>);
    CHECK(single(least, most, most).bound == kInfinity<std::int64_t>);
    CHECK(single(most, most - 7, 0).bound == 7 && single(most, least, 0).bound == kInfinity<std::int64_t>);
}

// Sums of floats that would overflow on the way, beside the least numbers.
void test_largest_floats() {
    constexpr double large = 1.7e308, least = std::numeric_limits<double>::denorm_min();
    const std::int64_t row_to_col = 0;
    const auto violation = [&](double c, std::vector<double> u, std::vector<double> v) {
        return certify<double>({{&c, 1, 1, 1, 1},
                                false,
                                nullptr,
                                &row_to_col,
                                u.data(),
                                v.data(),
                                nullptr,
                                nullptr,
                                false,
                                static_cast<int>(u.size())},
                               1)
            .violation;
    };
    CHECK(violation(large, {-large}, {large}) == 0 && violation(-large, {large}, {-large}) == large);
    CHECK(violation(-large, {large}, {large}) == kInf && violation(large, {-large}, {-large}) == 0);
    CHECK(violation(-large, {large, least}, {-large, -large}) == least);
    CHECK(violation(-large, {large, -least}, {-large, -large}) == 0);
    CHECK(violation(-large, {large, 3 * least}, {-large, std::nextafter(-large, 0)}) ==
          std::nextafter(large - std::nextafter(large, 0), kInf));
    CHECK(violation(large, {large, large}, {-large, 0}) == 0 && violation(large, {large, large}, {0, 0}) == large);
}

// A pass that takes long can be stopped from the thread that called it. On no machine does this one end before the hook
// is asked a second time: 10^11 costs, which lie in one row.
void test_interruption() {
    constexpr Index rows = 1'000'000, cols = 100'000;
    const std::vector<float> cost(cols, 1);  // every row is the same one
    const std::vector<std::int64_t> row_to_col(rows, -1);
    const std::vector<double> u(rows), v(cols), prices(rows, 1);
    for (const int threads : {1, 2}) {
        int calls = 0;
        bool thrown = false;
        try {
            certify<float>(
                {{cost.data(), rows, cols, 0, 1}, false, prices.data(), row_to_col.data(), u.data(), v.data()}, threads,
                [&](double) { return ++calls < 2; });
        } catch (const Interrupted&) {
            thrown = true;
        }
        CHECK(thrown && calls == 2);
    }
}

}  // namespace

int main() {
    test_accepts_and_rejects<float>();
    test_accepts_and_rejects<double>();
    test_accepts_and_rejects<std::int32_t>();
    test_accepts_and_rejects<std::int64_t>();
    test_layouts_and_threads<float>();
    test_layouts_and_threads<double>();
    test_layouts_and_threads<std::int32_t>();
    test_layouts_and_threads<std::int64_t>();
    test_signs<float>();
    test_signs<double>();
    test_signs<std::int32_t>();
    test_signs<std::int64_t>();
    test_not_numbers();
    test_rounding();
    test_sums();
    for (const unsigned rare : {1, 100}) {
        for (const double scale : {1.0, 1e-3, 0x1p-1040, 0x1p-1015, 1e300, 0x1p1019, 0x1p1021}) {
            test_every_pair<double>(scale, 0, rare);
            test_every_pair<double>(scale, 1e8 * std::min(scale, 1e299), rare);
        }
        test_every_pair<float>(1, 0, rare);
        test_every_pair<float>(1, 1e9, rare);
        test_every_pair<std::int32_t>(1e6, 0, rare);
        for (const double scale : {1e3, 0x1p60, 0x1p61}) test_every_pair<std::int64_t>(scale, 0, rare);
    }
    test_large_integers();
    test_largest_floats();
    test_interruption();
    return report();
}
