// Asks for memory that is read soon.
#pragma once

#include <cstddef>

namespace lapwing {

// The lines of from[0 .. count). Inlined always: GCC 12 takes a function that does nothing else for one without effect,
// and leaves its calls out.
template <class U>
[[gnu::always_inline]] inline void prefetch(const U* from, std::size_t count) {
    constexpr std::size_t kLine = 64;
    for (std::size_t k = 0; k < count; k += kLine / sizeof(U)) __builtin_prefetch(from + k);
}

}  // namespace lapwing
