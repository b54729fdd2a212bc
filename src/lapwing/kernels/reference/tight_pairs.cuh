// A largest matching of tight pairs: what the trees of gpu/reference/trees.py begin with, where costs tie.
//
// Problem   Where costs tie, many pairs are tight, and most rows that are free can be matched along them without any
//           change of the duals. A forest of alternating trees then has all rows after ten steps, but the first trees
//           to reach a line keep it: each iteration matches one to three of a hundred free rows.
// Method    Hopcroft and Karp, a phase at a time. First all tight pairs are written as bits, by row and by column. A
//           breadth-first search from all free rows finds the layer of each row in reach. Then a path from each free
//           column in reach goes back, layer by layer, along any tight pairs to rows that no other path has had. Where
//           there are none, it goes one step forth again. Paths have no vertex in common, and each is flipped when it
//           has come to a free row. No free column in reach: no matching is larger.
// Deviation The search goes on beyond the nearest free columns, and paths that go back and forth for long are left to
//           the next phase. Rounded sums, n = 1024: 20 phases and 831 steps in place of 31 and 995.
// Cost      One read of the matrix. Then a step of either kind takes one barrier of the grid and four loads that depend
//           on each other, 3.2 us on an H200; a phase has as many of them as its longest path, twice. A line of 4096
//           columns has 512 bytes. Memory: three bits a pair.
//
// Deterministic: a search depends on sets of lines alone. In a step every path asks for one row, which goes to the path
// with the lowest column at its end. Rows asked for in the step before are left out, whoever got them.
//
// Protocol: what a step reads was written before the last barrier of the grid. Two sets change while they are read: the
// columns reached in the step before (`fresh`) join `reached_`, and the rows got by paths in it leave their layers. The
// reader also leaves out `fresh` or `asked`, so it sees the same before and after. Each step has words of its own, of
// three sets in turn; the step before clears them.
//
// Reference: J. E. Hopcroft, R. M. Karp, "An n^(5/2) algorithm for maximum matchings in bipartite graphs", SIAM Journal
// on Computing 2 (1973) 225-231.
#pragma once
#include "reference/hungarian_forest.cuh"

namespace hungarian {

class TightPairs {
  public:
    // memory: as much as gpu/reference/trees.py allocates.
    __device__ explicit TightPairs(unsigned char* memory) {
        const Matrix& matrix = forest().core.matrix;
        const uint64 lines = matrix.rows;
        words_ = (matrix.rows + kLaneBits - 1) / kLaneBits * kLaneWords;
        State::take(memory, board_, 1);
        State::take(memory, reached_, words_);
        State::take(memory, fresh_, 3 * words_);
        State::take(memory, asked_, 3 * words_);
        State::take(memory, keeper_, lines);
        State::take(memory, at_, lines);
        State::take(memory, depth_, lines);
        State::take(memory, row_, lines);
        State::take(memory, next_, lines);
        State::take(memory, by_row_, lines * words_);
        State::take(memory, by_col_, lines * words_);
        State::take(memory, layers_, (lines + 1) * words_);
        end_ = memory;
    }
    __device__ const unsigned char* end() const { return end_; }  // of its memory, for tests

    // Matches free rows along tight pairs, as many as can be; their number. All threads of the grid call it.
    LAPWING_NOINLINE __device__ uint32 match() const {
        write_by_row();
        sync();
        write_by_col();
        uint32 matched = 0;
        for (;;) {
            begin_phase();
            const int32 depth = search();
            const uint32 more = depth > 0 ? go_back(depth) : 0;
            matched += more;
            if (more == 0) return matched;
        }
    }

  private:
    static constexpr int32 kLaneWords = 4, kLaneBits = 32 * kLaneWords, kWarpWords = kWarp * kLaneWords;  // of a load

    struct Words {
        uint32 reached[3];  // whether a step of the search has reached a column
        uint32 ended[3];    // whether that was a free one
        uint32 active[3];   // whether a path is not at its end
        uint32 search_stopped[3], paths_stopped[3];
        uint32 matched;  // in this phase
    };

