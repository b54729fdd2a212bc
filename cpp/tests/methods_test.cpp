// Every method on every case: small ones certified and compared with the reference, larger ones certified.
//
// Usage: methods_test METHOD (the table in verify.hpp)
#include "verify.hpp"

using namespace lapwing::test;

int main(int count, char** arguments) {
    return run_for_method(count, arguments, []<class T>(const Method<T>& method) {
        const Visit<T> with_reference = [&](Case<T>& the_case) { verify_with_reference(the_case, method); };
        for_each_case<T>(small_shapes(), with_reference);
        if constexpr (!std::is_floating_point_v<T>) for_each_extreme_case<T>(with_reference);
        for_each_case<T>(large_shapes(method.large), [&](Case<T>& the_case) { verify_by_proof(the_case, method); });
    });
}
