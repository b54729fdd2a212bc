// Sparse costs: answers against the textbook method on the matrix written out, certificates, and damaged arrays.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "lapwing/certificate/certificate.hpp"
#include "lapwing/sparse/exact.hpp"
#include "lapwing/sparse/solve.hpp"
#include "reference.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// A matrix by rows in arrays of just its size; solved as it is, or transposed.
template <class T>
struct Case {
    std::vector<std::int64_t> indptr{0};
    std::vector<Index> indices;
    std::vector<T> data;
    Index rows = 0, cols = 0;
    bool maximize = false, transposed = false;
    std::vector<Dual<T>> exits;      // none: every row is matched
    std::vector<Dual<T>> free_cols;  // beside exits: prices of columns that stay free; none: 0

    SparseView<T> view() const {
        return {indptr.data(), indices.data(), data.data(), rows, cols, static_cast<std::int64_t>(data.size())};
    }
    Index m() const { return transposed ? cols : rows; }
    Index n() const { return transposed ? rows : cols; }
    SparseProblem<T> problem() const {
        return {view(), maximize, transposed, exits.empty() ? nullptr : exits.data(),
                free_cols.empty() ? nullptr : free_cols.data()};
    }
    // As it is solved, as minimised; infinity where there is no pair.
    std::vector<double> written_out() const {
        std::vector<double> dense(at(m()) * at(n()), kInf);
        for (Index i = 0; i < rows; ++i) {
            for (auto k = static_cast<std::size_t>(indptr[at(i)]); k < static_cast<std::size_t>(indptr[at(i) + 1]);
                 ++k) {
                const Index j = indices[k];
                const auto place = transposed ? at(j) * at(n()) + at(i) : at(i) * at(n()) + at(j);
                dense[place] = (maximize ? -1.0 : 1.0) * static_cast<double>(data[k]);
            }
        }
        return dense;
    }
};

template <class T>
Case<T> random_case(std::mt19937_64& random, Index m, Index n, double density, int spread, bool with_exits) {
    Case<T> made;
    made.maximize = random() % 2 == 0;
    made.transposed = random() % 2 == 0;
    made.rows = made.transposed ? n : m;
    made.cols = made.transposed ? m : n;
    std::uniform_real_distribution<double> draw;
    for (Index i = 0; i < made.rows; ++i) {
        for (Index j = 0; j < made.cols; ++j) {
            const Index col = i % 2 == 0 ? j : made.cols - 1 - j;
            if (draw(random) >= density) continue;
            made.indices.push_back(col);
            made.data.push_back(static_cast<T>(draw(random) * spread - spread / 4));
        }
        made.indptr.push_back(static_cast<std::int64_t>(made.data.size()));
    }
    made.indices.shrink_to_fit();
    made.data.shrink_to_fit();
    if (with_exits)
        for (Index i = 0; i < m; ++i)
            made.exits.push_back(random() % 4 == 0 ? kInfinity<Dual<T>> : static_cast<Dual<T>>(draw(random) * spread));
    if (with_exits && random() % 2 == 0)
        for (Index j = 0; j < n; ++j) made.free_cols.push_back(static_cast<Dual<T>>((draw(random) - 0.5) * spread));
    made.free_cols.shrink_to_fit();
    return made;
}

// The optimum as minimised by another method; infinity if there is none.
template <class T>
double optimum(const Case<T>& given, const std::vector<double>& dense) {
    std::vector<double> exits, less = dense;  // a pair saves what its column would cost
    for (const auto price : given.exits)
        exits.push_back(price == kInfinity<Dual<T>> ? kInf : static_cast<double>(price));
    double of_cols = 0;
    for (std::size_t j = 0; j < given.free_cols.size(); ++j) {
        of_cols += static_cast<double>(given.free_cols[j]);
        for (std::size_t i = 0; i < at(given.m()); ++i)
            less[i * at(given.n()) + j] -= static_cast<double>(given.free_cols[j]);
    }
    const Problem<double> problem{
        {less.data(), given.m(), given.n(), given.n(), 1}, false, exits.empty() ? nullptr : exits.data(), nullptr};
    const auto found = reference_optimum(problem);
    return found ? static_cast<double>(*found) + of_cols : kInf;
}

template <class T>
double cost_of(const Case<T>& given, const std::vector<double>& dense, const std::vector<Index>& row_to_col) {
    long double sum = 0;
    std::vector<bool> taken(at(given.n()));
    for (Index i = 0; i < given.m(); ++i) {
        const Index j = row_to_col[at(i)];
        if (j < 0) {
            sum += given.exits.empty() ? kInf : static_cast<long double>(given.exits[at(i)]);
            continue;
        }
        CHECK(!taken[at(j)]);
        taken[at(j)] = true;
        sum += dense[at(i) * at(given.n()) + at(j)];
    }
    for (std::size_t j = 0; j < given.free_cols.size(); ++j)
        if (!taken[j]) sum += static_cast<long double>(given.free_cols[j]);
    return static_cast<double>(sum);
}