    __device__ static void sync() { grid_barrier(forest().core.barrier, gridDim.x); }
    __device__ static int32 lines() { return forest().core.matrix.rows; }
    __device__ uint32* line(uint32* of, uint64 k) const { return of + k * words_; }
    struct LaneWords {
        uint32 word[kLaneWords];
    };
    // Each word as it is at some time during the load.
    __device__ static LaneWords load_words(const uint32* from) {
        LaneWords words;
#ifdef LAPWING_EMULATION
        for (int32 k = 0; k < kLaneWords; ++k) words.word[k] = __ldcg(from + k);
#else
        const longlong2 pair = __ldcg(reinterpret_cast<const longlong2*>(from));
        memcpy(&words, &pair, sizeof words);
#endif
        return words;
    }
    __device__ static bool has(const uint32* of, int32 k) { return (__ldcg(of + k / 32) >> k % 32 & 1) != 0; }
    // f(k) for each line, by one warp each; lanes look at `wanted(k)` of several lines at once.
    template <class Wanted, class F>
    __device__ static void each_line(Wanted wanted, F f) {
        const uint64 count = lines(), step = grid_warps();
#pragma unroll 1
        for (uint64 base = grid_warp(); base < count; base += step * kWarp) {
            const uint64 mine = base + lane_index() * step;
            uint32 lanes = __ballot_sync(kAllLanes, mine < count && wanted(static_cast<int32>(mine)));
            for (; lanes != 0; lanes &= lanes - 1)
                f(static_cast<int32>(base + (__ffs(static_cast<int32>(lanes)) - 1) * step));
        }
    }

    // --- the bits -------------------------------------------------------------------------------------------------

    // The tight pairs of each row, by one warp.
    __device__ void write_by_row() const {
        Forest& h = forest();
        const Matrix& matrix = h.core.matrix;
        constexpr int32 lanes = 32 / kPackCols;  // that share a word
        each_warp(matrix.rows, [&](uint64 row) {
            const int32 i = static_cast<int32>(row);
            const Dual u = __ldcg(h.core.u + i);
            uint32* to = line(by_row_, row);
            for_packs(matrix, i, 0, words_ * 32, kWarp * kPackCols, h.core.v,
                      [&](int32 j, const Dual(&reduced)[kPackCols]) {
                          uint32 bits = 0;
#pragma unroll
                          for (int32 k = 0; k < kPackCols; ++k)
                              if (j + k < matrix.cols && reduced[k] - u <= Dual(0)) bits |= 1u << k;
                          bits <<= lane_index() % lanes * kPackCols;
#pragma unroll
                          for (int32 apart = 1; apart < lanes; apart *= 2)
                              bits |= __shfl_xor_sync(kAllLanes, bits, apart);
                          if (lane_index() % lanes == 0 && j < words_ * 32) __stcg(to + j / 32, bits);
                      });
        });
    }
    // The same by column: a warp turns squares of 32 x 32 pairs.
    __device__ void write_by_col() const {
        const uint64 count = words_ * static_cast<uint64>(words_);
        each_warp(count, [&](uint64 square) {
            const int32 rows = static_cast<int32>(square / words_), cols = static_cast<int32>(square % words_);
            const int32 i = rows * 32 + static_cast<int32>(lane_index()),
                        j = cols * 32 + static_cast<int32>(lane_index());
            const uint32 bits = i < lines() ? __ldcg(line(by_row_, i) + cols) : 0;
            uint32 turned = 0;
#pragma unroll
            for (int32 k = 0; k < 32; ++k) {
                const uint32 col = __ballot_sync(kAllLanes, bits >> k & 1);
                if (static_cast<int32>(lane_index()) == k) turned = col;
            }
            if (j < lines()) __stcg(line(by_col_, j) + rows, turned);
        });
    }

    // --- a phase --------------------------------------------------------------------------------------------------

    __device__ void begin_phase() const {
        sync();
        each_thread(words_, [&](uint32 w) {
            __stcg(reached_ + w, 0u);
            __stcg(line(layers_, 0) + w, 0u);
#pragma unroll
            for (int32 k = 0; k < 3; ++k) {
                __stcg(line(fresh_, k) + w, 0u);
                __stcg(line(asked_, k) + w, 0u);
            }
        });
        each_thread(lines(), [&](uint32 k) {
            __stcg(keeper_ + k, kNoGoal);
            __stcg(depth_ + k, 0);
        });
        if (is_first_thread()) *board_ = {};
        sync();
    }

