// One problem, solved by one block: its state in shared memory, its matrix in shared memory or in L2.
//
// Jonker-Volgenant (cpp/include/lapwing/jv.inc.hpp), with more preparation, since a block bids for many rows at once but
// searches for one:
//   1. Column reduction (square problems without prices), a thread a column.
//   2. Augmenting row reduction in rounds: each warp finds the two smallest of one free row's c - v; the best bid for a
//      column wins, the lower row among equals. A round is the work of one step of a search, and matches up to a row a warp.
//      Rows whose bid a tie stops wait for the searches, which prefer open columns.
//   3. Where bidding wars leave many rows free (structured costs), auction phases with falling epsilon first (Bertsekas,
//      Annals of Operations Research 14, 1988; PhaseTuning); their epsilons are powers of two, so that sums stay exact.
//   4. Shortest augmenting paths from the rows that are left, one after the other: each thread owns columns t, t + T, ..,
//      whose price and distance are in registers. A step has one barrier: every warp leaves its nearest column in one of
//      two sets of places, taken in turn, and after the barrier all warps find the nearest of these for themselves.
//
// Latency of a step in cycles of an H200, estimated: row costs from shared memory 30 or L2 290; widening, two sums and a
// comparison of doubles 60 for each column of the thread; the warp's nearest 70; the place and the barrier 60; the
// nearest of the places 100; the row's dual 30. That is 350 from shared memory, 650 from L2 with four columns a thread.
// Steps counted on uniform costs (bids / warps + steps of searches): n = 128: 230, 256: 630, 512: 1,300, 1024: 5,300; on
// geometric costs 760, 1,300, 3,200, 5,800, which without phases would be 1,000, 2,500, 10,000, 28,000.
#pragma once

#include "batch.cuh"

struct PhaseTuning {
    static constexpr int32 kTrialBids =
        4;  // for each row, without epsilon, before phases are thought of; after them too
    static constexpr int32 kManyFree = 16;   // rows / kManyFree that still bid: phases are worth it
    static constexpr int32 kSample = 64;     // bids whose mean raise is the unit of epsilon
    static constexpr int32 kFirst = 9;       // log2 of the first epsilon, in that unit ...
    static constexpr int32 kStep = 2;        // ... of the divisor ...
    static constexpr int32 kLast = -1;       // ... and of the last
    static constexpr int32 kPhaseBids = 20;  // for each row, in a phase
    static constexpr int32 kRest = 4;        // rows left free at the end of a phase: the next one frees all anyway
};

struct Bid {
    Dual price, raise;
    int32 column;  // or kFree: none; or kExited: the row stays free
    int32 row;
};
struct alignas(16) Nearest {
    Dual distance;
    uint32 tag;
    int32 row;  // that holds the column
};

constexpr uint32 kMostWarps = 32;

// What a block knows of its problem, in shared memory; every array by row or column as solved.
struct BlockState {
    Dual* price;       // v, by column
    Dual* row_dual;    // u of matched rows, by row
    Dual* exit;        // by row, infinity without prices
    int32* row_of;     // partner of a column, or kFree
    int32* column_of;  // partner of a row, or kFree, kExited
    int32* from;       // by column: the row through which a search found it
    int32* queue;      // a ring of rows that bid
    Bid* bids;         // [kMostWarps]
    Nearest* nearest;  // [2][kMostWarps]
    int32* counters;   // [4]: head and count of the queue; faults; a spare
    int32 queue_mask;

    // The bytes that carve() takes, a multiple of 16.
    __device__ unsigned char* carve(unsigned char* memory, int32 rows, int32 cols) {
        const int32 ring = 1 << (32 - __clz(larger(rows, 2) - 1));
        queue_mask = ring - 1;
        bids = take<Bid>(memory, kMostWarps);
        nearest = take<Nearest>(memory, 2 * kMostWarps);
        price = take<Dual>(memory, cols);
        row_dual = take<Dual>(memory, rows);
        exit = take<Dual>(memory, rows);
        counters = take<int32>(memory, 4);
        row_of = take<int32>(memory, cols);
        column_of = take<int32>(memory, rows);
        from = take<int32>(memory, cols);
        queue = take<int32>(memory, ring);
        return memory;
    }

