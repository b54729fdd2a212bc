// The slacks of "munkres" (reference/munkres.cu), and the steps that change them. In every task a warp owns a row of
// slacks.
#pragma once
#include "reference/hungarian_run.cuh"

namespace hungarian {

// Slacks of integers usually fit 4 bytes. If not (SolveStatus::unfinished), WIDE is 1.
template <class D, bool wide>
struct SlackOf {
    using type = D;
};
template <>
struct SlackOf<int64, false> {
    using type = int32;
};
using Slack = SlackOf<Dual, WIDE != 0>::type;

constexpr uint32 kReductions = STAGE_REDUCTIONS, kFused = STAGE_FUSED, kRegisters = STAGE_REGISTERS;
constexpr uint32 kBarrier = STAGE_BARRIER, kRegret = START_BY_REGRET;

class Munkres {
  public:
    static constexpr bool keeps_slacks = false, lists_anew = false;

    // slacks: [rows][pitch] elements of the real columns; rows begin at 16-byte boundaries. few: an iteration that
    // matches fewer rows is the last; 0: no such limit.
    __device__ Munkres(unsigned char* slacks, int64 pitch, int64 stages, int64 few, bool by_task)
        : slacks_(reinterpret_cast<Slack*>(slacks)), pitch_(pitch), stages_(static_cast<uint32>(stages)),
          few_(static_cast<uint32>(few)), by_task_(by_task) {}

    __device__ void match_more() const {}
    __device__ bool levels_by_task() const { return by_task_; }
    __device__ bool updates_more() const { return !has(kFused); }
    __device__ static Dual theta_after(Dual theta, Dual least) { return theta + least; }

    // Step 4. If the host launches every task, one level per launch.
    __device__ void grow() const { hungarian::grow(*this, by_task_ ? 1 : ~0u); }
    // Decides whether to continue with shortest paths.
    __device__ void settle() const {
        Board& board = *forest().board;
        if (is_first_thread()) board.few = board.goals < few_ && board.goals < board.free_rows;
    }

    // Computes the slacks, and lists the zeros of every row.
    __device__ void list() const {
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        constexpr int32 width = kWarp * kPackCols;
        bool fits = true;
        uint32 listed = 0;
        each_warp(matrix.rows, [&](uint64 row) {
            const int32 i = static_cast<int32>(row);
            Dual second = infinity<Dual>();  // least of the slacks that are not zero
            const Dual u = __ldcg(h.core.u + i);
            Dual unmatched = 1;
            if (has_unmatched_column(matrix, i)) {
                unmatched = matrix.prices[i] - u;
                if (lane_index() == 0) __stcg(h.unmatched_slack + i, unmatched);
            }
            list_tight_row(i, unmatched == Dual(0), [&](TightList& list, int32 begin, int32 end) {
                for_packs(matrix, i, begin / width * width, end, width, h.core.v,
                          [&](int32 j, const Dual(&reduced)[kPackCols]) {
                              uint32 bits = 0;
                              Slack values[kPackCols];
#pragma unroll
                              for (int32 k = 0; k < kPackCols; ++k) {
                                  const Dual slack = reduced[k] - u;
                                  const bool inside = j + k >= begin && j + k < end;
                                  fits = fits && (!inside || slack <= most());
                                  second = inside && slack > Dual(0) && slack < second ? slack : second;
                                  values[k] = slack > Dual(0) ? static_cast<Slack>(slack) : Slack(0);
                                  if (inside && values[k] == Slack(0)) bits |= 1u << k;
                              }
                              if (j < matrix.real_cols()) store(i, j, values);
                              list.add(j, bits);
                              count_zeros(bits);
                          });
            });
            __syncwarp();
            listed += __ldcg(h.tight_count + i);
            if (!has(kRegret)) return;
            const uint32 zeros = __ldcg(h.tight_count + i);
            second = from_order<Dual>(warp_min(ordered(second)));
            if (lane_index() == 0) __stcg(h.regret + i, zeros > 1 ? 0.0f : static_cast<float>(second));
        });
        note_overflow(!fits);
        count_listed(listed);
        if (is_first_thread()) h.board->scanned += matrix.rows;
    }