    // Called by the first thread, in every step.
    __device__ static void count_step(uint32* stopped) {
        Forest& h = forest();
        if (++h.board->tight_steps % HungarianTuning::steps_between_looks == 0)
            h.signals.poll(h.board->levels + h.board->tight_steps);
        *stopped = h.signals.stopped;
    }
    // The last layer in which there are free columns, 0 if none is in reach. Columns of layer 1 are next to free rows.
    __device__ int32 search() const {
        Forest& h = forest();
        int32 last = 0;
        for (int32 depth = 0;; ++depth) {
            const int32 now = depth % 3, then = (depth + 1) % 3, later = (depth + 2) % 3;
            each_thread(words_, [&](uint32 w) {
                __stcg(reached_ + w, __ldcg(reached_ + w) | __ldcg(line(fresh_, now) + w));
                __stcg(line(fresh_, later) + w, 0u);
                if (depth < lines()) __stcg(line(layers_, depth + 1) + w, 0u);
            });
            if (is_first_thread()) {
                board_->reached[later] = board_->ended[then] = 0;
                count_step(&board_->search_stopped[now]);
            }
            const auto visit = [&](int32 i) {
                if (lane_index() == 0) atomicOr(line(layers_, depth) + i / 32, 1u << i % 32);
                reach_from(i, line(fresh_, now), line(fresh_, then), &board_->reached[then]);
            };
            if (depth == 0)
                each_line([&](int32 i) { return __ldcg(h.core.row_to_col + i) < 0; }, visit);
            else
                each_line([&](int32 j) { return has(line(fresh_, now), j); },
                          [&](int32 j) {
                              const int32 i = __ldcg(h.core.col_to_row + j);
                              if (i >= 0) return visit(i);
                              if (lane_index() != 0) return;
                              __stcg(&board_->ended[now], 1u);
                              __stcg(depth_ + j, depth);
                              __stcg(at_ + j, j);
                              __stcg(row_ + j, kNone);
                          });
            sync();
            if (__ldcg(&board_->search_stopped[now]) != 0) return 0;
            if (__ldcg(&board_->ended[now]) != 0) last = depth;
            if (__ldcg(&board_->reached[then]) == 0) return last;
        }
    }
    // Adds the columns of row i's tight pairs that are neither reached nor fresh to those that are `found`. By a warp.
    __device__ void reach_from(int32 i, const uint32* fresh, uint32* found, uint32* any) const {
        const uint32* tight = line(by_row_, i);
        bool some = false;
        for (int32 w = static_cast<int32>(lane_index()) * kLaneWords; w < words_; w += kWarpWords) {
            const LaneWords pairs = load_words(tight + w), before = load_words(reached_ + w),
                            last = load_words(fresh + w), already = load_words(found + w);
#pragma unroll
            for (int32 k = 0; k < kLaneWords; ++k) {
                const uint32 bits = pairs.word[k] & ~before.word[k] & ~last.word[k];
                some = some || bits != 0;
                if ((bits & ~already.word[k]) != 0) atomicOr(found + w + k, bits);
            }
        }
        if (__any_sync(kAllLanes, some) && lane_index() == 0) __stcg(any, 1u);
    }

