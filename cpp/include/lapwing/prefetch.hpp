// Asks for memory that is read soon.
#pragma once

#include <cstddef>

namespace lapwing {

// A line for every 64 bytes of from[0 .. count). Inlined always: GCC 12 takes a function that does nothing else for one
// without effect, and may leave its calls out.
template <class U>
[[gnu::always_inline]] inline void prefetch(const U* from, std::size_t count) {
    constexpr std::ptrdiff_t kLine = 64;
    const auto* const end = reinterpret_cast<const char*>(from + count);
    for (const auto* at = reinterpret_cast<const char*>(from); at < end; at += kLine) __builtin_prefetch(at);
}

}  // namespace lapwing
