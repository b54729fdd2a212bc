// The exact solve: wide integers, costs as fixed-point numbers, and answers against all permutations.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "lapwing/certificate/certificate.hpp"
#include "lapwing/exact/fixed_point.hpp"
#include "lapwing/exact/refine.hpp"
#include "lapwing/exact/solve.hpp"
#include "lapwing/numbers/trust.hpp"
#include "lapwing/reductions/large_costs.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Wide widened(Int128 x) {
    return Wide::shifted(static_cast<std::int64_t>(x >> 64), 64) +
           Wide::shifted(static_cast<std::int64_t>(static_cast<std::uint64_t>(x) >> 1), 1) +
           Wide(static_cast<int>(x & 1));
}

void test_wide_integers() {
    std::mt19937_64 random(1);
    const auto draw = [&] {
        const auto high = static_cast<std::int64_t>(random());
        return ((Int128{high} << 64) | static_cast<std::uint64_t>(random())) >> (random() % 120 + 4);
    };
    for (int t = 0; t < 20000; ++t) {
        const Int128 a = draw(), b = draw();
        const Wide x = widened(a), y = widened(b);
        CHECK(x + y == widened(a + b));
        CHECK(x - y == widened(a - b));
        CHECK(-x == widened(-a));
        CHECK((x < y) == (a < b) && (x == y) == (a == b));
        CHECK(x / 3 == widened(a / 3));
        CHECK(Wide(3) * x == x + x + x);
        CHECK(std::fabs(static_cast<double>(x) - static_cast<double>(a)) <=
              std::fabs(static_cast<double>(a)) * 0x1p-51);
    }
    CHECK(Wide(0.0) == Wide(0) && Wide(-1.75) == Wide(-1) && Wide(0x1p100) == Wide::shifted(1, 100));
    CHECK(static_cast<double>(Wide::shifted(-5, 1000)) == -5 * 0x1p1000);
    CHECK(kInfinity<Wide> > Wide::shifted(1, 2150) && -kInfinity<Wide> < Wide(0));
}

double any_double(std::mt19937_64& random, int range) {
    const int exponent = static_cast<int>(random() % static_cast<unsigned>(2 * range)) - range;
    const double x = std::ldexp(static_cast<double>(random() >> 11), exponent - 53);
    return random() % 2 == 0 ? x : -x;
}

void test_fixed_point() {
    std::mt19937_64 random(2);
    for (const double x : {0.0, 1.0, -1.0, 5e-324, -5e-324, 1.7976931348623157e308, 0.1, 3e-310})
        CHECK(from_fixed(to_fixed<Wide>(x, -1074), -1074) == x);
    CHECK(to_fixed<Int128>(-0.75, 0) == -1 && to_fixed<Int128>(0.75, 0) == 0);
    CHECK(to_nearest_fixed<Int128>(-0.75, 0) == -1 && to_nearest_fixed<Int128>(0.75, 0) == 1);
    CHECK(to_nearest_fixed<Wide>(-1e-30, 0) == Wide(0));
    CHECK(to_fixed<Int128>(-1e-300, 0) == -1 && to_fixed<Int128>(1e-300, 0) == 0);
    for (int t = 0; t < 2000; ++t) {
        const double a = any_double(random, 900), b = any_double(random, 900);
        const auto parts = to_parts<Wide>({to_fixed<Wide>(a, -1074) + to_fixed<Wide>(b, -1074)}, -1074);
        Wide sum;
        for (const auto& part : parts) sum += to_fixed<Wide>(part[0], -1074);
        CHECK(sum == to_fixed<Wide>(a, -1074) + to_fixed<Wide>(b, -1074));
        DigitRange digits;
        digits.add(a);
        CHECK(std::fabs(a) < std::ldexp(1, digits.top) && std::fmod(a, std::ldexp(1, digits.lowest)) == 0);
    }
}