    // Paths from free columns, of layers up to `depth`, back to free rows; their number. A path is known by its end.
    __device__ uint32 go_back(int32 depth) const {
        const int32 most = depth + 4;  // steps: what goes back and forth for longer has another phase
        for (int32 step = 0; step < most; ++step) {
            const int32 now = step % 3, then = (step + 1) % 3, before = (step + 2) % 3;
            each_thread(words_, [&](uint32 w) { __stcg(line(asked_, then) + w, 0u); });
            if (is_first_thread()) {
                board_->active[then] = 0;
                count_step(&board_->paths_stopped[now]);
            }
            each_line([&](int32 j) { return __ldcg(depth_ + j) > 0; },
                      [&](int32 j) { take_step(j, line(asked_, before), line(asked_, now), &board_->active[now]); });
            sync();
            if (__ldcg(&board_->active[now]) == 0 || __ldcg(&board_->paths_stopped[now]) != 0) break;
        }
        return __ldcg(&board_->matched);
    }
    // The path that ends at column `end` takes the row that it has asked for, if it got it, and asks for the next one.
    // By a warp.
    __device__ void take_step(int32 end, const uint32* left_out, uint32* asked, uint32* active) const {
        Forest& h = forest();
        int32 at = __ldcg(at_ + end), depth = __ldcg(depth_ + end);
        const int32 row = __ldcg(row_ + end);
        const bool got = row >= 0 && __ldcg(keeper_ + row) == static_cast<uint32>(end);
        __syncwarp();  // lane 0 writes what all lanes have read
        if (got) {
            if (lane_index() == 0) atomicAnd(line(layers_, depth - 1) + row / 32, ~(1u << row % 32));
            if (depth == 1) {
                if (lane_index() == 0) flip(row, at, end);
                return;
            }
            const int32 col = __ldcg(h.core.row_to_col + row);
            if (lane_index() == 0) __stcg(next_ + col, at);
            at = col;
            --depth;
        }
        const int32 wanted = some_row(at, line(layers_, depth - 1), left_out);
        if (lane_index() != 0) return;
        if (wanted >= 0) {
            atomicMin(keeper_ + wanted, static_cast<uint32>(end));
            atomicOr(asked + wanted / 32, 1u << wanted % 32);
        } else {  // one step forth
            depth = at == end ? 0 : depth + 1;
            at = at == end ? end : __ldcg(next_ + at);
        }
        __stcg(row_ + end, wanted);
        __stcg(at_ + end, at);
        __stcg(depth_ + end, depth);
        if (depth > 0) __stcg(active, 1u);
    }
    // A row of a layer that has a tight pair with column j, kNone if there is none. A column looks first at the row of
    // its own number, so columns of the same pairs ask for different rows. By a warp.
    __device__ int32 some_row(int32 j, const uint32* layer, const uint32* left_out) const {
        const uint32* tight = line(by_col_, j);
        const int32 first = j / kLaneBits * kLaneWords;
        for (int32 base = 0; base < words_; base += kWarpWords) {
            const int32 beyond = base + static_cast<int32>(lane_index()) * kLaneWords;
            const int32 w = first + beyond < words_ ? first + beyond : first + beyond - words_;
            int32 found = kNone;
            if (beyond < words_) {
                const LaneWords pairs = load_words(tight + w), rows = load_words(layer + w),
                                out = load_words(left_out + w);
                uint32 least = ~0u;  // how far from column j's number, in the order of words, then of bits
#pragma unroll
                for (int32 k = 0; k < kLaneWords; ++k) {
                    const uint32 bits = pairs.word[k] & rows.word[k] & ~out.word[k], turn = j % 32;
                    if (bits == 0) continue;
                    const uint32 turned = bits >> turn | bits << (32 - turn) % 32;
                    const uint32 bit = __ffs(static_cast<int32>(turned)) - 1,
                                 far = static_cast<uint32>(k - j / 32) % kLaneWords * 32 + bit;
                    if (far >= least) continue;
                    least = far;
                    found = (w + k) * 32 + static_cast<int32>((bit + turn) % 32);
                }
            }
            const uint32 lanes = __ballot_sync(kAllLanes, found >= 0);
            if (lanes != 0) return __shfl_sync(kAllLanes, found, __ffs(static_cast<int32>(lanes)) - 1);
        }
        return kNone;
    }
    // Matches free row i to column j of the path to `end`, and each column's former row to the next one.
    __device__ void flip(int32 i, int32 j, int32 end) const {
        Forest& h = forest();
        for (;;) {
            const int32 former = __ldcg(h.core.col_to_row + j);
            __stcg(h.core.row_to_col + i, j);
            __stcg(h.core.col_to_row + j, i);
            if (j == end) break;
            i = former;
            j = __ldcg(next_ + j);
        }
        __stcg(depth_ + end, 0);
        atomicAdd(&board_->matched, 1u);
    }

    Words* board_;
    int32 words_;      // of a line
    uint32* reached_;  // columns, but for those of the last step
    uint32* fresh_;    // [3][words]: columns that a step of the search has reached first
    uint32* asked_;    // [3][words]: rows that paths have asked for in a step
    uint32* keeper_;   // of a row: the end of the path that got it
    // By end of a path: its first column so far; the layer of that, 0 once the path is done; the row it has asked for.
    int32 *at_, *depth_, *row_;
    int32* next_;               // by column of a path: the next one, towards the end
    uint32 *by_row_, *by_col_;  // [lines][words]: tight pairs
    uint32* layers_;            // [lines + 1][words]: rows of each layer that no path has had
    const unsigned char* end_;
};

}  // namespace hungarian
