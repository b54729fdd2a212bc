// lapwing._core.solve_proven: what lapwing.solve does with a small plain matrix, in one call: the answer and its proof.
//
// Around a problem of 40 rows the way through Python takes three times as long as method and proof together. This
// function leaves to that way (None) all that is not small and plain, has no answer, or leaves a doubt.
#include "plain.hpp"
//
#include <nanobind/stl/optional.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include "answers.hpp"
#include "common.hpp"
#include "lapwing/certificate/certificate.hpp"
#include "lapwing/matching/ties.hpp"

namespace lapwing::bindings {
namespace {

constexpr double kMostIntegralPrice = 1e15;

// An answer and its proof, as minimised; rows and columns of a tall problem exchanged. Without a proof, of the
// certificate the objective alone.
template <class T>
struct Proven {
    std::vector<std::int64_t> row_to_col;
    std::vector<Dual<T>> u, v;
    Certificate<Dual<T>> certificate;
    Statistics statistics;
    double solve_seconds = 0, certify_seconds = 0;
};

// Whether the certificate proves as much as lapwing.cpu.exact.is_tight wants.
template <class D>
bool is_tight(const Certificate<D>& certificate, Index pairs) {
    if (certificate.fault != Fault::none || !certificate.complete) return false;
    if (certificate.exact || std::is_integral_v<D>) return certificate.exact;
    const double error = std::max(static_cast<double>(certificate.bound), static_cast<double>(certificate.violation));
    return error <= pairs * 0x1p-52 * std::fabs(static_cast<double>(certificate.primal));
}

// Whether a tight bound is no more than an ulp of the objective, or small beside the sum of the small costs, too.
template <class T>
bool tells_costs_apart(const Problem<T>& problem, const Proven<T>& proven) {
    const Certificate<Dual<T>>& certificate = proven.certificate;
    if (certificate.exact || problem.cost.rows > kDirectMaxRows) return true;  // see lapwing.cpu.exact.is_proven
    const double error = std::max(static_cast<double>(certificate.bound), static_cast<double>(certificate.violation));
    if (error <= 0x1p-52 * std::fabs(static_cast<double>(certificate.primal))) return true;
    std::vector<double> costs;
    for (Index i = 0; i < problem.cost.rows; ++i) {
        const std::int64_t j = proven.row_to_col[static_cast<std::size_t>(i)];
        costs.push_back(j < 0 ? static_cast<double>(problem.unmatched_cost[i])
                              : static_cast<double>(problem.cost.at(i, static_cast<Index>(j))));
    }
    return tells_small_costs(error, costs.data(), costs.size());
}

// The sum of the costs of pairs and the prices of free rows, rounded once.
template <class T>
SumOf<Dual<T>> objective(const Problem<T>& problem, const std::vector<Index>& row_to_col) {
    ExactSum<Dual<T>> sum;
    {
        Run<Dual<T>> costs(sum);
        for (Index i = 0; i < problem.cost.rows; ++i) {
            const Index j = row_to_col[static_cast<std::size_t>(i)];
            costs.add(j >= 0 ? problem.at(i, j) : problem.unmatched_cost[i]);
        }
    }
    return sum.nearest();
}

// False if there is no answer, or a doubt.
template <class T>
bool solve_and_prove(const Problem<T>& problem, bool certify_it, Proven<T>& proven) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    SmallSolve<T> small;
    if (!small.run(problem, true)) return false;
    const auto& answer = small.answer;
    const Index rows = problem.cost.rows, cols = problem.cost.cols;
    std::vector<Index> row_to_col(answer.row_to_col, answer.row_to_col + rows);
    if (problem.unmatched_cost != nullptr) match_ties(problem, row_to_col, answer.v);
    proven.row_to_col.assign(row_to_col.begin(), row_to_col.end());
    proven.u.assign(answer.u, answer.u + rows);
    proven.v.assign(answer.v, answer.v + cols);
    const auto solved = Clock::now();
    proven.solve_seconds = std::chrono::duration<double>(solved - began).count();
    proven.statistics = small.statistics(proven.solve_seconds);
    if (!certify_it) {  // the answer is sure to be optimal
        proven.certificate.primal = objective(problem, row_to_col);
        return std::isfinite(static_cast<double>(proven.certificate.primal));
    }
    CertificateInput<T> input;
    input.cost = problem.cost;
    input.maximize = problem.maximize;
    input.unmatched_cost = problem.unmatched_cost;
    input.row_to_col = proven.row_to_col.data();
    input.u = proven.u.data();
    input.v = proven.v.data();
    proven.certificate = certify(input, 1);
    proven.certify_seconds = std::chrono::duration<double>(Clock::now() - solved).count();
    return is_tight(proven.certificate, rows) && tells_costs_apart(problem, proven);
}

template <class D>
PyObject* duals_to_numpy(const std::vector<D>& duals, bool negate) {
    PyObject* const array =
        new_vector(static_cast<npy_intp>(duals.size()), std::is_integral_v<D> ? NPY_INT64 : NPY_DOUBLE);
    if (array == nullptr) return nullptr;
    D* const to = data_of<D>(array);
    std::transform(duals.begin(), duals.end(), to, [negate](D dual) { return negate ? -dual : dual; });
    return array;
}

// The partners of lines, of which there are `count`; those of the others if `exchange`.
PyObject* partners_to_numpy(const std::vector<std::int64_t>& row_to_col, std::size_t count, bool exchange) {
    PyObject* const array = new_vector(static_cast<npy_intp>(count), NPY_INT64);
    if (array == nullptr) return nullptr;
    auto* const to = data_of<std::int64_t>(array);
    if (exchange) {
        std::fill_n(to, count, std::int64_t{-1});
        for (std::size_t i = 0; i < row_to_col.size(); ++i) to[row_to_col[i]] = static_cast<std::int64_t>(i);
    } else {
        std::copy(row_to_col.begin(), row_to_col.end(), to);
    }
    return array;
}

// The matched rows in increasing order, and their columns; null where memory runs out, or if there are no partners.
std::pair<PyObject*, PyObject*> pairs_to_numpy(PyObject* partners) {
    if (partners == nullptr) return {nullptr, nullptr};
    const auto* const begin = data_of<std::int64_t>(partners);
    const auto* const end = begin + PyArray_DIM(reinterpret_cast<PyArrayObject*>(partners), 0);
    const auto matched = static_cast<npy_intp>(end - begin - std::count(begin, end, std::int64_t{-1}));
    PyObject *const rows = new_vector(matched, NPY_INT64), *const cols = new_vector(matched, NPY_INT64);
    if (rows == nullptr || cols == nullptr) return {rows, cols};
    auto *row = data_of<std::int64_t>(rows), *col = data_of<std::int64_t>(cols);
    for (const auto* partner = begin; partner != end; ++partner)
        if (*partner >= 0) *row++ = partner - begin, *col++ = *partner;
    return {rows, cols};
}

template <class T>
PyObject* solve_as(PyArrayObject* array, bool maximize, std::optional<double> unmatched_cost, bool certify) {
    using D = Dual<T>;
    MatrixView<T> cost = view_of<T>(array);
    const bool tall = !unmatched_cost && cost.rows > cost.cols;
    if (tall) cost = cost.transposed();
    if (!unmatched_cost && cost.rows == cost.cols && cost.col_stride != 1) return nullptr;  // solved as its transpose
    std::vector<D> prices;
    if (unmatched_cost) {
        if (std::is_integral_v<D> &&
            (*unmatched_cost != std::rint(*unmatched_cost) || std::fabs(*unmatched_cost) > kMostIntegralPrice))
            return nullptr;
        prices.assign(static_cast<std::size_t>(cost.rows),
                      static_cast<D>(maximize ? -*unmatched_cost : *unmatched_cost));
    }
    const Problem<T> problem{cost, maximize, unmatched_cost ? prices.data() : nullptr};
    Proven<T> proven;
    {
        const DefaultFloatEnvironment arithmetic;
        std::optional<GilRelease> no_gil;
        if (cost.cols > kKeepGilCols) no_gil.emplace();
        if (!solve_and_prove(problem, certify, proven)) return nullptr;
    }
    const Certificate<D>& proof = proven.certificate;
    const std::size_t rows = tall ? proven.v.size() : proven.u.size();
    PyObject* const partners = partners_to_numpy(proven.row_to_col, rows, tall);
    const auto [row_ind, col_ind] = pairs_to_numpy(partners);
    return as_tuple({partners, row_ind, col_ind, duals_to_numpy(tall ? proven.v : proven.u, maximize),
                     duals_to_numpy(tall ? proven.u : proven.v, maximize), PyBool_FromLong(proof.exact),
                     number(proof.primal), number(proof.dual), number(proof.dual_below), number(proof.gap),
                     number(proof.violation), number(std::int64_t{tall ? proof.violation_col : proof.violation_row}),
                     number(std::int64_t{tall ? proof.violation_row : proof.violation_col}), number(proof.bound),
                     number(proven.solve_seconds), number(proven.certify_seconds),
                     counted(proven.statistics).release().ptr()});
}

nb::object solve_proven(const nb::handle cost, bool maximize, std::optional<double> unmatched_cost, bool certify) {
    auto* const array = reinterpret_cast<PyArrayObject*>(cost.ptr());
    if (!PyArray_CheckExact(cost.ptr()) || !is_plain(array) ||
        PyArray_DIM(array, 0) * PyArray_DIM(array, 1) > kMostPairs)
        return nb::none();
    if (unmatched_cost && !std::isfinite(*unmatched_cost)) return nb::none();
    PyObject* const answer =
        with_number_type(array, [&]<class T>() { return solve_as<T>(array, maximize, unmatched_cost, certify); });
    if (answer != nullptr) return nb::steal(answer);
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return nb::none();
}

}  // namespace
}  // namespace lapwing::bindings

void bind_proven(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    module.def(
        "solve_proven", &lapwing::bindings::solve_proven, "cost"_a, "maximize"_a, "unmatched_cost"_a.none(),
        "certify"_a,
        "(row_to_col, row_ind, col_ind, u, v, exact, primal, dual, dual_below, gap, violation, violation_row, "
        "violation_col, bound, solve_seconds, certify_seconds, statistics) of a small plain matrix, the certificate as "
        "minimised; None of any other, or if the answer is not proven. Without `certify` the answer is sure to be "
        "optimal, and of the certificate only `primal` means something.");
}