// The least sum over all permutations, exactly; kInfinity if there is none.
Wide least_sum(const std::vector<double>& cost, Index n) {
    std::vector<Index> columns(static_cast<std::size_t>(n));
    std::iota(columns.begin(), columns.end(), 0);
    Wide best = kInfinity<Wide>;
    do {
        Wide sum;
        bool allowed = true;
        for (Index i = 0; i < n && allowed; ++i) {
            const double c = cost[static_cast<std::size_t>(i * n + columns[static_cast<std::size_t>(i)])];
            allowed = c < kInf;
            if (allowed) sum += to_fixed<Wide>(c, -1074);
        }
        if (allowed) best = std::min(best, sum);
    } while (std::next_permutation(columns.begin(), columns.end()));
    return best;
}

void test_against_all_permutations() {
    std::mt19937_64 random(3);
    for (int t = 0; t < 600; ++t) {
        const Index n = 1 + static_cast<Index>(random() % 5);
        const int range = t % 3 == 0 ? 20 : t % 3 == 1 ? 60 : 900;
        std::vector<double> cost(static_cast<std::size_t>(n * n));
        for (double& c : cost) c = random() % 5 == 0 ? kInf : random() % 4 == 0 ? 1.0 : any_double(random, range);
        const Problem<double> problem{{cost.data(), n, n, n, 1}};
        std::vector<double> prices(static_cast<std::size_t>(n));
        for (double& price : prices) price = any_double(random, range);
        ExactRequest request;
        if (t % 2 == 0) {
            request.start_v = prices.data();
            request.start_parts = 1;
        }
        Control control;
        const ExactSolution solution = solve_exact(problem, request, control);
        const Wide best = least_sum(cost, n);
        CHECK((solution.status == Status::infeasible) == (best == kInfinity<Wide>));
        if (solution.status != Status::optimal) continue;
        Wide sum;
        std::vector<std::int64_t> row_to_col;
        for (Index i = 0; i < n; ++i) {
            row_to_col.push_back(solution.row_to_col[static_cast<std::size_t>(i)]);
            sum += to_fixed<Wide>(problem.at(i, solution.row_to_col[static_cast<std::size_t>(i)]), -1074);
        }
        CHECK(sum == best && !solution.rounded);

        const std::size_t parts = std::max(solution.u.size(), solution.v.size());
        std::vector<double> u, v;
        for (std::size_t k = 0; k < parts; ++k)
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
                u.push_back(k < solution.u.size() ? solution.u[k][i] : 0);
                v.push_back(k < solution.v.size() ? solution.v[k][i] : 0);
            }
        CertificateInput<double> input{problem.cost, false, nullptr, row_to_col.data(), u.data(), v.data()};
        input.parts = static_cast<int>(parts);
        CHECK(certify(input, 1).exact);
        u[0] = std::nextafter(u[0], kInf);  // a last digit more, and the proof fails
        CHECK(!certify(input, 1).exact);
    }
}

