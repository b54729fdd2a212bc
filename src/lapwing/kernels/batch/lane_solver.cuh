// A problem of at most 32 rows and columns in the lanes of a warp, and steps 1 and 2 of its solve (batch/lanes.cu).
#pragma once
#include "batch/proof.cuh"
#include "common/require.cuh"

// Data exchanged between the lanes of a problem.
template <int32 G>
struct LaneMemory {
    Dual cost[G][G + 1];
    Dual price[G];     // by column
    Dual bid[G];       // by row
    int32 partner[G];  // by column; at the end by row of the problem as solved
};

template <int32 G>
class LaneSolver {
  public:
    __device__ LaneSolver(const Batch& batch, LaneMemory<G>& memory, int64 b)
        : batch_(batch), memory_(memory), b_(b), present_(b < batch.count),
          problem_(Problem::of(batch, present_ ? b : 0)), me_(static_cast<int32>(lane_index() % G)),
          base_(lane_index() / G * G), rows_(problem_.rows), cols_(problem_.cols) {
        if (!present_) rows_ = cols_ = 0;
    }

    __device__ void solve() {
        read();
        if (status_ != kSolved) rows_ = cols_ = 0;
        if (batch_.priced == 0) reduce_columns();
        for (int32 round = 0; round < BatchTuning::lane_rounds && __any_sync(kAllLanes, waiting_ != 0); ++round) bid();
        price_ = memory_.price[me_];
        partner_ = memory_.partner[me_];
        set_partner_dual();
        if constexpr (G == 32) {
            search_in_groups();
        } else {
            search();
        }
        write();
    }

  private:
    // All lanes of the warp call these functions; each gets the result of its own problem.
    __device__ uint32 vote(bool holds) const {
        const uint32 all = __ballot_sync(kAllLanes, holds);
        return G == 32 ? all : all >> base_ & kMembers;
    }
    // Whether `holds` is true for any problem of the warp; it must be the same for all lanes of a problem.
    __device__ static bool anywhere(bool holds) { return G == 32 ? holds : __any_sync(kAllLanes, holds) != 0; }
    template <class T>
    __device__ static T from_lane(T value, int32 lane) {
        return __shfl_sync(kAllLanes, value, lane, G);
    }
    __device__ static int32 least_of(int32 x) {
        if constexpr (G == 32) {
            return warp_min(x);
        } else {
#pragma unroll
            for (int32 distance = G / 2; distance > 0; distance /= 2) {
                x = smaller(x, __shfl_xor_sync(kAllLanes, x, distance));
            }
            return x;
        }
    }
    __device__ static int32 first_of(uint32 lanes) { return __ffs(static_cast<int32>(lanes)) - 1; }
    __device__ static uint32 bit(int32 k) { return 1u << k; }

    // Reads every row as it is minimised. Adjacent lanes read adjacent costs.
    __device__ void read() {
        const Dual limit = cost_limit(rows_, cols_);
        const bool along_rows = problem_.rows_are_contiguous();
        const int32 length = along_rows ? cols_ : rows_, lines = length == 0 ? 0 : along_rows ? rows_ : cols_;
        uint32 faults = 0;
        const int64 across = along_rows ? problem_.row_stride : problem_.col_stride;
        const Cost* const mine = problem_.costs + (lines > 0 ? smaller(me_, length - 1) : 0) *
                                                      (along_rows ? problem_.col_stride : problem_.row_stride);
        for (int32 first = 0; __any_sync(kAllLanes, first < lines); first += kLoads) {
            Cost costs[kLoads];
#pragma unroll
            for (int32 k = 0; k < kLoads; ++k) {
                costs[k] = lines > 0 ? mine[smaller(first + k, lines - 1) * across] : Cost{};
            }
            __syncwarp();  // keeps the compiler from loading later, so that all loads are in flight together
#pragma unroll
            for (int32 k = 0; k < kLoads; ++k) {
                const int32 line = first + k;
                const Stored x = problem_.minimised(costs[k]);
                if (line < lines && me_ < length) {
                    faults |= fault_of(x, limit);
                    memory_.cost[along_rows ? line : me_][along_rows ? me_ : line] = x;
                }
            }
        }
        unmatched_price_ = infinity<Dual>();
        if (me_ < rows_) unmatched_price_ = price_of(batch_, b_, me_, limit, faults);
        const bool invalid = vote((faults & kFaultInvalid) != 0) != 0, too_large = vote(faults != 0) != 0;
        status_ = problem_.bad_counts ? kBadCounts
                                      : status_of(invalid     ? kFaultInvalid
                                                  : too_large ? kFaultTooLarge
                                                              : 0);
        waiting_ = vote(me_ < rows_ && status_ == kSolved);
        memory_.price[me_] = 0;
        memory_.partner[me_] = kFree;
        __syncwarp();
    }

