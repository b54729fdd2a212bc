// Augmenting row reduction by bids, which matches many rows before any search (step 2 of batch/block.cuh).
#pragma once

#include "batch/state.cuh"

// Each warp bids for a few rows at a time: it lowers v of the row's nearest column until the second nearest is as near.
// The best bid for a column wins; bids are compared by the first bits of a float, then by the lower row. The displaced
// row joins the queue. A row with two equally near columns is left to the searches. Invariant: each matched row has its
// nearest column. A round has two barriers of the block.
template <class Team>
class Bids {
  public:
    __device__ explicit Bids(const Team& team) : t_(team) {}

    // All threads of the block call both functions. Puts all free rows into the queue.
    __device__ void start() {
        for (int32 j = t_.me; j < t_.cols; j += Team::threads) best()[j] = kNoBid;
        waiting_ = t_.list_free(t_.s.column_of, t_.rows, t_.s.queue);
        head_ = 0;
    }
    // Bids until the queue is empty or `most` bids are made. Returns the length of the queue.
    __device__ int32 run(int32 most) {
        for (int32 bids = 0; bids < most && waiting_ > 0;) {
            const int32 active = smaller(kTurns * Team::warps * kRows, waiting_);
            for (int32 first = t_.warp * kRows; first < active; first += Team::warps * kRows) bid_for(first, active);
            __syncthreads();
            if (t_.warp == 0) settle(active);
            __syncthreads();
            waiting_ = t_.s.waiting[0];
            bids += active;
            head_ += active;
        }
        __syncthreads();  // all threads have read the length of the queue
        return waiting_;
    }

  private:
    __device__ uint32* best() const { return reinterpret_cast<uint32*>(t_.s.from); }  // by column, the best bid's key

    // Called by a warp: bids for kRows of the `active` first rows of the queue, from place `first_place` on.
    __device__ void bid_for(int32 first_place, int32 active) const {
        Dual first[kRows], second[kRows];
        int32 row[kRows];
        uint32 nearest[kRows];  // the column's tag
#pragma unroll
        for (int32 r = 0; r < kRows; ++r) {
            row[r] = t_.s.queue[(head_ + smaller(first_place + r, active - 1)) & t_.s.queue_mask];
            first[r] = second[r] = infinity<Dual>();
            nearest[r] = kNoTag;
        }
        for (int32 from = t_.lane; from - t_.lane < t_.cols; from += 32 * kUnroll) {
            Stored costs[kRows][kUnroll];
            t_.load(row, from, costs);
#pragma unroll
            for (int32 k = 0; k < kUnroll; ++k) {
                const bool present = from + 32 * k < t_.cols;
                const int32 j = present ? from + 32 * k : 0;
                const uint32 tag = present ? tag_of(j) : kNoTag;
                const Dual price = present ? t_.s.price[j] : -infinity<Dual>();
#pragma unroll
                for (int32 r = 0; r < kRows; ++r) {
                    const Dual x = Dual(costs[r][k]) - price;
                    const bool nearer = (x < first[r]) | ((x == first[r]) & (tag < nearest[r]));
                    const Dual other = x < second[r] ? x : second[r];
                    second[r] = nearer ? first[r] : other;
                    first[r] = nearer ? x : first[r];
                    nearest[r] = nearer ? tag : nearest[r];
                }
            }
        }
#pragma unroll
        for (int32 r = 0; r < kRows; ++r) {
            const Bid bid = best_bid(row[r], first[r], second[r], nearest[r]);
            const int32 place = first_place + r;
            if (t_.lane == 0 && place < active) t_.s.bids[place] = bid;
        }
    }
    // A tag that orders free columns before matched ones, and then by number.
    __device__ uint32 tag_of(int32 j) const { return static_cast<uint32>(j) | (t_.s.row_of[j] < 0 ? 0 : kMatched); }

    // Called by a warp: row i's bid for its nearest column, from the candidates of all lanes; without branches, so that
    // several rows are in flight.
    __device__ Bid best_bid(int32 i, Dual first, Dual second, uint32 own) const {
        const Dual least = warp_least(first);
        const uint32 nearest = warp_min(first == least ? own : kNoTag);
        const Dual unmatched_price = t_.s.unmatched_price[i], next = warp_least(own == nearest ? second : first);
        const bool stays = unmatched_price < infinity<Dual>() && unmatched_price <= least,
                   has = least < infinity<Dual>();
        second = unmatched_price < next ? unmatched_price : next;
        const Dual raise = second < infinity<Dual>() ? second - least : Dual(0);
        const int32 column = has ? static_cast<int32>(nearest & ~kMatched) : 0;
        const Dual price = t_.s.price[column], lowered = price - raise;
        const bool bids = has && ((nearest & kMatched) == 0 || lowered < price);
        return {lowered, stays ? kUnmatched : bids ? column : kFree, i};
    }

    // Called by the first warp: gives columns to the best bidders. A row that lost its bid or its column goes to the
    // end of the queue.
    __device__ void settle(int32 active) const {
        const BlockState& s = t_.s;
        const Bid none = {0, kFree, kFree};
        const Bid mine = t_.lane < active ? s.bids[t_.lane] : none;
        const bool bids = mine.column >= 0;
        const float raise = bids ? static_cast<float>(s.price[mine.column] - mine.price) : 0;
        const uint32 key = bid_key(raise, mine.row);
        if (bids) atomicMin(&best()[mine.column], key);
        __syncwarp();
        const bool wins = bids && best()[mine.column] == key;
        __syncwarp();
        if (wins) best()[mine.column] = kNoBid;
        if (mine.column == kUnmatched) s.column_of[mine.row] = kUnmatched;
        int32 waits = bids && !wins ? mine.row : kFree;  // the row that this lane puts back
        if (wins) {
            waits = s.row_of[mine.column];
            if (waits >= 0) s.column_of[waits] = kFree;
            s.price[mine.column] = mine.price;
            s.row_of[mine.column] = mine.row;
            s.column_of[mine.row] = mine.column;
        }
        const uint32 all = __ballot_sync(kAllLanes, waits >= 0);
        const int32 place = head_ + waiting_ + __popc(all & ((1u << t_.lane) - 1));
        if (waits >= 0) s.queue[place & s.queue_mask] = waits;
        if (t_.lane == 0) s.waiting[0] = waiting_ - active + __popc(all);
    }

    static constexpr uint32 kNoTag = ~0u;
    static constexpr int32 kRows = Team::warps >= 2 ? 2 : 4;                 // rows for which a warp bids at once
    static constexpr int32 kTurns = smaller(2, 32 / (Team::warps * kRows));  // turns before one warp settles the bids
    static constexpr int32 kUnroll = Team::threads <= 128 ? 4 : 8;           // loads in flight per thread

    const Team& t_;
    int32 waiting_ = 0, head_ = 0;  // in the queue
};
