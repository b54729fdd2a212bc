// Problems of at most 32 rows and columns: G = 8, 16 or 32 lanes of a warp solve one, and a warp solves 32 / G side by
// side.
//
// Method: Jonker and Volgenant (Computing 38, 1987; cpp/include/lapwing/jv/jv.inc.hpp), in parallel:
//   1. Column reduction (square problems): one lane a column.
//   2. Augmenting row reduction: one lane a row. All free rows bid at once under the same prices; the best bid for a
//      column wins, the lower row among equals. BatchTuning::lane_rounds rounds halve the steps of the searches; more
//      gain nothing.
//   3. Shortest augmenting paths, one free row after the other: one lane a column, with its price, distance and partner
//      in registers. A step is a chain of latencies: the smallest distance (one 32-bit reduction of its high word; the
//      low word and the preference for free columns decide among equals), its lane (a vote), that lane's values
//      (shuffles), the costs of its row (one load from shared memory), the new distances. A problem that has a warp to
//      itself (G = 32) relaxes by four columns a step, which share these latencies.
// The problems of a warp step together; a warp ends with its hardest problem. Blocks are small, and the hardware queues
// them.
//
// Cost: every cost is read once, 16 loads of a lane in flight; 8 (G + 1) bytes of shared memory a row; no barrier of
// the block. On an H200 (1.98 GHz) a reduction takes 48 cycles, a shuffle 39, a vote 29, a load from shared memory 33,
// and a warp alone issues an instruction every four cycles. The hardest of a thousand 32 x 32 problems takes 104 steps
// of one column and 56 of four if costs are uniform, 210 and 140 if they are geometric, 48 and 18 if they are integers
// up to 3.
#include "batch/proof.cuh"
#include "common/require.cuh"

