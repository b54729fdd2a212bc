// Rows that others hold: a problem in shards gets the answer, and the proof, that it has in one piece.
#include "lapwing/costs/owners.hpp"

#include <random>

#include "check.hpp"
#include "lapwing/certificate/certificate.hpp"
#include "lapwing/control.hpp"
#include "lapwing/core/own_rows.hpp"
#include "lapwing/costs/rows.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/numbers/range.hpp"

using namespace lapwing;
using lapwing::test::tally;

namespace {

// A matrix whose rows are in a few shards of this process.
template <class T>
class Shards final : public CostSource<T>, public RowOwners<T> {
  public:
    using D = Dual<T>;

    Shards(const MatrixView<T>& matrix, std::vector<Index> begins) : matrix_(matrix), begins_(std::move(begins)) {}
    void read(Index i, Index first, Index count, T* out) const override {
        for (Index k = 0; k < count; ++k) out[k] = matrix_.at(i, first + k);
        ++rows_read;
    }
    const RowOwners<T>* owners() const override { return this; }

    ListedRows<T> list(std::span<const Index> rows, std::span<const D> limits, bool maximize,
                       const D* v) const override {
        std::size_t k = 0;
        ListedRows<T> all;
        std::vector<Index> every(static_cast<std::size_t>(rows.empty() ? matrix_.rows : 0));
        for (Index i = 0; i < static_cast<Index>(every.size()); ++i) every[static_cast<std::size_t>(i)] = i;
        for (const Index i : rows.empty() ? std::span<const Index>(every) : rows) {
            const Index shard = shard_of(i), own = i - begins_[static_cast<std::size_t>(shard)];
            const PlaceOfRows place{i - own, matrix_.rows};
            const std::span<const D> limit = limits.empty() ? limits : limits.subspan(k++, 1);
            const auto listed = list_own_rows<T>(problem(shard, maximize), place, {&own, 1}, limit, v, 1);
            all.counts.insert(all.counts.end(), listed.counts.begin(), listed.counts.end());
            all.cols.insert(all.cols.end(), listed.cols.begin(), listed.cols.end());
            all.costs.insert(all.costs.end(), listed.costs.begin(), listed.costs.end());
            all.tau.insert(all.tau.end(), listed.tau.begin(), listed.tau.end());
        }
        return all;
    }
    void lower_columns(std::span<const Index> rows, bool maximize, const D* u, D* v) const override {
        for (std::size_t k = 0; k < rows.size(); ++k) {
            const Index shard = shard_of(rows[k]), own = rows[k] - begins_[static_cast<std::size_t>(shard)];
            lower_own_columns<T>(problem(shard, maximize), {&own, 1}, u + k, v);
        }
    }
    void copy(std::span<const Index> rows, std::span<const Index> cols, T* out) const override {
        for (const Index i : rows)
            for (const Index j : cols) *out++ = matrix_.at(i, j);
    }
    ExtremeCost<T> extreme() const override {
        const auto range = check_range(Problem<T>{matrix_}, 1);
        return {static_cast<T>(range.extreme), range.row, range.col};
    }

    Problem<T> problem(Index shard, bool maximize) const {
        const auto k = static_cast<std::size_t>(shard);
        MatrixView<T> own = matrix_;
        own.data = matrix_.row(begins_[k]);
        own.rows = begins_[k + 1] - begins_[k];
        return {own, maximize, nullptr, nullptr};
    }
    const std::vector<Index>& begins() const { return begins_; }
    mutable std::int64_t rows_read = 0;

