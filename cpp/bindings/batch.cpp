// lapwing._core.solve_batch: many problems, with the GIL released; see cpp/include/lapwing/batch.hpp for the contract.
#include "lapwing/batch.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "common.hpp"

namespace lapwing::bindings {
namespace {

using Stack = nb::ndarray<nb::ro, nb::ndim<3>, nb::device::cpu>;

const char* kind_name(BatchFault::Kind kind) {
    switch (kind) {
        case BatchFault::invalid: return "invalid";
        case BatchFault::infeasible: return "infeasible";
        default: return "range";
    }
}

// The problems of a batch, so far only their costs, and what keeps these alive.
template <class T>
struct Problems {
    std::vector<Problem<T>> list;
    std::vector<Matrix> holders;
};

template <class T>
Problems<T> from_stack(const Stack& stack) {
    Problems<T> problems;
    problems.list.reserve(stack.shape(0));
    const auto* data = static_cast<const T*>(stack.data());
    for (std::size_t b = 0; b < stack.shape(0); ++b) {
        const T* start = data + static_cast<std::ptrdiff_t>(b) * stack.stride(0);
        problems.list.push_back(
            {{start, static_cast<Index>(stack.shape(1)), static_cast<Index>(stack.shape(2)),
              static_cast<std::ptrdiff_t>(stack.stride(1)), static_cast<std::ptrdiff_t>(stack.stride(2))}});
    }
    return problems;
}

template <class T>
Problems<T> from_list(const nb::list& list) {
    Problems<T> problems;
    for (const nb::handle item : list) {
        problems.holders.push_back(nb::cast<Matrix>(item));
        if (problems.holders.back().dtype() != nb::dtype<T>()) throw nb::type_error("all costs must have one dtype");
        problems.list.push_back({view<T>(problems.holders.back())});
    }
    return problems;
}

template <class T>
nb::dict solve_problems(Problems<T> problems, bool maximize, const nb::object& unmatched_cost, int threads,
                        bool with_duals) {
    using D = Dual<T>;
    const std::size_t count = problems.list.size();
    std::vector<std::size_t> row_start(count + 1), col_start(count + 1);
    for (std::size_t b = 0; b < count; ++b) {
        row_start[b + 1] = row_start[b] + static_cast<std::size_t>(problems.list[b].cost.rows);
        col_start[b + 1] = col_start[b] + static_cast<std::size_t>(problems.list[b].cost.cols);
    }
    Vector<D> prices_holder;
    const D* prices = optional_vector(unmatched_cost, row_start[count], prices_holder, "unmatched_cost");
    for (std::size_t b = 0; b < count; ++b) {
        problems.list[b].maximize = maximize;
        problems.list[b].unmatched_cost = prices == nullptr ? nullptr : prices + row_start[b];
    }

    std::vector<std::int64_t> row_to_col(row_start[count]);
    std::vector<D> u(with_duals ? row_start[count] : 0), v(with_duals ? col_start[count] : 0), objective(count);
    const BatchOutput<D> output{
        row_start,       col_start, row_to_col.data(), with_duals ? u.data() : nullptr, with_duals ? v.data() : nullptr,
        objective.data()};
    std::vector<BatchFault> faults;
    {
        const nb::gil_scoped_release no_gil;
        faults = solve_batch<T>(problems.list, output, threads, look_for_signals);
    }
    nb::dict answer;
    answer["row_to_col"] = to_numpy(std::move(row_to_col));
    if (with_duals) {
        answer["u"] = to_numpy(std::move(u));
        answer["v"] = to_numpy(std::move(v));
    }
    answer["objective"] = to_numpy(std::move(objective));
    nb::list described;
    for (const BatchFault& fault : faults)
        described.append(nb::make_tuple(fault.problem, kind_name(fault.kind), fault.row, fault.col));
    answer["faults"] = described;
    return answer;
}

// `first` decides the number type of all.
template <class First, class Read>
nb::dict solve_typed(const First& first, Read&& read, bool maximize, const nb::object& unmatched_cost, int threads,
                     bool with_duals) {
    return with_dtype(first, [&]<class T>() {
        return solve_problems<T>(read.template operator()<T>(), maximize, unmatched_cost, threads, with_duals);
    });
}

nb::dict solve_any_batch(const nb::object& costs, bool maximize, const nb::object& unmatched_cost, int threads,
                         bool with_duals) {
    if (nb::isinstance<nb::list>(costs)) {
        const nb::list list = nb::cast<nb::list>(costs);
        if (list.size() == 0) throw nb::value_error("solve_batch needs at least one problem");
        return solve_typed(
            nb::cast<Matrix>(list[0]), [&]<class T>() { return from_list<T>(list); }, maximize, unmatched_cost, threads,
            with_duals);
    }
    const Stack stack = nb::cast<Stack>(costs);
    return solve_typed(
        stack, [&]<class T>() { return from_stack<T>(stack); }, maximize, unmatched_cost, threads, with_duals);
}

}  // namespace
}  // namespace lapwing::bindings

void bind_batch(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    module.def("solve_batch", &lapwing::bindings::solve_any_batch, "costs"_a, "maximize"_a, "unmatched_cost"_a.none(),
               "threads"_a, "with_duals"_a, "Solve many problems; see cpp/include/lapwing/batch.hpp for the contract.");
}
