#include "lapwing/costs/spatial_order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace lapwing {
namespace {

constexpr Index kLeaf = 4;
constexpr Index kLookedAt = 4096;         // points of a part, by which its widest dimension is chosen
constexpr Index kSmall = 16;              // keys that are not worth a turn of selection
constexpr int kMostTurns = 64;            // of it; then it is left to the library, which is never slow
constexpr Index kBetweenPolls = 1 << 16;  // points that are put in order

struct Part {
    Index begin, end;
};

// Where a part is split: near its middle, at a multiple of the largest power of two that fits into half of it, or that
// and a group.
Index middle(Index count, Index group) {
    const Index half = count / 2;
    const auto power = std::max(kLeaf, static_cast<Index>(std::bit_floor(static_cast<std::uint32_t>(half))));
    if (group == kNested) return std::max<Index>((half + power / 2) / power, 1) * power;
    const Index unit = std::min(group, power);
    return std::max<Index>(half / unit, 1) * unit;
}

Index widest(const float* points, Index dims, const std::int32_t* order, Index count) {
    const Index step = std::max<Index>(count / kLookedAt, 1);
    Index best = 0;
    float most = -1;
    for (Index k = 0; k < dims; ++k) {
        float low = points[order[0] * std::ptrdiff_t{dims} + k], high = low;
        for (Index at = 0; at < count; at += step) {
            const float x = points[order[at] * std::ptrdiff_t{dims} + k];
            low = std::min(low, x);
            high = std::max(high, x);
        }
        if (high - low > most) {
            most = high - low;
            best = k;
        }
    }
    return best;
}

// A coordinate, and behind it whose it is, in one number: they differ, and are compared at once.
std::uint64_t key_of(float x, std::int32_t index) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
    return std::uint64_t{ordered} << 32 | static_cast<std::uint32_t>(index);
}

// Brings the k-th of keys that differ to its place, and what is less before it, as std::nth_element does, but without a
// branch that depends on a comparison (quickselect: C. A. R. Hoare, "Algorithm 65: find", 1961; every key is exchanged
// with the first that is not less than the pivot): in half the time or less.
void select(std::uint64_t* keys, Index count, Index k) {
    Index begin = 0, end = count;
    for (int turns = 0; end - begin > kSmall && turns < kMostTurns; ++turns) {
        std::uint64_t &low = keys[begin], &middle = keys[begin + (end - begin) / 2], &last = keys[end - 1];
        if (middle < low) std::swap(middle, low);
        if (last < low) std::swap(last, low);
        if (middle < last) std::swap(middle, last);
        const std::uint64_t pivot = last;  // the median of the three
        Index less = begin;
        for (Index at = begin; at < end - 1; ++at) {
            const std::uint64_t key = keys[at];
            keys[at] = keys[less];
            keys[less] = key;
            less += static_cast<Index>(key < pivot);
        }
        std::swap(keys[less], last);
        if (less == k) return;
        (less < k ? begin : end) = less < k ? less + 1 : less;
    }
    std::nth_element(keys + begin, keys + k, keys + end);
}

}  // namespace

std::vector<std::int32_t> spatial_order(const float* points, Index count, Index dims, Index group,
                                        const std::function<void()>& poll) {
    std::vector<std::int32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::uint64_t> keys(count);
    std::vector<Part> parts = {{0, count}};
    Index done = 0;  // since the last poll
    while (!parts.empty()) {
        const auto [begin, end] = parts.back();
        parts.pop_back();
        std::int32_t* const mine = order.data() + begin;
        const Index size = end - begin;
        if (size <= kLeaf) {
            std::sort(mine, mine + size);
            continue;
        }
        if ((done += size) >= kBetweenPolls) {
            done = 0;
            poll();
        }
        const Index k = widest(points, dims, mine, size), split = middle(size, group);
        for (Index at = 0; at < size; ++at) keys[at] = key_of(points[mine[at] * std::ptrdiff_t{dims} + k], mine[at]);
        select(keys.data(), size, split);
        for (Index at = 0; at < size; ++at) mine[at] = static_cast<std::int32_t>(keys[at]);
        parts.push_back({begin + split, end});
        parts.push_back({begin, begin + split});
    }
    return order;
}

}  // namespace lapwing
