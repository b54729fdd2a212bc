#include "lapwing/hungarian/kernels.hpp"

#include <type_traits>

#define LAPWING_TARGET_INCLUDE "lapwing/hungarian/kernels.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {

template <class T>
HungarianKernels<T> hungarian_kernels(bool maximize) {
    return LAPWING_DISPATCH(hungarian_kernels<T>, maximize);
}
template HungarianKernels<float> hungarian_kernels<float>(bool);
template HungarianKernels<double> hungarian_kernels<double>(bool);
template HungarianKernels<std::int32_t> hungarian_kernels<std::int32_t>(bool);
template HungarianKernels<std::int64_t> hungarian_kernels<std::int64_t>(bool);

}  // namespace lapwing
