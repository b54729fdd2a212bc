// Auction on candidate lists, in batches of bids: prices that make the searches short.
//
// A free row takes its cheapest column j and lowers v[j] until its second choice is as good, and by epsilon more; the
// row that had j, if any, bids again. With epsilon > 0 this is a phase of Bertsekas' auction with epsilon scaling
// (Annals of Operations Research 14, 1988), here on lists and with a limit on the number of bids: a phase only prepares
// prices, so rows may stay free. With epsilon = 0 it is Jonker and Volgenant's augmenting row reduction (Computing 38,
// 1987), and leaves an assignment on tight edges.
//
// A list need not prove a row's minimum: its first choice may be above that by a tolerance of a few epsilon. A phase
// with epsilon > 0 leaves prices that are wrong by some epsilon anyway, and the tolerance spares up to half of the
// reads.
//
// The threads of a team read the lists of a batch of rows under the same prices, and refresh those that prove too
// little, which is most of the work on structured costs. Then one thread makes the bids in the order of the batch. If
// the price of a row's first choice has changed by then, the bid is lost, and the row bids again in the next batch.
// Otherwise its first choice is still as good, since v only falls, and its second choice is no better than it was. So
// each bid is one of the Gauss-Seidel order, with a step that may be smaller: it is not that of the Jacobi order, in
// which many rows raise their offers for a few columns. A batch is shorter after one that lost many bids. Neither the
// batches nor the answer depend on the number of threads.
//
// Where columns are in boxes, and many, most bids are made by region before that (core/regions.hpp).
//
// Where there are dummy rows, they bid when no other row is left to (core/dummy_rows.hpp).
//
// O(k) a bid. Deviations: the tolerance; the second best is bounded by tau, which lowers v less than allowed but never
// too far; the number of bids is limited, since with epsilon = 0 bidding wars can be endless; a phase with epsilon > 0
// ends when hardly a row is free; and no price leaves the range (see numbers/range.hpp), whatever was there before the
// phases. The last free rows are where rows outnumber columns. Their bids bring down the prices of a whole region,
// while epsilon is large in few bids; a search would walk through that region once for each of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "lapwing/core/bid.hpp"
#include "lapwing/core/dummy_rows.hpp"
#include "lapwing/core/regions.hpp"
#include "lapwing/core/state.hpp"

namespace lapwing {

struct AuctionTuning {
    // Rows in a batch, at most: so many, or this part of all. Times are the same within some per cent for 16 and 1024.
    static constexpr Index kRows = 64, kRowsShare = 32;
    static constexpr std::size_t kManyLost = 8;  // a batch is half as long after one that lost more than this part ...
    static constexpr std::size_t kFewLost = 32;  // ... and twice as long after one that lost no more than this
    static constexpr Index kColumnsABid = 16;    // to look at so many, for dummy rows, takes as long as a bid
    // Rows in a batch whose lists one thread reads: to share takes longer, the more so where they are in its cache,
    // since none was listed again for the last batch.
    static constexpr Index kAlone = 64, kAloneInCache = 512;
    static constexpr Index kListsPerPiece = 16;    // that a thread reads at a time
    static constexpr Index kListsAhead = 4;        // rows whose lists are on their way while a list is read
    static constexpr std::size_t kBidsAhead = 8;   // bids whose columns and rows are on their way while one is settled
    static constexpr Index kCostsPerPiece = 4096;  // in rows that a thread refreshes at a time, at least
};

template <class T>
class Auction {
  public:
    using D = Dual<T>;

    Auction(CoreState<T>& state, const Bidding<D>& bidding) : s_(state), how_(bidding) {}

    // Starts from the rows in `free` and returns those that are still free. On return with epsilon and tolerance 0
    // every assigned row's edge is tight and u is feasible for assigned rows; free rows' u is not set.
    std::vector<Index> run(const std::vector<Index>& free, std::int64_t bid_limit);

  private:
    struct alignas(64) Bid {  // a cache line: threads make neighbouring bids
        Index row;
        BestTwo<D> best;
        bool is_decided = false;
        D price = 0;  // of best.column when the list was read
    };

    // False at the time limit: then bids are not to be used.
    bool make_bids();
    void read(Bid& bid, ListScratch<T>& scratch);
    void read_lists();
    bool refresh_lists();
    std::vector<Index> undecided_rows() const;
    void settle();
    void settle(const Bid& bid);
    std::int64_t let_dummy_rows_bid();

