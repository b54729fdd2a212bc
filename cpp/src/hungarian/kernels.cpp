#include "lapwing/hungarian/kernels.hpp"

#include <type_traits>

#define LAPWING_TARGET_INCLUDE "lapwing/hungarian/kernels.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {

template <class T>
HungarianKernels<Dual<T>> hungarian_kernels() {
    return LAPWING_DISPATCH(hungarian_kernels<T>);
}
template HungarianKernels<double> hungarian_kernels<float>();
template HungarianKernels<double> hungarian_kernels<double>();
template HungarianKernels<std::int64_t> hungarian_kernels<std::int32_t>();
template HungarianKernels<std::int64_t> hungarian_kernels<std::int64_t>();

}  // namespace lapwing
