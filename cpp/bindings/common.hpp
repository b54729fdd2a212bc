// Shared by the binding files: cost matrices in, arrays out, and the C++ failures as Python exceptions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "interpreter.hpp"
#include "lapwing/control.hpp"
#include "lapwing/costs/rows.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/numbers/float_environment.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/threads.hpp"
#include "lapwing/types.hpp"

namespace lapwing::bindings {

namespace nb = nanobind;

// callable(*arguments)
template <class... Arguments>
nb::object call(const nb::handle callable, Arguments&&... arguments) {
    const nb::object given = nb::make_tuple(std::forward<Arguments>(arguments)...);
    PyObject* const answer = call_python(callable.ptr(), given.ptr());
    if (answer == nullptr) throw nb::python_error();
    return nb::steal(answer);
}

class GilRelease {
  public:
    GilRelease() : thread_(PyEval_SaveThread()) {}
    ~GilRelease() { restore_thread(thread_); }
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;

  private:
    PyThreadState* const thread_;
};

class GilAcquire {
  public:
    GilAcquire() : state_(ensure_gil()) {}
    ~GilAcquire() { PyGILState_Release(state_); }
    GilAcquire(const GilAcquire&) = delete;
    GilAcquire& operator=(const GilAcquire&) = delete;

  private:
    const PyGILState_STATE state_;
};

// While the core computes: without the GIL, and in its own arithmetic.
class Computing {
    const GilRelease no_gil_;
    const DefaultFloatEnvironment arithmetic_;
};

// float32, float64, int32 or int64; lapwing.inputs guarantees it, and `with_dtype` checks it.
using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
MatrixView<T> view(const Matrix& matrix) {
    return {static_cast<const T*>(matrix.data()), static_cast<Index>(matrix.shape(0)),
            static_cast<Index>(matrix.shape(1)), static_cast<std::ptrdiff_t>(matrix.stride(0)),
            static_cast<std::ptrdiff_t>(matrix.stride(1))};
}

// Calls body.operator()<T>() with the matrix's number type.
template <class Array, class Body>
decltype(auto) with_dtype(const Array& matrix, Body&& body) {
    const nb::dlpack::dtype dtype = matrix.dtype();
    if (dtype == nb::dtype<float>()) return body.template operator()<float>();
    if (dtype == nb::dtype<double>()) return body.template operator()<double>();
    if (dtype == nb::dtype<std::int32_t>()) return body.template operator()<std::int32_t>();
    if (dtype == nb::dtype<std::int64_t>()) return body.template operator()<std::int64_t>();
    throw nb::type_error("cost must be float32, float64, int32 or int64");
}

// lapwing._core.CostSource: a source of costs of any number type.
struct Source {
    Index rows, cols;
    std::variant<std::shared_ptr<const CostSource<float>>, std::shared_ptr<const CostSource<double>>,
                 std::shared_ptr<const CostSource<std::int32_t>>, std::shared_ptr<const CostSource<std::int64_t>>>
        costs;
    std::function<RowCounters()> counters;  // empty: nothing is counted
    nb::object supply;                      // the function that the costs call, if any; known to the garbage collector
};

// Calls body.operator()<T>(view, source) with costs of either kind; of the two arguments, one has data.
template <class Body>
decltype(auto) with_costs(const nb::object& given, Body&& body) {
    if (nb::isinstance<Source>(given)) {
        const auto& source = nb::cast<const Source&>(given);
        return std::visit(
            [&]<class T>(const std::shared_ptr<const CostSource<T>>& costs) {
                return body.template operator()<T>(MatrixView<T>{nullptr, source.rows, source.cols, source.cols, 1},
                                                   costs.get());
            },
            source.costs);
    }
    const auto matrix = nb::cast<Matrix>(given);
    return with_dtype(matrix, [&]<class T>() {
        return body.template operator()<T>(view<T>(matrix), static_cast<const CostSource<T>*>(nullptr));
    });
}

// An optional vector argument of exactly `expected` entries, or nullptr. The caller keeps `holder` alive.
template <class T>
const T* optional_vector(const nb::object& given, std::size_t expected, Vector<T>& holder, const char* name) {
    if (given.is_none()) return nullptr;
    holder = nb::cast<Vector<T>>(given);
    if (holder.size() != expected)
        throw nb::value_error((std::string(name) + " must have " + std::to_string(expected) + " entries, got " +
                               std::to_string(holder.size()))
                                  .c_str());
    return holder.data();
}

// A NumPy array that owns `values`.
template <class T>
nb::object to_numpy(std::vector<T>&& values) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    const std::size_t size = owned->size();
    nb::capsule owner(owned.get(),
                      [](void* p) noexcept { std::unique_ptr<std::vector<T>>(static_cast<std::vector<T>*>(p)); });
    owned.release();
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

inline nb::object indices_to_numpy(const std::vector<Index>& indices) {
    return to_numpy(std::vector<std::int64_t>(indices.begin(), indices.end()));
}

// Long work calls this every 50 ms or so; it raises KeyboardInterrupt. It does nothing on other threads than the main
// one.
inline bool look_for_signals() {
    const GilAcquire gil;
    if (check_signals() != 0) throw nb::python_error();
    return true;
}

// Made here alone: where a generic lambda is the first to make it, Clang 22 omits some of its virtual members.
inline KeepGoing until_a_signal() {
    return [](double) { return look_for_signals(); };
}

inline const char* status_name(Status status) {
    switch (status) {
        case Status::optimal: return "optimal";
        case Status::time_limit: return "time_limit";
        default: return "infeasible";
    }
}

inline nb::dict counted(const Statistics& statistics) {
    nb::dict answer;
    for (const auto& [name, value] : statistics.values) answer[name.c_str()] = value;
    return answer;
}

// Runs on the solving thread, every 50 ms or so. It checks for signals even without a Python hook. An exception of the
// hook travels through the method to Python.
inline Control::Hook make_hook(const nb::object& callable) {
    return [&callable](const Progress& progress) {
        const GilAcquire gil;
        look_for_signals();
        if (!callable.is_none())
            call(callable, progress.stage, progress.phase, progress.matched, progress.bound, progress.objective,
                 progress.done);
        return true;
    };
}

// The same for work of one stage, of which it is known how much is done.
inline KeepGoing make_hook(const nb::object& callable, const char* stage) {
    return [&callable, stage](double done) { return make_hook(callable)({.stage = stage, .done = done}); };
}

// lapwing.errors.ArgumentError with these words.
inline void raise(const Refused& refused) {
    const nb::object type = nb::module_::import_("lapwing.errors").attr("ArgumentError");
    PyErr_SetString(type.ptr(), refused.what());
}

// lapwing._core.InvalidCost, whose args are (row, col).
inline void raise(const InvalidCost& invalid) {
    const nb::object type = nb::module_::import_("lapwing._core").attr("InvalidCost");
    PyErr_SetObject(type.ptr(), nb::make_tuple(invalid.row, invalid.col).ptr());
}

}  // namespace lapwing::bindings
