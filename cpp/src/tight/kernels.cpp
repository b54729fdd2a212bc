#include "lapwing/tight/kernels.hpp"

#include <cstdint>
#include <type_traits>

#define LAPWING_TARGET_INCLUDE "lapwing/tight/kernels.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {

SmallKernels small_kernels() { return LAPWING_DISPATCH(small_kernels); }

template <class T>
bool make_small(const T* row, Index n, bool maximize, Unit unit, Index padded, Small* out) {
    return LAPWING_DISPATCH(make_small<T>, row, n, maximize, unit, padded, out);
}
template bool make_small(const float*, Index, bool, Unit, Index, Small*);
template bool make_small(const double*, Index, bool, Unit, Index, Small*);
template bool make_small(const std::int32_t*, Index, bool, Unit, Index, Small*);
template bool make_small(const std::int64_t*, Index, bool, Unit, Index, Small*);

}  // namespace lapwing
