#include "lapwing/costs/spatial_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace lapwing {
namespace {

constexpr Index kLeaf = 4;
constexpr Index kTogether = 1 << 13;  // points of a part that is ordered in the caches of one thread
constexpr Index kPartsPerThread = 8;  // parts that threads order alone: so many, if they are not as small as that
constexpr Index kPiece = 1 << 12;     // points of a piece of a larger part, which threads share
constexpr std::uint32_t kBuckets = 1 << 11;  // of a histogram: 8 kB
constexpr Index kFew = 1 << 10;              // points of a bucket among which one is selected
constexpr Index kSmall = 16;                 // keys that are not worth a turn of selection
constexpr int kMostTurns = 64;               // of it; then it is left to the library, which is never slow
constexpr Index kBetweenPolls = 1 << 16;     // points that are put in order

// A coordinate as an integer: of two that differ, even in the sign of a zero, the smaller one has the smaller integer.
using Rank = std::int32_t;
constexpr Rank kLowest = std::numeric_limits<Rank>::min(), kHighest = std::numeric_limits<Rank>::max();
Rank rank_of(float x) {
    const auto bits = std::bit_cast<std::int32_t>(x);
    return bits ^ ((bits >> 31) & kHighest);
}
float value_of(Rank rank) { return std::bit_cast<float>(rank ^ ((rank >> 31) & kHighest)); }

// A distance between ranks of up to 2^32 - 1.
std::uint32_t distance(Rank low, Rank high) {
    return static_cast<std::uint32_t>(high) - static_cast<std::uint32_t>(low);
}

struct Box {
    Rank low = kHighest, high = kLowest;
    void join(const Box& other) { low = std::min(low, other.low), high = std::max(high, other.high); }
};

// Places begin .. end - 1 of one of two arrays; there a part's points are in the order of their indices.
struct Part {
    Index begin, end;
    int side;
    Index size() const { return end - begin; }
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

// Brings the k-th of keys that differ to its place, and what is less before it, as std::nth_element does, but without a
// branch that depends on a comparison (quickselect: C. A. R. Hoare, "Algorithm 65: find", 1961; every key is exchanged
// with the first that is not less than the pivot): in half the time or less.
void select(std::int64_t* keys, Index count, Index k) {
    Index begin = 0, end = count;
    for (int turns = 0; end - begin > kSmall && turns < kMostTurns; ++turns) {
        std::int64_t &low = keys[begin], &middle = keys[begin + (end - begin) / 2], &last = keys[end - 1];
        if (middle < low) std::swap(middle, low);
        if (last < low) std::swap(last, low);
        if (middle < last) std::swap(middle, last);
        const std::int64_t pivot = last;  // the median of the three
        Index less = begin;
        for (Index at = begin; at < end - 1; ++at) {
            const std::int64_t key = keys[at];
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

// Polls once for so many points; only the thread that called has something to poll.
class Poller {
  public:
    explicit Poller(const std::function<void()>* poll) : poll_(poll) {}
    void count(Index points) {
        if (poll_ == nullptr || (points_ += points) < kBetweenPolls) return;
        points_ = 0;
        (*poll_)();
    }

  private:
    const std::function<void()>* poll_;
    Index points_ = 0;  // since the last poll
};

// Points by coordinate, and whose they are: two arrays, since a split copies a part from one to the other.
class Points {
  public:
    Points(Index count, Index dims) : count_(count), dims_(dims) {
        for (auto& side : columns_)
            side = std::make_unique_for_overwrite<Rank[]>(static_cast<std::size_t>(count) * (dims + 1));
    }
    Index dims() const { return dims_; }
    // Coordinate k of a part's points, or, as the last column, their indices.
    Rank* column(const Part& part, Index k) {
        return columns_[part.side].get() + std::ptrdiff_t{k} * count_ + part.begin;
    }

  private:
    Index count_, dims_;
    std::unique_ptr<Rank[]> columns_[2];  // [dims + 1][count]
};

// The first of the widest dimensions.
struct Widest {
    Index dim = 0;
    float width = -1;
    void look(Index k, const Box& box) {
        const float mine = value_of(box.high) - value_of(box.low);
        if (mine > width) width = mine, dim = k;
    }
};

// Orders parts of at most kTogether points. All that is read at random lies in caches.
class SmallParts {
  public:
    void order(Points& points, const Part& whole, Index group, std::int32_t* order) {
        const Index count = whole.size();
        std::iota(places_.begin(), places_.begin() + count, 0);
        parts_.assign(1, {0, count});
        while (!parts_.empty()) {
            const auto [begin, end] = parts_.back();
            parts_.pop_back();
            std::int32_t* const mine = places_.data() + begin;
            const Index size = end - begin;
            if (size <= kLeaf) {
                std::sort(mine, mine + size);
                continue;
            }
            const Rank* const column = points.column(whole, widest_of(points, whole, mine, size));
            const Index split = middle(size, group);
            // Keys differ: of points that tie, the one of the lower index is less.
            for (Index at = 0; at < size; ++at)
                keys_[at] = std::int64_t{column[mine[at]]} * (std::int64_t{1} << 32) + mine[at];
            select(keys_.data(), size, split);
            for (Index at = 0; at < size; ++at) mine[at] = static_cast<std::int32_t>(keys_[at]);
            parts_.push_back({begin + split, end});
            parts_.push_back({begin, begin + split});
        }
        const Rank* const indices = points.column(whole, points.dims());
        for (Index at = 0; at < count; ++at) order[at] = indices[places_[at]];
    }

  private:
    std::array<std::int32_t, kTogether> places_;  // in the whole part: where they rise, indices do
    std::array<std::int64_t, kTogether> keys_;
    std::vector<std::pair<Index, Index>> parts_;

    Index widest_of(Points& points, const Part& whole, const std::int32_t* mine, Index size) {
        Widest widest;
        for (Index k = 0; k < points.dims(); ++k) {
            const Rank* const column = points.column(whole, k);
            Box box;
            for (Index at = 0; at < size; ++at) box.join({column[mine[at]], column[mine[at]]});
            widest.look(k, box);
        }
        return widest.dim;
    }
};

// Splits larger parts, with a team of threads. A part is split at a rank that is found in a histogram, whose buckets
// become finer until few points are in one; then the points are copied in their order.
class LargeParts {
  public:
    LargeParts(Points& points, Index group, Team& team, Poller& poller)
        : points_(points), group_(group), team_(team), poller_(poller), shared_(team.threads()) {}

    std::pair<Part, Part> split(const Part& part) {
        const Index rank = middle(part.size(), group_), k = find_box(part);
        const Rank* const column = points_.column(part, k);
        const Cut cut = find_cut(column, part.size(), rank, box_[k]);
        const Part low{part.begin, part.begin + rank, 1 - part.side}, high{low.end, part.end, low.side};
        find_places(column, part.size(), cut);
        share(part.size(), [&](Index begin, Index end, int) { copy(part, low, high, column, begin, end, cut.value); });
        return {low, high};
    }

    template <class Work>
    void share(Index count, const Work& work) {
        team_.share(count, kPiece, [this] { poller_.count(kPiece); }, work);
    }

  private:
    struct Cut {
        Rank value;  // points below it are in the lower part,
        Index ties;  // and the first so many at it
    };
    struct Piece {
        Index before;  // points of the lower part in the pieces before
        Index ties;    // of the points at the cut's value those in the lower part
    };
    // A thread's findings in its pieces; a histogram is empty where there was no piece.
    struct alignas(64) Shared {
        std::vector<Box> box;
        std::vector<std::int32_t> histogram;
        std::vector<Rank> few;
    };
    Points& points_;
    Index group_;
    Team& team_;
    Poller& poller_;
    std::vector<Shared> shared_;  // [threads]
    std::vector<Box> box_;        // of the part
    std::vector<Piece> pieces_;
    std::vector<Rank> few_;
    std::array<std::int32_t, kBuckets> histogram_;

    // Returns the widest dimension.
    Index find_box(const Part& part) {
        for (Shared& mine : shared_) mine.box.assign(points_.dims(), {});
        share(part.size(), [&](Index begin, Index end, int member) {
            for (Index k = 0; k < points_.dims(); ++k) {
                const Rank* const column = points_.column(part, k);
                Rank low = kHighest, high = kLowest;
                for (Index p = begin; p < end; ++p) low = std::min(low, column[p]), high = std::max(high, column[p]);
                shared_[member].box[k].join({low, high});
            }
        });
        box_.assign(points_.dims(), {});
        Widest widest;
        for (Index k = 0; k < points_.dims(); ++k) {
            for (const Shared& theirs : shared_) box_[k].join(theirs.box[k]);
            widest.look(k, box_[k]);
        }
        return widest.dim;
    }

    // The `rank` lowest of a column's points, which lie in this box; equal ones in their order.
    Cut find_cut(const Rank* column, Index count, Index rank, Box box) {
        for (Index left = count; box.low < box.high && left > kFew;) {
            const std::uint32_t width = distance(box.low, box.high);
            int shift = 0;
            while (width >> shift >= kBuckets) ++shift;
            take_histogram(column, count, box.low, width, shift);
            std::uint32_t bucket = 0;
            while (rank >= histogram_[bucket]) rank -= histogram_[bucket++];
            left = histogram_[bucket];
            const std::uint32_t from = bucket << shift;
            const std::uint32_t to = std::min(width, from + ((std::uint32_t{1} << shift) - 1));
            const auto low = static_cast<std::uint32_t>(box.low);
            box = {static_cast<Rank>(low + from), static_cast<Rank>(low + to)};
        }
        if (box.low == box.high) return {box.low, rank};
        collect(column, count, box);
        std::nth_element(few_.begin(), few_.begin() + rank, few_.end());
        const auto is_less = [value = few_[rank]](Rank x) { return x < value; };
        return {few_[rank], rank - static_cast<Index>(std::count_if(few_.begin(), few_.begin() + rank, is_less))};
    }

    void collect(const Rank* column, Index count, const Box& box) {
        const std::uint32_t width = distance(box.low, box.high);
        share(count, [&](Index begin, Index end, int member) {
            for (Index p = begin; p < end; ++p)
                if (distance(box.low, column[p]) <= width) shared_[member].few.push_back(column[p]);
        });
        few_.clear();
        for (Shared& theirs : shared_) {
            few_.insert(few_.end(), theirs.few.begin(), theirs.few.end());
            theirs.few.clear();
        }
    }

    void take_histogram(const Rank* column, Index count, Rank low, std::uint32_t width, int shift) {
        share(count, [&](Index begin, Index end, int member) {
            Shared& mine = shared_[member];
            if (mine.histogram.empty()) mine.histogram.assign(kBuckets, 0);
            for (Index p = begin; p < end; ++p)
                if (const std::uint32_t at = distance(low, column[p]); at <= width) ++mine.histogram[at >> shift];
        });
        histogram_.fill(0);
        for (Shared& theirs : shared_) {
            for (std::size_t b = 0; b < theirs.histogram.size(); ++b) histogram_[b] += theirs.histogram[b];
            theirs.histogram.clear();
        }
    }

    void find_places(const Rank* column, Index count, const Cut& cut) {
        pieces_.resize(static_cast<std::size_t>((count + kPiece - 1) / kPiece));
        share(count, [&, value = cut.value](Index begin, Index end, int) {
            Index below = 0, at = 0;
            for (Index p = begin; p < end; ++p) below += column[p] < value, at += column[p] == value;
            pieces_[begin / kPiece] = {below, at};
        });
        Index before = 0, ties_left = cut.ties;
        for (Piece& piece : pieces_) {
            piece.ties = std::min(ties_left, piece.ties);
            ties_left -= piece.ties;
            piece.before = std::exchange(before, before + piece.before + piece.ties);
        }
    }

    void copy(const Part& part, const Part& low, const Part& high, const Rank* column, Index begin, Index end,
              Rank value) {
        const Piece& piece = pieces_[begin / kPiece];
        std::array<std::uint16_t, kPiece + 1> lower, upper;
        Index lowers = 0, uppers = 0;
        const auto choose = [&](const auto& is_lower) {
            for (Index p = begin; p < end; ++p) {
                lower[lowers] = upper[uppers] = static_cast<std::uint16_t>(p - begin);
                const bool goes_low = is_lower(column[p]);
                lowers += goes_low, uppers += !goes_low;
            }
        };
        if (Index left = piece.ties; left == 0)
            choose([&](Rank x) { return x < value; });
        else
            choose([&](Rank x) {
                const bool is_tie = (x == value) & (left > 0);
                left -= is_tie;
                return (x < value) | is_tie;
            });
        for (Index c = 0; c <= points_.dims(); ++c) {
            const Rank* const from = points_.column(part, c) + begin;
            Rank* const to_low = points_.column(low, c) + piece.before;
            Rank* const to_high = points_.column(high, c) + (begin - piece.before);
            for (Index p = 0; p < lowers; ++p) to_low[p] = from[lower[p]];
            for (Index p = 0; p < uppers; ++p) to_high[p] = from[upper[p]];
        }
    }
};

// Orders a part without the team, in the order in which it is split.
void order_alone(Points& points, const Part& whole, Index group, SmallParts& small, std::int32_t* order,
                 Poller& poller) {
    Team alone(1);
    LargeParts large(points, group, alone, poller);
    std::vector<Part> parts = {whole};
    while (!parts.empty()) {
        const Part part = parts.back();
        parts.pop_back();
        if (part.size() <= kTogether) {
            small.order(points, part, group, order + part.begin);
            poller.count(part.size());
            continue;
        }
        const auto [low, high] = large.split(part);
        parts.push_back(high);
        parts.push_back(low);
    }
}

}  // namespace

std::vector<std::int32_t> spatial_order(Index count, Index dims, const ReadCoordinates& read, Index group, Team& team,
                                        const std::function<void()>& poll) {
    std::vector<std::int32_t> order(count);
    if (dims == 0 || count <= kLeaf) {
        std::iota(order.begin(), order.end(), 0);
        return order;
    }
    Points points(count, dims);
    Poller poller(&poll), none(nullptr);
    LargeParts large(points, group, team, poller);
    const Part whole{0, count, 0};
    large.share(count, [&](Index begin, Index end, int) {
        std::array<float, kPiece> values;
        for (Index k = 0; k < dims; ++k) {
            read(k, begin, end, values.data());
            Rank* const column = points.column(whole, k);
            for (Index p = begin; p < end; ++p) column[p] = rank_of(values[p - begin]);
        }
        std::iota(points.column(whole, dims) + begin, points.column(whole, dims) + end, begin);
    });
    // The first parts are split by all threads; the rest by one each, the largest first.
    const Index alone = team.threads() == 1 ? count : std::max(kTogether, count / (kPartsPerThread * team.threads()));
    std::vector<Part> parts = {whole}, rest;
    while (!parts.empty()) {
        const Part part = parts.back();
        parts.pop_back();
        if (part.size() <= alone) {
            rest.push_back(part);
            continue;
        }
        const auto [low, high] = large.split(part);
        parts.push_back(high);
        parts.push_back(low);
    }
    std::sort(rest.begin(), rest.end(), [](const Part& a, const Part& b) {
        return std::pair(-a.size(), a.begin) < std::pair(-b.size(), b.begin);
    });
    std::vector<std::unique_ptr<SmallParts>> small(team.threads());
    team.share(
        static_cast<Index>(rest.size()), 1, [] {},
        [&](Index begin, Index end, int member) {
            if (small[member] == nullptr) small[member] = std::make_unique<SmallParts>();
            for (Index p = begin; p < end; ++p)
                order_alone(points, rest[p], group, *small[member], order.data(), member == 0 ? poller : none);
        });
    return order;
}

template <class T>
void gather_groups(const T* points, Index count, Index dims, const std::int32_t* order, Index group, Team& team,
                   T* sorted, T* boxes) {
    const Index groups = (count + group - 1) / group;
    const auto gather = [&](Index begin, Index end, int) {
        for (Index g = begin; g < end; ++g) {
            const Index first = g * group, last = std::min(count, first + group);
            for (Index p = first; p < last; ++p)
                if (order[p] < 0 || order[p] >= count) throw std::out_of_range("no such point");
            for (Index k = 0; k < dims; ++k) {
                T* const column = sorted + std::ptrdiff_t{k} * count;
                for (Index p = first; p < last; ++p) column[p] = points[std::ptrdiff_t{order[p]} * dims + k];
                const auto [low, high] = std::minmax_element(column + first, column + last);
                T* const corners = boxes + std::ptrdiff_t{2} * k * groups + g;
                corners[0] = *low, corners[groups] = *high;
            }
        }
    };
    team.share(groups, std::max<Index>(kPiece / group, 1), [] {}, gather);
}

template void gather_groups(const float*, Index, Index, const std::int32_t*, Index, Team&, float*, float*);
template void gather_groups(const double*, Index, Index, const std::int32_t*, Index, Team&, double*, double*);

}  // namespace lapwing
