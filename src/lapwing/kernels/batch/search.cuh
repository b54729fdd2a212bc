// Shortest augmenting paths from all free rows at once (step 2 and 3 of batch/block.cuh).
#pragma once

#include "batch/state.cuh"

// A word in whose order labels, which are not negative, are in order, but for neighbours that share one; and the
// smallest label that has it.
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
            for (int32 k = t_.me; k < 2 * kMostPosts; k += T) t_.s.posts[k] = nothing();
            if (t_.me < 2) t_.s.reached_by[t_.me] = 0;
            __syncthreads();
            roots_ = t_.is_square() ? waiting : smaller(waiting, kMostPosts);
            if (!search()) return false;
        }
    }

  private:
    static constexpr int32 kWarps = T / 32;
    static constexpr int32 kPosts = smaller(4, kMostPosts / kWarps);  // of a warp in a step, at most
    static constexpr int32 kAtOnce = 4;                               // posts whose costs a thread loads together
    // Whether posts beyond these are loaded while they are looked at. That copies registers in every step, of which most have no
    // more; but a block that has its multiprocessor alone would wait.
    static constexpr bool kAhead = T >= 512 && K > 1;
    static constexpr int32 kNobody = 0x7fffffff;  // of columns, for a minimum
    static constexpr uint32 kLanes = 31;          // where a key makes room for the number of a lane
    static constexpr int32 kShare = 5;            // one root of so many is to reach a free column before a search ends

    static_assert(kMostPosts == 32 && kMostPosts % kWarps == 0);

    // A place that no key stands for may hold a post of an earlier step: to relax by it again changes nothing.
    struct Costs {
        Dual offset[kAtOnce];
        Stored cost[kAtOnce][K];
    };

    __device__ int32 column(int32 k) const { return t_.me + k * T; }
    __device__ bool present(int32 k) const { return column(k) < t_.cols; }

    __device__ bool search() {
        begin();
        const int32 wanted = t_.is_square() ? (roots_ + kShare - 1) / kShare : 1;
        int32 posted = 0, reached = 0, before = 0;
        Dual level = 0;  // no label below it can change
        for (int32 turn = 0;; turn ^= 1) {
            Post* const posts = t_.s.posts + turn * kMostPosts;
            uint32* const keys = t_.s.keys + turn * kMostPosts;
            if (posted < roots_) {
                post_roots(posts, keys, posted);
                posted += kMostPosts;
            } else {
                post_nearest(posts, keys);
            }
            __syncthreads();
            Costs costs;
            load(costs, posts);
            const uint32 key = keys[t_.lane], nearest = warp_min(key);
            const int32 count = 32 - __clz(static_cast<int32>(__ballot_sync(kAllLanes, key != kNoKey)));
            const int32 now = t_.s.reached_by[turn];
            reached = before + now;
            before = now;
            if (reached >= wanted || nearest == kNoKey) break;
            least_label(nearest & ~kLanes, level);
            relax(costs, posts, count);
            if (t_.priced() && t_.warp == 0) consider_exits(posts, count);
            count_reached(level, t_.s.reached_by[turn ^ 1]);
        }
        if (!t_.is_square() || reached == 0) level = nearest_end();
        if (!(level < infinity<Dual>())) return false;
        finish(level);
        return true;
    }

    __device__ void begin() {
        pending_ = open_ = counted_ = 0;
        exit_label_ = infinity<Dual>();
        exit_row_ = kFree;
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

    __device__ static Post nothing() { return {infinity<Dual>() + infinity<Dual>() / 2, 0, infinity<Dual>(), 0, 0}; }
    // The roots from number `first` on, a thread each.
    __device__ void post_roots(Post* posts, uint32* keys, int32 first) const {
        if (t_.me >= kMostPosts) return;
        const bool is_root = first + t_.me < roots_;
        const int32 i = t_.s.queue[is_root ? first + t_.me : 0];
        if (is_root) posts[t_.me] = {0 - t_.s.row_dual[i], t_.matrix.start(i), 0, i, i};
        keys[t_.me] = is_root ? 0 : kNoKey;
    }
    // A warp's: the pending column with the smallest label, and those of other lanes that share it, which are final if it
    // is. The first place of each warp comes first.
    __device__ void post_nearest(Post* posts, uint32* keys) {
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
        if (t_.lane >= smaller(__popc(equal), kPosts) && t_.lane < kMostPosts / kWarps) {
            keys[t_.lane * kWarps + t_.warp] = kNoKey;
        }
        if (!ties || rank >= kPosts) return;
        const int32 place = rank * kWarps + t_.warp;
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if (slot != k) continue;
            posts[place] = {label_[k] - dual_[k], t_.matrix.start(holder_[k]), label_[k], holder_[k], root_[k]};
            keys[place] = label_key(label_[k]);
        }
        pending_ &= ~(1u << slot);
    }

    // The thread's costs in the rows of kAtOnce posts.
    __device__ void load(Costs& costs, const Post* posts) const {
#pragma unroll
        for (int32 q = 0; q < kAtOnce; ++q) {
            const Stored* const mine = t_.matrix.at(posts[q].start, t_.me);
            costs.offset[q] = posts[q].offset;
#pragma unroll
            for (int32 k = 0; k < K; ++k) costs.cost[q][k] = present(k) ? mine[k * T] : Stored(0);
        }
        __syncwarp();  // keeps the compiler from loading later: all are in flight together
    }
    struct Label {
        Dual label;
        int32 post;
    };
    // The least label that column k gets by one of kCount posts from number q on, as a tree.
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
    // `costs`: those of the first posts.
    __device__ void relax(Costs& costs, const Post* posts, int32 count) {
        Dual best[K];
        int32 via[K];
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            best[k] = label_[k];
            via[k] = kFree;
        }
        for (int32 first = 0;;) {
            Costs next;
            if (kAhead && first + kAtOnce < count) load(next, posts + first + kAtOnce);
#pragma unroll
            for (int32 k = 0; k < K; ++k) {
                const Label nearest = nearest_of<kAtOnce>(costs, k, 0);
                if (nearest.label < best[k]) {
                    best[k] = nearest.label;
                    via[k] = first + nearest.post;
                }
            }
            first += kAtOnce;
            if (first >= count) break;
            if constexpr (kAhead)
                costs = next;
            else
                load(costs, posts + first);
        }
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if (via[k] < 0) continue;
            const Post& post = posts[via[k]];
            const Dual label = best[k] < post.label ? post.label : best[k];  // rounding
            if (!(label < label_[k])) continue;
            label_[k] = label;
            root_[k] = post.root;
            t_.s.from[column(k)] = post.row;
            pending_ |= ~open_ & 1u << k;
        }
    }
    // The first warp's: a lane a post, whose row may exit.
    __device__ void consider_exits(const Post* posts, int32 count) {
        if (t_.lane >= count || !(posts[t_.lane].label < infinity<Dual>())) return;
        const Post& post = posts[t_.lane];
        const Dual exit = t_.s.exit[post.row];
        const Dual x = exit < infinity<Dual>() ? post.offset + exit : infinity<Dual>();
        if (x < exit_label_) {
            exit_label_ = x < post.label ? post.label : x;
            exit_row_ = post.row;
        }
    }
    // Counts roots that have now first reached a free column for certain.
    __device__ void count_reached(Dual level, int32& count) {
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if (((open_ & ~counted_) >> k & 1) != 0 && label_[k] <= level) {
                counted_ |= 1u << k;
                const uint32 root = static_cast<uint32>(root_[k]), bit = 1u << root % 32;
                if ((atomicOr(&t_.s.reached[root / 32], bit) & bit) == 0) atomicAdd(&count, 1);
            }
        }
        if (t_.priced() && exit_label_ <= level && exit_row_ >= 0) atomicAdd(&count, 1);
    }
    // The smallest label of a free column or an exit.
    __device__ Dual nearest_end() {
        Dual least = exit_label_;
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if ((open_ >> k & 1) != 0 && label_[k] < least) least = label_[k];
        }
        return t_.least_of_all(least);
    }

    // Changes the duals up to this level, and flips a path for each root that has one.
    __device__ void finish(Dual level) {
        const BlockState& s = t_.s;
        int32 exits = 0;
        if (t_.priced()) {
            const bool is_end = exit_row_ >= 0 && exit_label_ <= level;
            exits = __syncthreads_or(is_end);
            const uint32 lanes = __ballot_sync(kAllLanes, is_end);
            if (is_end && t_.lane == __ffs(static_cast<int32>(lanes)) - 1) let_exit(exit_row_);
        }
        int32 origin[K];
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            origin[k] = kFree;
            if (!present(k) || !(label_[k] <= level)) continue;
            s.price[column(k)] = price_[k] - (level - label_[k]);
            if ((open_ >> k & 1) == 0 || exits != 0) continue;
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
    // A thread's: the path to column j, which gets the row that labelled it, and so on to the root.
    __device__ void flip(int32 j) const {
        while (j >= 0) {
            const int32 i = t_.s.from[j], before = t_.s.column_of[i];
            t_.s.row_of[j] = i;
            t_.s.column_of[i] = j;
            j = before;
        }
    }
    __device__ void let_exit(int32 row) const {
        const int32 j = t_.s.column_of[row];
        t_.s.column_of[row] = kExited;
        t_.s.row_dual[row] = t_.s.exit[row];
        flip(j);
    }

    const Team<Matrix, T>& t_;
    int32 roots_ = 0;
    // Of the thread's columns, by bit: labelled, and its row not looked at since; without a row; of these, counted.
    uint32 pending_ = 0, open_ = 0, counted_ = 0;
    Dual price_[K], dual_[K], label_[K];  // dual: of the row that holds the column
    int32 holder_[K], root_[K];
    // Of the first warp's lanes: the nearest exit among those of the posts that the lane saw.
    Dual exit_label_ = 0;
    int32 exit_row_ = kFree;
};
