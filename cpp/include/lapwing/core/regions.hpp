// Bids by region: where columns lie in boxes, threads make bids in several regions of space at once.
//
// A region is a range of columns, which lie together. In a round each thread takes a region and lets rows bid there in
// the Gauss-Seidel order, as long as they want its columns: whoever loses a column bids again. A row whose first choice
// is in another region moves there, and bids in the next round. Prices of other regions are those of the round's
// beginning. They may have fallen since, so that a row's second choice is no better than it seems: the step is a legal
// one, as in a batch (core/auction.hpp). Regions, their rows and the order of bids do not depend on the number of
// threads.
//
// Chains of bids are long and stay near. Where a few dozens of rows bid through the plane, a batch has one bid of each,
// and a round hundreds. Where most bids of a round are in one region, batches are better, in which threads share
// refreshes.
//
// Each thread has a copy of all prices, in which those of its region fall. When it is done, it notes which columns have
// another price and takes the old ones back; the new ones count from the next round on.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "lapwing/core/bid.hpp"
#include "lapwing/core/state.hpp"

namespace lapwing {

struct RegionTuning {
    static constexpr Index kColumns = 2048;      // of a region: two boxes of the second level (costs/boxes.hpp)
    static constexpr Index kFrom = 16'384;       // columns of a problem
    static constexpr std::int64_t kBids = 2048;  // of a region in a round, at most
    static constexpr std::size_t kInTurn = 8;    // rows that bid in turn
    static constexpr double kAtOnce = 4;         // regions that are busy in a round, on average: of fewer, batches ...
    static constexpr double kLatest = 1.0 / 8;   // ... where the latest round counts so much in the average
    static constexpr Index kFewChanged = 8;      // prices are taken one by one if no more than this part has changed
};

template <class T>
class RegionalBids {
  public:
    using D = Dual<T>;

    RegionalBids(CoreState<T>& state, const Bidding<D>& bidding)
        : s_(state), how_(bidding), regions_((state.n + RegionTuning::kColumns - 1) / RegionTuning::kColumns),
          next_v_(state.n), views_(state.team.threads()) {}

    static bool has_use(const CoreState<T>& state) {
        return state.lists.has_boxes() && state.owners() == nullptr && state.n >= RegionTuning::kFrom;
    }

    // Lets `rows`, which are free, bid until few of them are left, or about `limit` bids have been made, or batches are
    // better. Returns how many were made; `rows` are then those that go on bidding, and those that stay free are added
    // to `left`.
    std::int64_t run(std::vector<Index>& rows, std::int64_t limit, std::vector<Index>& left);

  private:
    struct alignas(64) Region {
        std::vector<Index> waiting;                   // rows that bid in the next round, the last first
        std::vector<std::pair<Index, Index>> moving;  // rows, and the regions to which they go
        std::vector<Index> left;                      // rows that stay free
        std::vector<Index> changing;              // columns with another price after this round; some more than once
        std::vector<Index> changed;               // the same of the last round with any: `version`
        std::int64_t version = 0, previous = -1;  // of the prices: rounds that have changed them
        std::int64_t bids = 0;                    // of this round
    };
    struct View {
        std::vector<D> v;                    // [n]
        std::vector<std::int64_t> versions;  // [regions]; kNone: no prices yet
    };
    static constexpr std::int64_t kNone = -2;

    static Index region_of(Index j) { return j / RegionTuning::kColumns; }
    std::pair<Index, Index> columns_of(Index region) const {
        const Index begin = region * RegionTuning::kColumns;
        return {begin, std::min(s_.n, begin + RegionTuning::kColumns)};
    }
    void place(const std::vector<Index>& rows);
    bool make_round();
    void bid_in(Index region, ListScratch<T>& scratch, const std::atomic<bool>& stop);
    View& view_of(int member);
    std::int64_t settle_round(std::vector<Index>& left);