  private:
    template <class T>
    __device__ static T* take(unsigned char*& memory, int32 count) {
        T* const array = reinterpret_cast<T*>(memory);
        memory += (count * sizeof(T) + 15) / 16 * 16;
        return array;
    }
};

// All threads of the block call all public functions. Matrix: row(i) points at the costs of row i as minimised, Stored.
template <class Matrix>
class BlockSolver {
  public:
    __device__ BlockSolver(const BlockState& state, const Matrix& matrix, int32 rows, int32 cols, bool priced)
        : s_(state), matrix_(matrix), rows_(rows), cols_(cols), priced_(priced), me_(static_cast<int32>(threadIdx.x)),
          threads_(static_cast<int32>(blockDim.x)), lane_(static_cast<int32>(lane_index())), warp_(me_ / 32),
          warps_(threads_ / 32) {}

    // Whether there is an assignment; then column_of, row_of, price, row_dual hold it and its duals. Needs K threads >= cols.
    template <int32 K>
    __device__ bool solve() {
        start();
        prepare();
        set_row_duals();
        for (int32 first = 0; first < rows_; first += 32) {
            const int32 i = first + lane_;
            uint32 roots = __ballot_sync(kAllLanes, i < rows_ && s_.column_of[i] == kFree);
            for (; roots != 0; roots &= roots - 1) {
                if (!search<K>(first + __ffs(static_cast<int32>(roots)) - 1)) return false;
            }
        }
        return true;
    }

  private:
    // Step 1, and the rows that are free into the queue.
    __device__ void start() {
        const bool reduces = rows_ == cols_ && !priced_;
        for (int32 i = me_; i < rows_; i += threads_) s_.column_of[i] = kNobody;
        __syncthreads();
        for (int32 j = me_; j < cols_; j += threads_) {
            Dual least = infinity<Dual>();
            int32 nearest = kFree;
            for (int32 i = 0; reduces && i < rows_; i += kUnroll) {
                Stored costs[kUnroll];
#pragma unroll
                for (int32 k = 0; k < kUnroll; ++k) costs[k] = matrix_.row(smaller(i + k, rows_ - 1))[j];
#pragma unroll
                for (int32 k = 0; k < kUnroll; ++k) {
                    if (Dual(costs[k]) < least) {
                        least = costs[k];
                        nearest = i + k;
                    }
                }
            }
            s_.price[j] = nearest >= 0 ? least : Dual(0);
            s_.row_of[j] = nearest;
            if (nearest >= 0) atomicMin(&s_.column_of[nearest], j);
        }
        __syncthreads();
        for (int32 j = me_; j < cols_; j += threads_) {
            const int32 i = s_.row_of[j];
            if (i >= 0 && s_.column_of[i] != j) s_.row_of[j] = kFree;
        }
        for (int32 i = me_; i < rows_; i += threads_) {
            if (s_.column_of[i] == kNobody) s_.column_of[i] = kFree;
        }
        __syncthreads();
        queue_free_rows();
    }
    // All free rows in order; between barriers, by the first warp.
    __device__ void queue_free_rows() {
        if (warp_ == 0) {
            int32 count = 0;
            for (int32 first = 0; first < rows_; first += 32) {
                const int32 i = first + lane_;
                const bool waits = i < rows_ && s_.column_of[i] == kFree;
                const uint32 all = __ballot_sync(kAllLanes, waits);
                if (waits) s_.queue[count + __popc(all & below_me())] = i;
                count += __popc(all);
            }
            if (lane_ == 0) {
                s_.counters[kHead] = 0;
                s_.counters[kCount] = count;
            }
        }
        __syncthreads();
    }

