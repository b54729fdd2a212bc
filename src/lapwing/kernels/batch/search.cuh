// Shortest augmenting paths from all free rows at once (steps 4 and 5 of batch/block.cuh).
#pragma once

#include "batch/state.cuh"

// A word in the order of the labels, which are not negative; adjacent labels may share one. And the smallest label with
// that word.
__device__ inline uint32 label_key(double label) { return static_cast<uint32>(__double2hiint(label)) & 0x7fffffffu; }
__device__ inline uint32 label_key(int64 label) { return label_key(static_cast<double>(label)); }
__device__ inline void least_label(uint32 key, double& label) { label = __hiloint2double(static_cast<int32>(key), 0); }
__device__ inline void least_label(uint32 key, int64& label) {
    constexpr uint32 kRounded = 0x43400000;  // of 2^53: from here on the double may be the larger
    label = static_cast<int64>(__hiloint2double(static_cast<int32>(key >= kRounded ? key - 1 : key), 0));
}

constexpr uint32 kNoKey = kFloating ? 0x7ff00000 : 0x43d00000;  // of infinity

template <class Matrix, int32 K, int32 T>
class Searches {
  public:
    __device__ explicit Searches(const Team<Matrix, T>& team) : t_(team) {}

    // Matches rows until none is free; false if one cannot be. row_dual holds the duals of all rows.
    __device__ bool run() {
        for (;;) {
            const int32 waiting = t_.list_free(t_.s.column_of, t_.rows, t_.s.queue);
            if (waiting == 0) return true;
            for (int32 w = t_.me; w < (t_.rows + 31) / 32; w += T) t_.s.reached[w] = 0;
            for (int32 i = t_.me; i < t_.rows; i += T) t_.s.ends[i] = kNobody;
            for (int32 k = t_.me; k < 2 * kMostFrontier; k += T) t_.s.frontier[k] = nothing();
            if (t_.me < 2) t_.s.reached_by[t_.me] = 0;
            __syncthreads();
            roots_ = t_.is_square() ? waiting : smaller(waiting, kMostFrontier);
            if (!search()) return false;
        }
    }

  private:
    static constexpr int32 kWarps = T / 32;
    static constexpr int32 kFrontierOfWarp = smaller(BatchTuning::warp_frontier, kMostFrontier / kWarps);
    // Whether the next rows are loaded while these are processed. This copies registers in every step, and pays only
    // for a block that has its multiprocessor to itself.
    static constexpr bool kAhead = T >= 512 && K > 1;
    static constexpr int32 kNobody = 0x7fffffff;  // of columns, for a minimum
    static constexpr uint32 kLanes = 31;          // where a key makes room for the number of a lane

    static_assert(kMostFrontier == 32 && kMostFrontier % kWarps == 0);

    // A place with key kNoKey may hold a row of an earlier step; relaxing by it again has no effect.
    struct Costs {
        Dual offset[BatchTuning::frontier_at_once];
        Stored cost[BatchTuning::frontier_at_once][K];
    };

    __device__ int32 column(int32 k) const { return t_.me + k * T; }
    __device__ bool present(int32 k) const { return column(k) < t_.cols; }

    __device__ bool search() {
        begin();
        const int32 wanted = t_.is_square() ? (roots_ + BatchTuning::root_share - 1) / BatchTuning::root_share : 1;
        int32 listed = 0, reached = 0, before = 0;
        Dual level = 0;  // no label below it can change
        for (int32 turn = 0;; turn ^= 1) {
            FrontierRow* const frontier = t_.s.frontier + turn * kMostFrontier;
            uint32* const keys = t_.s.keys + turn * kMostFrontier;
            if (listed < roots_) {
                list_roots(frontier, keys, listed);
                listed += kMostFrontier;
            } else {
                list_nearest(frontier, keys);
            }
            __syncthreads();
            Costs costs;
            load(costs, frontier);
            const uint32 key = keys[t_.lane], nearest = warp_min(key);
            const int32 count = 32 - __clz(static_cast<int32>(__ballot_sync(kAllLanes, key != kNoKey)));
            const int32 now = t_.s.reached_by[turn];
            reached = before + now;
            before = now;
            if (reached >= wanted || nearest == kNoKey) break;
            least_label(nearest & ~kLanes, level);
            relax(costs, frontier, count);
            if (t_.priced() && t_.warp == 0) relax_unmatched(frontier, count);
            count_reached(level, t_.s.reached_by[turn ^ 1]);
        }
        if (!t_.is_square() || reached == 0) level = nearest_end();
        if (!(level < infinity<Dual>())) return false;
        finish(level);
        return true;
    }

