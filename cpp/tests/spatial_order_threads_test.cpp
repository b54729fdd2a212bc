// The order of a k-d tree against its definition, for any number of threads; under ThreadSanitizer, without races.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "lapwing/costs/spatial_order.hpp"
#include "lapwing/team.hpp"

using namespace lapwing;
using namespace lapwing::test;

namespace {

struct Points {
    Index count, dims;
    std::vector<float> x;  // [count][dims]
    float at(Index i, Index k) const { return x[static_cast<std::size_t>(i) * dims + k]; }
    std::vector<std::int32_t> order(Index group, int threads, const std::function<void()>& poll) const {
        Team team(threads);
        const auto read = [this](Index k, Index begin, Index end, float* out) {
            for (Index i = begin; i < end; ++i) *out++ = at(i, k);
        };
        return spatial_order(count, dims, read, group, team, poll);
    }
};

enum Kind { drawn, tied, rising, falling, same, folded, far, zeros, kKinds };

// In order, the same, or such that pivots are chosen badly: half of them are before the others; or such that nearly all
// points are in one bucket of a histogram; or with zeros of both signs, of which the negative ones come first.
Points points_of(Kind kind, Index count, Index dims) {
    std::mt19937 random(7);
    Points points{count, dims, {}};
    for (Index i = 0; i < count; ++i)
        for (Index k = 0; k < dims; ++k) {
            const auto any = static_cast<float>(random() % (1 << 20)) / (1 << 20);
            const float all[] = {any - 0.5f,
                                 std::floor(1000 * any) - 500,
                                 static_cast<float>(i),
                                 static_cast<float>(-i),
                                 0,
                                 static_cast<float>(std::min(i, count - 1 - i)),
                                 i == count / 3   ? 1e30f
                                 : i == count / 2 ? -1e30f
                                                  : 1 + any,
                                 any < 0.5f ? -0.0f : 0.0f};
            points.x.push_back(all[kind]);
        }
    return points;
}

Index middle(Index count, Index group) {
    const Index half = count / 2;
    Index power = 4;
    while (2 * power <= half) power *= 2;
    if (group == kNested) return std::max<Index>((half + power / 2) / power, 1) * power;
    const Index unit = std::min(group, power);
    return std::max<Index>(half / unit, 1) * unit;
}

// The definition. Of points that tie the one of the lower index is less, and no zero ties with one of the other sign.
void order_by_definition(const Points& points, Index group, std::int32_t* begin, std::int32_t* end) {
    std::sort(begin, end);
    const auto count = static_cast<Index>(end - begin);
    if (count <= 4) return;
    Index widest = 0;
    float most = -1;
    for (Index k = 0; k < points.dims; ++k) {
        const auto [low, high] =
            std::minmax_element(begin, end, [&](Index a, Index b) { return points.at(a, k) < points.at(b, k); });
        const float width = points.at(*high, k) - points.at(*low, k);
        if (width > most) most = width, widest = k;
    }
    std::stable_sort(begin, end, [&](Index a, Index b) {
        const float x = points.at(a, widest), y = points.at(b, widest);
        return x < y || (x == y && std::signbit(x) && !std::signbit(y));
    });
    const Index split = middle(count, group);
    order_by_definition(points, group, begin, begin + split);
    order_by_definition(points, group, begin + split, end);
}

void test_definition() {
    constexpr Index kLargest = 40000;
    for (const Index count : {0, 1, 2, 3, 4, 5, 9, 63, 256, 1000, 8192, 8193, 20000, kLargest}) {
        for (int kind = 0; kind < kKinds; ++kind) {
            const Index dims = count == kLargest ? 1 + kind % 3 : 2, group = (count + kind) % 2 == 0 ? kNested : 128;
            tally().where = std::to_string(count) + " points of kind " + std::to_string(kind);
            const Points points = points_of(static_cast<Kind>(kind), count, dims);
            std::vector<std::int32_t> defined(count);
            std::iota(defined.begin(), defined.end(), 0);
            order_by_definition(points, group, defined.data(), defined.data() + count);
            for (const int threads : {1, 2, 5}) {
                int polls = 0;
                CHECK(points.order(group, threads, [&] { ++polls; }) == defined);
                if (threads == 1 && count == kLargest) CHECK(polls > 0);
                if (count <= 8192) CHECK(polls == 0);
            }
        }
    }
    CHECK((Points{5, 0, {}}.order(kNested, 2, [] {}) == std::vector<std::int32_t>{0, 1, 2, 3, 4}));
}

// The caller gets the exception that poll throws, whatever the threads do then.
void test_interruption() {
    tally().where = "interruption";
    const Points points = points_of(drawn, 150'000, 2);
    for (const int threads : {1, 3}) {
        for (int at = 1; at <= 4; ++at) {
            int polls = 0;
            bool caught = false;
            try {
                (void)points.order(kNested, threads, [&] {
                    if (++polls == at) throw std::runtime_error("as asked for");
                });
            } catch (const std::runtime_error&) {
                caught = true;
            }
            CHECK(caught == (polls >= at));
            if (threads == 1) CHECK(caught);
        }
    }
}

}  // namespace

int main() {
    test_definition();
    test_interruption();
    return report();
}
