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
            const int32 active = smaller(Team::warps, count);
            if (t_.warp < active) {
                const Bid bid = best_bid(t_.s.queue[(head + t_.warp) & t_.s.queue_mask], epsilon);
                if (bids < Tuning::kSample && bid.column >= 0) {
                    raises_ += static_cast<double>(bid.raise);
                    ++sampled_;
                }
                if (t_.lane == 0) t_.s.bids[t_.warp] = bid;
            }
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

    // A warp's: what row i would pay for its nearest column, among equals an open one. In every lane.
    __device__ Bid best_bid(int32 i, Dual epsilon) const {
        Dual first = infinity<Dual>(), second = infinity<Dual>();
        int32 column = kFree;
        bool is_open = false;  // the column
        const int64 start = t_.matrix.start(i);
        for (int32 from = t_.lane; from - t_.lane < t_.cols; from += 32 * kUnroll) {
            Stored costs[kUnroll];
#pragma unroll
            for (int32 k = 0; k < kUnroll; ++k) costs[k] = t_.matrix.line(start)[smaller(from + 32 * k, t_.cols - 1)];
            __syncwarp();  // keeps the compiler from loading later: all are in flight together
#pragma unroll
            for (int32 k = 0; k < kUnroll; ++k) {
                const int32 j = smaller(from + 32 * k, t_.cols - 1);
                const bool opens = t_.s.row_of[j] < 0, present = from + 32 * k < t_.cols;
                const Dual x = present ? Dual(costs[k]) - t_.s.price[j] : infinity<Dual>();
                const bool nearer = x < first || (x == first && present && opens && !is_open);
                second = nearer ? first : x < second ? x : second;
                first = nearer ? x : first;
                column = nearer ? j : column;
                is_open = nearer ? opens : is_open;
            }
        }
        const uint32 tag = column >= 0 ? static_cast<uint32>(column) | (is_open ? 0 : kMatched) : ~0u - t_.lane;
        const int32 winner = warp_argmin(first, tag);
        second = warp_least(t_.lane == winner ? second : first);
        first = __shfl_sync(kAllLanes, first, winner);
        column = __shfl_sync(kAllLanes, column, winner);
        const bool opens = __shfl_sync(kAllLanes, static_cast<int32>(is_open), winner) != 0;
        const Dual exit = t_.s.exit[i];
        if (exit < infinity<Dual>() && exit <= first) return {0, 0, kExited, i};
        if (!(first < infinity<Dual>())) return {0, 0, kFree, i};
        second = exit < second ? exit : second;
        const Dual raise = second < infinity<Dual>() ? second - first : Dual(0);
        const Dual price = t_.s.price[column], lowered = price - raise - epsilon;
        if (!opens && !(lowered < price)) return {0, 0, kFree, i};
        return {lowered, raise, column, i};
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

    static constexpr int32 kUnroll = Team::threads <= 128 ? 4 : 8;  // loads in flight of a thread

    const Team& t_;
    double raises_ = 0;
    int32 sampled_ = 0;
};