  private:
    Index shard_of(Index i) const {
        return static_cast<Index>(std::upper_bound(begins_.begin(), begins_.end(), i) - begins_.begin()) - 1;
    }
    MatrixView<T> matrix_;
    std::vector<Index> begins_;
};

// Certificates of the same numbers.
template <class D>
bool same(const Certificate<D>& a, const Certificate<D>& b) {
    return a.fault == b.fault && a.fault_row == b.fault_row && a.fault_col == b.fault_col && a.exact == b.exact &&
           a.primal == b.primal && a.dual == b.dual && a.gap == b.gap && a.violation == b.violation &&
           a.violation_row == b.violation_row && a.violation_col == b.violation_col && a.bound == b.bound;
}

template <class T>
void test_shards(Index m, Index n, bool maximize, bool near, bool by_columns) {
    using D = Dual<T>;
    tally().where = std::to_string(m) + " x " + std::to_string(n) + (maximize ? " max" : "") + (near ? " near" : "");
    std::mt19937_64 random(5);
    std::vector<T> costs(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
    for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j) {
            const auto noise = static_cast<double>(random() % 1024);
            const double at = near ? std::abs(i * n / m - j) * 16 + noise / 64 : noise;
            costs[static_cast<std::size_t>(by_columns ? j * m + i : i * n + j)] = static_cast<T>(std::floor(at));
        }
    const MatrixView<T> matrix{costs.data(), m, n, by_columns ? 1 : n, by_columns ? m : 1};
    const Shards<T> shards(matrix, {0, m / 3, m / 3, m - 1, m});
    const Problem<T> whole{matrix, maximize, nullptr, nullptr};
    const Problem<T> shared{{nullptr, m, n, n, 1}, maximize, nullptr, &shards};
    Control control, other;
    const auto expected = solve_core<T>(whole, nullptr, 1, control);
    const auto solution = solve_core<T>(shared, nullptr, 1, other);
    CHECK(solution.status == Status::optimal);

    const std::vector<std::int64_t> row_to_col(solution.row_to_col.begin(), solution.row_to_col.end());
    CertificateInput<T> input{matrix, maximize, nullptr, row_to_col.data(), solution.u.data(), solution.v.data()};
    const Certificate<D> certificate = certify(input, 1);
    CHECK(certificate.exact);
    const std::vector<std::int64_t> before(expected.row_to_col.begin(), expected.row_to_col.end());
    CertificateInput<T> at_once{matrix, maximize, nullptr, before.data(), expected.u.data(), expected.v.data()};
    CHECK(certify(at_once, 1).primal == certificate.primal);

    // the proof in two halves, of a broken assignment, too
    std::vector<D> u = solution.u;
    u[static_cast<std::size_t>(m / 2)] += 3;
    for (const D* duals : {solution.u.data(), static_cast<const D*>(u.data())}) {
        std::vector<RowProof<T>> rows;
        for (std::size_t k = 0; k + 1 < shards.begins().size(); ++k) {
            const auto problem = shards.problem(static_cast<Index>(k), maximize);
            if (problem.cost.rows == 0) continue;
            const auto first = static_cast<std::size_t>(shards.begins()[k]);
            CertificateInput<T> part{problem.cost,  maximize,         nullptr, row_to_col.data() + first,
                                     duals + first, solution.v.data()};
            const auto found = certify_rows(part, 1);
            rows.insert(rows.end(), found.begin(), found.end());
        }
        input.u = duals;
        CertificateInput<T> numbers = input;
        numbers.cost = {nullptr, m, n, n, 1};
        const auto in_halves = certify(numbers, std::span<const RowProof<T>>(rows));
        const auto in_one_piece = certify_rows(input, 1);
        CHECK(same(certify(numbers, std::span<const RowProof<T>>(in_one_piece)), in_halves));
        if (!by_columns) CHECK(same(certify(input, 1), in_halves));  // else its lines are columns
    }
}

template <class T>
void test_type() {
    for (const bool maximize : {false, true})
        for (const bool near : {false, true}) {
            test_shards<T>(5, 5, maximize, near, false);
            test_shards<T>(40, 70, maximize, near, true);
            test_shards<T>(300, 300, maximize, near, false);
            test_shards<T>(300, 320, maximize, near, true);
        }
}

void test_invalid_costs() {
    tally().where = "invalid";
    std::vector<double> costs(30 * 30, 1.0);
    costs[20 * 30 + 4] = std::numeric_limits<double>::quiet_NaN();
    const MatrixView<double> matrix{costs.data(), 30, 30, 30, 1};
    const Shards<double> shards(matrix, {0, 15, 30});
    const std::vector<double> v(30, 0.0);
    Index row = -1;
    try {
        std::vector<Index> rows{3, 5};
        const auto listed = list_own_rows<double>(shards.problem(1, false), {15, 30}, rows, {}, v.data(), 1);
    } catch (const InvalidCost& invalid) {
        row = invalid.row;
    }
    CHECK(row == 5);
}

}  // namespace

int main() {
    test_type<float>();
    test_type<double>();
    test_type<std::int32_t>();
    test_type<std::int64_t>();
    test_invalid_costs();
    return lapwing::test::report();
}
