// Costs whose rows other processes hold (costs/owners.hpp), and what those do with their rows.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <stdexcept>

#include "common.hpp"
#include "lapwing/core/lists.hpp"
#include "lapwing/core/own_rows.hpp"
#include "lapwing/costs/owners.hpp"
#include "lapwing/numbers/range.hpp"
#include "supplied.hpp"

namespace lapwing::bindings {
namespace {

using Indices = Vector<Index>;

// A view of numbers that live as long as the call that it is given to.
template <class T>
nb::object lent(std::span<const T> values) {
    return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()}, nb::handle()).cast();
}

// Orders become calls of `supply`; what it returns comes from other processes, and is checked before it is used.
template <class T>
class CalledOwners final : public RowOwners<T> {
  public:
    using D = Dual<T>;

    CalledOwners(Index rows, Index cols, nb::handle supply) : rows_(rows), cols_(cols), supply_(supply) {}

    ListedRows<T> list(std::span<const Index> rows, std::span<const D> limits, bool /*maximize*/,
                       const D* v) const override {
        const GilAcquire gil;
        const nb::object given = call(supply_.attr("list"), lent(rows), lent(limits), lent(std::span(v, size(cols_))));
        if (given.is_none()) throw CostTooLarge{-1, -1};  // check_range tells where
        const auto lists = nb::cast<nb::tuple>(given);
        const auto counts = nb::cast<Indices>(lists[0]), cols = nb::cast<Indices>(lists[1]);
        const auto costs = nb::cast<Vector<T>>(lists[2]);
        const auto tau = nb::cast<Vector<D>>(lists[3]);
        ListedRows<T> listed{{counts.data(), counts.data() + counts.size()},
                             {cols.data(), cols.data() + cols.size()},
                             {costs.data(), costs.data() + costs.size()},
                             {tau.data(), tau.data() + tau.size()}};
        check(listed, rows.empty() ? size(rows_) : rows.size());
        return listed;
    }
    void lower_columns(std::span<const Index> rows, bool /*maximize*/, const D* u, D* v) const override {
        const GilAcquire gil;
        const nb::object given = call(supply_.attr("lower"), lent(rows), lent(std::span(u, rows.size())));
        const auto minima = nb::cast<Vector<D>>(given);
        if (minima.size() != size(cols_)) refuse();
        for (std::size_t j = 0; j < minima.size(); ++j) v[j] = std::min(v[j], minima.data()[j]);
    }
    void copy(std::span<const Index> rows, std::span<const Index> cols, T* out) const override {
        const GilAcquire gil;
        const nb::object given = call(supply_.attr("part"), lent(rows), lent(cols));
        const auto part = nb::cast<nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(given);
        if (part.shape(0) != rows.size() || part.shape(1) != cols.size()) refuse();
        std::copy_n(part.data(), rows.size() * cols.size(), out);
    }
    ExtremeCost<T> extreme() const override {
        const GilAcquire gil;
        const auto given = nb::cast<nb::tuple>(call(supply_.attr("extreme")));
        return {nb::cast<T>(given[0]), nb::cast<Index>(given[1]), nb::cast<Index>(given[2])};
    }

  private:
    static std::size_t size(Index count) { return static_cast<std::size_t>(count); }
    [[noreturn]] static void refuse() { throw std::invalid_argument("an owner of rows answered in another shape"); }
    void check(const ListedRows<T>& listed, std::size_t rows) const {
        std::size_t total = 0;
        if (listed.counts.size() != rows || listed.tau.size() != rows) refuse();
        for (const Index count : listed.counts) {
            if (count < 0 || count > ListTuning::capacity(cols_) || count > cols_) refuse();
            total += size(count);
        }
        if (listed.cols.size() != total || listed.costs.size() != total) refuse();
        for (const Index j : listed.cols)
            if (j < 0 || j >= cols_) refuse();
    }

    Index rows_, cols_;
    nb::handle supply_;  // which the source keeps
};

// Rows as they are supplied and cached, with owners beside them.
template <class T>
class OwnedRows final : public CostSource<T> {
  public:
    OwnedRows(std::shared_ptr<RowsSource<T>> rows, CalledOwners<T> owners) : rows_(std::move(rows)), owners_(owners) {}
    void read(Index i, Index first, Index count, T* out) const override { rows_->read(i, first, count, out); }
    void read_pairs(std::span<const Index> rows, std::span<const Index> cols, T* out) const override {
        rows_->read_pairs(rows, cols, out);
    }
    Index rows_at_once() const override { return rows_->rows_at_once(); }
    void fetch(Index begin, Index end) const override { rows_->fetch(begin, end); }
    const RowOwners<T>* owners() const override { return &owners_; }

