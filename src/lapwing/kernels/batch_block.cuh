// One problem, solved by one block: its state in shared memory, its matrix in shared memory or in L1 and L2.
//
// Shortest augmenting paths (Jonker-Volgenant, cpp/include/lapwing/jv.inc.hpp), with all that is independent done at once,
// since what costs time here is the number of dependent steps:
//   1. Column reduction (square problems without prices), a thread a column.
//   2. Bids, a warp a row (two warps two rows each): augmenting row reduction, for all free rows in turn.
//   3. Searches, each from all rows that are still free. Every thread owns columns t, t + T, .., whose labels (the shortest
//      known distance from any free row) are in registers. In a step each warp posts the nearest column of each of its
//      groups whose row has not been looked at under its present label, and all threads relax their columns by all rows
//      posted: Bellman-Ford, ordered as Dijkstra's method would (the smallest label of all is always among those posted,
//      and is final). A step has one barrier.
//   4. A search of a square problem ends when half of the free rows have reached a free column (so there are about log2 n),
//      at a level D, below which all labels are final: rows gain D - label where this is positive, columns lose it, free
//      ones too, and all paths from different roots are flipped, which are disjoint. Otherwise a free column must keep its
//      price, so D is the first one's label.
//   5. Where searches prove long (structured costs), auction phases with falling epsilon first (Bertsekas, Annals of
//      Operations Research 14, 1988; PhaseTuning); their epsilons are powers of two, so that sums stay exact.
//
// Labels never fall below that of the row that they came from, rounding or not, so the tree has no cycles.
//
// A step costs instructions, of which a warp on its own issues one every four cycles on an H200, more than it costs
// latency: about 160 for four posts, of which each has 20; hence as many threads as columns, to 512. Rounds of bids and
// steps counted on uniform costs: n = 128: 32 and 100, 256: 32 and 160, 512: 32 and 310, 1024: 64 and 670; on geometric
// costs 32 and 380, 32 and 670, where searches from one row after the other would take 1,000 and 2,500.
#pragma once

#include "batch_phases.cuh"
#include "batch_search.cuh"

// All threads of the block call all public functions. K T >= cols.
template <class Matrix, int32 K, int32 T>
class BlockSolver {
  public:
    __device__ explicit BlockSolver(const Team<Matrix, T>& team) : t_(team) {}

    // Step 1 for columns, and what is wrong with the costs, as bits for each thread.
    __device__ uint32 reduce_columns(Dual limit) {
        const BlockState& s = t_.s;
        for (int32 i = t_.me; i < t_.rows; i += T) s.column_of[i] = kNobody;
        __syncthreads();
        uint32 faults = 0;
        for (int32 j = t_.me; j < t_.cols; j += T) {
            Dual least = infinity<Dual>();
            int32 nearest = kFree;
            for (int32 i = 0; i < t_.rows; i += kUnroll) {
                Stored costs[kUnroll];
#pragma unroll
                for (int32 k = 0; k < kUnroll; ++k) costs[k] = t_.cost(smaller(i + k, t_.rows - 1), j);
#pragma unroll
                for (int32 k = 0; k < kUnroll; ++k) {
                    faults |= fault_of(costs[k], limit);
                    if (t_.is_square() && Dual(costs[k]) < least) {
                        least = costs[k];
                        nearest = i + k;
                    }
                }
            }
            s.price[j] = nearest >= 0 ? least : Dual(0);
            s.row_of[j] = nearest;
            if (nearest >= 0) atomicMin(&s.column_of[nearest], j);
        }
        __syncthreads();
        for (int32 j = t_.me; j < t_.cols; j += T) {
            const int32 i = s.row_of[j];
            if (i >= 0 && s.column_of[i] != j) s.row_of[j] = kFree;
        }
        for (int32 i = t_.me; i < t_.rows; i += T) {
            if (s.column_of[i] == kNobody) s.column_of[i] = kFree;
        }
        __syncthreads();
        return faults;
    }

