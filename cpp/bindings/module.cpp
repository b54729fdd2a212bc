// The compiled module lapwing._core: one bind_ function for each binding file, and what this build can do.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <thread>

#include "common.hpp"
#include "lapwing/simd/cpu.hpp"

namespace nb = nanobind;

void bind_solve(nb::module_& module);
void bind_certify(nb::module_& module);
void bind_owners(nb::module_& module);
void bind_direct(nb::module_& module);
void bind_proven(nb::module_& module);
void bind_batch(nb::module_& module);
void bind_costs(nb::module_& module);
void bind_exact(nb::module_& module);
void bind_sparse(nb::module_& module);
void bind_matching(nb::module_& module);

namespace {

std::string compiler() {
#if defined(__clang__)
    return std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
    return std::string("gcc ") + __VERSION__;
#elif defined(_MSC_VER)
    return "msvc " + std::to_string(_MSC_VER);
#else
    return "unknown";
#endif
}

nb::dict features() {
    nb::list targets;
    targets.append("baseline");
#ifdef LAPWING_HAS_TARGETS
    targets.append("avx2");
    targets.append("avx512");
#endif
    nb::dict answer;
    answer["simd"] = lapwing::simd_target_name();
    answer["simd_targets"] = targets;
    answer["compiler"] = compiler();
    answer["hardware_threads"] = static_cast<int>(std::thread::hardware_concurrency());
    return answer;
}

}  // namespace

NB_MODULE(_core, module) {
    module.doc() = "Lapwing's compiled core. Private: lapwing.api checks and converts what it is given.";
    const nb::object invalid_cost =
        nb::steal(PyErr_NewException("lapwing._core.InvalidCost", PyExc_ValueError, nullptr));
    module.attr("InvalidCost") = invalid_cost;
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const lapwing::Refused& refused) {
            lapwing::bindings::raise(refused);
        } catch (const lapwing::InvalidCost& invalid) {
            lapwing::bindings::raise(invalid);
        }
    });
    module.def("features", &features, "What this build was compiled for and runs on.");
    bind_solve(module);
    bind_certify(module);
    bind_owners(module);
    bind_direct(module);
    bind_proven(module);
    bind_batch(module);
    bind_costs(module);
    bind_exact(module);
    bind_sparse(module);
    bind_matching(module);
}
