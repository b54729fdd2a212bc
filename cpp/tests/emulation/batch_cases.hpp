// Batches for the kernels of src/lapwing/kernels/batch*.cu, and what their answers must satisfy: the optimum of the
// reference, and a proof by duals.
#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../check.hpp"
#include "../reference.hpp"
#include "cuda_emulation.hpp"

#include "batch/batch.cuh"  // after the emulation

namespace batch_test {

using lapwing::test::tally;

inline float16 as_cost(double x, float16*) {
    const auto half = static_cast<_Float16>(x);
    float16 c;
    std::memcpy(&c, &half, sizeof c);
    return c;
}
inline bfloat16 as_cost(double x, bfloat16*) {
    return {static_cast<uint16>(std::bit_cast<unsigned>(static_cast<float>(x)) >> 16)};
}
template <class T>
T as_cost(double x, T*) {
    return static_cast<T>(x);
}
// A cost as the kernels read it.
inline Cost cost(double x) { return as_cost(x, static_cast<Cost*>(nullptr)); }

constexpr double kForbidden = std::numeric_limits<double>::infinity();

struct Options {
    int count = 1, rows = 1, cols = 1;
    bool maximize = false, ragged = false, priced = false, column_major = false, duals = true;
};

// A batch in the user's sense, with room for its answers.
struct BatchCase {
    Options options;
    std::vector<Cost> memory;
    std::vector<Dual> prices;
    std::vector<int32> row_counts, col_counts;
    std::vector<int64> row_to_col;
    std::vector<Dual> objective, u, v;
    std::vector<int32> status;

    // cost(b, i, j) is minimised; the user's is its opposite when maximising.
    BatchCase(const Options& given, const std::function<double(int, int, int)>& make, std::mt19937_64& random)
        : options(given), memory(size(given.count, given.rows, given.cols)),
          row_to_col(size(given.count, given.rows), 77), objective(size(given.count)),
          u(size(given.count, given.rows), 77), v(size(given.count, given.cols), 77), status(size(given.count), 77) {
        const double sign = options.maximize ? -1 : 1;
        for (int b = 0; b < options.count; ++b) {
            for (int i = 0; i < options.rows; ++i) {
                for (int j = 0; j < options.cols; ++j) memory[at(b, i, j)] = cost(sign * make(b, i, j));
            }
            if (options.ragged) {
                row_counts.push_back(static_cast<int32>(random() % size(options.rows + 1)));
                col_counts.push_back(static_cast<int32>(random() % size(options.cols + 1)));
            }
        }
        for (int k = 0; options.priced && k < options.count * options.rows; ++k) {
            const double price = make(k / options.rows, k % options.rows, options.cols);
            const bool never = random() % 8 == 0 || std::isinf(price);
            prices.push_back(never ? (options.maximize ? -infinity<Dual>() : infinity<Dual>())
                                   : static_cast<Dual>(sign * price));
        }
    }
    template <class... N>
    static std::size_t size(N... n) {
        return (std::size_t{1} * ... * static_cast<std::size_t>(n));
    }
    int64 row_stride() const { return options.column_major ? 1 : options.cols; }
    int64 col_stride() const { return options.column_major ? options.rows : 1; }
    std::size_t at(int b, int i, int j) const {
        return static_cast<std::size_t>(int64{b} * options.rows * options.cols + i * row_stride() + j * col_stride());
    }
    int rows(int b) const { return options.ragged ? row_counts[size(b)] : options.rows; }
    int cols(int b) const { return options.ragged ? col_counts[size(b)] : options.cols; }
    Batch batch() {
        return {.costs = memory.data(),
                .problem_stride = int64{options.rows} * options.cols,
                .row_stride = row_stride(),
                .col_stride = col_stride(),
                .count = options.count,
                .rows = options.rows,
                .cols = options.cols,
                .maximize = options.maximize,
                .priced = options.priced,
                .price = 0,
                .prices = options.priced ? prices.data() : nullptr,
                .price_problem_stride = options.rows,
                .price_row_stride = 1,
                .row_counts = options.ragged ? row_counts.data() : nullptr,
                .col_counts = options.ragged ? col_counts.data() : nullptr,
                .row_count_bytes = 4,
                .col_count_bytes = 4,
                .row_to_col = row_to_col.data(),
                .objective = objective.data(),
                .u = options.duals ? u.data() : nullptr,
                .v = options.duals ? v.data() : nullptr,
                .status = status.data()};
    }

