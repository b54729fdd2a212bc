// Places for a look at some of many.
#pragma once

#include <cstdint>

#include "lapwing/types.hpp"

namespace lapwing {

// Number k of `looked` places among `count`, evenly spread, each in the middle of its part.
inline Index spread(Index k, Index looked, Index count) {
    return static_cast<Index>((std::int64_t{k} * 2 + 1) * count / (std::int64_t{2} * looked));
}

}  // namespace lapwing
