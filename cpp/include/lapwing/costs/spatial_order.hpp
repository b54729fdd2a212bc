// Spatial order: points ordered so that consecutive ones are near each other, as leaves of a k-d tree.
//
// J. L. Bentley, "Multidimensional binary search trees used for associative searching", Communications of the ACM 18
// (1975). Points are split near the middle of their widest dimension until four are left, which keep the order of
// their indices. A split falls on a multiple of a power of two, so that any run of that many successive points, at
// least four, that begins at a multiple of it is a subtree, or what is left of one at the end: bounding boxes of such
// runs are those of a k-d tree. Nested splits take the largest power, so that this holds for runs of every size; the
// smaller part then has a third of the points at least. Splits in groups take powers up to the size of a group: the
// two parts are equal but for one group, as samples want them that stand for equal numbers of points. The order
// depends on the points alone.
//
// O(n log n) time, 8 bytes a point beside the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

inline constexpr Index kNested = 0;

// points: [count][dims], finite. `group`: a power of two, or kNested. `poll` is called every few milliseconds, and may
// throw.
std::vector<std::int32_t> spatial_order(const float* points, Index count, Index dims, Index group,
                                        const std::function<void()>& poll);

}  // namespace lapwing
