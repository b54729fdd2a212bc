// Problems of every kind that a method must solve: classes of costs x shapes x senses x unmatched costs x layouts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "lapwing/numbers/range.hpp"
#include "lapwing/types.hpp"

namespace lapwing::test {

enum class Layout { rows, columns, strided, reversed };

// Owns what `problem` views. Not copyable, since the view would dangle.
template <class T>
struct Case {
    std::string name;
    std::vector<T> memory;
    std::vector<Dual<T>> unmatched;
    Problem<T> problem;
    bool on_grid = true;  // every sum that a method may form is exact
    Case() = default;
    Case(const Case&) = delete;
    Case& operator=(const Case&) = delete;

    T& at(Index i, Index j) { return const_cast<T&>(problem.cost.row(i)[j * problem.cost.col_stride]); }
};

template <class T>
void lay_out(Case<T>& the_case, Index rows, Index cols, Layout layout) {
    MatrixView<T>& view = the_case.problem.cost;
    view.rows = rows;
    view.cols = cols;
    const std::ptrdiff_t gap = layout == Layout::strided ? 3 : 1;
    view.col_stride = layout == Layout::columns ? rows : layout == Layout::reversed ? -1 : gap;
    view.row_stride = layout == Layout::columns ? 1 : static_cast<std::ptrdiff_t>(cols) * gap + (gap > 1 ? 2 : 0);
    const std::size_t first = layout == Layout::reversed ? static_cast<std::size_t>(cols) - 1 : 0;
    const auto pitch = static_cast<std::size_t>(std::max<std::ptrdiff_t>(view.row_stride, 1));
    const std::size_t size = layout == Layout::columns ? static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)
                                                       : static_cast<std::size_t>(rows) * pitch;
    the_case.memory.assign(size, T{77});  // no padding around it: AddressSanitizer sees every read too far
    view.data = the_case.memory.data() + first;
}

struct CostClass {
    const char* name;
    bool floats_only;
    bool on_grid;
    // A cost from row, column and a random number in [0, 1); ints are rounded.
    std::function<double(Index, Index, std::mt19937_64&)> cost;
};

inline double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 40) * 0x1p-24; }

inline std::vector<CostClass> cost_classes() {
    const double infinity = kInfinity<double>;
    const auto grid = [](double x) { return std::floor(x * 4096) / 4096; };
    return {
        {"uniform", false, true, [=](Index, Index, auto& r) { return grid(1000 * uniform(r)); }},
        {"signed", false, true, [=](Index, Index, auto& r) { return grid(200 * uniform(r) - 100); }},
        {"ties", false, true, [](Index, Index, auto& r) { return std::floor(3 * uniform(r)); }},
        {"equal", false, true, [](Index, Index, auto&) { return -5.0; }},
        {"product", false, true, [](Index i, Index j, auto&) { return static_cast<double>((i + 1) * (j + 2)); }},
        {"ties side by side", false, true,  // a row's cheapest columns, all alike, stand before its own
         [](Index i, Index j, auto&) { return 10.0 * i + (i % 64 < 40 || (i / 64 == j / 64 && j < i) ? 0 : 1); }},
        {"distance", false, true,
         [](Index i, Index j, auto&) { return std::abs(double(i * 7 % 31) - double(j * 11 % 37)); }},
        {"blocks", false, true,
         [=](Index i, Index j, auto& r) { return grid((i % 3 == j % 3 ? 0 : 500) + 10 * uniform(r)); }},
        {"nearly equal", true, true, [](Index, Index, auto& r) { return 1 + std::floor(9 * uniform(r)) * 0x1p-20; }},
        {"few forbidden", true, true,
         [=](Index, Index, auto& r) { return uniform(r) < 0.3 ? infinity : grid(9 * uniform(r)); }},
        {"many forbidden", true, true,
         [=](Index, Index, auto& r) { return uniform(r) < 0.8 ? infinity : grid(9 * uniform(r)); }},
        {"forbidden row", true, true, [=](Index i, Index, auto& r) { return i == 2 ? infinity : grid(uniform(r)); }},
        {"triangular", true, true,
         [=](Index i, Index j, auto& r) { return j > i ? infinity : grid(100 * uniform(r)); }},
        {"decimal", true, false, [](Index, Index, auto& r) { return 0.1 + uniform(r) / 3; }},
        {"huge", true, false, [](Index, Index, auto& r) { return 1e300 * (uniform(r) - 0.5); }},
        {"tiny", true, false, [](Index, Index, auto& r) { return 1e-300 * uniform(r); }},
        {"subnormal", true, true, [](Index, Index, auto& r) { return std::floor(1000 * uniform(r)) * 0x1p-1074; }},
        {"wide", true, false, [](Index, Index, auto& r) { return std::pow(10.0, 30 * uniform(r) - 15); }},
    };
}

