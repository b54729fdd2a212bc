// Dummy rows: where columns outnumber rows, as many rows more, which cost nothing with any column. They make the
// problem square, and they are all alike, so they bid and search as one.
//
// A solve with them has the square method's epsilons, starting prices and searches. Let the *level* be the highest
// price (v) of all columns. A dummy row wants a column at the level; in an optimal answer all columns without a row are
// there. Unmatched columns of rows (struct Matrix) stay at the level in the auction, since no other row wants them.
//
// - Between rounds the level falls as far as the prices of all dummy rows together would make it: as many columns as
//   rows leave free, and one more, are at least there. Columns above it fall to it and lose their rows, which bid on.
// - Searches begin from the rows without a column; every column without a row is an end. This may take such columns
//   below the level.
// - Then searches begin from the dummy rows, and end at these columns. A column's distance is at most its *seed*, what
//   it is below the level; a shorter path leads over rows that give up a column with a seed. When the paths are
//   matched, the first column of each has no row, and its price is the level, which has fallen by the search radius.
// - At the end the level becomes zero: u rises and v falls by it.
//
// Cost of a level: some counts of all columns, a barrier each. Of a search from dummy rows: that of others, and a pass
// over the columns.
//
// Reference: D. P. Bertsekas and D. A. Castanon, "The auction algorithm for the transportation problem", Annals of
// Operations Research 20 (1989), on persons who are alike.
#pragma once
#include "core/search/relax.cuh"
#include "core/search/seeds.cuh"

// How many of the first `cols` columns have a certain price, or a higher one: by the team, in turns, each with a
// barrier. The counts of steps are zero before.
class PriceCounts {
  public:
    static constexpr uint32 kAtOnce = 3;

    __device__ PriceCounts(const Team& team, uint32 cols) : team_(team), cols_(cols) {
#pragma unroll
        for (uint32 q = 0; q < Tuning::kept_keys; ++q) kept_[q] = key(team.thread() + q * team.threads());
    }
    // The price of column k, as an ordered number; 0, which no price has, past the end.
    __device__ uint64 key(uint32 k) const { return k < cols_ ? ordered(__ldcg(team_.state.v + k)) : 0; }
    // Sets count[q] to how many have the price least[q] or a higher one.
    __device__ void at_least(const uint64 (&least)[kAtOnce], uint32 (&count)[kAtOnce]) {
        uint64 mine[kAtOnce] = {};
        const auto meet = [&](uint64 own) {
#pragma unroll
            for (uint32 q = 0; q < kAtOnce; ++q) mine[q] += own >= least[q];
        };
#pragma unroll
        for (uint32 q = 0; q < Tuning::kept_keys; ++q) meet(kept_[q]);
        for (uint32 k = team_.thread() + Tuning::kept_keys * team_.threads(); k < cols_; k += team_.threads())
            meet(key(k));
        total(mine, count);
    }
    // The sums over all threads of the team.
    __device__ void total(const uint64 (&mine)[kAtOnce], uint32 (&sum)[kAtOnce]) {
        const uint64 two = sum_in_block(shared().scratch, mine[0] | mine[1] << 32, 0),
                     one = sum_in_block(shared().scratch, mine[2], 1);
        sum[0] = static_cast<uint32>(two), sum[1] = static_cast<uint32>(two >> 32), sum[2] = static_cast<uint32>(one);
        if (!team_.wide) return;
        StepCounts* const steps = team_.state.counts->step;
        StepCounts &all = steps[turn_ % kStepCounts], &next = steps[(turn_ + 1) % kStepCounts];
        ++turn_;
        if (threadIdx.x < kAtOnce && sum[threadIdx.x] > 0) atomicAdd(word(all, threadIdx.x), sum[threadIdx.x]);
        if (blockIdx.x == 0 && threadIdx.x < kAtOnce) __stcg(word(next, threadIdx.x), 0u);
        team_.sync();
#pragma unroll
        for (uint32 q = 0; q < kAtOnce; ++q) sum[q] = __ldcg(word(all, q));
    }
    // The greatest price that `wanted` columns have or exceed, or one that is less by up to `room`; `from`: it is no
    // higher, infinity if not known.
    __device__ Dual highest(uint32 wanted, Dual from, Dual room) {
        uint64 low = 0, high = ~0ull, at[kAtOnce];  // enough columns have the first, too few the second
        uint32 count[kAtOnce];
        const auto narrow = [&] {
            at_least(at, count);
#pragma unroll
            for (uint32 q = 0; q < kAtOnce; ++q) {  // from high to low
                if (count[q] >= wanted) {
                    low = low < at[q] ? at[q] : low;
                } else {
                    high = high < at[q] ? high : at[q];
                }
            }
        };
        if (from < infinity<Dual>()) {
            Dual step = Dual(0);
            const auto next = [&] {
                const uint64 key = step < infinity<Dual>() / 8 ? ordered(from - step) : 1;
                step = step == Dual(0) ? room + (room == Dual(0)) : step < infinity<Dual>() / 8 ? 4 * step : step;
                return key;
            };
            for (bool first = true; low == 0; first = false) {
                at[0] = next(), at[1] = next(), at[2] = next();
                narrow();
                if (first && low == ordered(from)) return from;
            }
        }
        low = low == 0 ? 1 : low;
        const auto number = [](uint64 key) { return static_cast<double>(from_order<Dual>(key)); };
        while (high - low > 1 && !(number(high) - number(low) <= static_cast<double>(room))) {
            const uint64 quarter = (high - low) / 4 + 1;  // so that all are above `low`
#pragma unroll
            for (uint32 q = 0; q < kAtOnce; ++q) {
                const uint64 next = low + (q + 1) * quarter;
                at[q] = next < high ? next : high - 1;
            }
            narrow();
        }
        return from_order<Dual>(low);
    }