template <class Answer>
void check_violator(Index m, Index n, const std::vector<double>& dense, const Answer& answer) {
    CHECK(answer.hall_rows.size() > answer.hall_cols.size());
    CHECK(!answer.violator_is_cols || m == n);
    std::vector<bool> reach(at(n));
    for (const Index j : answer.hall_cols) reach[at(j)] = true;
    for (const Index i : answer.hall_rows)
        for (Index j = 0; j < n; ++j)
            CHECK(reach[at(j)] ||
                  dense[answer.violator_is_cols ? at(j) * at(n) + at(i) : at(i) * at(n) + at(j)] == kInf);
}

template <class T>
void check_certificate(const Case<T>& given, const SparseSolution<Dual<T>>& answer) {
    const std::vector<std::int64_t> row_to_col(answer.row_to_col.begin(), answer.row_to_col.end());
    const auto view = given.view();
    CertificateInput<T> input;
    input.cost = {nullptr, given.m(), given.n(), given.n(), 1};
    input.maximize = given.maximize;
    input.unmatched_cost = given.exits.empty() ? nullptr : given.exits.data();
    input.unmatched_cols = given.free_cols.empty() ? nullptr : given.free_cols.data();
    input.row_to_col = row_to_col.data();
    input.u = answer.u.data();
    input.v = answer.v.data();
    input.sparse = &view;
    input.sparse_by_columns = given.transposed;
    const auto certificate = certify(input, 2);
    CHECK(certificate.fault == Fault::none);
    if (answer.status != Status::optimal) return;
    CHECK(certificate.complete);
    CHECK(static_cast<double>(certificate.bound) <= 1e-9 * (1 + std::fabs(static_cast<double>(certificate.primal))));
    if constexpr (!std::is_floating_point_v<T>) CHECK(certificate.exact);
}

template <class T>
void check_solves(const Case<T>& given, std::mt19937_64& random) {
    using D = Dual<T>;
    const auto dense = given.written_out();
    const double expected = optimum(given, dense);
    std::vector<D> start;
    for (Index j = 0; j < given.n(); ++j) start.push_back(static_cast<D>(static_cast<int>(random() % 200) - 100));
    for (const D* from : {static_cast<const D*>(nullptr), static_cast<const D*>(start.data())}) {
        Control control;
        const auto answer = solve_sparse(given.problem(), from, from == nullptr ? 1 : 3, control);
        CHECK((answer.status == Status::infeasible) == (expected == kInf));
        if (answer.status == Status::infeasible) {
            check_violator(given.m(), given.n(), dense, answer);
            continue;
        }
        CHECK(std::fabs(cost_of(given, dense, answer.row_to_col) - expected) <= 1e-9 * (1 + std::fabs(expected)));
        check_certificate(given, answer);
    }
    Control hurried(0.0);
    const auto stopped = solve_sparse(given.problem(), static_cast<const D*>(nullptr), 2, hurried);
    if (stopped.status == Status::time_limit && stopped.row_to_col.size() == at(given.m()))
        check_certificate(given, stopped);
    if constexpr (std::is_floating_point_v<T>) {
        Control control;
        const auto exact = solve_sparse_exact(given.problem(), ExactRequest{}, control);
        CHECK((exact.status == Status::infeasible) == (expected == kInf));
        if (exact.status == Status::infeasible)
            check_violator(given.m(), given.n(), dense, exact);
        else
            CHECK(std::fabs(cost_of(given, dense, exact.row_to_col) - expected) <= 1e-9 * (1 + std::fabs(expected)));
    }
}

template <class T>
void test_answers(const char* name) {
    std::mt19937_64 random(7);
    for (int t = 0; t < 240; ++t) {
        const Index n = 1 + static_cast<Index>(random() % 24);
        const bool with_exits = t % 3 == 2;
        const Index m = with_exits ? 1 + static_cast<Index>(random() % 24)
                                   : (t % 2 == 0 ? n : 1 + static_cast<Index>(random() % static_cast<unsigned>(n)));
        const double density = std::vector<double>{0.1, 0.3, 0.6, 1.0}[random() % 4];
        const int spread = std::vector<int>{1, 8, 1000}[random() % 3];
        tally().where =
            std::string(name) + " " + std::to_string(t) + ": " + std::to_string(m) + " x " + std::to_string(n);
        check_solves(random_case<T>(random, m, n, density, spread, with_exits), random);
    }
    for (const Index n : {80, 150}) {  // long rows, of which the cheapest entries are listed
        tally().where = std::string(name) + ", long rows";
        check_solves(random_case<T>(random, n, n, 0.7, 1000, false), random);
        check_solves(random_case<T>(random, n - 20, n, 0.7, 1000, false), random);
        check_solves(random_case<T>(random, n, n, 0.7, 1000, true), random);
    }
}