    // f(j) for the open columns of row i with slack zero, or f(-1) for lanes without one. All threads of block 0 call
    // it together.
    template <class F>
    __device__ void visit_tight(int32 i, Dual, F f) const {
        const Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        const int32 cols = matrix.real_cols();
        for (int32 base = threadIdx.x; base - static_cast<int32>(lane_index()) < cols; base += blockDim.x) {
            const bool zero = base < cols && __ldcg(row_of(i) + base) == Slack(0);
            f(zero && is_open(h, base) ? base : kNone);
        }
        if (threadIdx.x >= kWarp) return;
        const int32 unmatched = cols + i;
        const bool zero =
            lane_index() == 0 && has_unmatched_column(matrix, i) && __ldcg(h.unmatched_slack + i) == Dual(0);
        f(zero && is_open(h, unmatched) ? unmatched : kNone);
    }

    // Step 6, first half: the least uncovered slack. A warp takes a chunk of a row.
    __device__ void least() const {
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        constexpr int32 chunk_cols = kChunkPacks * kWarp * kSlackCols;
        const int32 cols = matrix.real_cols();
        const uint32 chunks = (cols + chunk_cols - 1) / chunk_cols;
        Dual best = infinity<Dual>();
        each_warp(static_cast<uint64>(__ldcg(&h.board->forest_rows)) * chunks, [&](uint64 unit) {
            const int32 i = __ldcg(h.in_forest + unit / chunks), first = static_cast<int32>(unit % chunks) * chunk_cols;
            for_slacks(i, first, first + chunk_cols < cols ? first + chunk_cols : cols,
                       [&](int32 j, Pack<Slack>& pack) {
                           const uint32 open = open_bits(j);
#pragma unroll
                           for (int32 k = 0; k < kSlackCols; ++k) {
                               if ((open >> k & 1) && pack.values[k] < best) best = pack.values[k];
                           }
                       });
            if (first == 0 && lane_index() == 0 && has_unmatched_column(matrix, i)) {
                const Dual unmatched = __ldcg(h.unmatched_slack + i);
                best = unmatched < best ? unmatched : best;
            }
        });
        lower_least(ordered(best), &h.board->least);
    }

    // Step 6, second half: updates slacks, duals and, with stage `fused`, the lists of zeros.
    __device__ void update() const {
        Forest& h = forest();
        const Dual step = from_order<Dual>(__ldcg(&h.board->least));
        change_rows(step, true, has(kFused));
        each_thread(__ldcg(&h.board->reached_cols), [&](uint32 at) {
            const int32 j = __ldcg(h.reached_cols + at);
            __stcg(h.core.v + j, __ldcg(h.core.v + j) - step);
        });
    }
    // Without stage `fused`: lists the zeros of all rows.
    __device__ void update_more() const { change_rows(Dual(0), false, true); }

  private:
    static constexpr int32 kSlackCols = Pack<Slack>::size, kAhead = 4;  // packs that are loaded at once

    __device__ bool has(uint32 stage) const { return (stages_ & stage) != 0; }
    __device__ Slack* row_of(int32 i) const { return slacks_ + i * pitch_; }
    // The largest slack that fits.
    __device__ static Dual most() {
        if constexpr (sizeof(Slack) < sizeof(Dual)) return 0x7fffffff;
        return infinity<Dual>();
    }
    __device__ static void note_overflow(bool overflows) {
        if (overflows) atomicExch(&forest().board->overflow, 1u);
    }
    // A pack of costs corresponds to half a pack of slacks, one, or two. All of it is in the row or in its padding up
    // to the pitch.
    __device__ void store(int32 i, int32 j, const Slack (&values)[kPackCols]) const {
        if constexpr (kSlackCols > kPackCols) {
            *reinterpret_cast<int64*>(row_of(i) + j) =
                static_cast<int64>(static_cast<uint64>(values[1]) << 32 | static_cast<uint32>(values[0]));
        } else {
#pragma unroll
            for (int32 k = 0; k < kPackCols; k += kSlackCols) {
                Pack<Slack> pack;
#pragma unroll
                for (int32 l = 0; l < kSlackCols; ++l) pack.values[l] = values[k + l];
                *reinterpret_cast<Pack<Slack>*>(row_of(i) + j + k) = pack;
            }
        }
    }
    // A bit for each column of a pack of slacks that is outside the forest; 0 past the end of a row.
    __device__ static uint32 open_bits(int32 j) {
        const Forest& h = forest();
        const int32 cols = h.core.matrix.real_cols();
        Dual v[kSlackCols];
        load_by_col(h.open_v, j, cols, v);
        uint32 bits = 0;
#pragma unroll
        for (int32 k = 0; k < kSlackCols; ++k)
            if (j + k < cols && v[k] > -infinity<Dual>()) bits |= 1u << k;
        return bits;
    }
    // f(first column, slacks) for a lane's packs of row i from `begin`, which begins a pack of lane 0, to `end`. All
    // lanes call f together.
    template <class F>
    __device__ void for_slacks(int32 i, int32 begin, int32 end, F f) const {
        constexpr int32 ahead = kAhead, width = kWarp * kSlackCols;
        const int32 lane_begin = begin + static_cast<int32>(lane_index()) * kSlackCols;
        const int32 cols = forest().core.matrix.real_cols();
#pragma unroll 1
        for (int32 base = 0; begin + base < end; base += ahead * width) {
            Pack<Slack> pack[ahead];
#pragma unroll
            for (int32 a = 0; a < ahead; ++a) {
                const int32 j = lane_begin + base + a * width;
                if (j < cols) pack[a] = load(row_of(i) + j);
            }
#pragma unroll
            for (int32 a = 0; a < ahead; ++a) f(lane_begin + base + a * width, pack[a]);
        }
    }
    __device__ static Pack<Slack> load(const Slack* from) {
        const longlong2 words = __ldcg(reinterpret_cast<const longlong2*>(from));
        Pack<Slack> pack;
        memcpy(&pack, &words, sizeof pack);
        return pack;
    }

