// lapwing._core.CostSource: costs that no matrix holds.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>

#include "common.hpp"
#include "lapwing/points.hpp"

namespace lapwing::bindings {
namespace {

Metric metric_of(const std::string& name) {
    if (name == "squared_euclidean") return Metric::squared_euclidean;
    if (name == "euclidean") return Metric::euclidean;
    if (name == "manhattan") return Metric::manhattan;
    if (name == "chebyshev") return Metric::chebyshev;
    if (name == "minkowski") return Metric::minkowski;
    if (name == "inner_product") return Metric::inner_product;
    if (name == "cosine") return Metric::cosine;
    if (name == "great_circle") return Metric::great_circle;
    throw std::invalid_argument("unknown metric: " + name);
}

// metric, x [rows, dims], y [cols, dims], weight, power
template <class T>
using Points = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Term = std::tuple<std::string, Points<T>, Points<T>, double, double>;

// All terms are of the same number of rows and columns, at least one.
template <class T>
Source point_costs(const std::vector<Term<T>>& terms) {
    const auto rows = std::get<1>(terms.at(0)).shape(0), cols = std::get<2>(terms.at(0)).shape(0);
    auto costs = std::make_shared<PointCosts<T>>(static_cast<Index>(rows), static_cast<Index>(cols));
    for (const auto& [metric, x, y, weight, power] : terms) {
        if (x.shape(0) != rows || y.shape(0) != cols || x.shape(1) != y.shape(1))
            throw std::invalid_argument("terms of different shapes");
        costs->add(metric_of(metric), static_cast<Index>(x.shape(1)), x.data(), y.data(), static_cast<T>(weight),
                   static_cast<T>(power));
    }
    return {costs->rows(), costs->cols(), std::move(costs)};
}

// The costs of all rows from `begin` to before `end`, one after the other.
nb::object read_rows(const Source& source, Index begin, Index end) {
    if (begin < 0 || end < begin || end > source.rows) throw std::out_of_range("rows out of range");
    return std::visit(
        [&]<class T>(const std::shared_ptr<const CostSource<T>>& costs) {
            std::vector<T> values(static_cast<std::size_t>(end - begin) * source.cols);
            {
                const nb::gil_scoped_release no_gil;
                T* out = values.data();
                for (Index i = begin; i < end; ++i, out += source.cols) costs->read(i, 0, source.cols, out);
            }
            return to_numpy(std::move(values));
        },
        source.costs);
}

nb::object read_pairs(const Source& source, const Vector<std::int64_t>& rows, const Vector<std::int64_t>& cols) {
    return std::visit(
        [&]<class T>(const std::shared_ptr<const CostSource<T>>& costs) {
            std::vector<T> values(std::min(rows.size(), cols.size()));
            for (std::size_t t = 0; t < values.size(); ++t) {
                const auto i = rows.data()[t], j = cols.data()[t];
                if (i < 0 || i >= source.rows || j < 0 || j >= source.cols) throw std::out_of_range("no such pair");
                costs->read(static_cast<Index>(i), static_cast<Index>(j), 1, &values[t]);
            }
            return to_numpy(std::move(values));
        },
        source.costs);
}

}  // namespace
}  // namespace lapwing::bindings

void bind_costs(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    using namespace lapwing::bindings;
    nb::class_<Source>(module, "CostSource", "Costs that no matrix holds; see cpp/include/lapwing/source.hpp.")
        .def("read", &read_rows, "begin"_a, "end"_a, "The costs of these rows, one after the other.")
        .def("pairs", &read_pairs, "rows"_a, "cols"_a, "The costs of these pairs.");
    module.def("point_costs_float32", &point_costs<float>, "terms"_a,
               "Costs computed from points; see cpp/include/lapwing/points.hpp for the contract.");
    module.def("point_costs_float64", &point_costs<double>, "terms"_a, "The same in float64.");
}