    // Step 1 of square problems. Each lane is a column; a row takes the first of the columns whose least cost it has.
    __device__ void reduce_columns() {
        Dual least = infinity<Dual>();
        int32 nearest = kFree;
#pragma unroll 8
        for (int32 i = 0; i < rows_; ++i) {
            const Dual x = memory_.cost[i][me_];
            if (rows_ == cols_ && me_ < cols_ && x < least) {
                least = x;
                nearest = i;
            }
        }
        const bool has = nearest >= 0;
        const uint32 same = __match_any_sync(
            kAllLanes, has ? nearest + static_cast<int32>(base_) : -1 - static_cast<int32>(lane_index()));
        const bool takes = has && first_of(same) == static_cast<int32>(lane_index());
        if (has) memory_.price[me_] = least;
        if (takes) memory_.partner[me_] = nearest;
        waiting_ &= ~matched_rows(takes ? nearest : kFree);
        __syncwarp();
    }
    // The set of the rows given by the lanes.
    __device__ uint32 matched_rows(int32 row) const {
        const uint32 all = warp_or(row >= 0 ? bit(row) << base_ : 0u);
        return G == 32 ? all : all >> base_ & kMembers;
    }

    // Step 2, one round. A lane represents a row, and then a column whose partner may have changed.
    __device__ void bid() {
        const int32 before = memory_.partner[me_];
        const uint32 open = vote(me_ < cols_ && before < 0);
        const bool bids = (waiting_ >> me_ & 1) != 0;
        Dual first = infinity<Dual>(), second = infinity<Dual>();
        int32 column = 0;
        bool opens = false;  // the column
#pragma unroll 8
        for (int32 j = 0; j < cols_; ++j) {
            const Dual x = memory_.cost[me_][j] - memory_.price[j];
            const bool is_open = (open >> j & 1) != 0, nearer = x < first || (x == first && is_open && !opens);
            second = nearer ? first : x < second ? x : second;
            first = nearer ? x : first;
            column = nearer ? j : column;
            opens = nearer ? is_open : opens;
        }
        const bool stays = bids && unmatched_price_ < infinity<Dual>() && unmatched_price_ <= first;
        if (unmatched_price_ < second) second = unmatched_price_;
        const Dual price = memory_.price[column];
        const Dual lowered = second < infinity<Dual>() ? price - (second - first) : price;
        const bool can = bids && !stays && first < infinity<Dual>() && (opens || lowered < price);
        memory_.bid[me_] = lowered;
        __syncwarp();
        const int32 lane = static_cast<int32>(lane_index());
        uint32 rivals = __match_any_sync(kAllLanes, can ? column + static_cast<int32>(base_) : -1 - lane) & ~bit(lane);
        bool wins = can;
        for (; rivals != 0; rivals &= rivals - 1) {
            const int32 other = first_of(rivals) - static_cast<int32>(base_);
            const Dual theirs = memory_.bid[other];
            if (can && (theirs < lowered || (theirs == lowered && other < me_))) wins = false;
        }
        __syncwarp();
        if (wins) {
            memory_.price[column] = lowered;
            memory_.partner[column] = me_;
        }
        __syncwarp();
        const bool changed = memory_.partner[me_] != before;
        waiting_ &= ~vote(wins || stays);
        waiting_ |= matched_rows(changed ? before : kFree);
        __syncwarp();
    }

    // Step 3: batch/lane_search.cuh.
    __device__ void search();
    __device__ void search_in_groups();
    __device__ bool search_from(int32 root);
    __device__ void begin_at(int32 root);
    __device__ void relax_unmatched(int32 row, Dual label, Dual dual);
    __device__ void begin();
    __device__ int32 argmin() const;
    __device__ void augment(bool mine, bool stays, int32 end, Dual level);
    // A word in the order of the labels; some labels share one.
    __device__ static int32 order_key(double label) { return high_word(label); }
    __device__ static int32 order_key(int64 label) { return high_word(static_cast<double>(label)); }
    __device__ void set_partner_dual() { partner_dual_ = partner_ >= 0 ? memory_.cost[partner_][me_] - price_ : 0; }

    // The answer: batch/lane_answer.cuh.
    __device__ void write();
    __device__ void check_invariants(bool solved) const;
    __device__ Dual largest_price() const;
    __device__ int32 status_by_proof(Dual objective) const;

    static constexpr int32 kLanes = 31;  // mask of the bits of a key that hold the number of a lane
    static constexpr int32 kNoKey = 0x7fffffff;
    static constexpr int32 kLoads = smaller(G, BatchTuning::most_lane_loads);
    static constexpr uint32 kMembers = G == 32 ? kAllLanes : (1u << G % 32) - 1;

    const Batch& batch_;
    LaneMemory<G>& memory_;
    const int64 b_;
    const bool present_;
    const Problem problem_;
    const int32 me_;     // number of the lane in its problem: a row, a column
    const uint32 base_;  // the problem's first lane
    int32 rows_, cols_;
    int32 status_ = kSolved;
    uint32 waiting_ = 0;    // the free rows, by bit
    Dual unmatched_price_;  // of row me_
    // The state of column me_.
    Dual price_ = 0, partner_dual_ = 0, distance_ = 0;
    int32 partner_ = kFree;
    int32 from_ = kFree;  // the column through which the distance was found; kFree: the root
    bool in_tree_ = false;
    // The current row of the search, its column, and its distance minus its dual.
    int32 root_ = 0, row_ = 0, column_ = kFree, unmatched_row_ = 0;
    Dual offset_ = 0, unmatched_distance_ = 0;
};