// The exchange between the lanes of a problem.
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
    // All lanes of the warp call these; each gets what concerns its own problem.
    __device__ uint32 vote(bool holds) const {
        const uint32 all = __ballot_sync(kAllLanes, holds);
        return G == 32 ? all : all >> base_ & kMembers;
    }
    // Whether it holds for a problem of the warp, if it holds for all lanes of a problem or none.
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

    // Every row as it is minimised; neighbouring lanes read neighbouring costs.
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
            __syncwarp();  // keeps the compiler from loading later: all are in flight together
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

    // Step 1, of square problems. A lane is a column; a row takes the first of the columns that it is nearest to.
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
    // The set of the rows that are named, by one lane each.
    __device__ uint32 matched_rows(int32 row) const {
        const uint32 all = warp_or(row >= 0 ? bit(row) << base_ : 0u);
        return G == 32 ? all : all >> base_ & kMembers;
    }

    // Step 2, one round. A lane is a row, and afterwards a column that may have changed hands.
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

    // Step 3. A lane is a column.
    __device__ void search() {
        bool searching = false;
        for (;;) {
            if (!searching && waiting_ != 0) {
                searching = true;
                begin();
            }
            if (!anywhere(searching)) return;
            if (searching && !in_tree_) {
                const Dual x = offset_ + (memory_.cost[row_][me_] - price_);
                if (x < distance_) {
                    distance_ = x;
                    from_ = column_;
                }
            }
            const int32 nearest = argmin();
            const Dual level = from_lane(in_tree_ ? infinity<Dual>() : distance_, nearest);
            const Dual next_offset = from_lane(distance_ - partner_dual_, nearest);
            const int32 next_row = from_lane(partner_, nearest);
            if (batch_.priced != 0) {
                const Dual price = from_lane(unmatched_price_, row_);
                if (price < infinity<Dual>() && offset_ + price < unmatched_distance_) {
                    unmatched_distance_ = offset_ + price;
                    unmatched_row_ = row_;
                }
            }
            const bool dry = !(level < infinity<Dual>()) && !(unmatched_distance_ < infinity<Dual>());
            const bool stays = !dry && unmatched_distance_ <= level;
            const bool ends = searching && (dry || stays || next_row < 0);
            if (searching && !ends) {
                if (me_ == nearest) in_tree_ = true;
                row_ = next_row;
                column_ = nearest;
                offset_ = next_offset;
            }
            if (anywhere(ends)) {
                if (ends && dry) {
                    status_ = kInfeasible;
                    waiting_ = 0;
                }
                augment(ends && !dry, stays, nearest, stays ? unmatched_distance_ : level);
                if (ends) searching = false;
            }
        }
    }
    // Step 3 of a problem that has a warp to itself: four columns are looked at in a step, the nearest of each fourth
    // of the lanes, since their latencies overlap. Labels may fall again after that (Bellman-Ford, nearly in the order
    // of Dijkstra's method), so a search ends when no column with a smaller label than its end's waits to be looked at.
    __device__ void search_in_groups() {
        for (; waiting_ != 0; waiting_ &= waiting_ - 1) {
            if (search_from(first_of(waiting_))) continue;
            status_ = kInfeasible;
            waiting_ = 0;
            return;
        }
    }
    __device__ bool search_from(int32 root) {
        const bool present = me_ < cols_, open = partner_ < 0;
        begin_at(root);
        bool pending = !open && distance_ < infinity<Dual>();
        for (;;) {
            const int32 key = order_key(distance_) & ~kLanes | me_;
            const bool ends = present && open && distance_ < infinity<Dual>();
            int32 least[BatchTuning::lane_columns];
#pragma unroll
            for (int32 g = 0; g < BatchTuning::lane_columns; ++g)
                least[g] = warp_min(pending && me_ % BatchTuning::lane_columns == g ? key : kNoKey);
            int32 end = warp_min(ends ? key : kNoKey), nearest = least[0];
#pragma unroll
            for (int32 g = 1; g < BatchTuning::lane_columns; ++g) nearest = smaller(nearest, least[g]);
            if (unmatched_distance_ < infinity<Dual>()) end = smaller(end, order_key(unmatched_distance_));
            if ((end | kLanes) <= (nearest | kLanes)) {
                const Dual ended = warp_least(ends ? distance_ : infinity<Dual>());
                const Dual waits = warp_least(pending ? distance_ : infinity<Dual>());
                const bool stays = unmatched_distance_ <= ended;
                const Dual level = stays ? unmatched_distance_ : ended;
                if (level <= waits) {
                    if (!(level < infinity<Dual>())) return false;
                    augment(true, stays, first_of(vote(ends && distance_ == level)), level);
                    return true;
                }
            }
            Dual label[BatchTuning::lane_columns], dual[BatchTuning::lane_columns], cost[BatchTuning::lane_columns];
            int32 row[BatchTuning::lane_columns];
#pragma unroll
            for (int32 g = 0; g < BatchTuning::lane_columns; ++g) {
                const int32 lane = least[g] & kLanes;
                row[g] = larger(from_lane(partner_, lane), 0);
                label[g] = from_lane(distance_, lane);
                dual[g] = from_lane(partner_dual_, lane);
                cost[g] = memory_.cost[row[g]][me_];
                if (least[g] == kNoKey) label[g] = infinity<Dual>();
                if (key == least[g]) pending = false;
            }
            if (batch_.priced != 0) {
#pragma unroll
                for (int32 g = 0; g < BatchTuning::lane_columns; ++g) relax_unmatched(row[g], label[g], dual[g]);
            }
#pragma unroll
            for (int32 g = 0; g < BatchTuning::lane_columns; ++g) {
                const Dual x = label[g] + reduced(cost[g], price_, dual[g]);
                if (present && x < distance_) {
                    distance_ = x;
                    from_ = least[g] & kLanes;
                    pending = !open;
                }
            }
        }
    }
    __device__ void begin_at(int32 root) {
        root_ = unmatched_row_ = root;
        from_ = kFree;
        in_tree_ = true;
        unmatched_distance_ = batch_.priced != 0 ? from_lane(unmatched_price_, root) : infinity<Dual>();
        distance_ = me_ < cols_ ? memory_.cost[root][me_] - price_ : infinity<Dual>();
    }
    __device__ void relax_unmatched(int32 row, Dual label, Dual dual) {
        const Dual unmatched_price = from_lane(unmatched_price_, row);
        if (!(unmatched_price < infinity<Dual>()) || !(label < infinity<Dual>())) return;
        const Dual x = label + reduced(unmatched_price, 0, dual);
        if (x < unmatched_distance_) {
            unmatched_distance_ = x;
            unmatched_row_ = row;
        }
    }
    // A word in whose order labels are, but for some that share one.
    __device__ static int32 order_key(double label) { return high_word(label); }
    __device__ static int32 order_key(int64 label) { return high_word(static_cast<double>(label)); }

    __device__ void begin() {
        root_ = row_ = first_of(waiting_);
        waiting_ &= waiting_ - 1;
        column_ = kFree;
        offset_ = 0;
        distance_ = unmatched_distance_ = infinity<Dual>();
        unmatched_row_ = root_;
        in_tree_ = me_ >= cols_;
    }
    // The column outside the tree with the smallest distance; among equals an open one, then the first.
    __device__ int32 argmin() const {
        constexpr int32 kOutside = 0x7fffffff;
        const int32 high = in_tree_ ? kOutside : high_word(distance_);
        uint32 best = vote(high == least_of(high));
        const bool several = (best & (best - 1)) != 0;
        if (anywhere(several)) {
            const bool in = (best >> me_ & 1) != 0;
            const int32 low = in ? static_cast<int32>(low_word(distance_) ^ (1u << 31)) : 0x7fffffff;
            const int32 least = least_of(low);
            best = vote(in && low == least);
            const uint32 open = best & vote(partner_ < 0);
            if (open != 0) best = open;
        }
        return first_of(best);
    }
    // Lowers the prices in the tree, and flips the path to column `end`, or to the partner of the row that stays
    // unmatched.
    __device__ void augment(bool mine, bool stays, int32 end, Dual level) {
        if (mine && in_tree_ && me_ < cols_ && distance_ < level) price_ -= level - distance_;
        const uint32 leaves = vote(partner_ == unmatched_row_);
        int32 j = !mine ? kFree : stays ? first_of(leaves) : end;
        while (anywhere(j >= 0)) {
            const int32 before = from_lane(from_, larger(j, 0));
            const int32 row = from_lane(partner_, larger(before, 0));
            if (j >= 0 && me_ == j) partner_ = before < 0 ? root_ : row;
            if (j >= 0) j = before;
        }
        if (mine) set_partner_dual();
    }
    __device__ void set_partner_dual() { partner_dual_ = partner_ >= 0 ? memory_.cost[partner_][me_] - price_ : 0; }

    // From columns back to rows, and to the user's orientation and sense.
    __device__ void write() {
        const bool solved = status_ == kSolved, maximize = problem_.maximize, transposed = problem_.transposed;
        const int32 partner = solved ? partner_ : kFree;
        __syncwarp();
        memory_.partner[me_] = kFree;
        memory_.bid[me_] = unmatched_price_;
        __syncwarp();
        if (partner >= 0) {
            memory_.partner[partner] = me_;
            memory_.bid[partner] = partner_dual_;
        }
        __syncwarp();
        check_invariants(solved && present_);
        const int32 column = memory_.partner[me_];
        const Dual row_dual = user_row_dual(me_ < rows_ ? memory_.bid[me_] : 0, maximize);
        const Dual col_dual = user_col_dual(price_, maximize);
        Dual part = 0;
        if (solved && me_ < rows_)
            part = user_cost(column >= 0 ? memory_.cost[me_][column] : unmatched_price_, maximize);
#pragma unroll
        for (int32 distance = G / 2; distance > 0; distance /= 2) part += __shfl_xor_sync(kAllLanes, part, distance);
        if constexpr (kFloating) {
            const Dual largest = largest_price();
            const bool doubtful = solved && !are_small(largest, part);
            if (__any_sync(kAllLanes, doubtful)) {
                const int32 status = status_by_proof(part);
                if (doubtful) status_ = status;
            }
        }
        if (!present_) return;
        if (me_ == 0) {
            batch_.objective[b_] = solved ? part : no_objective();
            batch_.status[b_] = status_;
        }
        const bool is_row = solved && me_ < rows_, is_col = solved && me_ < cols_;
        if (me_ < batch_.rows) {
            batch_.row_to_col[b_ * batch_.rows + me_] = transposed ? partner : column;
            if (batch_.u != nullptr) {
                const bool has = transposed ? is_col : is_row;
                batch_.u[b_ * batch_.rows + me_] = has ? (transposed ? col_dual : row_dual) : 0;
            }
        }
        if (batch_.v != nullptr && me_ < batch_.cols) {
            const bool has = transposed ? is_row : is_col;
            batch_.v[b_ * batch_.cols + me_] = has ? (transposed ? row_dual : col_dual) : 0;
        }
    }

    // On the emulator: this lane's column, if it is matched, is tight, and its pairs are feasible with the duals of the
    // rows in memory_.bid.
    __device__ void check_invariants([[maybe_unused]] bool solved) const {
#ifdef LAPWING_CHECK_INVARIANTS
        for (int32 i = 0; solved && me_ < cols_ && i < rows_; ++i) {
            const Dual cost = memory_.cost[i][me_], u = memory_.bid[i];
            if (i == partner_) require(u == cost - price_, "a matched pair is tight");
            require(is_feasible(cost, u, price_), "the duals are feasible");
        }
#endif
    }

    // The largest magnitude among the prices of columns, in every lane of the problem; its first 20 digits.
    __device__ Dual largest_price() const {
        const int32 mine = me_ < cols_ ? __double2hiint(magnitude(price_)) : 0;
        return __hiloint2double(-least_of(-mine), 0);
    }
    // The status of an answer whose prices are large; the duals of rows are in memory_.bid. Called by whole warps.
    __device__ int32 status_by_proof(Dual objective) const {
        const bool is_col = me_ < cols_, all_match = rows_ == cols_ && batch_.priced == 0;
        const Dual price = is_col ? price_ : 0;
        Dual violation = all_match ? Dual(0) : larger(price, Dual(0)), gap = 0;
#pragma unroll 1
        for (int32 i = 0; i < rows_; ++i) {
            const Dual c = is_col ? memory_.cost[i][me_] : infinity<Dual>();
            if (c < infinity<Dual>()) violation = larger(violation, sum_up(memory_.bid[i], price, -c));
        }
        if (is_col && partner_ < 0) gap = -price;
        if (is_col && partner_ >= 0) gap = sum_up(memory_.cost[partner_][me_], -memory_.bid[partner_], -price);
        if (me_ < rows_ && unmatched_price_ < infinity<Dual>()) {
            const Dual over = sum_up(memory_.bid[me_], -unmatched_price_, 0);
            violation = larger(violation, over);
            if (memory_.partner[me_] < 0) gap = add_up(gap, -over);
        }
#pragma unroll
        for (int32 distance = G / 2; distance > 0; distance /= 2) {
            gap = add_up(gap, __shfl_xor_sync(kAllLanes, gap, distance));
            violation = larger(violation, __shfl_xor_sync(kAllLanes, violation, distance));
        }
        return proven_status(gap, violation, rows_, objective, kTrusted);
    }

    static constexpr int32 kLanes = 31;  // where a key makes room for the number of a lane
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
    // Of column me_.
    Dual price_ = 0, partner_dual_ = 0, distance_ = 0;
    int32 partner_ = kFree;
    int32 from_ = kFree;  // the column through which the distance was found; kFree: the root
    bool in_tree_ = false;
    // Of the search: the row that is looked at, its column, and its distance less its dual.
    int32 root_ = 0, row_ = 0, column_ = kFree, unmatched_row_ = 0;
    Dual offset_ = 0, unmatched_distance_ = 0;
};

template <int32 G>
__device__ void solve_in_lanes(const Batch& batch) {
    constexpr int32 kProblems = WARPS * 32 / G;  // in a block
    __shared__ LaneMemory<G> memory[kProblems];
    const int32 place = static_cast<int32>(threadIdx.x) / G;
    LaneSolver<G>(batch, memory[place], blockIdx.x * static_cast<int64>(kProblems) + place).solve();
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) solve_in_8_lanes(BATCH_PARAMETERS) {
    solve_in_lanes<8>(Batch{BATCH_ARGUMENTS});
}
extern "C" __global__ void __launch_bounds__(32 * WARPS) solve_in_16_lanes(BATCH_PARAMETERS) {
    solve_in_lanes<16>(Batch{BATCH_ARGUMENTS});
}
extern "C" __global__ void __launch_bounds__(32 * WARPS) solve_in_32_lanes(BATCH_PARAMETERS) {
    solve_in_lanes<32>(Batch{BATCH_ARGUMENTS});
}