  private:
    const Team& team_;
    const uint32 cols_;
    uint32 turn_ = 0;
    uint64 kept_[Tuning::kept_keys];  // the first prices of the thread

    __device__ static uint32* word(StepCounts& counts, uint32 q) {
        return q == 0 ? &counts.next : q == 1 ? &counts.refresh : &counts.event;
    }
};

// A price on the grid of bids, at most `x`.
__device__ inline double on_grid_below(double x, const AuctionRun& run) {
    return run.unit > 0 ? floor(x * run.units_in_one) * run.unit : x;
}
__device__ inline int64 on_grid_below(int64 x, const AuctionRun&) { return x; }

// Brings columns down to the level, and frees the rows that had them. Without epsilon the level is found as exactly as
// with the last one: the searches do the rest.
LAPWING_NOINLINE __device__ void level_prices() {
    State& state = shared().state;
    const Command& command = shared().control.command;
    const Team team{state, shared().control.counts, command.wide, command.blocks};
    const AuctionRun run = command.auction;
    const uint32 real = state.matrix.real_cols(), rows = state.matrix.rows;
    PriceCounts prices(team, real);
    uint64 held[PriceCounts::kAtOnce] = {};  // unmatched columns
    team.each(state.matrix.cols - real, [&](uint32 k) { held[0] += __ldcg(state.col_to_row + real + k) >= 0; });
    uint32 held_in_all[PriceCounts::kAtOnce];
    prices.total(held, held_in_all);
    const uint32 ends = real + held_in_all[0];  // of the rows that want them, and of the others
    const uint32 wanted = min(ends < rows ? 1 : ends - rows + 1, real);
    const Dual room = (run.epsilon > Dual(0) ? run.epsilon : run.finest) / Dual(Tuning::level_share);
    const Dual found = prices.highest(wanted, run.level, room);
    const Dual level = room > Dual(0) ? on_grid_below(found, run) : found;
    team.each_converged(state.matrix.cols, [&](uint32 k) {
        const int32 j = static_cast<int32>(k);
        const bool there = k < static_cast<uint32>(state.matrix.cols);
        const Dual price = there ? level + start_price(state.matrix, j) : Dual(0);
        const bool falls = there && __ldcg(state.v + j) > price;
        const int32 holder = falls ? __ldcg(state.col_to_row + j) : kNone;
        const uint32 place = take_place(team, &Counts::displaced, holder >= 0);
        if (falls) __stcg(state.v + j, price);
        if (holder < 0) return;
        __stcg(state.row_to_col + holder, kNone);
        __stcg(state.col_to_row + j, kNone);
        pick(state.rows_at_work, run.present)[run.count + place] = holder;
    });
    __syncthreads();  // all have read the level
    if (threadIdx.x == 0) shared().control.command.auction.level = level;
}

// Lists the columns below the level that have no row.
__device__ inline void list_below_level(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols;
    team.each_converged(cols, [&](uint32 k) {
        const int32 j = static_cast<int32>(k);
        const bool is_below = k < cols && __ldcg(state.col_to_row + j) < 0 && seed_of(state, run, j) > Dual(0);
        append(team, state.free_cols, &Counts::free_cols, is_below ? j : kNone);
    });
}
// Begins a search from dummy rows: distances are seeds, and rows of columns within the first bucket are the frontier.
__device__ inline void seed_distances(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols;
    team.each_converged(cols, [&](uint32 k) {
        const int32 j = static_cast<int32>(k);
        const bool there = k < cols;
        const uint64 key = there ? as_key(seed_of(state, run, j)) : kFar;
        const int32 i = there ? __ldcg(state.col_to_row + j) : kNone;
        const bool begins = i >= 0 && key <= run.bucket_limit;
        const uint32 place = take_place(team, &Counts::at_start, begins);
        if (begins) state.frontier[0][place] = {i, j};
        if (!there) return;
        __stcg(state.distance + j, key);
        __stcg(state.stamp + j, stamp(run.number, begins));
        state.parent_row[j] = kNoRow;
        if (k < static_cast<uint32>(state.matrix.rows)) state.claim[k] = kNoRow;
    });
}

// The highest price of all columns, as an ordered number. The answer must be 0 before.
__device__ inline void find_highest(const Team& team) {
    const State& state = team.state;
    uint64 highest = 0;
    team.each(state.matrix.cols, [&](uint32 k) {
        const uint64 key = ordered(__ldcg(state.v + k) - start_price(state.matrix, static_cast<int32>(k)));
        highest = key > highest ? key : highest;
    });
    highest = best_in_block(shared().scratch.keys, highest, false);
    if (threadIdx.x == 0) atomicMax(&(team.wide ? *team.state.counts : team.own).answer, highest);
}
// Moves the duals so that the level is zero.
__device__ inline void settle(const Team& team, Dual level) {
    State& state = team.state;
    team.each(state.matrix.rows, [&](uint32 i) {
        __stcg(state.u + i, __ldcg(state.u + i) + level);
        const Dual tau = __ldcg(state.tau + i);
        if (tau < infinity<Dual>()) __stcg(state.tau + i, tau + level);
    });
    team.each(state.matrix.cols, [&](uint32 k) {
        const int32 j = static_cast<int32>(k);
        const Dual seed = seed_below(state, level, j);
        __stcg(state.v + j, start_price(state.matrix, j) - seed);
    });
}
