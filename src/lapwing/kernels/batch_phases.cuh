// Bids, by which problems match many of their rows before any search, and auction phases with falling epsilon, which make
// good prices for structured costs (steps 2 and 5 of batch_block.cuh).
#pragma once

#include "batch_state.cuh"

struct PhaseTuning {
    static constexpr int32 kSample = 64;     // bids whose mean raise is the unit of epsilon
    static constexpr int32 kFirst = 9;       // log2 of the first epsilon, in that unit ...
    static constexpr int32 kStep = 2;        // ... of the divisor ...
    static constexpr int32 kLast = -1;       // ... and of the last before 0
    static constexpr int32 kPhaseBids = 20;  // for each row, in a phase ...
    static constexpr int32 kLastBids = 4;    // ... and in the last, with epsilon 0
    static constexpr int32 kRest = 4;        // rows left free at the end of a phase: the next one frees all anyway
};

// Each warp bids for one row at a time: it raises the price of the row's nearest column until the second nearest is as near,
// and by epsilon. The best bid for a column wins, the lower row among equals; whoever had it waits again. A row whose bid a
// tie stops is left to the searches. All threads call the public functions; after them each row that was matched with
// epsilon 0 has its nearest column.
template <class Team>
class Auction {
    using Tuning = PhaseTuning;

  public:
    __device__ explicit Auction(const Team& team) : t_(team) {}

    // Without epsilon, by all free rows, until none waits or `most` bids are made.
    __device__ void bid(int32 most) {
        t_.queue_free_rows();
        bid_in_rounds(0, most, 0);
    }

    // From the beginning, of square problems without prices.
    __device__ void run_phases() {
        double unit = 0;
        for (int32 exponent = Tuning::kFirst + Tuning::kStep;; exponent -= Tuning::kStep) {
            const bool samples = exponent > Tuning::kFirst;
            const Dual epsilon = exponent < Tuning::kLast ? Dual(0) : power_of_two(unit, exponent);
            const bool last = !samples && !(epsilon > 0);
            free_all();
            const int32 each = last ? Tuning::kLastBids : Tuning::kPhaseBids;
            bid_in_rounds(epsilon, samples ? Tuning::kSample : each * t_.rows, epsilon > 0 ? Tuning::kRest : 0);
            if (last) return;
            if (samples) unit = mean_raise();
        }
    }

  private:
    __device__ void free_all() {
        __syncthreads();
        for (int32 j = t_.me; j < t_.cols; j += Team::threads) t_.s.row_of[j] = kFree;
        for (int32 i = t_.me; i < t_.rows; i += Team::threads) t_.s.column_of[i] = kFree;
        __syncthreads();
        t_.queue_free_rows();
    }
    // The power of two next to unit * 2^exponent; 0 if that is nothing to an integer.
    __device__ static Dual power_of_two(double unit, int32 exponent) {
        const int32 own = static_cast<int32>(__double_as_longlong(unit * 1.4142135623730951) >> 52) - 1023;
        const int32 power = own + exponent;
        if (!(unit > 0)) return 0;
        if constexpr (kFloating) {
            return power <= -1022 || power > 1000 ? 0 : __longlong_as_double(static_cast<int64>(power + 1023) << 52);
        } else {
            return power < 0 || power > 55 ? 0 : 1ll << power;
        }
    }

    // Rounds of bids by the rows in the queue, until at most `rest` are left or `most` bids are made.
    __device__ void bid_in_rounds(Dual epsilon, int32 most, int32 rest) {
        sampled_ = 0;
        raises_ = 0;
        int32 head = 0;
        for (int32 bids = 0; bids < most;) {
            const int32 count = t_.s.waiting[0];
            if (count <= rest) break;
            const int32 active = smaller(Team::warps * kRows, count);
            if (t_.warp * kRows < active) post_bids(head, active, epsilon, bids < Tuning::kSample);
            __syncthreads();
            if (t_.warp == 0) settle(head, count, active);
            __syncthreads();
            bids += active;
            head += active;
        }
        __syncthreads();  // everybody has read how many wait
    }
    // Of the first bids' raises; in every thread.
    __device__ double mean_raise() const {
        __syncthreads();
        if (t_.lane == 0) {
            t_.s.bids[t_.warp].row = sampled_;
            t_.s.parts[t_.warp] = static_cast<Dual>(raises_);
        }
        __syncthreads();
        double sum = 0;
        int32 count = 0;
        for (int32 w = 0; w < Team::warps; ++w) {
            sum += static_cast<double>(t_.s.parts[w]);
            count += t_.s.bids[w].row;
        }
        return count > 0 ? sum / count : 0;
    }