    // Steps 2 and 3: bids without epsilon; if these leave many rows free, phases and once more without epsilon.
    __device__ void prepare() {
        using Tuning = PhaseTuning;
        Dual epsilon = 0;
        int32 exponent = Tuning::kFirst + Tuning::kStep;  // of the phase before, relative to the unit
        bool trial = true;
        for (;;) {
            const bool last = !(epsilon > 0);
            const int64 each = last ? Tuning::kTrialBids : Tuning::kPhaseBids;
            bid_in_rounds(epsilon, each * rows_, last ? 0 : Tuning::kRest);
            if (trial) {
                if (rows_ != cols_ || priced_ || s_.counters[kCount] <= rows_ / Tuning::kManyFree) return;
                unit_ = mean_raise();
                trial = false;
            } else if (last) {
                return;
            }
            exponent -= Tuning::kStep;
            epsilon = exponent < Tuning::kLast ? Dual(0) : power_of_two(unit_, exponent);
            __syncthreads();  // everybody has read the counters
            for (int32 j = me_; j < cols_; j += threads_) s_.row_of[j] = kFree;
            for (int32 i = me_; i < rows_; i += threads_) s_.column_of[i] = kFree;
            __syncthreads();
            queue_free_rows();
        }
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
    __device__ void bid_in_rounds(Dual epsilon, int64 most, int32 rest) {
        int64 bids = 0;
        sampled_ = 0;
        raises_ = 0;
        for (;;) {
            const int32 head = s_.counters[kHead], count = s_.counters[kCount];
            if (count <= rest || bids >= most) return;
            const int32 active = smaller(warps_, count);
            if (warp_ < active) {
                const Bid bid = best_bid(s_.queue[(head + warp_) & s_.queue_mask], epsilon);
                if (bids < PhaseTuning::kSample && bid.column >= 0 && bid.raise < infinity<Dual>()) {
                    raises_ += static_cast<double>(bid.raise);
                    ++sampled_;
                }
                if (lane_ == 0) s_.bids[warp_] = bid;
            }
            bids += active;
            __syncthreads();
            if (warp_ == 0) settle(head, count, active);
            __syncthreads();
        }
    }
    // Of the first bids' raises; in every thread.
    __device__ double mean_raise() {
        __syncthreads();
        if (lane_ == 0) {
            s_.bids[warp_].row = sampled_;
            s_.nearest[warp_].distance = static_cast<Dual>(raises_);
        }
        __syncthreads();
        double sum = 0;
        int32 count = 0;
        for (int32 w = 0; w < warps_; ++w) {
            sum += static_cast<double>(s_.nearest[w].distance);
            count += s_.bids[w].row;
        }
        return count > 0 ? sum / count : 0;
    }

    // A warp's: what row i would pay for its nearest column. In every lane.
    __device__ Bid best_bid(int32 i, Dual epsilon) const {
        Dual first = infinity<Dual>(), second = infinity<Dual>();
        int32 column = kFree;
        const auto row = matrix_.row(i);
        for (int32 start = lane_; start < cols_; start += 32 * kUnroll) {
            Stored costs[kUnroll];
#pragma unroll
            for (int32 k = 0; k < kUnroll; ++k) costs[k] = row[smaller(start + 32 * k, cols_ - 1)];
#pragma unroll
            for (int32 k = 0; k < kUnroll; ++k) {
                const int32 j = start + 32 * k;
                const Dual x = j < cols_ ? Dual(costs[k]) - s_.price[j] : infinity<Dual>();
                if (x <= second && j < cols_) {
                    if (x < first || (x == first && column >= 0 && is_open(j) && !is_open(column))) {
                        second = first;
                        first = x;
                        column = j;
                    } else {
                        second = x;
                    }
                }
            }
        }
        const uint32 tag = column >= 0 ? static_cast<uint32>(column) | (is_open(column) ? 0 : kMatched) : ~0u;
        const int32 winner = warp_argmin(first, tag);
        second = warp_least(lane_ == winner ? second : first);
        first = __shfl_sync(kAllLanes, first, winner);
        column = __shfl_sync(kAllLanes, column, winner);
        const Dual exit = s_.exit[i];
        if (exit < infinity<Dual>() && exit <= first) return {0, 0, kExited, i};
        if (!(first < infinity<Dual>())) return {0, 0, kFree, i};
        second = exit < second ? exit : second;
        const Dual raise = second < infinity<Dual>() ? second - first : Dual(0);
        const Dual price = s_.price[column], lowered = price - raise - epsilon;
        if (!is_open(column) && !(lowered < price)) return {0, 0, kFree, i};
        return {lowered, raise, column, i};
    }
    __device__ bool is_open(int32 j) const { return s_.row_of[j] < 0; }

    // The first warp's: gives columns to the best bidders. Whoever lost, or lost its column, goes to the end of the queue.
    __device__ void settle(int32 head, int32 count, int32 active) {
        const bool bids = lane_ < active && s_.bids[lane_].column >= 0;
        const int32 column = bids ? s_.bids[lane_].column : -1 - lane_;
        uint32 rivals = __match_any_sync(kAllLanes, column) & ~(1u << lane_);
        bool wins = bids;
        for (; rivals != 0; rivals &= rivals - 1) {
            const Bid &mine = s_.bids[lane_], &other = s_.bids[__ffs(static_cast<int32>(rivals)) - 1];
            if (other.price < mine.price || (other.price == mine.price && other.row < mine.row)) wins = false;
        }
        int32 waits = kFree;  // the row that this lane puts back
        if (lane_ < active) {
            const Bid bid = s_.bids[lane_];
            if (bid.column == kExited) s_.column_of[bid.row] = kExited;
            if (wins) {
                waits = s_.row_of[column];
                if (waits >= 0) s_.column_of[waits] = kFree;
                s_.price[column] = bid.price;
                s_.row_of[column] = bid.row;
                s_.column_of[bid.row] = column;
            } else if (bids) {
                waits = bid.row;
            }
        }
        const uint32 all = __ballot_sync(kAllLanes, waits >= 0);
        if (waits >= 0) s_.queue[(head + count + __popc(all & below_me())) & s_.queue_mask] = waits;
        if (lane_ == 0) {
            s_.counters[kHead] = head + active;
            s_.counters[kCount] = count - active + __popc(all);
        }
    }

    __device__ void set_row_duals() {
        for (int32 i = me_; i < rows_; i += threads_) {
            const int32 j = s_.column_of[i];
            s_.row_dual[i] = j >= 0 ? Dual(matrix_.row(i)[j]) - s_.price[j] : s_.exit[i];
        }
        __syncthreads();
    }

    // Step 4: matches row `root`, or lets it or another row exit; false if neither can be.
    template <int32 K>
    __device__ bool search(int32 root) {
        if (cols_ == 0) return false;  // whoever may exit has done so when it bid
        Dual price[K], distance[K];
        uint32 tag[K];
        int32 holder[K];
        uint32 closed = 0;  // bits: in the tree, or no column at all
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            const int32 j = me_ + k * threads_;
            distance[k] = infinity<Dual>();
            price[k] = 0;
            tag[k] = ~0u;
            holder[k] = kFree;
            if (j < cols_) {
                price[k] = s_.price[j];
                holder[k] = s_.row_of[j];
                tag[k] = static_cast<uint32>(j) | (holder[k] < 0 ? 0 : kMatched);
            } else {
                closed |= 1u << k;
            }
        }
        Dual offset = 0, level = 0, exit_distance = infinity<Dual>();
        int32 row = root, exit_row = root, end = kFree;
        for (Nearest* places = s_.nearest;; places = places == s_.nearest ? s_.nearest + kMostWarps : s_.nearest) {
            Stored costs[K];
#pragma unroll
            for (int32 k = 0; k < K; ++k) costs[k] = matrix_.row(row)[smaller(me_ + k * threads_, cols_ - 1)];
            Nearest mine;
#pragma unroll
            for (int32 k = 0; k < K; ++k) {
                const bool open = (closed >> k & 1) == 0;
                const Dual x = offset + (Dual(costs[k]) - price[k]);
                if (open && x < distance[k]) {
                    distance[k] = x;
                    s_.from[me_ + k * threads_] = row;
                }
                const Dual candidate = open ? distance[k] : infinity<Dual>();
                if (k == 0 || candidate < mine.distance || (candidate == mine.distance && tag[k] < mine.tag)) {
                    mine = {candidate, open ? tag[k] : ~0u, holder[k]};
                }
            }
            if (lane_ == warp_argmin(mine.distance, mine.tag)) places[warp_] = mine;
            __syncthreads();
            const Nearest theirs = lane_ < warps_ ? places[lane_] : Nearest{infinity<Dual>(), ~0u, 0};
            const int32 winner = warp_argmin(theirs.distance, theirs.tag == ~0u ? ~0u - lane_ : theirs.tag);
            level = __shfl_sync(kAllLanes, theirs.distance, winner);
            const uint32 nearest = __shfl_sync(kAllLanes, theirs.tag, winner);
            const int32 next = __shfl_sync(kAllLanes, theirs.row, winner);
            if (priced_ && s_.exit[row] < infinity<Dual>() && offset + s_.exit[row] < exit_distance) {
                exit_distance = offset + s_.exit[row];
                exit_row = row;
            }
            if (exit_distance <= level && exit_distance < infinity<Dual>()) {
                level = exit_distance;
                break;
            }
            if (!(level < infinity<Dual>())) return false;
            if (nearest < kMatched) {
                end = static_cast<int32>(nearest);
                break;
            }
#pragma unroll
            for (int32 k = 0; k < K; ++k) {
                if (tag[k] == nearest) closed |= 1u << k;
            }
            row = next;
            offset = level - s_.row_dual[next];
        }
#pragma unroll
        for (int32 k = 0; k < K; ++k) {  // lower the prices in the tree
            const int32 j = me_ + k * threads_;
            if ((closed >> k & 1) != 0 && j < cols_ && distance[k] < level)
                s_.price[j] = price[k] - (level - distance[k]);
        }
        augment(root, end, exit_row);
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            const int32 j = me_ + k * threads_;
            if (j < cols_ && ((closed >> k & 1) != 0 || j == end)) {
                const int32 i = s_.row_of[j];
                s_.row_dual[i] = Dual(matrix_.row(i)[j]) - s_.price[j];
            }
        }
        __syncthreads();
        return true;
    }
    // Flips the path from the root to column `end`, or if this is kFree to the row that exits.
    __device__ void augment(int32 root, int32 end, int32 exit_row) {
        __syncthreads();  // from[] and price[] are written
        if (me_ == 0) {
            int32 j = end;
            if (end < 0) {
                j = s_.column_of[exit_row];
                s_.column_of[exit_row] = kExited;
                s_.row_dual[exit_row] = s_.exit[exit_row];
            }
            while (j >= 0) {
                const int32 i = s_.from[j];
                s_.row_of[j] = i;
                const int32 before = s_.column_of[i];
                s_.column_of[i] = j;
                j = i == root ? kFree : before;
            }
        }
        __syncthreads();
    }

    __device__ uint32 below_me() const { return (1u << lane_) - 1; }

    static constexpr int32 kUnroll = 8;           // loads in flight of a thread
    static constexpr int32 kNobody = 0x7fffffff;  // of columns, for a minimum
    static constexpr int32 kHead = 0, kCount = 1;

    const BlockState s_;
    const Matrix matrix_;
    const int32 rows_, cols_;
    const bool priced_;
    const int32 me_, threads_, lane_, warp_, warps_;
    double unit_ = 0, raises_ = 0;
    int32 sampled_ = 0;
};
