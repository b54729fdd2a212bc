#include "lapwing/core/kernels.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "lapwing/control.hpp"
#include "lapwing/exact/row_kernels.hpp"
#include "lapwing/exact/wide.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/core/kernels.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {

template <class T>
CoreKernels<T> core_kernels(bool maximize) {
    if constexpr (kIsWide<T>) return scalar_row_kernels<T>();  // always minimised as they are
    if constexpr (!kIsWide<T>) return LAPWING_DISPATCH(core_kernels<T>, maximize);
}
template CoreKernels<float> core_kernels<float>(bool);
template CoreKernels<std::int32_t> core_kernels<std::int32_t>(bool);
#ifndef LAPWING_FLOAT_AND_INT32_ONLY
template CoreKernels<double> core_kernels<double>(bool);
template CoreKernels<std::int64_t> core_kernels<std::int64_t>(bool);
template CoreKernels<Int128> core_kernels<Int128>(bool);
template CoreKernels<Wide> core_kernels<Wide>(bool);
#endif

}  // namespace lapwing