    // A warp's: bids of its kRows rows of `active` in the queue, for a place each.
    __device__ void post_bids(int32 head, int32 active, Dual epsilon, bool sample) {
        Dual first[kRows], second[kRows];
        int32 row[kRows];
        uint32 nearest[kRows];  // the column's tag
#pragma unroll
        for (int32 r = 0; r < kRows; ++r) {
            row[r] = t_.s.queue[(head + smaller(t_.warp * kRows + r, active - 1)) & t_.s.queue_mask];
            first[r] = second[r] = infinity<Dual>();
            nearest[r] = kNoTag;
        }
        for (int32 from = t_.lane; from - t_.lane < t_.cols; from += 32 * kUnroll) {
            Stored costs[kRows][kUnroll];
#pragma unroll
            for (int32 r = 0; r < kRows; ++r) {
                const Stored* const line = t_.matrix.line(t_.matrix.start(row[r]));
#pragma unroll
                for (int32 k = 0; k < kUnroll; ++k) costs[r][k] = line[smaller(from + 32 * k, t_.cols - 1)];
            }
            __syncwarp();  // keeps the compiler from loading later: all are in flight together
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
            const Bid bid = best_bid(row[r], first[r], second[r], nearest[r], epsilon);
            const int32 place = t_.warp * kRows + r;
            if (place >= active) continue;
            if (sample && bid.column >= 0) {
                raises_ += static_cast<double>(bid.raise);
                ++sampled_;
            }
            if (t_.lane == 0) t_.s.bids[place] = bid;
        }
    }
    // By which an open column comes before a matched one, and then the first.
    __device__ uint32 tag_of(int32 j) const { return static_cast<uint32>(j) | (t_.s.row_of[j] < 0 ? 0 : kMatched); }

    // A warp's: what row i would pay for its nearest column, of what each lane has found; without branches, so that
    // several rows are in flight.
    __device__ Bid best_bid(int32 i, Dual first, Dual second, uint32 own, Dual epsilon) const {
        const Dual least = warp_least(first);
        const uint32 nearest = warp_min(first == least ? own : kNoTag);
        const Dual exit = t_.s.exit[i], next = warp_least(own == nearest ? second : first);
        const bool exits = exit < infinity<Dual>() && exit <= least, has = least < infinity<Dual>();
        second = exit < next ? exit : next;
        const Dual raise = second < infinity<Dual>() ? second - least : Dual(0);
        const int32 column = has ? static_cast<int32>(nearest & ~kMatched) : 0;
        const Dual price = t_.s.price[column], lowered = price - raise - epsilon;
        const bool bids = has && ((nearest & kMatched) == 0 || lowered < price);
        return {lowered, raise, exits ? kExited : bids ? column : kFree, i};
    }

    // The first warp's: gives columns to the best bidders. Whoever lost, or lost its column, goes to the end of the queue.
    __device__ void settle(int32 head, int32 count, int32 active) const {
        const BlockState& s = t_.s;
        const Bid none = {0, 0, kFree, kFree};
        const Bid mine = t_.lane < active ? s.bids[t_.lane] : none;
        const bool bids = mine.column >= 0;
        bool wins = bids;
        for (int32 k = 0; k < active; ++k) {
            const Bid& other = s.bids[k];
            const bool better = other.price < mine.price || (other.price == mine.price && other.row < mine.row);
            if (other.column == mine.column && better) wins = false;
        }
        __syncwarp();
        if (mine.column == kExited) s.column_of[mine.row] = kExited;
        int32 waits = bids && !wins ? mine.row : kFree;  // the row that this lane puts back
        if (wins) {
            waits = s.row_of[mine.column];
            if (waits >= 0) s.column_of[waits] = kFree;
            s.price[mine.column] = mine.price;
            s.row_of[mine.column] = mine.row;
            s.column_of[mine.row] = mine.column;
        }
        const uint32 all = __ballot_sync(kAllLanes, waits >= 0);
        const int32 place = head + count + __popc(all & ((1u << t_.lane) - 1));
        if (waits >= 0) s.queue[place & s.queue_mask] = waits;
        if (t_.lane == 0) s.waiting[0] = count - active + __popc(all);
    }

    static constexpr uint32 kNoTag = ~0u;
    static constexpr int32 kRows = Team::warps >= 4 ? 1 : 4 / Team::warps;  // that a warp bids for at once
    static constexpr int32 kUnroll = Team::threads <= 128 ? 4 : 8;          // loads in flight of a thread

    const Team& t_;
    double raises_ = 0;
    int32 sampled_ = 0;
};
