#include "lapwing/neighbours.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <thread>
#include <utility>

namespace lapwing {
namespace {

constexpr Index kLeaf = 4;
constexpr Index kLookedAt = 4096;         // points of a part, by which its widest dimension is chosen
constexpr Index kLeastOfTwo = 1 << 11;    // points that are worth another thread
constexpr Index kBetweenPolls = 1 << 16;  // points that are put in order

struct Part {
    Index begin, end;
};

// Where a part is split: its middle, at a multiple of a group or, if it has fewer, of a power of two.
Index middle(Index count) {
    Index unit = kNeighbourGroup;
    while (unit > kLeaf && unit > count / 2) unit /= 2;
    return std::max<Index>(count / 2 / unit, 1) * unit;
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

// A coordinate, and behind it whose it is, in one number: half the time of comparing pairs.
std::uint64_t key_of(float x, std::int32_t index) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
    return std::uint64_t{ordered} << 32 | static_cast<std::uint32_t>(index);
}

class Tree {
  public:
    Tree(const float* points, Index count, Index dims) : points_(points), dims_(dims), order_(count), keys_(count) {
        std::iota(order_.begin(), order_.end(), 0);
    }
    // Splits a part, and returns where.
    Index split(Part part) {
        std::int32_t* const mine = order_.data() + part.begin;
        std::uint64_t* const keys = keys_.data() + part.begin;
        const Index size = part.end - part.begin, k = widest(points_, dims_, mine, size), half = middle(size);
        for (Index at = 0; at < size; ++at) keys[at] = key_of(points_[mine[at] * std::ptrdiff_t{dims_} + k], mine[at]);
        std::nth_element(keys, keys + half, keys + size);
        for (Index at = 0; at < size; ++at) mine[at] = static_cast<std::int32_t>(keys[at]);
        return part.begin + half;
    }
    // Puts a part in order, and touches nothing else.
    void arrange(Part whole, const std::function<void()>& poll) {
        std::vector<Part> parts = {whole};
        Index done = 0;  // since the last poll
        while (!parts.empty()) {
            const Part part = parts.back();
            parts.pop_back();
            const Index size = part.end - part.begin;
            if (size <= kLeaf) {
                std::sort(order_.begin() + part.begin, order_.begin() + part.end);
                continue;
            }
            if ((done += size) >= kBetweenPolls) {
                done = 0;
                poll();
            }
            const Index at = split(part);
            parts.push_back({at, part.end});
            parts.push_back({part.begin, at});
        }
    }
    std::vector<std::int32_t> take() { return std::move(order_); }

  private:
    const float* points_;
    Index dims_;
    std::vector<std::int32_t> order_;
    std::vector<std::uint64_t> keys_;
};

}  // namespace

std::vector<std::int32_t> neighbours(const float* points, Index count, Index dims, const std::function<void()>& poll,
                                     bool two_threads) {
    Tree tree(points, count, dims);
    if (!two_threads || count <= kLeastOfTwo) {
        tree.arrange({0, count}, poll);
    } else {
        const Index half = tree.split({0, count});
        std::atomic<bool> ends = false;  // the other half is of no use any more
        struct Stop {};
        std::jthread other([&] {
            try {
                tree.arrange({half, count}, [&] {
                    if (ends) throw Stop();
                });
            } catch (const Stop&) {
            }
        });
        try {
            tree.arrange({0, half}, poll);
        } catch (...) {
            ends = true;
            throw;
        }
    }
    return tree.take();
}

}  // namespace lapwing