    CoreState<T>& s_;
    const Bidding<D> how_;
    std::vector<Bid> bids_;         // of the batch
    std::vector<Index> undecided_;  // bids of the batch whose lists prove too little
    std::vector<Index> bidding_;    // rows that bid next, the last first, before those that have not bid yet
    std::vector<Index> left_;       // rows that stay free
    std::size_t lost_ = 0;          // bids of the batch
};

template <class T>
std::vector<Index> Auction<T>::run(const std::vector<Index>& free, std::int64_t bid_limit) {
    const auto most = static_cast<std::size_t>(std::max(AuctionTuning::kRows, s_.m / AuctionTuning::kRowsShare));
    auto next = free.begin();
    std::size_t rows = most;  // in a batch
    std::int64_t made = 0;
    if (RegionalBids<T>::has_use(s_)) {
        bidding_ = free;
        next = free.end();
        made = RegionalBids<T>(s_, how_).run(bidding_, bid_limit, left_);
    }
    while (made < bid_limit && !s_.is_to_end()) {
        s_.keep_if_due();
        if (next == free.end() && bidding_.size() <= how_.few) {
            made += let_dummy_rows_bid();
            if (bidding_.size() <= how_.few) break;
        }
        for (bids_.clear(); bids_.size() < rows && !bidding_.empty(); bidding_.pop_back())
            bids_.push_back({bidding_.back(), {}});
        while (bids_.size() < rows && next != free.end()) bids_.push_back({*next++, {}});
        if (!make_bids()) {
            for (const Bid& bid : bids_) left_.push_back(bid.row);
            break;
        }
        made += static_cast<std::int64_t>(bids_.size());
        lost_ = 0;
        settle();
        if (lost_ * AuctionTuning::kManyLost > bids_.size())
            rows = std::max<std::size_t>(1, rows / 2);
        else if (lost_ * AuctionTuning::kFewLost <= bids_.size() && bids_.size() == rows)
            rows = std::min(most, rows * 2);
    }
    left_.insert(left_.end(), bidding_.begin(), bidding_.end());
    left_.insert(left_.end(), next, free.end());
    return std::move(left_);
}

template <class T>
bool Auction<T>::make_bids() {
    read_lists();
    return refresh_lists();
}

template <class T>
void Auction<T>::read(Bid& bid, ListScratch<T>& scratch) {
    bid.is_decided = read_list(s_, s_.v.data(), bid.row, scratch, bid.best, how_.tolerance);
    if (bid.best.column >= 0) bid.price = s_.v[bid.best.column];
}

template <class T>
void Auction<T>::read_lists() {
    const auto count = static_cast<Index>(bids_.size());
    const auto read_piece = [&](Index begin, Index end, ListScratch<T>& scratch) {
        const auto ask_for = [&](Index k) {
            if (k < end) s_.lists.ask_for(bids_[k].row);
        };
        for (Index k = 0; k < AuctionTuning::kListsAhead; ++k) ask_for(begin + k);
        for (Index k = begin; k < end; ++k) {
            ask_for(k + AuctionTuning::kListsAhead);
            read(bids_[k], scratch);
        }
    };
    if (count >= (undecided_.empty() ? AuctionTuning::kAloneInCache : AuctionTuning::kAlone))
        s_.share(count, AuctionTuning::kListsPerPiece, read_piece, [] {});
    else
        read_piece(0, count, s_.scratch);
    undecided_.clear();
    for (Index k = 0; k < count; ++k)
        if (!bids_[k].is_decided) undecided_.push_back(k);
}

// False at the time limit.
template <class T>
bool Auction<T>::refresh_lists() {
    std::atomic<bool> stop = s_.control.poll(s_.progress);
    if (undecided_.empty() || stop) return !stop;
    s_.lists.keep_prices_fresh(s_.v.data(), s_.scratch);
    const bool refreshed = s_.owners() != nullptr && s_.refresh_by_owners(undecided_rows());
    const auto count = static_cast<Index>(undecided_.size());
    const Index piece = std::clamp<Index>(AuctionTuning::kCostsPerPiece / s_.n, 1, rows_at_a_time(s_.problem));
    const Index taken_meanwhile = s_.team.threads() * piece;  // by the other threads, about
    const auto refresh = [&](Index begin, Index end, ListScratch<T>& scratch) {
        scratch.forget();
        for (Index k = begin; k < end && !stop.load(std::memory_order_relaxed); ++k) {
            Bid& bid = bids_[undecided_[k]];
            const Index next = k + 1 < end ? k + 1 : begin + taken_meanwhile;
            if (!refreshed)
                s_.lists.refresh(bid.row, s_.v.data(), scratch, next < count ? bids_[undecided_[next]].row : -1);
            read(bid, scratch);
        }
    };
    s_.share(count, piece, refresh, [&] {
        if (s_.control.poll(s_.progress)) stop.store(true, std::memory_order_relaxed);
    });
    return !stop;
}

template <class T>
std::vector<Index> Auction<T>::undecided_rows() const {
    std::vector<Index> rows;
    for (const Index k : undecided_) rows.push_back(bids_[k].row);
    return rows;
}

// In the order of the batch.
template <class T>
void Auction<T>::settle() {
    for (std::size_t k = 0; k < bids_.size(); ++k) {
        if (k + AuctionTuning::kBidsAhead < bids_.size()) {
            const Bid& ahead = bids_[k + AuctionTuning::kBidsAhead];
            const Index j = std::max(ahead.best.column, Index{0});
            __builtin_prefetch(&s_.v[j], 1);
            __builtin_prefetch(&s_.col_to_row[j], 1);
            __builtin_prefetch(&s_.row_to_col[ahead.row], 1);
            __builtin_prefetch(&s_.u[ahead.row], 1);
        }
        settle(bids_[k]);
    }
}

// Gives the bid's row its column, or says what becomes of it.
template <class T>
void Auction<T>::settle(const Bid& bid) {
    const Index j = bid.best.column;
    if (j >= 0 && j < s_.n && s_.v[j] != bid.price) {
        ++lost_;
        return bidding_.push_back(bid.row);
    }
    const Index loser = place_bid(s_, s_.v.data(), bid.row, bid.best, how_.epsilon);
    if (loser == kNoBid)
        left_.push_back(bid.row);
    else if (loser >= 0)
        bidding_.push_back(loser);
}

// Returns how many bids take as long.
template <class T>
std::int64_t Auction<T>::let_dummy_rows_bid() {
    if (!s_.has_dummy_rows() || !(how_.dummy_step > 0)) return 0;
    const std::vector<Index> losers = bid_for_dummy_rows(s_, how_.epsilon, how_.dummy_step);
    bidding_.insert(bidding_.end(), losers.begin(), losers.end());
    return s_.columns / AuctionTuning::kColumnsABid;
}

}  // namespace lapwing
