// The row passes of the core method (kernels.inc.hpp), chosen at run time for this CPU.
#pragma once

#include <type_traits>

#include "lapwing/types.hpp"

namespace lapwing {

// The cost that is minimised. Integers are negated as ~c = -c - 1, which cannot overflow: a shift of every cost by the
// same constant, which solve_core takes back from u.
template <class T, bool kMaximize>
inline T signed_cost(T c) {
    if constexpr (!kMaximize) return c;
    if constexpr (std::is_floating_point_v<T>) return -c;
    if constexpr (!std::is_floating_point_v<T>) return static_cast<T>(~c);
}

inline constexpr Index kMaxCapacity = 128;  // of a candidate list

template <class D>
struct BestInList {
    Index place;
    D first, second;
};

template <class T>
struct CoreKernels {
    using D = Dual<T>;
    Index (*collect)(const T* row, Index n, const D* v, D limit, Index* found, D* value);
    Index (*collect_nearer)(const T* row, Index n, const D* v, D base, const D* dist, D bound, Index* found, D* value);
    using ListRow = Index (*)(const T* row, const T* next, Index n, const D* v, D guess, Index origin, Index capacity,
                              T most, Index* cols, T* costs, D* tau, Index* found, D* value);
    ListRow list_row, list_row_checked;
    D (*minimum)(const T* row, Index n, const D* v);
    Index (*nearest)(const T* row, Index n, const D* v, T most, D* values);
    void (*lower_columns)(const T* row, Index n, D u, D* v);
    BestInList<D> (*best_in_list)(const T* costs, const Index* cols, Index count, const D* v);
    Index (*reduce_below)(const T* costs, const Index* cols, Index count, const D* v, D limit, Index* places,
                          D* reduced);
    D (*below_largest)(const T* row, Index n, T most, Index* found, D* value, Index* count);  // none for wide integers
};

template <class T>
CoreKernels<T> core_kernels(bool maximize);

}  // namespace lapwing
