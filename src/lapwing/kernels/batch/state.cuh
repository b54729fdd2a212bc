// The state of a block's solve in shared memory, and the threads of the block: shared by the steps of batch/block.cuh.
#pragma once

#include "batch/arrays.cuh"
#include "batch/batch.cuh"

constexpr uint32 kMostWarps = 32;
constexpr int32 kMostFrontier = 32;

// A row that a step of a search relaxes by.
struct alignas(16) FrontierRow {
    Dual offset;  // its label less its dual
    int64 start;  // in the matrix
    Dual label;   // its distance from the nearest free row; infinity: none
    int32 row;
    int32 root;  // the free row
};
static_assert(sizeof(FrontierRow) == 32 && 2 * kMostFrontier == 64 && kMostWarps == 32);  // batch/arrays.cuh
// The bid of a row for its nearest column.
struct Bid {
    Dual price;
    int32 column;  // or kFree: none; or kUnmatched: the row stays free
    int32 row;
};

constexpr uint32 kNoBid = ~0u;  // a key
// The key of a bid: the minimum is the bid with the largest raise, compared by the first bits of a float, then the
// lowest row. `none`: the key of no raise.
__device__ inline uint32 bid_key(float raise, int32 row, uint32 none = kNoBid) {
    constexpr uint32 kNumber = 0xfff;  // of a row
    return (none - __float_as_uint(raise)) & ~kNumber | static_cast<uint32>(row);
}

// In shared memory. Arrays are by row or column as solved.
struct BlockState {
    Dual* price;            // v, by column
    Dual* row_dual;         // u, by row
    Dual* unmatched_price;  // by row, infinity without prices; in phases keys of bids
    Dual* parts;            // [kMostWarps], for sums and minima of a block
    int32* row_of;          // partner of a column, or kFree
    int32* column_of;       // partner of a row, or kFree, kUnmatched
    int32* from;   // by column: the row through which a search labelled it; before, keys of bids, or who bids in phases
    int32* queue;  // a ring: the roots of a search; the rows that bid
    int32* ends;   // by row: of a root, the column where its path ends
    uint32* reached;        // by row, a bit: a root that has reached a free column
    int32* reached_by;      // [2], by parity of the step: roots that reached a free column in it
    int32* waiting;         // [4]: how many are listed; of a sample of raises the exponents' sum, and how many
    uint32* keys;           // [2][kMostFrontier], of their labels
    FrontierRow* frontier;  // [2][kMostFrontier] of a search ...
    Bid* bids;              // ... or [kMostWarps], in the same place
    int32 queue_mask;

    // Returns the end of the arrays, whose size is a multiple of 16 bytes.
    __device__ unsigned char* carve(unsigned char* memory, int32 rows, int32 cols) {
        const int32 ring = 1 << (32 - __clz(larger(rows, 2) - 1)), words = (rows + 31) / 32;
        queue_mask = ring - 1;
        bids = reinterpret_cast<Bid*>(memory);
#define TAKE(name, type, count) name = take<type>(memory, count);
        FOR_EACH_BLOCK_ARRAY(TAKE)
#undef TAKE
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

// The T threads of a block and the problem that they solve. A Matrix has the costs as minimised, in Stored: start(i) is
// the beginning of row i, at(start, j) the place of column j, and kChecked tells whether the faults of the costs are
// known.
template <class Matrix, int32 T>
struct Team {
    static constexpr int32 threads = T, warps = T / 32;
    const BlockState s;
    const Matrix matrix;
    const int32 rows, cols;
    const int32 me, lane, warp;

    __device__ Team(const BlockState& state, const Matrix& m, int32 row_count, int32 col_count, const Batch& whole)
        : s(state), matrix(m), rows(row_count), cols(col_count), me(static_cast<int32>(threadIdx.x)),
          lane(static_cast<int32>(lane_index())), warp(static_cast<int32>(threadIdx.x / 32)), batch_(whole) {}

    __device__ Stored cost(int32 i, int32 j) const { return *matrix.at(matrix.start(i), j); }
    // Called by a warp: loads this lane's columns of the given rows from j on, every 32nd; past the end, the last one.
    template <int32 row_count, int32 col_count>
    __device__ void load(const int32 (&row)[row_count], int32 j, Stored (&costs)[row_count][col_count]) const {
#pragma unroll
        for (int32 r = 0; r < row_count; ++r) {
            const Stored* const line = matrix.at(matrix.start(row[r]), j);
#pragma unroll
            for (int32 k = 0; k < col_count; ++k) costs[r][k] = j + 32 * k < cols ? line[32 * k] : Stored(0);
        }
        __syncwarp();  // keeps the compiler from loading later, so that all loads are in flight together
    }
    // Whether every column must be matched, so that prices of free columns may fall, too. This case needs half of the
    // program's code; a program for thin problems (RECTANGULAR) leaves it out.
    __device__ bool is_square() const { return !RECTANGULAR && rows == cols && !priced(); }
    // Rows may stay free at prices.
    __device__ bool priced() const { return batch_.priced != 0; }

    // Lists the rows or columns of `count` that have no partner, in order, and returns their number. All threads of the
    // block call it, between barriers.
    __device__ int32 list_free(const int32* partner, int32 count, int32* list) const {
        if (warp == 0) {
            int32 found = 0;
            for (int32 first = 0; first < count; first += 32) {
                const int32 i = first + lane;
                const bool is_free = i < count && partner[i] == kFree;
                const uint32 all = __ballot_sync(kAllLanes, is_free);
                if (is_free) list[found + __popc(all & ((1u << lane) - 1))] = i;
                found += __popc(all);
            }
            if (lane == 0) s.waiting[0] = found;
        }
        __syncthreads();
        return s.waiting[0];
    }
    // The smallest of all threads' values, in every thread. A second call needs a barrier before it.
    __device__ Dual least_of_all(Dual value) const {
        const Dual mine = warp_least(value);
        if (lane == 0) s.parts[warp] = mine;
        __syncthreads();
        return warp_least(lane < warps ? s.parts[lane] : infinity<Dual>());
    }

  private:
    const Batch& batch_;
};
