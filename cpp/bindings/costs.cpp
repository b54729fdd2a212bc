// lapwing._core.CostSource: costs that no matrix holds.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <future>
#include <limits>
#include <memory>
#include <stdexcept>
#include <tuple>

#include "common.hpp"
#include "lapwing/control.hpp"
#include "lapwing/costs/file_rows.hpp"
#include "lapwing/costs/points.hpp"
#include "lapwing/costs/spatial_order.hpp"
#include "lapwing/huge_pages.hpp"
#include "lapwing/threads.hpp"
#include "supplied.hpp"

namespace lapwing::bindings {
namespace {

// metric, x [rows, dims], y [cols, dims], weight, power, limit, what counts beyond it
template <class T>
using Points = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Term = std::tuple<std::string, Points<T>, Points<T>, double, double, double, double>;

// All terms are of the same number of rows and columns, at least one.
template <class T>
Source point_costs(const std::vector<Term<T>>& terms) {
    const DefaultFloatEnvironment arithmetic;
    const auto rows = std::get<1>(terms.at(0)).shape(0), cols = std::get<2>(terms.at(0)).shape(0);
    auto costs = std::make_shared<PointCosts<T>>(static_cast<Index>(rows), static_cast<Index>(cols));
    for (const auto& [metric, x, y, weight, power, limit, beyond] : terms) {
        if (x.shape(0) != rows || y.shape(0) != cols || x.shape(1) != y.shape(1))
            throw std::invalid_argument("terms of different shapes");
        const std::optional<Metric> known = metric_named(metric);
        if (!known) throw std::invalid_argument("unknown metric: " + metric);
        costs->add(*known, static_cast<Index>(x.shape(1)), x.data(), y.data(), static_cast<T>(weight),
                   static_cast<T>(power), static_cast<T>(limit), static_cast<T>(beyond));
    }
    return {costs->rows(), costs->cols(), std::move(costs), {}, {}};
}

template <class T>
Source supplied_costs(Index rows, Index cols, std::size_t cache_bytes, nb::object supply) {
    return supplied<T>(rows, cols, cache_bytes, copied_from<T>(supply, cols), supply);
}

#ifdef LAPWING_HAS_FILE_ROWS
// Rows read from a file, without a lock on Python; by `supply`, which words the errors, where that fails.
template <class T>
Source file_costs(Index rows, Index cols, std::size_t cache_bytes, int file, std::int64_t position, std::int64_t stride,
                  std::int64_t size, std::int64_t changed, nb::object supply) {
    const FileRows<T> reader(file, position, stride, cols, size, changed);
    const auto read = [reader, otherwise = copied_from<T>(supply, cols)](Index begin, Index end, T* const* to) {
        if (!reader.read(begin, end, to)) otherwise(begin, end, to);
    };
    return supplied<T>(rows, cols, cache_bytes, read, supply);
}
#endif

// A function may well refer to the source that calls it: the garbage collector has to see such cycles.
int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<Source>(self)->supply.ptr());
    return 0;
}
int clear(PyObject* self) {
    nb::inst_ptr<Source>(self)->supply.reset();
    return 0;
}

nb::dict counters(const Source& source) {
    nb::dict counted;
    if (!source.counters) return counted;
    RowCounters counts;
    {
        const Computing computing;
        counts = source.counters();
    }
    counted["cache_hits"] = counts.hits;
    counted["cache_misses"] = counts.misses;
    counted["requests"] = counts.requests;
    counted["request_seconds"] = counts.request_seconds;
    return counted;
}

