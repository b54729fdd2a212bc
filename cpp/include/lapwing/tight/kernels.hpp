// The passes of tight/tight.hpp over rows of small integers (kernels.inc.hpp), chosen at run time for this CPU.
#pragma once

#include <cstdint>

#include "lapwing/tight/tight.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

using Small = std::int16_t;  // a cost less its row's least, a price, a distance: in units

inline constexpr Small kFar = 32767;       // no distance is so large
inline constexpr Small kMostSmall = 8191;  // costs, prices and distances: sums of four stay below kFar
inline constexpr Index kSmallBlock = 64;   // arrays by column are padded to a multiple of it: one word of bits
inline constexpr Index kSmallRows = 8;     // that one pass reads

struct SmallKernels {
    // nearest[j] = min(nearest[j], row[j])
    void (*lower)(const Small* row, Index padded, Small* nearest);
    // The least of row - v.
    Small (*least)(const Small* row, Index padded, const Small* v);
    // Bits of the columns where row - v == u.
    void (*list)(const Small* row, Index padded, const Small* v, Small u, std::uint64_t* bits);
    // distance = min(distance, row - offset - v) over kSmallRows rows, with an offset each.
    void (*relax)(const Small* const* rows, const Small* offsets, Index padded, const Small* v, Small* distance);
    // The least distance of columns that are not closed (closed[j]: kFar, or -kFar where column j is open).
    Small (*nearest)(const Small* distance, const Small* closed, Index padded);
    // Bits of the open columns at this distance.
    void (*at_distance)(const Small* distance, const Small* closed, Index padded, Small wanted, std::uint64_t* bits);
};
SmallKernels small_kernels();

// out[j] = cost less the row's least cost, in units, a whole number; kMostSmall where that is more, and beyond the end
// of the row. False where the costs are no whole numbers, or the least one is too large. Of integers the unit is 1.
template <class T>
bool make_small(const T* row, Index n, bool maximize, Unit unit, Index padded, Small* out);

}  // namespace lapwing