// Blocks along the diagonal, each with costs on a scale of its own; rows and columns are then permuted.
template <class T>
Case<T> block_case(std::mt19937_64& random, Index blocks, Index most, bool square, bool with_exits) {
    Case<T> made;
    made.maximize = random() % 2 == 0;
    made.transposed = random() % 2 == 0;
    std::uniform_real_distribution<double> draw;
    std::vector<Index> rows{0}, cols{0};
    std::vector<double> scale;
    for (Index b = 0; b < blocks; ++b) {
        const Index size = 1 + static_cast<Index>(random() % static_cast<unsigned>(most));
        rows.push_back(rows.back() + size);
        cols.push_back(cols.back() + size + (square ? 0 : static_cast<Index>(random() % 3)));
        scale.push_back(std::vector<double>{8, 100, 10000}[random() % 3]);
    }
    if (made.transposed) std::swap(rows, cols);
    made.rows = rows.back();
    made.cols = cols.back();
    std::vector<Index> row_order(at(made.rows)), col_order(at(made.cols));
    std::iota(row_order.begin(), row_order.end(), Index{0});
    std::iota(col_order.begin(), col_order.end(), Index{0});
    std::shuffle(row_order.begin(), row_order.end(), random);
    std::shuffle(col_order.begin(), col_order.end(), random);
    for (const Index i : row_order) {
        const auto block = at(static_cast<Index>(std::upper_bound(rows.begin(), rows.end(), i) - rows.begin() - 1));
        for (Index j = cols[block]; j < cols[block + 1]; ++j) {
            if (j - cols[block] != i - rows[block] && draw(random) < 0.4) continue;
            made.indices.push_back(col_order[at(j)]);
            made.data.push_back(static_cast<T>(draw(random) * scale[block]));
        }
        made.indptr.push_back(static_cast<std::int64_t>(made.data.size()));
    }
    for (Index i = 0; with_exits && i < made.m(); ++i) made.exits.push_back(static_cast<Dual<T>>(draw(random) * 1000));
    return made;
}

template <class T>
void test_components(const char* name) {
    std::mt19937_64 random(17);
    for (int t = 0; t < 24; ++t) {
        tally().where = std::string(name) + ", components " + std::to_string(t);
        const Index most = t % 2 == 0 ? 50 : 8;
        const auto given = block_case<T>(random, t % 2 == 0 ? 5 : 70, most, t % 3 != 0, t % 4 == 3);
        check_solves(given, random);
        auto damaged = given;  // some component has no answer any more
        for (std::size_t k = 0; k < damaged.indices.size(); ++k)
            if (damaged.indices[k] == 3) damaged.indices[k] = (damaged.indices[k] + 1) % damaged.cols;
        check_solves(damaged, random);
    }
}

// Every array with one wrong number in it is refused, or is another matrix: nothing else is read or written.
template <class T>
void test_damage() {
    std::mt19937_64 random(11);
    int refused = 0;
    for (int t = 0; t < 600; ++t) {
        tally().where = "damage " + std::to_string(t);
        auto given = random_case<T>(random, 12, 12, 0.5, 100, false);
        const std::vector<std::int64_t> wrong{
            -1, 12, 13, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 1000000};
        const std::int64_t value = wrong[random() % wrong.size()];
        const bool in_indices = t % 2 == 0 && !given.indices.empty();
        if (in_indices)
            given.indices[random() % given.indices.size()] = static_cast<Index>(
                value > 1000000 ? std::numeric_limits<Index>::max() : std::max<std::int64_t>(value, -1));
        else
            given.indptr[random() % given.indptr.size()] = value;
        Control control;
        try {
            solve_sparse(given.problem(), static_cast<const Dual<T>*>(nullptr), 2, control);
            CHECK(!in_indices);
        } catch (const Refused&) {
            ++refused;
        }
        try {
            has_duplicates(given.view(), false);
        } catch (const Refused&) {
        }
        const std::vector<std::int64_t> nobody(12, -1);
        const std::vector<Dual<T>> zeros(12);
        const auto view = given.view();
        CertificateInput<T> input;
        input.cost = {nullptr, 12, 12, 12, 1};
        input.row_to_col = nobody.data();
        input.u = zeros.data();
        input.v = zeros.data();
        input.sparse = &view;
        input.sparse_by_columns = given.transposed;
        try {
            certify(input, 1);
        } catch (const Refused&) {
        }
    }
    CHECK(refused > 400);
}

void test_invalid_costs() {
    tally().where = "invalid costs";
    for (const double bad : {std::nan(""), -kInf}) {
        Case<double> given{{0, 2, 4}, {1, 0, 0, 1}, {1, 2, 3, bad}, 2, 2, false, false, {}};
        Control control;
        bool thrown = false;
        try {
            solve_sparse(given.problem(), static_cast<const double*>(nullptr), 1, control);
        } catch (const InvalidCost& error) {
            thrown = error.row == 1 && error.col == 1;
        }
        CHECK(thrown);
    }
}

}  // namespace

int main() {
    test_components<double>("double");
    test_components<float>("float");
    test_components<std::int32_t>("int32");
    test_components<std::int64_t>("int64");
    test_answers<double>("double");
    test_answers<float>("float");
    test_answers<std::int32_t>("int32");
    test_answers<std::int64_t>("int64");
    test_damage<double>();
    test_damage<std::int32_t>();
    test_invalid_costs();
    return report();
}