// The costs of all rows from `begin` to before `end`, one after the other; None when the time is up.
nb::object read_rows(const Source& source, Index begin, Index end, int threads, double time_limit,
                     const nb::object& hook) {
    if (begin < 0 || end < begin || end > source.rows) throw std::out_of_range("rows out of range");
    return std::visit(
        [&]<class T>(const std::shared_ptr<const CostSource<T>>& costs) -> nb::object {
            const auto size = static_cast<std::size_t>(end - begin) * source.cols;
            auto values = std::make_unique_for_overwrite<T[]>(size);
            ask_for_huge_pages(values.get(), size * sizeof(T));
            Control control(time_limit, make_hook(hook), !hook.is_none());
            const KeepGoing keep_going = [&control](double done) {
                return !control.look({.stage = "costs", .done = done});
            };
            const Index at_once = costs->rows_at_once();
            try {
                const Computing computing;
                const MatrixView<T> rows{nullptr, end - begin, source.cols, source.cols, 1};
                for_each_run(rows, threads, keep_going, std::max(kPointBlock.rows, at_once), [&](Index from, Index to) {
                    for (Index i = from; i < to; i += at_once) {
                        const Index next = std::min(i + at_once, to);
                        costs->fetch(begin + i, begin + next);
                        costs->read_block(begin + i, begin + next, 0, source.cols,
                                          values.get() + static_cast<std::size_t>(i) * source.cols, source.cols);
                    }
                });
            } catch (const Interrupted&) {
                return nb::none();
            }
            nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
            return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(values.release(), {size}, owner));
        },
        source.costs);
}

nb::object read_pairs(const Source& source, const Vector<std::int64_t>& rows, const Vector<std::int64_t>& cols) {
    return std::visit(
        [&]<class T>(const std::shared_ptr<const CostSource<T>>& costs) {
            std::vector<T> values(std::min(rows.size(), cols.size()));
            {
                const Computing computing;
                for (std::size_t t = 0; t < values.size(); ++t) {
                    const auto i = rows.data()[t], j = cols.data()[t];
                    if (i < 0 || i >= source.rows || j < 0 || j >= source.cols) throw std::out_of_range("no such pair");
                    costs->read(static_cast<Index>(i), static_cast<Index>(j), 1, &values[t]);
                }
            }
            return to_numpy(std::move(values));
        },
        source.costs);
}

// Rows, or columns, in an order in which neighbours are alike.
nb::object in_order(const Source& source, bool rows, Index group, int threads) {
    std::vector<std::int32_t> order;
    {
        const Computing computing;
        Team team(threads);
        std::visit([&](const auto& costs) { order = costs->in_order(rows, group, team, [] { look_for_signals(); }); },
                   source.costs);
    }
    return to_numpy(std::move(order));
}

// Points [count, dims] in an order: coordinates, then of every group the least and the largest; one after the other.
template <class T>
nb::tuple in_groups(const Points<T>& points, const Vector<std::int32_t>& order, Index group, int threads) {
    const auto count = static_cast<Index>(points.shape(0)), dims = static_cast<Index>(points.shape(1));
    if (order.size() != points.shape(0) || group < 1) throw std::invalid_argument("no order of these points");
    std::vector<T> sorted, boxes;
    {
        const Computing computing;
        Team team(threads);
        sorted.resize(static_cast<std::size_t>(count) * dims);
        boxes.resize(2 * static_cast<std::size_t>((count + group - 1) / group) * dims);
        gather_groups(points.data(), count, dims, order.data(), group, team, sorted.data(), boxes.data());
    }
    return nb::make_tuple(to_numpy(std::move(sorted)), to_numpy(std::move(boxes)));
}

// Points that threads of their own put in order.
class Neighbours {
  public:
    Neighbours(Points<float> points, Index group, int threads)
        : points_(std::move(points)),
          order_(std::async(std::launch::async, [at = points_.data(), count = points_.shape(0), dims = points_.shape(1),
                                                 group, threads] {
              const DefaultFloatEnvironment arithmetic;
              const auto read = [=](Index k, Index begin, Index end, float* out) {
                  for (Index i = begin; i < end; ++i)
                      out[i - begin] = at[static_cast<std::size_t>(i) * dims + static_cast<std::size_t>(k)];
              };
              Team team(threads);
              return spatial_order(static_cast<Index>(count), static_cast<Index>(dims), read, group, team, [] {});
          })) {}
    nb::object order() const {
        {
            const Computing computing;
            order_.wait();
        }
        return to_numpy(std::vector<std::int32_t>(order_.get()));
    }