// Whether the class's numbers are of type T at all (1e300 is no float).
template <class T>
bool has_class(const CostClass& costs) {
    const std::string name = costs.name;
    if (std::is_same_v<T, float>) return name != "huge" && name != "tiny" && name != "subnormal";
    return std::is_floating_point_v<T> || !costs.floats_only;
}

enum class Unmatched { none, cheap, middling, some_infinite };

// Cheap: 0; else what another pair costs.
template <class T>
void set_unmatched(Case<T>& the_case, Unmatched kind, const CostClass& costs, std::mt19937_64& random) {
    if (kind == Unmatched::none) return;
    for (Index i = 0; i < the_case.problem.cost.rows; ++i) {
        const double price = kind == Unmatched::cheap ? 0 : costs.cost(i, i + 1, random);
        const bool infinite = std::isinf(price) || (kind == Unmatched::some_infinite && i % 3 == 0);
        the_case.unmatched.push_back(infinite ? kInfinity<Dual<T>> : static_cast<Dual<T>>(price));
    }
    the_case.problem.unmatched_cost = the_case.unmatched.data();
}

template <class T>
using Visit = std::function<void(Case<T>&)>;

template <class T>
void fill(Case<T>& the_case, const CostClass& costs, std::mt19937_64& random) {
    const bool negate = the_case.problem.maximize;
    for (Index i = 0; i < the_case.problem.cost.rows; ++i) {
        for (Index j = 0; j < the_case.problem.cost.cols; ++j) {
            const double c = costs.cost(i, j, random);
            the_case.at(i, j) = static_cast<T>(negate ? -c : c);
        }
    }
    the_case.on_grid = costs.on_grid;
}

using Shapes = std::vector<std::pair<Index, Index>>;

inline Shapes small_shapes() {
    return {{1, 1}, {1, 9}, {2, 2}, {5, 5}, {8, 8}, {9, 17}, {16, 16}, {23, 23}, {31, 64}, {40, 40}, {13, 5}, {20, 4}};
}
inline Shapes large_shapes(Index n) { return {{n, n}, {n / 2, n * 4 / 3 + 1}, {n * 4 / 3 + 1, n / 2}}; }

// Every class and shape; senses, unmatched costs and layouts in turn.
template <class T>
void for_each_case(const Shapes& shapes, const Visit<T>& visit) {
    std::mt19937_64 random(20);
    int turn = 0;
    for (const CostClass& costs : cost_classes()) {
        if (!has_class<T>(costs)) continue;
        for (const auto& [rows, cols] : shapes) {
            for (const auto kind : {Unmatched::none, Unmatched::cheap, Unmatched::middling, Unmatched::some_infinite}) {
                if (rows > cols && kind == Unmatched::none) continue;
                if (rows > 100 && kind == Unmatched::cheap) continue;
                Case<T> the_case;
                the_case.problem.maximize = turn % 2 == 1;
                lay_out(the_case, rows, cols, static_cast<Layout>(turn / 2 % 4));
                fill(the_case, costs, random);
                set_unmatched(the_case, kind, costs, random);
                the_case.name = std::string(costs.name) + " " + std::to_string(rows) + " x " + std::to_string(cols) +
                                ", unmatched " + std::to_string(static_cast<int>(kind)) + ", turn " +
                                std::to_string(turn);
                ++turn;
                visit(the_case);
            }
        }
    }
}

// Integers as large as the range check admits.
template <class T>
void for_each_extreme_case(const Visit<T>& visit) {
    std::mt19937_64 random(21);
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {2, 3}, {9, 9}, {20, 20}, {11, 30}}) {
        for (int kind = 0; kind < 6; ++kind) {
            Case<T> the_case;
            the_case.problem.maximize = kind % 2 == 1;
            lay_out(the_case, rows, cols, Layout::rows);
            const Dual<T> limit = check_range(the_case.problem, 1).limit;
            const auto largest = static_cast<T>(std::min<Dual<T>>(limit, std::numeric_limits<T>::max()));
            for (Index i = 0; i < rows; ++i) {
                for (Index j = 0; j < cols; ++j) {
                    const bool high = random() % 2 == 0;
                    the_case.at(i, j) = kind / 2 == 0 ? (high ? largest : -largest)
                                        : kind / 2 == 1
                                            ? static_cast<T>(largest - static_cast<T>(random() % 1000))
                                            : static_cast<T>(static_cast<double>(largest) / 2 * uniform(random));
                }
            }
            the_case.name =
                "extreme " + std::to_string(kind) + " " + std::to_string(rows) + " x " + std::to_string(cols);
            visit(the_case);
        }
    }
}

}  // namespace lapwing::test