// From duals far off, in one part or two: what is to be added to them proves the best permutation without an error.
void test_refined_duals() {
    std::mt19937_64 random(5);
    for (int t = 0; t < 400; ++t) {
        const Index n = 1 + static_cast<Index>(random() % 5);
        const auto size = static_cast<std::size_t>(n);
        const auto draw = [&] { return static_cast<double>(random() % 1024) / 1024; };
        const double penalty = std::ldexp(1, static_cast<int>(random() % 42));
        const bool maximize = t % 2 == 0;
        std::vector<double> cost(size * size);
        for (double& c : cost) {
            c = random() % 6 == 0 ? kInf : draw() + (random() % 2 == 0 ? penalty : 0);
            if (maximize) c = -c;
        }
        const Problem<double> problem{{cost.data(), n, n, n, 1}, maximize};
        const int parts = 1 + t % 3 % 2;
        std::vector<double> u, v;
        for (std::size_t i = 0; i < static_cast<std::size_t>(parts) * size; ++i)
            u.push_back(penalty * draw()), v.push_back(-penalty * draw());
        std::vector<Index> identity(size);
        std::iota(identity.begin(), identity.end(), 0);
        Control control;
        const auto added = refine(problem, {u.data(), v.data(), parts, parts, identity.data()}, control);
        std::vector<double> minimised = cost;
        for (double& c : minimised) c = maximize ? -c : c;
        const Wide best = least_sum(minimised, n);
        CHECK((added.status == Status::infeasible) == (best == kInfinity<Wide>));
        if (added.status != Status::optimal) continue;
        Wide sum;
        for (std::size_t i = 0; i < size; ++i)
            sum += to_fixed<Wide>(problem.at(static_cast<Index>(i), added.row_to_col[i]), -1074);
        CHECK(sum == best);
    }
    // Sums beyond all doubles are refused.
    const std::vector<double> cost{1e308, 0, 0, 1e308};
    const double duals[] = {-1e308, -1e308};
    const Index rows[] = {0, 1};
    Control control;
    bool refused = false;
    try {
        refine(Problem<double>{{cost.data(), 2, 2, 2, 1}}, {duals, duals, 1, 1, rows}, control);
    } catch (const InvalidCost&) {
        refused = true;
    }
    CHECK(refused);
}

void test_rounded_costs() {
    std::mt19937_64 random(4);
    constexpr Index n = 40;
    std::vector<double> cost(n * n);
    for (double& c : cost) c = std::pow(static_cast<double>(random() >> 11) * 0x1p-53, 20);
    const Problem<double> problem{{cost.data(), n, n, n, 1}};
    ExactRequest request;
    Control control;
    const ExactSolution exact = solve_exact(problem, request, control);
    const auto total = [&](const ExactSolution& solution) {
        double sum = 0;
        for (Index i = 0; i < n; ++i) sum += problem.at(i, solution.row_to_col[static_cast<std::size_t>(i)]);
        return sum;
    };
    request.precision = total(exact) * 0x1p-54;
    request.most = 8 * n * total(exact);  // no pair above that is in an optimum
    const ExactSolution rounded = solve_exact(problem, request, control);
    CHECK(!exact.rounded && rounded.rounded);
    CHECK(total(rounded) <= total(exact) * (1 + 0x1p-50));
}

void test_large_costs() {
    std::vector<double> cost{1, 2, 1e18, 3, kInf, 1e18, 0, 1e18, 5};
    const Problem<double> problem{{cost.data(), 3, 3, 3, 1}};
    const auto large = find_large_costs(problem, 3);
    CHECK(large && large->least == 1e18 && large->above == 60 && !large->leave_digits());
    const auto small = small_costs<double>(problem.cost, nullptr, false, large->above);
    double row[3];
    small->read(0, 0, 3, row);
    CHECK(row[0] == 1 && row[1] == 2 && row[2] == kInf);
    cost[0] = -1e18;  // as large, but welcome
    CHECK(!find_large_costs(problem, 3));
    cost = {1, 2, 4, 8, 16, 32, 0, 0, 5};
    CHECK(!find_large_costs(problem, 3));

    const std::vector<double> few{1, 0, 0, 1};
    const Index rows[] = {1, 0};
    const double fine[] = {0, 0}, far[] = {1e18, 1e18};
    const Problem<double> pair{{few.data(), 2, 2, 2, 1}};
    CHECK(is_proven(pair, rows, fine) && is_proven(pair, rows, far) && !are_small(pair, rows, far));
    const std::vector<double> tenths{1, 0.1, 0.1, 1};
    const Problem<double> tenth{{tenths.data(), 2, 2, 2, 1}};
    CHECK(are_small(tenth, rows, fine) && is_proven(tenth, rows, fine) && !is_proven(tenth, rows, far));
}

}  // namespace

int main() {
    test_wide_integers();
    test_fixed_point();
    test_against_all_permutations();
    test_refined_duals();
    test_rounded_costs();
    test_large_costs();
    return report();
}