    // Everything about the answer of problem b.
    void check_answer(int b) const {
        const int m = rows(b), n = cols(b);
        std::vector<Stored> costs;
        bool valid = true;
        for (int i = 0; i < m; ++i) {
            for (int j = 0; j < n; ++j) {
                costs.push_back(minimised(memory[at(b, i, j)]));
                valid = valid && static_cast<double>(costs.back()) > -kForbidden;
            }
            if (options.priced) valid = valid && static_cast<double>(price(b, i)) > -kForbidden;
        }
        for (int i = m; i < options.rows; ++i) CHECK(row_to_col[size(options.rows) * size(b) + size(i)] == -1);
        if (!valid) return check_refused(b, kInvalidCost);
        const std::optional<lapwing::test::Wide<Stored>> optimum = reference(b, costs);
        if (!optimum) return check_refused(b, kInfeasible);
        if (CHECK(status[size(b)] == kSolved)) check_optimal(b, costs, static_cast<double>(*optimum));
    }

  private:
    Stored minimised(Cost c) const {
        const auto x = static_cast<Stored>(widened(c));
        return options.maximize ? opposite(x) : x;
    }
    Dual price(int b, int i) const {
        if (!options.priced) return infinity<Dual>();
        const Dual p = prices[size(b) * size(options.rows) + size(i)];
        const Dual x = options.maximize ? opposite(p) : p;
        return x >= infinity<Dual>() - 1 ? infinity<Dual>() : x;
    }
    std::optional<lapwing::test::Wide<Stored>> reference(int b, const std::vector<Stored>& costs) const {
        const int m = rows(b), n = cols(b);
        const lapwing::MatrixView<Stored> view{costs.data(), m, n, n, 1};
        std::vector<lapwing::Dual<Stored>> exits;
        lapwing::Problem<Stored> problem{view, false, nullptr};
        if (options.priced) {
            for (int i = 0; i < m; ++i) {
                const auto p = price(b, i);
                exits.push_back(p >= infinity<Dual>() ? lapwing::kInfinity<lapwing::Dual<Stored>>
                                                      : static_cast<lapwing::Dual<Stored>>(p));
            }
            exits.push_back(0);  // data() of no rows
            problem.unmatched_cost = exits.data();
        } else if (m > n) {
            problem.cost = view.transposed();
        }
        return lapwing::test::reference_optimum(problem);
    }
    void check_refused(int b, int32 expected) const {
        CHECK(status[size(b)] == expected);
        for (int i = 0; i < options.rows; ++i) CHECK(row_to_col[size(b) * size(options.rows) + size(i)] == -1);
    }
    void check_optimal(int b, const std::vector<Stored>& costs, double optimum) const {
        const int m = rows(b), n = cols(b);
        const bool tall = m > n && !options.priced;
        std::vector<bool> taken(size(n));
        double sum = 0, dual_sum = 0, magnitude = 1e-300;
        int matched = 0;
        const auto row_dual = [&](int i) { return minimised_dual(u[size(b) * size(options.rows) + size(i)], !tall); };
        const auto col_dual = [&](int j) { return minimised_dual(v[size(b) * size(options.cols) + size(j)], tall); };
        for (const Stored c : costs) {
            if (c < infinity<Dual>()) magnitude = std::max(magnitude, std::abs(static_cast<double>(c)));
        }
        const double rounding = (kFloating ? 1e-13 : 0) * magnitude * (m + n);
        for (int i = 0; i < m; ++i) {
            const int64 j = row_to_col[size(b) * size(options.rows) + size(i)];
            if (!CHECK(j >= -1 && j < n)) return;
            const double c = j >= 0 ? static_cast<double>(costs[size(i) * size(n) + size(j)])
                                    : (options.priced ? static_cast<double>(price(b, i)) : 0);
            sum += c;
            if (options.duals) {
                dual_sum += row_dual(i);
                if (options.priced) CHECK(row_dual(i) <= static_cast<double>(price(b, i)) + rounding);
                if (j < 0 && tall) CHECK(row_dual(i) == 0);
            }
            if (j < 0) continue;
            CHECK(!taken[size(j)]);
            taken[size(j)] = true;
            ++matched;
        }
        if (!options.priced) CHECK(matched == std::min(m, n));
        CHECK(std::abs(sum - optimum) <= rounding);
        const double objective_sum = static_cast<double>(objective[size(b)]);
        const int shifts = !options.maximize || kFloating ? 0 : options.priced ? m : matched;
        CHECK(std::abs((options.maximize ? -objective_sum - shifts : objective_sum) - optimum) <= rounding);
        if (!options.duals) return;
        for (int j = 0; j < n; ++j) {
            dual_sum += col_dual(j);
            if (!tall && m < n) CHECK(col_dual(j) <= rounding);
            if (!taken[size(j)] && !tall) CHECK(col_dual(j) == 0);
            for (int i = 0; i < m; ++i) {
                const auto c = static_cast<double>(costs[size(i) * size(n) + size(j)]);
                CHECK(c - row_dual(i) - col_dual(j) >= -rounding);
            }
        }
        CHECK(std::abs(dual_sum - optimum) <= rounding);
    }
    double minimised_dual(Dual x, bool of_row) const {
        return static_cast<double>(!options.maximize ? x : of_row ? opposite(x) : -x);
    }
};

struct CostKind {
    const char* name;
    std::function<double(int, int, std::mt19937_64&)> cost;
};
inline double random_unit(std::mt19937_64& random) { return static_cast<double>(random() >> 40) * 0x1p-24; }

// Representable in every cost type: small integers, fractions and infinities for floats only.
inline std::vector<CostKind> cost_kinds() {
    const auto whole = [](double x) { return kFloating && sizeof(Cost) > 2 ? x : std::floor(x); };
    std::vector<CostKind> kinds = {
        {"uniform", [=](int, int, auto& r) { return whole(100 * random_unit(r)); }},
        {"ties", [](int, int, auto& r) { return std::floor(3 * random_unit(r)); }},
        {"equal", [](int, int, auto&) { return 5.0; }},
        {"product", [](int i, int j, auto&) { return static_cast<double>((i * 37 % 101 + 1) * (j * 53 % 97 + 2)); }},
        {"distance",
         [](int i, int j, auto&) {
             return static_cast<double>((i * 7 % 31 - j * 11 % 37) * (i * 7 % 31 - j * 11 % 37) / 16);
         }},
    };
    if (kFloating) {
        kinds.push_back({"some forbidden", [=](int, int, auto& r) {
                             return random_unit(r) < 0.3 ? kForbidden : whole(9 * random_unit(r));
                         }});
        kinds.push_back({"many forbidden", [=](int, int, auto& r) {
                             return random_unit(r) < 0.8 ? kForbidden : whole(9 * random_unit(r));
                         }});
        kinds.push_back({"all forbidden", [](int, int, auto&) { return kForbidden; }});
        kinds.push_back({"one way", [](int i, int j, auto&) { return i == j ? 1.0 : kForbidden; }});
        kinds.push_back({"signed", [=](int, int, auto& r) { return whole(200 * random_unit(r) - 100); }});
        kinds.push_back({"invalid", [=](int, int, auto& r) {
                             return random_unit(r) < 0.02 ? std::nan("") : whole(9 * random_unit(r));
                         }});
        kinds.push_back({"wrong infinity", [=](int, int, auto& r) {
                             return random_unit(r) < 0.02 ? -kForbidden : whole(9 * random_unit(r));
                         }});
    }
    return kinds;
}

using Launcher = std::function<void(const Batch&, std::uint64_t seed)>;

inline void run_case(const Options& options, const CostKind& kind, const Launcher& launcher, std::uint64_t seed) {
    std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(options.rows * 4099 + options.cols));
    BatchCase batch_case(options, [&](int, int i, int j) { return kind.cost(i, j, random); }, random);
    tally().where = std::string(kind.name) + " " + std::to_string(options.rows) + " x " + std::to_string(options.cols) +
                    (options.maximize ? " maximize" : "") + (options.ragged ? " ragged" : "") +
                    (options.priced ? " priced" : "") + (options.column_major ? " column-major" : "") + ", seed " +
                    std::to_string(seed);
    try {
        launcher(batch_case.batch(), seed);
    } catch (const std::exception& error) {
        tally().where += std::string(": ") + error.what();
        CHECK(false);
        return;
    }
    for (int b = 0; b < options.count; ++b) batch_case.check_answer(b);
}

// Every kind of cost at every shape, options in turn. The schedule is the ordinary one for one case in three.
inline void run_shapes(const std::vector<std::pair<int, int>>& shapes, int count, const Launcher& launcher,
                       std::uint64_t seed) {
    const auto kinds = cost_kinds();
    std::uint64_t turn = seed;
    for (const auto& [rows, cols] : shapes) {
        for (const CostKind& kind : kinds) {
            const std::uint64_t t = turn++;
            const Options options{.count = count,
                                  .rows = rows,
                                  .cols = cols,
                                  .maximize = t % 2 == 1,
                                  .ragged = t % 5 == 3,
                                  .priced = t % 7 == 2,
                                  .column_major = t % 3 == 1,
                                  .duals = t % 11 != 0};
            run_case(options, kind, launcher, t % 3 == 0 ? 0 : t);
        }
    }
}

}  // namespace batch_test
