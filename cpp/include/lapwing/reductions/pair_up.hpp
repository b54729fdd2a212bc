// The end of a reduction whose rows and columns may stay free: any pairing of those that did costs the same.
#pragma once

#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

// Gives free rows free columns, of which there are enough, in their order.
inline void pair_up(std::vector<Index>& row_to_col, Index cols) {
    std::vector<char> taken(static_cast<std::size_t>(cols), 0);
    for (const Index j : row_to_col)
        if (j >= 0) taken[static_cast<std::size_t>(j)] = 1;
    Index next = 0;
    for (Index& j : row_to_col) {
        if (j >= 0) continue;
        while (taken[static_cast<std::size_t>(next)]) ++next;
        j = next++;
    }
}

}  // namespace lapwing
