// Every method on every case: small ones certified and compared with the reference, larger ones certified.
//
// Usage: methods_test METHOD (the table in verify.hpp)
#include <cstring>

#include "verify.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

template <class T>
void run(const char* name) {
    for (const Method<T>& method : methods<T>()) {
        if (std::strcmp(method.name, name) != 0) continue;
        const Visit<T> with_reference = [&](Case<T>& the_case) { verify_with_reference(the_case, method); };
        for_each_case<T>(small_shapes(), with_reference);
        if constexpr (!std::is_floating_point_v<T>) for_each_extreme_case<T>(with_reference);
        for_each_case<T>(large_shapes(), [&](Case<T>& the_case) { verify_by_proof(the_case, method); });
    }
}

}  // namespace

int main(int count, char** arguments) {
    for (int k = 1; k < count; ++k) {
        run<float>(arguments[k]);
        run<double>(arguments[k]);
        run<std::int32_t>(arguments[k]);
        run<std::int64_t>(arguments[k]);
    }
    CHECK(tally().checks > 1000);
    return report();
}