    // Whether row i may stay free at slack zero. If this is new, its unmatched column is added to the forest later.
    __device__ bool unmatched_slack_vanishes(int32 i, bool grows) const {
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        if (!has_unmatched_column(matrix, i) || __ldcg(h.unmatched_slack + i) != Dual(0)) return false;
        const int32 unmatched = matrix.real_cols() + i;
        relax<true>(&h.board->new_cols, i, grows && lane_index() == 0 && is_open(h, unmatched) ? unmatched : kNone);
        return true;
    }

    // changes: changes all affected slacks by `step`. lists: lists the zeros of all rows where they may have changed.
    LAPWING_NOINLINE __device__ void change_rows(Dual step, bool changes, bool lists) const {
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        const uint32 reached = __ldcg(&h.board->reached_cols);
        const bool few = changes && reached < static_cast<uint32>(matrix.real_cols()) / HungarianTuning::few_cols;
        const bool paced = changes && lists && has(kBarrier);
        uint32 listed = 0;
        const auto change = [&](int32 i) {
            const bool grows = __ldcg(h.root + i) >= 0;
            if (grows && changes) {
                if (lane_index() == 0) {
                    __stcg(h.core.u + i, __ldcg(h.core.u + i) + step);
                    if (has_unmatched_column(matrix, i))
                        __stcg(h.unmatched_slack + i, __ldcg(h.unmatched_slack + i) - step);
                }
                __syncwarp();
            }
            uint32 barriers = 0;
            if (!grows && few && (!lists || __ldcg(h.tight_count + i) <= kTight))
                change_cols(i, step, reached, lists);
            else
                list_tight_row(i, lists && unmatched_slack_vanishes(i, grows),
                               [&](TightList& list, int32 begin, int32 end) {
                                   barriers += change_row(i, grows, step, begin, end, changes, lists, list);
                               });
            __syncwarp();
            if (lists) listed += __ldcg(h.tight_count + i);
            return barriers;
        };
        const uint64 rows = matrix.rows;
#pragma unroll 1
        for (uint64 base = 0; base < rows; base += grid_warps()) {
            const uint64 row = base + grid_warp();
            uint32 barriers = row < rows ? change(static_cast<int32>(row)) : 0;
            if (!paced) continue;
            for (; barriers < most_barriers(matrix.real_cols()); ++barriers) __syncthreads();
        }
        if (lists) count_listed(listed);
    }
    // Stage `reductions` is off: every listed zero adds to a contended counter in global memory.
    __device__ void count_zeros(uint32 bits) const {
        if (has(kReductions)) return;
        for (; bits != 0; bits &= bits - 1) add_in_global(&forest().board->zeros, uint64(1));
    }
    // Stage `reductions` is on: one count per row; a reduction of the block sums the counts of its warps' rows. Called
    // by all threads.
    __device__ void count_listed(uint32 listed) const {
        if (!has(kReductions)) return;
        const double all =
            sum_in_block(blockDim.x / kWarp * kWarp, [&](uint32) { return lane_index() == 0 ? listed : 0; });
        if (threadIdx.x == 0) add_in_global(&forest().board->zeros, static_cast<uint64>(all));
    }
    // Largest number of barriers of the block per row of slacks: the two parts of a row begin at a pack of lane 0.
    __device__ static uint32 most_barriers(int32 cols) {
        constexpr int32 width = kWarp * kSlackCols, batch = kAhead * width;
        return ((cols + width + batch - 1) / batch + 1) * kAhead;
    }
    // Changes the slacks of a row outside the forest, if few columns are in the forest.
    __device__ void change_cols(int32 i, Dual step, uint32 reached, bool lists) const {
        Forest& h = forest();
        const int32 cols = h.core.matrix.real_cols();
        bool fits = true;
        for (uint32 at = lane_index(); at < reached; at += kWarp) {
            const int32 j = __ldcg(h.reached_cols + at);
            if (j >= cols) continue;
            const Dual slack = Dual(__ldcg(row_of(i) + j)) + step;
            fits = fits && slack <= most();
            __stcg(row_of(i) + j, static_cast<Slack>(slack));
        }
        note_overflow(!fits);
        if (!lists) return;
        const uint32 count = __ldcg(h.tight_count + i), lane = lane_index();
        int32* list = h.tight + static_cast<int64>(i) * kTight;
        const int32 j = lane < count ? __ldcg(list + lane) : kNone;
        const bool stays = j >= 0 && is_open(h, j);
        const uint32 staying = __ballot_sync(kAllLanes, stays);
        __syncwarp();
        if (stays) __stcg(list + __popc(staying & ((1u << lane) - 1)), j);
        if (lane == 0) __stcg(h.tight_count + i, static_cast<uint32>(__popc(staying)));
        count_zeros(stays ? 1 : 0);
    }
    // Changes the slacks of row i from `begin` to `end`. Zeros are detected while slacks are in registers, unless that
    // stage is off. With stage `barrier` this follows a barrier of the block for each pack; the number of barriers is
    // returned.
    __device__ uint32 change_row(int32 i, bool grows, Dual step, int32 begin, int32 end, bool changes, bool lists,
                                 TightList& list) const {
        Forest& h = forest();
        constexpr int32 width = kWarp * kSlackCols;
        const Dual by = grows ? -step : step;
        const bool held = has(kRegisters), paced = changes && lists && has(kBarrier);
        bool fits = true;
        uint32 barriers = 0;
        for_slacks(i, begin / width * width, end, [&](int32 j, Pack<Slack>& pack) {
            const uint32 open = open_bits(j);
            uint32 inside = 0, zeros = 0;
#pragma unroll
            for (int32 k = 0; k < kSlackCols; ++k)
                if (j + k >= begin && j + k < end) inside |= 1u << k;
            const uint32 changing = changes ? inside & (grows ? open : ~open) : 0;
            if (changing != 0) {
#pragma unroll
                for (int32 k = 0; k < kSlackCols; ++k) {
                    const Dual slack = Dual(pack.values[k]) + by;
                    if ((changing >> k & 1) == 0) continue;
                    fits = fits && slack <= most();
                    pack.values[k] = static_cast<Slack>(slack);
                }
                longlong2 words;
                memcpy(&words, &pack, sizeof words);
                __stcg(reinterpret_cast<longlong2*>(row_of(i) + j), words);
                if (!held) pack = load(row_of(i) + j);
            }
            if (!lists) return;
            if (paced) __syncthreads(), ++barriers;
#pragma unroll
            for (int32 k = 0; k < kSlackCols; ++k) {
                if ((inside >> k & 1) && pack.values[k] == Slack(0)) zeros |= 1u << k;
            }
            list.add<kSlackCols>(j, zeros);
            count_zeros(zeros);
            const uint32 fresh = grows ? zeros & open : 0;
            if (!__any_sync(kAllLanes, fresh != 0)) return;
#pragma unroll 1
            for (int32 k = 0; k < kSlackCols; ++k) relax<true>(&h.board->new_cols, i, fresh >> k & 1 ? j + k : kNone);
        });
        note_overflow(!fits);
        return barriers;
    }

    Slack* slacks_;
    int64 pitch_;
    uint32 stages_, few_;
    bool by_task_;
};

}  // namespace hungarian