    CoreState<T>& s_;
    const Bidding<D> how_;
    std::vector<Region> regions_;
    std::vector<D> next_v_;    // [n] prices of changing columns
    std::vector<View> views_;  // of the team's threads
    std::int64_t rounds_ = 0;
    double at_once_ = 2 * RegionTuning::kAtOnce;  // regions that are busy, on average
};

template <class T>
std::int64_t RegionalBids<T>::run(std::vector<Index>& rows, std::int64_t limit, std::vector<Index>& left) {
    place(rows);
    std::int64_t made = 0;
    for (std::size_t free = rows.size(); free > how_.few && made < limit && at_once_ >= RegionTuning::kAtOnce;) {
        s_.keep_if_due();
        if (s_.is_to_end() || !s_.lists.has_boxes()) break;
        const bool in_time = make_round();
        made += settle_round(left);
        free = 0;
        for (const Region& region : regions_) free += region.waiting.size();
        if (!in_time) break;
    }
    rows.clear();
    for (Region& region : regions_) {
        rows.insert(rows.end(), region.waiting.begin(), region.waiting.end());
        region.waiting.clear();
    }
    return made;
}

// Every row in the region of a column of its list; it moves from there if it wants another one.
template <class T>
void RegionalBids<T>::place(const std::vector<Index>& rows) {
    for (const Index i : rows) {
        const auto cols = s_.lists.cols(i);
        regions_[cols.empty() ? 0 : region_of(cols[0])].waiting.push_back(i);
    }
    for (Region& region : regions_) std::reverse(region.waiting.begin(), region.waiting.end());
}

// False at the time limit.
template <class T>
bool RegionalBids<T>::make_round() {
    std::atomic<bool> stop = s_.control.poll(s_.progress);
    s_.lists.keep_prices_fresh(s_.v.data(), s_.scratch);
    s_.share(
        static_cast<Index>(regions_.size()), 1,
        [&](Index first, Index last, ListScratch<T>& scratch) {
            for (Index r = first; r < last; ++r) bid_in(r, scratch, stop);
        },
        [&] {
            if (s_.control.poll(s_.progress)) stop.store(true, std::memory_order_relaxed);
        });
    return !stop;
}

template <class T>
void RegionalBids<T>::bid_in(Index region, ListScratch<T>& scratch, const std::atomic<bool>& stop) {
    Region& mine = regions_[region];
    mine.bids = 0;
    if (mine.waiting.empty()) return;
    const auto [begin, end] = columns_of(region);
    D* const v = view_of(scratch.member).v.data();
    // Several rows bid in turn, so that the list of the next one is on its way while a row bids.
    std::array<Index, RegionTuning::kInTurn> turns;
    std::size_t first = 0, count = 0;
    const auto join = [&](Index i) {
        s_.lists.ask_for(i);
        turns[(first + count++) % turns.size()] = i;
    };
    for (;;) {
        for (; count < turns.size() && !mine.waiting.empty(); mine.waiting.pop_back()) join(mine.waiting.back());
        if (count == 0 || mine.bids >= RegionTuning::kBids || stop.load(std::memory_order_relaxed)) break;
        const Index i = turns[first];
        first = (first + 1) % turns.size(), --count;
        ++mine.bids;
        BestTwo<D> best;
        if (!read_list(s_, v, i, scratch, best, how_.tolerance)) {
            s_.lists.refresh(i, v, scratch);
            read_list(s_, v, i, scratch, best);
        }
        const Index j = best.column;
        if (j >= 0 && j < s_.n && (j < begin || j >= end)) {
            mine.moving.push_back({i, region_of(j)});
            continue;
        }
        const Index loser = place_bid(s_, v, i, best, how_.epsilon);
        if (loser == kNoBid) {
            mine.left.push_back(i);
            continue;
        }
        if (j < s_.n) mine.changing.push_back(j);
        if (loser >= 0) join(loser);
    }
    while (count > 0) mine.waiting.push_back(turns[(first + --count) % turns.size()]);
    for (const Index j : mine.changing) next_v_[j] = v[j];
    for (const Index j : mine.changing) v[j] = s_.v[j];
}

// The prices of this round.
template <class T>
typename RegionalBids<T>::View& RegionalBids<T>::view_of(int member) {
    View& view = views_[member];
    if (view.v.empty()) {
        view.v.resize(s_.n);
        view.versions.assign(regions_.size(), kNone);
    }
    for (std::size_t r = 0; r < regions_.size(); ++r) {
        const Region& region = regions_[r];
        const std::int64_t seen = std::exchange(view.versions[r], region.version);
        if (seen == region.version) continue;
        const auto [begin, end] = columns_of(static_cast<Index>(r));
        if (seen == region.previous && region.changed.size() * RegionTuning::kFewChanged < std::size_t(end - begin))
            for (const Index j : region.changed) view.v[j] = s_.v[j];
        else
            std::copy(s_.v.begin() + begin, s_.v.begin() + end, view.v.begin() + begin);
    }
    return view;
}

// Takes the new prices and lets rows move. Returns the number of bids.
template <class T>
std::int64_t RegionalBids<T>::settle_round(std::vector<Index>& left) {
    ++rounds_;
    std::int64_t bids = 0, most = 1;
    for (Region& region : regions_) {
        bids += region.bids;
        most = std::max(most, region.bids);
        left.insert(left.end(), region.left.begin(), region.left.end());
        region.left.clear();
        for (const auto& [i, to] : region.moving) regions_[to].waiting.push_back(i);
        region.moving.clear();
        if (region.changing.empty()) continue;
        std::swap(region.changed, region.changing);
        region.changing.clear();
        for (const Index j : region.changed) s_.v[j] = next_v_[j];
        region.previous = std::exchange(region.version, rounds_);
    }
    at_once_ += RegionTuning::kLatest * (static_cast<double>(bids) / static_cast<double>(most) - at_once_);
    return bids;
}

}  // namespace lapwing
