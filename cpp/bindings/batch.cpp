// lapwing._core.solve_batch: many problems, with the GIL released; see cpp/include/lapwing/batch.hpp for the contract.
#include "lapwing/batch.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>

#include "common.hpp"

namespace lapwing::bindings {
namespace {

using Stack = nb::ndarray<nb::ro, nb::ndim<3>, nb::device::cpu>;

// Numbers to be written by many threads, which so share the first touch of their pages.
template <class U>
class Uninitialized {
  public:
    explicit Uninitialized(std::size_t size) : numbers_(std::make_unique_for_overwrite<U[]>(size)), size_(size) {}
    U* data() { return numbers_.get(); }
    nb::object to_numpy() && {
        nb::capsule owner(numbers_.get(), [](void* p) noexcept { std::unique_ptr<U[]>(static_cast<U*>(p)); });
        return nb::cast(nb::ndarray<nb::numpy, U, nb::ndim<1>>(numbers_.release(), {size_}, owner));
    }

  private:
    std::unique_ptr<U[]> numbers_;
    std::size_t size_;
};

const char* kind_name(BatchFault::Kind kind) {
    switch (kind) {
        case BatchFault::invalid: return "invalid";
        case BatchFault::infeasible: return "infeasible";
        case BatchFault::doubtful: return "doubtful";
        default: return "range";
    }
}

template <class T>
Problems<T> from_stack(const Stack& stack) {
    const MatrixView<T> first{static_cast<const T*>(stack.data()), static_cast<Index>(stack.shape(1)),
                              static_cast<Index>(stack.shape(2)), static_cast<std::ptrdiff_t>(stack.stride(1)),
                              static_cast<std::ptrdiff_t>(stack.stride(2))};
    return {first, static_cast<std::ptrdiff_t>(stack.stride(0)), stack.shape(0)};
}

template <class T>
Problems<T> from_list(const nb::list& list, std::vector<Matrix>& holders) {
    std::vector<MatrixView<T>> views;
    for (const nb::handle item : list) {
        holders.push_back(nb::cast<Matrix>(item));
        if (holders.back().dtype() != nb::dtype<T>()) throw nb::type_error("all costs must have one dtype");
        views.push_back(view<T>(holders.back()));
    }
    return Problems<T>(std::move(views));
}

// The options beside the costs.
struct Wanted {
    bool maximize;
    nb::object unmatched_cost, unmatched_cols;
    int threads;
    bool with_duals;
};

template <class T>
nb::dict solve_problems(Problems<T> problems, const Wanted& wanted) {
    using D = Dual<T>;
    const bool with_duals = wanted.with_duals;
    const std::size_t count = problems.size(), rows = problems.row_start(count), cols = problems.col_start(count);
    Vector<D> prices_holder, cols_holder;
    problems.maximize = wanted.maximize;
    problems.unmatched_cost = optional_vector(wanted.unmatched_cost, rows, prices_holder, "unmatched_cost");
    problems.unmatched_cols = optional_vector(wanted.unmatched_cols, cols, cols_holder, "unmatched_cols");
    if (problems.unmatched_cols != nullptr && problems.unmatched_cost == nullptr)
        throw nb::value_error("rows need prices, too");

    Uninitialized<std::int64_t> row_to_col(rows);
    Uninitialized<D> u(with_duals ? rows : 0), v(with_duals ? cols : 0), objective(count);
    const BatchOutput<D> output{row_to_col.data(), with_duals ? u.data() : nullptr, with_duals ? v.data() : nullptr,
                                objective.data()};
    std::vector<BatchFault> faults;
    {
        const Computing computing;
        faults = solve_batch<T>(problems, output, wanted.threads, until_a_signal());
    }
    nb::dict answer;
    answer["row_to_col"] = std::move(row_to_col).to_numpy();
    if (with_duals) {
        answer["u"] = std::move(u).to_numpy();
        answer["v"] = std::move(v).to_numpy();
    }
    answer["objective"] = std::move(objective).to_numpy();
    nb::list described;
    for (const BatchFault& fault : faults)
        described.append(nb::make_tuple(fault.problem, kind_name(fault.kind), fault.row, fault.col));
    answer["faults"] = described;
    return answer;
}

nb::dict solve_any_batch(const nb::object& costs, bool maximize, const nb::object& unmatched_cost,
                         const nb::object& unmatched_cols, int threads, bool with_duals) {
    const Wanted wanted{maximize, unmatched_cost, unmatched_cols, threads, with_duals};
    if (nb::isinstance<nb::list>(costs)) {
        const nb::list list = nb::cast<nb::list>(costs);
        std::vector<Matrix> holders;
        if (list.size() == 0) throw nb::value_error("solve_batch needs at least one problem");
        return with_dtype(nb::cast<Matrix>(list[0]),
                          [&]<class T>() { return solve_problems<T>(from_list<T>(list, holders), wanted); });
    }
    const Stack stack = nb::cast<Stack>(costs);
    return with_dtype(stack, [&]<class T>() { return solve_problems<T>(from_stack<T>(stack), wanted); });
}

}  // namespace
}  // namespace lapwing::bindings

void bind_batch(nanobind::module_& module) {
    namespace nb = nanobind;
    using namespace nb::literals;
    module.def("solve_batch", &lapwing::bindings::solve_any_batch, "costs"_a, "maximize"_a, "unmatched_cost"_a.none(),
               "unmatched_cols"_a.none(), "threads"_a, "with_duals"_a,
               "Solve many problems; see cpp/include/lapwing/batch.hpp for the contract.");
}