    __device__ void begin() {
        pending_ = open_ = counted_ = 0;
        unmatched_label_ = infinity<Dual>();
        unmatched_row_ = kFree;
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            price_[k] = dual_[k] = 0;
            holder_[k] = kFree;
            root_[k] = 0;
            label_[k] = -infinity<Dual>();  // never lowered
            if (present(k)) {
                price_[k] = t_.s.price[column(k)];
                holder_[k] = t_.s.row_of[column(k)];
                label_[k] = infinity<Dual>();
                if (holder_[k] < 0) {
                    open_ |= 1u << k;
                } else {
                    dual_[k] = t_.s.row_dual[holder_[k]];
                }
            }
        }
    }

    __device__ static FrontierRow nothing() {
        return {infinity<Dual>() + infinity<Dual>() / 2, 0, infinity<Dual>(), 0, 0};
    }
    // Lists the roots from number `first` on, one thread each.
    __device__ void list_roots(FrontierRow* frontier, uint32* keys, int32 first) const {
        if (t_.me >= kMostFrontier) return;
        const bool is_root = first + t_.me < roots_;
        const int32 i = t_.s.queue[is_root ? first + t_.me : 0];
        if (is_root) frontier[t_.me] = {0 - t_.s.row_dual[i], t_.matrix.start(i), 0, i, i};
        keys[t_.me] = is_root ? 0 : kNoKey;
    }
    // Called by a warp: lists its pending column with the smallest label, and columns of other lanes with the same key,
    // which are final if it is. Place 0 of every warp precedes place 1 of any.
    __device__ void list_nearest(FrontierRow* frontier, uint32* keys) {
        uint32 key = ~0u;
        int32 slot = kFree;
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            const uint32 other = label_key(label_[k]) & ~kLanes | static_cast<uint32>(t_.lane);
            if ((pending_ >> k & 1) != 0 && other < key) {
                key = other;
                slot = k;
            }
        }
        const uint32 least = warp_min(key);
        const bool ties = slot >= 0 && (key | kLanes) == (least | kLanes);
        const uint32 equal = __ballot_sync(kAllLanes, ties), others = equal & ~(1u << (least & kLanes));
        const int32 rank = key == least ? 0 : 1 + __popc(others & ((1u << t_.lane) - 1));
        if (t_.lane >= smaller(__popc(equal), kFrontierOfWarp) && t_.lane < kMostFrontier / kWarps) {
            keys[t_.lane * kWarps + t_.warp] = kNoKey;
        }
        if (!ties || rank >= kFrontierOfWarp) return;
        const int32 place = rank * kWarps + t_.warp;
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if (slot != k) continue;
            frontier[place] = {label_[k] - dual_[k], t_.matrix.start(holder_[k]), label_[k], holder_[k], root_[k]};
            keys[place] = label_key(label_[k]);
        }
        pending_ &= ~(1u << slot);
    }

    // The thread's costs in the rows of BatchTuning::frontier_at_once frontier.
    __device__ void load(Costs& costs, const FrontierRow* frontier) const {
#pragma unroll
        for (int32 q = 0; q < BatchTuning::frontier_at_once; ++q) {
            const Stored* const mine = t_.matrix.at(frontier[q].start, t_.me);
            costs.offset[q] = frontier[q].offset;
#pragma unroll
            for (int32 k = 0; k < K; ++k) costs.cost[q][k] = present(k) ? mine[k * T] : Stored(0);
        }
        __syncwarp();  // keeps the compiler from loading later, so that all loads are in flight together
    }
    struct Label {
        Dual label;
        int32 place;  // in the frontier
    };
    // The least label that column k gets by one of kCount frontier rows from number q on; the minimum is a tree.
    template <int32 kCount>
    __device__ Label nearest_of(const Costs& costs, int32 k, int32 q) const {
        if constexpr (kCount == 1) {
            return {costs.offset[q] + (Dual(costs.cost[q][k]) - price_[k]), q};
        } else {
            const Label a = nearest_of<kCount / 2>(costs, k, q);
            const Label b = nearest_of<kCount / 2>(costs, k, q + kCount / 2);
            return b.label < a.label ? b : a;
        }
    }
    // `costs`: those of the first rows of the frontier.
    __device__ void relax(Costs& costs, const FrontierRow* frontier, int32 count) {
        Dual best[K];
        int32 via[K];
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            best[k] = label_[k];
            via[k] = kFree;
        }
        for (int32 first = 0;;) {
            Costs next;
            if (kAhead && first + BatchTuning::frontier_at_once < count)
                load(next, frontier + first + BatchTuning::frontier_at_once);
#pragma unroll
            for (int32 k = 0; k < K; ++k) {
                const Label nearest = nearest_of<BatchTuning::frontier_at_once>(costs, k, 0);
                if (nearest.label < best[k]) {
                    best[k] = nearest.label;
                    via[k] = first + nearest.place;
                }
            }
            first += BatchTuning::frontier_at_once;
            if (first >= count) break;
            if constexpr (kAhead)
                costs = next;
            else
                load(costs, frontier + first);
        }
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if (via[k] < 0) continue;
            const FrontierRow& row = frontier[via[k]];
            const Dual label = best[k] < row.label ? row.label : best[k];  // rounding
            if (!(label < label_[k])) continue;
            label_[k] = label;
            root_[k] = row.root;
            t_.s.from[column(k)] = row.row;
            pending_ |= ~open_ & 1u << k;
        }
    }
    // Called by the first warp, one lane per frontier row: finds the label at which the row stays unmatched.
    __device__ void relax_unmatched(const FrontierRow* frontier, int32 count) {
        if (t_.lane >= count || !(frontier[t_.lane].label < infinity<Dual>())) return;
        const FrontierRow& row = frontier[t_.lane];
        const Dual unmatched_price = t_.s.unmatched_price[row.row];
        const Dual x = unmatched_price < infinity<Dual>() ? row.offset + unmatched_price : infinity<Dual>();
        if (x < unmatched_label_) {
            unmatched_label_ = x < row.label ? row.label : x;
            unmatched_row_ = row.row;
        }
    }
    // Counts roots whose first free column has a final label since this step.
    __device__ void count_reached(Dual level, int32& count) {
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if (((open_ & ~counted_) >> k & 1) != 0 && label_[k] <= level) {
                counted_ |= 1u << k;
                const uint32 root = static_cast<uint32>(root_[k]), bit = 1u << root % 32;
                if ((atomicOr(&t_.s.reached[root / 32], bit) & bit) == 0) atomicAdd(&count, 1);
            }
        }
        if (t_.priced() && unmatched_label_ <= level && unmatched_row_ >= 0) atomicAdd(&count, 1);
    }
    // The smallest label of a free column, or of leaving a row unmatched.
    __device__ Dual nearest_end() {
        Dual least = unmatched_label_;
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if ((open_ >> k & 1) != 0 && label_[k] < least) least = label_[k];
        }
        return t_.least_of_all(least);
    }

    // Changes the duals up to `level`, and flips one path for each root that has one.
    __device__ void finish(Dual level) {
        const BlockState& s = t_.s;
        int32 stays = 0;
        if (t_.priced()) {
            const bool is_end = unmatched_row_ >= 0 && unmatched_label_ <= level;
            stays = __syncthreads_or(is_end);
            const uint32 lanes = __ballot_sync(kAllLanes, is_end);
            if (is_end && t_.lane == __ffs(static_cast<int32>(lanes)) - 1) leave_unmatched(unmatched_row_);
        }
        int32 origin[K];
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            origin[k] = kFree;
            if (!present(k) || !(label_[k] <= level)) continue;
            s.price[column(k)] = price_[k] - (level - label_[k]);
            if ((open_ >> k & 1) == 0 || stays != 0) continue;
            origin[k] = origin_of(column(k));
            atomicMin(&s.ends[origin[k]], column(k));
        }
        __syncthreads();
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if (origin[k] >= 0 && s.ends[origin[k]] == column(k)) flip(column(k));
        }
        __syncthreads();
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if (!present(k) || !(label_[k] <= level)) continue;
            const int32 i = s.row_of[column(k)];
            if (i >= 0) s.row_dual[i] = Dual(t_.cost(i, column(k))) - s.price[column(k)];
        }
        for (int32 r = t_.me; r < roots_; r += T) {
            const int32 i = s.queue[r];
            if (s.column_of[i] == kFree) s.row_dual[i] += level;
        }
        __syncthreads();
    }
    __device__ int32 origin_of(int32 j) const {
        for (;;) {
            const int32 i = t_.s.from[j];
            j = t_.s.column_of[i];
            if (j < 0) return i;
        }
    }
    // Called by one thread: matches column j to the row that labelled it, and so on along the path to the root.
    __device__ void flip(int32 j) const {
        while (j >= 0) {
            const int32 i = t_.s.from[j], before = t_.s.column_of[i];
            t_.s.row_of[j] = i;
            t_.s.column_of[i] = j;
            j = before;
        }
    }
    __device__ void leave_unmatched(int32 row) const {
        const int32 j = t_.s.column_of[row];
        t_.s.column_of[row] = kUnmatched;
        t_.s.row_dual[row] = t_.s.unmatched_price[row];
        flip(j);
    }

    const Team<Matrix, T>& t_;
    int32 roots_ = 0;
    // By bit of the thread's columns: labelled and not listed since (pending); free (open); free and counted.
    uint32 pending_ = 0, open_ = 0, counted_ = 0;
    Dual price_[K], dual_[K], label_[K];  // dual: of the row that holds the column
    int32 holder_[K], root_[K];
    // The smallest label at which a row stays unmatched, and that row; in the lanes of the first warp.
    Dual unmatched_label_ = 0;
    int32 unmatched_row_ = kFree;
};
