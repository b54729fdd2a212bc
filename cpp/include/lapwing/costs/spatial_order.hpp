// Spatial order: points ordered so that consecutive ones are near each other, as leaves of a k-d tree.
//
// J. L. Bentley, "Multidimensional binary search trees used for associative searching", Communications of the ACM 18
// (1975). Points are split near the middle of their widest dimension until four are left, which keep the order of
// their indices. A split falls on a multiple of a power of two, so that any run of that many successive points, at
// least four, that begins at a multiple of it is a subtree, or what is left of one at the end: bounding boxes of such
// runs are those of a k-d tree. Nested splits take the largest power, so that this holds for runs of every size; the
// smaller part then has a third of the points at least. Splits in groups take powers up to the size of a group: the
// two parts are equal but for one group, as samples want them that stand for equal numbers of points. The order
// depends on the points alone, for any number of threads.
//
// Parts of more than some thousand points are split one after the other, each by all threads, until there are several
// parts a thread; each of these is ordered by one thread. A split finds the rank of a part's points in histograms and
// copies the points to their sides, in their order: streams of memory, no access at random. Small parts are in caches,
// and are split by selection.
//
// O(n log n) time; 8 bytes a point and coordinate, and 8 bytes a point, beside the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lapwing/team.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

inline constexpr Index kNested = 0;

// Writes coordinate k of points begin .. end - 1, finite, to out[end - begin]. Any thread calls it.
using ReadCoordinates = std::function<void(Index k, Index begin, Index end, float* out)>;

// `group`: a power of two, or kNested. `poll` is called every few milliseconds on this thread, and may throw.
std::vector<std::int32_t> spatial_order(Index count, Index dims, const ReadCoordinates& read, Index group, Team& team,
                                        const std::function<void()>& poll);

// Points [count][dims] in an order: their coordinates, sorted [dims][count], and boxes [dims][2][groups], the least and
// the largest of every group. Throws std::out_of_range where the order names no point.
template <class T>
void gather_groups(const T* points, Index count, Index dims, const std::int32_t* order, Index group, Team& team,
                   T* sorted, T* boxes);

}  // namespace lapwing
