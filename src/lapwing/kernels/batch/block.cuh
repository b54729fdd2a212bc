// Solves one problem by one block. The state is in shared memory, the matrix in shared memory or in L1 and L2.
//
// Method: shortest augmenting paths after Jonker and Volgenant (cpp/include/lapwing/jv/jv.inc.hpp), with all
// independent work done at once.
//   1. Column reduction (square problems without prices): one thread a column.
//   2. Augmenting row reduction: as many bids as there are rows, two rows a warp, all free rows in turn.
//   3. Square problems get as many bids again. If more than one row in seven is free before that, the costs have
//      structure, and searches would be long. Then phases with falling epsilon (batch/phases.cuh) improve the prices
//      first. The duals of the rows follow from them, and columns are reduced again under these duals.
//   4. Searches, each from all free rows (the roots). A thread owns columns t, t + T, ..., with labels in registers.
//      The label of a column is the shortest known distance from any root. In a step each warp lists its nearest
//      pending column, or up to four equally near ones. Then all threads relax their columns by the rows matched to the
//      listed columns. This is Bellman-Ford in the order of Dijkstra's method: the smallest pending label of all
//      columns is always among the listed ones and is final. A step has one barrier.
//   5. A search of a square problem ends when a fifth of the roots have reached a free column. D is the level below
//      which all labels are final. Matched rows gain D - label if this is positive, and columns, free ones included,
//      lose it. One path of each root is flipped, and these paths are disjoint. To wait for half of the roots makes
//      searches fewer but longer on structured costs, where the tree of one root is the first to reach most free
//      columns. In all other problems a free column must keep its price, so D is the label of the first free column.
//
// Invariants: a label is never below the label of its parent row, rounding included, so parent edges have no cycle.
// After every search matched pairs are tight and all reduced costs are non-negative up to rounding.
//
// Cost, on an H200: a step of a 128 x 128 problem takes 0.7 us alone and 1.3 us with eight blocks on a multiprocessor.
// Uniform costs take 68 steps (the hardest of 1000 problems 143), integers up to 13, many of them equal, 13 (27),
// geometric costs 114 (270). Of 1024 geometric problems at once each spends 15 us on columns, 40 on bids, 120 on
// phases, 17 on duals and columns, 27 on bids and 146 on searches. All together they take 490 us, since the hardest
// ones end late.
//
// References: R. Jonker, A. Volgenant, Computing 38 (1987) 325-340; D. P. Bertsekas, Annals of Operations Research 14
// (1988) 105-123.
#pragma once

#include "batch/bids.cuh"
#include "batch/phases.cuh"
#include "batch/search.cuh"

// All threads of the block call all public functions. K T >= cols.
template <class Matrix, int32 K, int32 T>
class BlockSolver {
  public:
    __device__ explicit BlockSolver(const Team<Matrix, T>& team) : t_(team) {}

    // Step 1 for columns. Returns the faults of the costs, as bits for each thread, unless they are known.
    __device__ uint32 reduce_columns(Dual limit) { return reduce<true>(limit); }

    // Whether there is an assignment. If so, column_of, row_of, price and row_dual hold it and its duals.
    __device__ bool solve() {
        Bids<Team<Matrix, T>> bids(t_);
        bids.start();
        const int32 waiting = bids.run((t_.is_square() ? 1 : BatchTuning::only_bids) * t_.rows);
        if (t_.is_square() && waiting > 0) {
            if (t_.rows >= kFew && waiting > t_.rows / BatchTuning::many_free) {
                Phases<Team<Matrix, T>>(t_).run();
                if (set_row_duals() == kHopeless) return false;
                reduce<false>(0);
                bids.start();
            }
            bids.run(t_.rows);
        }
        const int32 left = set_row_duals();
        return left == 0 || (left > 0 && Searches<Matrix, K, T>(t_).run());
    }

  private:
    // In square problems the price of a column is its least cost (later, minus the row's dual). A row takes the first
    // of the columns whose least cost it has.
    template <bool kFirst>
    __device__ uint32 reduce(Dual limit) {
        constexpr bool kChecks = kFirst && !Matrix::kChecked;
        const BlockState& s = t_.s;
        if (!kChecks && !t_.is_square()) {
            for (int32 j = t_.me; j < t_.cols; j += T) s.price[j] = 0, s.row_of[j] = kFree;
            for (int32 i = t_.me; i < t_.rows; i += T) s.column_of[i] = kFree;
            __syncthreads();
            return 0;
        }
        __syncthreads();
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
                    if (kChecks) faults |= fault_of(costs[k], limit);
                    const Dual x = kFirst ? Dual(costs[k]) : Dual(costs[k]) - s.row_dual[smaller(i + k, t_.rows - 1)];
                    if (t_.is_square() && x < least) {
                        least = x;
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

    // Sets the duals of matched rows from their columns. The dual of a free row is its least reduced cost; a row whose
    // price is less stays unmatched. Returns the number of free rows, or kHopeless if one can have no column. If there
    // is none, all threads see the duals after the next barrier.
    __device__ int32 set_row_duals() {
        const BlockState& s = t_.s;
        for (int32 i = t_.me; i < t_.rows; i += T) {
            const int32 j = s.column_of[i];
            if (j >= 0) s.row_dual[i] = Dual(t_.cost(i, j)) - s.price[j];
            if (j == kUnmatched) s.row_dual[i] = s.unmatched_price[i];
        }
        const int32 waiting = t_.list_free(s.column_of, t_.rows, s.queue);
        if (waiting == 0) return 0;
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
                    for (int32 k = 0; k < kColumns; ++k) costs[r][k] = *t_.matrix.at(start, column(begin, k));
                }
                __syncwarp();  // keeps the compiler from loading later, so that all loads are in flight together
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
                const Dual unmatched_price = s.unmatched_price[i];
                const bool stays = unmatched_price < infinity<Dual>() && unmatched_price <= mine;
                hopeless = hopeless || (!stays && !(mine < infinity<Dual>()));
                s.row_dual[i] = stays ? unmatched_price : mine;
                if (stays) s.column_of[i] = kUnmatched;
            }
        }
        return __syncthreads_or(hopeless) != 0 ? kHopeless : waiting;
    }

    __device__ int32 column(int32 first, int32 k) const { return smaller(first + t_.lane + 32 * k, t_.cols - 1); }

    static constexpr int32 kUnroll = BatchTuning::column_loads;
    static constexpr int32 kRows = BatchTuning::free_rows, kColumns = BatchTuning::free_columns;
    static constexpr int32 kNobody = 0x7fffffff;  // of columns, for a minimum
    static constexpr int32 kHopeless = -1;
    static constexpr int32 kFew = 32;  // rows; with fewer integers might overflow

    const Team<Matrix, T>& t_;
};