  private:
    Points<float> points_;  // which the thread reads: it ends before they do
    std::shared_future<std::vector<std::int32_t>> order_;
};

}  // namespace
}  // namespace lapwing::bindings

void bind_costs(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    using namespace lapwing::bindings;
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                                  {0, nullptr}};
    // Named once more: when the module is imported again, nanobind knows the types, and does not add them to it.
    module.attr("CostSource") =
        nb::class_<Source>(module, "CostSource", nb::type_slots(slots),
                           "Costs that no matrix holds; see cpp/include/lapwing/costs/source.hpp.")
            .def("read", &read_rows, "begin"_a, "end"_a, "threads"_a = 1,
                 "time_limit"_a = std::numeric_limits<double>::infinity(), "hook"_a = nb::none(),
                 "The costs of these rows, one after the other; None when the time is up.")
            .def("pairs", &read_pairs, "rows"_a, "cols"_a, "The costs of these pairs.")
            .def("in_order", &in_order, "rows"_a, "group"_a = lapwing::kNested, "threads"_a = 1,
                 "All rows, or columns, in an order in which neighbours are alike, split at multiples of a group if "
                 "there is one; empty where none is known.")
            .def("counters", &counters, "What a source of supplied costs has counted; empty for others.");
    module.attr("Neighbours") =
        nb::class_<Neighbours>(
            module, "Neighbours",
            "Begins to put points [count, dims], finite, into an order in which neighbours are near each other.")
            .def(nb::init<Points<float>, lapwing::Index, int>(), "points"_a, "group"_a, "threads"_a = 1)
            .def("order", &Neighbours::order, "The indices of the points in order; waits until it is found.");
    const auto def_groups = [&module](const char* name, auto function) {
        module.def(name, function, "points"_a, "order"_a, "group"_a, "threads"_a,
                   "Coordinates of points in an order, [dims, count], and the least and the largest of every group of "
                   "them, [dims, 2, groups]; both flat.");
    };
    def_groups("in_groups_float32", &in_groups<float>);
    def_groups("in_groups_float64", &in_groups<double>);
    module.def("point_costs_float32", &point_costs<float>, "terms"_a,
               "Costs computed from points; see cpp/include/lapwing/costs/points.hpp for the contract.");
    module.def("point_costs_float64", &point_costs<double>, "terms"_a, "The same in float64.");
    const auto def_supplied = [&module](const char* name, auto make) {
        module.def(name, make, "rows"_a, "cols"_a, "cache_bytes"_a, "supply"_a,
                   "Costs that a function supplies; see cpp/include/lapwing/costs/rows.hpp for the contract.");
    };
#ifdef LAPWING_HAS_FILE_ROWS
    const auto def_file = [&module](const char* name, auto make) {
        module.def(name, make, "rows"_a, "cols"_a, "cache_bytes"_a, "file"_a, "position"_a, "stride"_a, "size"_a,
                   "changed"_a, "supply"_a,
                   "The same from a file; see cpp/include/lapwing/costs/file_rows.hpp for the contract.");
    };
    def_file("file_costs_float32", &file_costs<float>);
    def_file("file_costs_float64", &file_costs<double>);
    def_file("file_costs_int32", &file_costs<std::int32_t>);
    def_file("file_costs_int64", &file_costs<std::int64_t>);
#endif
    def_supplied("supplied_costs_float32", &supplied_costs<float>);
    def_supplied("supplied_costs_float64", &supplied_costs<double>);
    def_supplied("supplied_costs_int32", &supplied_costs<std::int32_t>);
    def_supplied("supplied_costs_int64", &supplied_costs<std::int64_t>);
}
