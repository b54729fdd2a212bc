// Spatial order: points ordered so that consecutive ones are near each other, as leaves of a k-d tree.
//
// J. L. Bentley, "Multidimensional binary search trees used for associative searching", Communications of the ACM 18
// (1975). Points are split near the middle of their widest dimension until four are left, which keep the order of their
// indices. The smaller part has at least a third of them, and is such that any power of two of successive points, at
// least four, that begin at a multiple of it are a subtree, or what is left of one at the end. So bounding boxes of
// such runs are those of a k-d tree, and the order depends on the points alone.
//
// O(n log n) time, 8 bytes a point beside the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

// points: [count][dims], finite. `poll` is called every few milliseconds, and may throw.
std::vector<std::int32_t> spatial_order(const float* points, Index count, Index dims,
                                        const std::function<void()>& poll);

}  // namespace lapwing
