// Bounds of boxes (kernels/costs/points.cuh): no point in a box costs less than its least cost, to the last bit.
#include "cuda_emulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <type_traits>
#include <vector>

#include "../check.hpp"
#include "costs/points.cuh"

namespace {

constexpr uint32 kDims = 3, kPoints = 20;

// A line at `a`; one term at points and boxes that are laid out as gpu/costs/computed.py does.
template <class M, bool weighted>
void check_term(std::mt19937_64& random, double scale, double power) {
    using OneTerm = Points<Term<M, kDims, weighted>>;
    constexpr bool on_sphere = std::is_same_v<M, Metric::great_circle> || std::is_same_v<M, Metric::cosine>;
    std::normal_distribution<double> normal;
    const auto point = [&](Cost* to, int64 stride) {
        double x[kDims], length = 0;
        for (double& c : x) c = scale * normal(random), length += c * c;
        for (uint32 k = 0; k < kDims; ++k)
            to[k * stride] = static_cast<Cost>(on_sphere ? x[k] / std::sqrt(length) : x[k]);
    };
    Cost line[kDims], points[kDims * kPoints], corners[2 * kDims];
    point(line, 1);
    for (uint32 p = 0; p < kPoints; ++p) point(points + p, kPoints);
    for (uint32 k = 0; k < kDims; ++k) {
        const auto [low, high] = std::minmax_element(points + k * kPoints, points + (k + 1) * kPoints);
        corners[2 * k] = *low;
        corners[2 * k + 1] = *high;
    }
    const double weight = weighted ? 0.7 : 1.0;
    const typename OneTerm::Block at_points = {{{line, points, 1, kPoints, kDims, weight, power}}, {}};
    const typename OneTerm::Block at_corners = {{{line, corners, 1, 2, kDims, weight, power}}, {}};
    const OneTerm costs(&at_points), boxes(&at_corners);
    const int64 index[1] = {0};
    typename OneTerm::template Lines<1> lines;
    typename OneTerm::Position position, high;
    costs.load(index, lines);
    boxes.load_position(0, position);
    boxes.load_position(1, high);
    Cost least[1], cost[1];
    boxes.least_costs(lines, position, high, least);
    for (uint32 p = 0; p < kPoints; ++p) {
        costs.load_position(p, position);
        costs.costs(lines, position, cost);
        CHECK(least[0] <= cost[0]);
    }
}

template <class M>
void check_metric(std::mt19937_64& random, double power = 1) {
    for (int turn = 0; turn < 300; ++turn) {
        const double scale = std::pow(10.0, static_cast<double>(random() % 9) - 4);
        check_term<M, false>(random, scale, power);
        check_term<M, true>(random, scale, power);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::mt19937_64 random(argc > 1 ? std::atoi(argv[1]) : 1);
#define CHECK_METRIC(name) check_metric<Metric::name>(random);
    FOR_EACH_METRIC(CHECK_METRIC)
#undef CHECK_METRIC
    for (const double power : {0.5, 1.5, 3.0, 7.25}) check_metric<Metric::minkowski>(random, power);
    return lapwing::test::report();
}