  private:
    std::shared_ptr<RowsSource<T>> rows_;
    CalledOwners<T> owners_;
};

template <class T>
Source owned_costs(Index rows, Index cols, std::size_t cache_bytes, nb::object supply) {
    auto held = supplied_rows<T>(rows, cols, cache_bytes, copied_from<T>(supply, cols), supply);
    auto counters = [held] { return held->counters(); };
    auto costs = std::make_shared<OwnedRows<T>>(std::move(held), CalledOwners<T>(rows, cols, supply));
    return {rows, cols, std::move(costs), std::move(counters), std::move(supply)};
}

// (counts, cols, costs, tau) of ListedRows, or None if a cost is too large.
nb::object list_rows(const nb::object& cost, bool maximize, Index first, Index rows_of_problem, const Indices& rows,
                     const nb::object& limits, const nb::object& v, int threads) {
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) -> nb::object {
        Vector<Dual<T>> holder, limits_holder;
        const Dual<T>* prices = optional_vector(v, static_cast<std::size_t>(matrix.cols), holder, "v");
        const std::span<const Index> wanted(rows.data(), rows.size());
        const Dual<T>* given = optional_vector(limits, rows.size(), limits_holder, "limits");
        const std::span<const Dual<T>> up_to(given, given != nullptr ? rows.size() : 0);
        for (const Index i : wanted)
            if (i < 0 || i >= matrix.rows) throw std::out_of_range("no such row");
        ListedRows<T> listed;
        try {
            const Computing computing;
            listed = list_own_rows(Problem<T>{matrix, maximize, nullptr, source}, {first, rows_of_problem}, wanted,
                                   up_to, prices, threads, until_a_signal());
        } catch (const CostTooLarge&) {
            return nb::none();
        }
        return nb::make_tuple(to_numpy(std::move(listed.counts)), to_numpy(std::move(listed.cols)),
                              to_numpy(std::move(listed.costs)), to_numpy(std::move(listed.tau)));
    });
}

// Column minima of c - u over these rows, infinite without rows.
nb::object column_minima(const nb::object& cost, bool maximize, const Indices& rows, const nb::object& u) {
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) {
        Vector<Dual<T>> holder;
        const Dual<T>* duals = optional_vector(u, rows.size(), holder, "u");
        const std::span<const Index> wanted(rows.data(), rows.size());
        for (const Index i : wanted)
            if (i < 0 || i >= matrix.rows) throw std::out_of_range("no such row");
        std::vector<Dual<T>> minima(static_cast<std::size_t>(matrix.cols), kInfinity<Dual<T>>);
        {
            const Computing computing;
            lower_own_columns(Problem<T>{matrix, maximize, nullptr, source}, wanted, duals, minima.data(),
                              until_a_signal());
        }
        return to_numpy(std::move(minima));
    });
}

// (value, row, col) of the finite cost of the largest magnitude.
nb::object extreme_cost(const nb::object& cost, int threads) {
    return with_costs(cost, [&]<class T>(const MatrixView<T>& matrix, const CostSource<T>* source) -> nb::object {
        CostRange<Dual<T>> range;
        {
            const Computing computing;
            range = check_range(Problem<T>{matrix, false, nullptr, source}, threads, until_a_signal());
        }
        return nb::make_tuple(range.extreme, range.row, range.col);
    });
}

}  // namespace
}  // namespace lapwing::bindings

void bind_owners(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    using namespace lapwing::bindings;
    const auto def_owned = [&module](const char* name, auto make) {
        module.def(name, make, "rows"_a, "cols"_a, "cache_bytes"_a, "supply"_a,
                   "Costs whose rows others hold; see cpp/include/lapwing/costs/owners.hpp for the contract.");
    };
    def_owned("owned_costs_float32", &owned_costs<float>);
    def_owned("owned_costs_float64", &owned_costs<double>);
    def_owned("owned_costs_int32", &owned_costs<std::int32_t>);
    def_owned("owned_costs_int64", &owned_costs<std::int64_t>);
    module.def("list_rows", &list_rows, "cost"_a, "maximize"_a, "first"_a, "rows_of_problem"_a, "rows"_a,
               "limits"_a.none(), "v"_a, "threads"_a,
               "Candidate lists of some rows under v; see cpp/include/lapwing/core/own_rows.hpp.");
    module.def("column_minima", &column_minima, "cost"_a, "maximize"_a, "rows"_a, "u"_a,
               "Minima of c - u over some rows, for each column.");
    module.def(
        "extreme_cost", &extreme_cost, "cost"_a, "threads"_a,
        "The finite cost of the largest magnitude, and where it is; 0 for float32 and int32, whose sums all fit.");
    module.attr("LIST_CAPACITY") = static_cast<int>(lapwing::ListTuning::kCapacity);
}