    // Whether there is an assignment; then column_of, row_of, price, row_dual hold it and its duals.
    __device__ bool solve() {
        Auction<Team<Matrix, T>> auction(t_);
        Searches<Matrix, K, T> searches(t_);
        auction.bid((t_.is_square() ? kFirstBids : kOnlyBids) * t_.rows);
        for (int32 patience = t_.is_square() ? kPatience * t_.rows + kMinimalPatience : kEndless;;
             patience = kEndless) {
            if (!set_row_duals()) return false;
            const SearchEnd end = searches.run(patience);
            if (end != SearchEnd::kTooLong) return end == SearchEnd::kAllMatched;
            auction.run_phases();
        }
    }

  private:
    // Of matched rows by their columns; of free rows the smallest that they can have, and whoever prefers to exit does.
    // False if a row can have nothing.
    __device__ bool set_row_duals() {
        const BlockState& s = t_.s;
        for (int32 i = t_.me; i < t_.rows; i += T) {
            const int32 j = s.column_of[i];
            if (j >= 0) s.row_dual[i] = Dual(t_.cost(i, j)) - s.price[j];
            if (j == kExited) s.row_dual[i] = s.exit[i];
        }
        const int32 waiting = t_.queue_free_rows();
        bool hopeless = false;
        for (int32 first = t_.warp * kRows; first < waiting; first += t_.warps * kRows) {
            Dual least[kRows];
#pragma unroll
            for (int32 r = 0; r < kRows; ++r) least[r] = infinity<Dual>();
            for (int32 begin = 0; begin < t_.cols; begin += 32 * kColumns) {
                Stored costs[kRows][kColumns];
#pragma unroll
                for (int32 r = 0; r < kRows; ++r) {
                    const int64 start = t_.matrix.start(s.queue[smaller(first + r, waiting - 1)]);
#pragma unroll
                    for (int32 k = 0; k < kColumns; ++k) costs[r][k] = t_.matrix.line(start)[column(begin, k)];
                }
                __syncwarp();  // keeps the compiler from loading later: all are in flight together
#pragma unroll
                for (int32 k = 0; k < kColumns; ++k) {
                    const Dual price = s.price[column(begin, k)];
#pragma unroll
                    for (int32 r = 0; r < kRows; ++r) {
                        const Dual x = Dual(costs[r][k]) - price;
                        least[r] = x < least[r] ? x : least[r];
                    }
                }
            }
#pragma unroll
            for (int32 r = 0; r < kRows; ++r) least[r] = warp_least(least[r]);
            Dual mine = least[0];
#pragma unroll
            for (int32 r = 1; r < kRows; ++r) mine = t_.lane == r ? least[r] : mine;
            if (t_.lane < smaller(kRows, waiting - first)) {
                const int32 i = s.queue[first + t_.lane];
                const Dual exit = s.exit[i];
                const bool exits = exit < infinity<Dual>() && exit <= mine;
                hopeless = hopeless || (!exits && !(mine < infinity<Dual>()));
                s.row_dual[i] = exits ? exit : mine;
                if (exits) s.column_of[i] = kExited;
            }
        }
        return __syncthreads_or(hopeless) == 0;
    }

    __device__ int32 column(int32 first, int32 k) const { return smaller(first + t_.lane + 32 * k, t_.cols - 1); }

    static constexpr int32 kUnroll = 16;             // loads of a thread in flight
    static constexpr int32 kRows = 4, kColumns = 4;  // the same, of free rows
    static constexpr int32 kNobody = 0x7fffffff;     // of columns, for a minimum
    static constexpr int32 kFirstBids = 1;           // for each row of square problems: searches are as fast then
    static constexpr int32 kOnlyBids = 4;            // and of others, where a search matches few rows
    // Steps for each row, and for all, after which phases are tried: they start from nothing, and geometric costs, whose
    // hardest problems take 6 n steps, are solved faster without.
    static constexpr int32 kPatience = 8;
    static constexpr int32 kMinimalPatience = 512;
    static constexpr int32 kEndless = 0x7fffffff;

    const Team<Matrix, T>& t_;
};
