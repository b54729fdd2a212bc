// Backward distances: of every reached row, the least sum of reduced costs from it to a free column, within the radius.
//
// Each row pulls its own. In a sweep it takes the least of (reduced cost + backward distance of the column) over its
// candidates, or over all its columns if its list is insufficient, as the sweep before left them. Sweeps go on until
// nothing changes: as many as the longest of the least paths has pairs.
//
// Only backward distances move meanwhile. So before the first sweep every block writes down the arcs of its rows in
// shared memory: the columns that can matter, with their reduced costs. A column that was not reached leads nowhere,
// and one whose reduced cost is above what is left of the radius is too far. Rows that find no room there read their
// lists, or all their columns, in every sweep.
//
// There are two copies of the backward distances, of which a sweep reads one and writes the other. So all rows read the
// distances of the sweep before, in whatever order they come, and a sweep has one barrier. A row writes if its distance
// fell in this sweep or in the one before; then both copies have it.
//
// Cost of a sweep: for each arc one access to L2, and a barrier.
#pragma once
#include "core/search/augment.cuh"

// The place of the backward distance of row i, which is free or matched to `own`. No other row reads that of a free
// row, so it has one copy.
__device__ inline int64 backward_place(const State& state, int32 i, int32 own) {
    return own >= 0 ? own : static_cast<int64>(state.matrix.cols) + i;
}
// The backward distance of a row through a column at this reduced cost; kFar if no path from it is known.
__device__ inline uint64 backward_by(Dual reduced_cost, uint64 backward) {
    return backward == kFar ? kFar : as_key(reduced_cost + from_key<Dual>(backward));
}
// The backward part of a path from a row at distance d, if the whole path is within the search radius; otherwise kFar.
__device__ inline uint64 within(uint64 onward, Dual d, uint64 radius) {
    return onward == kFar || as_key(d + from_key<Dual>(onward)) > radius ? kFar : onward;
}
// A copy of the backward distances of columns: the first is that of the state. (The auction is over.)
__device__ inline uint64* backward_copy(const State& state, uint32 which) {
    return which == 0 ? state.backward_distance : state.best_bid[0];
}

// Lists the reached rows in frontier[0], with unknown backward distances. Reached free columns have backward distance
// zero.
__device__ inline void begin_backward(const Team& team, const SearchRun& run) {
    State& state = team.state;
    const uint32 cols = state.matrix.cols, count = cols + run.free_count;
    team.each_converged(count, [&](uint32 index) {
        Edge at = {kNone, kNone};
        if (index < cols) {
            const uint64 key = __ldcg(state.distance + index);
            const bool reached = key != kFar && key <= run.radius;
            at.col = static_cast<int32>(index);
            if (reached) at.row = load_stable(state.col_to_row + index);
            const bool root = reached && at.row < 0;
            for (uint32 copy = 0; copy < 2; ++copy) __stcg(backward_copy(state, copy) + index, root ? uint64(0) : kFar);
            if (root) __stcg(state.stamp + index, 0u);
        } else if (index < count) {
            at.row = load_stable(state.free_rows + index - cols);
            __stcg(state.backward_distance + cols + at.row, kFar);
        }
        const uint32 place = take_place(team, &Counts::met, at.row >= 0);
        if (at.row >= 0) state.frontier[0][place] = at;
    });
}

// Of a row: what does not change in sweeps.
struct BackwardRow {
    Edge at;
    Dual u, distance;
};
__device__ inline BackwardRow load_backward_row(const State& state, Edge at) {
    const Dual distance = at.col >= 0 ? from_key<Dual>(__ldcg(state.distance + at.col)) : Dual(0);
    return {at, load_stable(state.u + at.row), distance};
}
// A full row: one all of whose columns are examined, instead of its list.
__device__ inline bool is_full_row(const State& state, const SearchRun& run, int32 i) {
    return load_stable(state.full_search + i) == run.search;
}

// The sweeps of a block over its rows: those of the frontier whose index is that of the block, plus a multiple of the
// team, and the same of full_rows. All threads of the team call all members.
class BackwardSweeps {
  public:
    __device__ BackwardSweeps(const Team& team, const SearchRun& run, uint32 full)
        : team_(team), state_(team.state), run_(run), rows_(run.count > team.block() ? share(run.count) : 0),
          full_(full > team.block() ? share(full) : 0) {}

    // Writes down arcs, as far as there is room.
    __device__ void hold() {
        BackwardScratch& held = shared().scratch.backward;
        if (threadIdx.x == 0) held.arcs = 0;
        for (uint32 slot = threadIdx.x; slot < BackwardScratch::rows; slot += kTeamThreads) held.row[slot] = {};
        __syncthreads();
        uint32 turn = threadIdx.x / kWarp;
        for (bool fits = true; turn < rows_ && turn < BackwardScratch::list_rows; turn += kTeamWarps) {
            const BackwardRow row = load_backward_row(state_, frontier_row(turn));
            if (is_full_row(state_, run_, row.at.row)) continue;
            const Candidate mine = load_candidate(state_, row.at.row);
            const Dual v = mine.col >= 0 ? load_stable(state_.v + mine.col) : Dual(0);
            const Dual x = reduced(Dual(mine.cost), v, row.u);
            const bool is_arc = matters(row, mine.col, x);
            const uint32 arcs = __ballot_sync(kAllLanes, is_arc), count = __popc(arcs), lane = lane_index();
            uint32 begin = 0;
            if (lane == 0) begin = add_in_shared(&held.arcs, count);
            begin = __shfl_sync(kAllLanes, begin, 0);
            fits = begin + count <= BackwardScratch::most_arcs;
            if (!fits) break;
            if (is_arc) put(begin + __popc(arcs & ((1u << lane) - 1)), mine.col, x);
            if (lane == 0) held.row[turn] = {row.at, row.distance, kFar, begin, count, false};
        }
        first_unheld_ = turn;
        __syncthreads();
        hold_full_rows();
    }

    // One sweep; `now`: the copy of the backward distances that it reads. Whether the distance of a row fell that this
    // thread wrote.
    __device__ bool sweep(uint32 now) {
        ++run_.number;
        bool falls = sweep_held(now);
        for (uint32 turn = first_unheld_; turn < rows_; turn += kTeamWarps)
            falls |= sweep_list(now, frontier_row(turn));
        for (uint32 turn = first_unheld_full_; turn < full_; ++turn) falls |= sweep_full_row(now, full_row(turn));
        return falls;
    }
    __device__ SearchRun& run() { return run_; }

  private:
    __device__ uint32 share(uint32 count) const { return (count - team_.block() - 1) / team_.blocks + 1; }
    __device__ Edge frontier_row(uint32 turn) const {
        return load_stable(state_.frontier[0] + team_.block() + turn * team_.blocks);
    }
    __device__ Edge full_row(uint32 turn) const {
        const int32 i = load_stable(state_.full_rows + team_.block() + turn * team_.blocks);
        return {i, load_stable(state_.row_to_col + i)};
    }
    __device__ bool matters(const BackwardRow& row, int32 j, Dual reduced_cost) const {
        if (j < 0 || j == row.at.col || as_key(row.distance + reduced_cost) > run_.radius) return false;
        return __ldcg(state_.distance + j) <= run_.radius;
    }
    __device__ static void put(uint32 place, int32 j, Dual reduced_cost) {
        BackwardScratch& held = shared().scratch.backward;
        held.reduced_cost[place] = reduced_cost;
        held.col[place] = j;
    }

    // The same for rows all of whose columns are examined, one after the other, since they may have very many arcs.
    __device__ void hold_full_rows() {
        BackwardScratch& held = shared().scratch.backward;
        uint32 begin = held.arcs < BackwardScratch::most_arcs ? held.arcs : BackwardScratch::most_arcs, turn = 0;
        for (; turn < full_ && turn < BackwardScratch::rows - BackwardScratch::list_rows; ++turn) {
            const Edge at = full_row(turn);
            const BackwardRow row = load_backward_row(state_, at);
            __syncthreads();
            if (threadIdx.x == 0) held.arcs = begin;
            __syncthreads();
            each_place(row, [&](int32 j, Dual reduced_cost) {
                if (!matters(row, j, reduced_cost)) return;
                const uint32 place = add_in_shared(&held.arcs, 1);
                if (place < BackwardScratch::most_arcs) put(place, j, reduced_cost);
            });
            __syncthreads();
            const uint32 end = held.arcs;
            if (end > BackwardScratch::most_arcs) break;
            if (threadIdx.x == 0)
                held.row[BackwardScratch::list_rows + turn] = {at, row.distance, kFar, begin, end - begin, false};
            begin = end;
        }
        first_unheld_full_ = turn;
        __syncthreads();
    }
    // f(column, reduced cost) for a thread's share of a row.
    template <class F>
    __device__ void each_place(const BackwardRow& row, F f) const {
        const int32 places = state_.matrix.places(row.at.row);
        for (int32 place = threadIdx.x; place < places; place += kTeamThreads) {
            const int32 j = state_.matrix.col_of(row.at.row, place);
            const Dual cost = state_.matrix.at_place(row.at.row, place);
            if (cost < infinity<Dual>()) f(j, reduced(cost, load_stable(state_.v + j), row.u));
        }
    }

    __device__ bool sweep_held(uint32 now) const {
        constexpr uint32 kTogether = 4;  // rows of a warp whose loads are in flight together, and a lane for each
        static_assert(BackwardScratch::rows % (kTogether * kTeamWarps) == 0);
        BackwardScratch& held = shared().scratch.backward;
        const uint64* const from = backward_copy(state_, now);
        const uint32 lane = lane_index();
        bool falls = false;
        for (uint32 base = threadIdx.x / kWarp; base < BackwardScratch::rows; base += kTogether * kTeamWarps) {
            uint64 onward[kTogether], mine = kFar;
#pragma unroll
            for (uint32 r = 0; r < kTogether; ++r) {
                const BackwardHeld& row = held.row[base + r * kTeamWarps];
                onward[r] = lane < row.count ? __ldcg(from + held.col[row.begin + lane]) : kFar;
            }
#pragma unroll
            for (uint32 r = 0; r < kTogether; ++r) {
                const BackwardHeld& row = held.row[base + r * kTeamWarps];
                uint64 least = kFar;
                for (uint32 k = lane; k < row.count; k += kWarp) {
                    if (k >= kWarp) onward[r] = __ldcg(from + held.col[row.begin + k]);
                    const uint64 by = through(held.reduced_cost[row.begin + k], onward[r], row.distance);
                    least = by < least ? by : least;
                }
                least = warp_min(least);
                if (lane == r) mine = least;
            }
            if (lane < kTogether) falls |= settle(now, held.row[base + lane * kTeamWarps], mine);
            __syncwarp();
        }
        return falls;
    }
    // Called by one thread.
    __device__ bool settle(uint32 now, BackwardHeld& row, uint64 least) const {
        const uint64 before = row.backward;
        const bool falls = least < before;
        if (!falls && !row.fell) return false;
        row.backward = falls ? least : before;
        row.fell = falls;
        write(now, row.at, row.backward, falls);
        return falls;
    }
    // The backward distance of a row at distance d through a column; kFar if that is too far.
    __device__ uint64 through(Dual reduced_cost, uint64 onward, Dual d) const {
        return within(backward_by(reduced_cost, onward), d, run_.radius);
    }
    // Where a copy has a row's distance.
    __device__ uint64* distance_in(uint32 copy, Edge at) const {
        return (at.col >= 0 ? backward_copy(state_, copy) : state_.backward_distance) +
               backward_place(state_, at.row, at.col);
    }
    // A row's distance after this sweep.
    __device__ void write(uint32 now, Edge at, uint64 backward, bool falls) const {
        __stcg(distance_in(now ^ 1, at), backward);
        if (falls && at.col >= 0) __stcg(state_.stamp + at.col, stamp(run_.number, false));
    }
    // One thread writes the lesser of both distances.
    __device__ bool write_least(uint32 now, Edge at, uint64 least) const {
        const uint64 before = __ldcg(distance_in(now, at));
        write(now, at, least < before ? least : before, least < before);
        return least < before;
    }
    __device__ bool sweep_list(uint32 now, Edge at) const {
        if (is_full_row(state_, run_, at.row)) return false;
        const BackwardRow row = load_backward_row(state_, at);
        const Candidate mine = load_candidate(state_, at.row);
        uint64 onward = kFar;
        if (mine.col >= 0 && mine.col != at.col) {
            const Dual x = reduced(Dual(mine.cost), load_stable(state_.v + mine.col), row.u);
            onward = through(x, __ldcg(backward_copy(state_, now) + mine.col), row.distance);
        }
        onward = warp_min(onward);
        return lane_index() == 0 && write_least(now, at, onward);
    }
    __device__ bool sweep_full_row(uint32 now, Edge at) const {
        const BackwardRow row = load_backward_row(state_, at);
        uint64 least = kFar;
        each_place(row, [&](int32 j, Dual reduced_cost) {
            if (j == at.col) return;
            const uint64 onward = __ldcg(backward_copy(state_, now) + j);
            const uint64 by = through(reduced_cost, onward, row.distance);
            least = by < least ? by : least;
        });
        least = best_in_block(shared().scratch.keys, least, true);
        return threadIdx.x == 0 && write_least(now, at, least);
    }

    const Team& team_;
    State& state_;
    SearchRun run_;
    uint32 rows_, full_;                               // of the block
    uint32 first_unheld_ = 0, first_unheld_full_ = 0;  // turns of the warp, and of the block
};

// Sweeps until nothing changes.
LAPWING_NOINLINE __device__ void run_backward_sweeps() {
    State state = shared().state;  // its pointers in registers
    const Team team{state, shared().control.counts, shared().control.command.wide, shared().control.command.blocks};
    const auto counts = [&](uint32 sweep) -> StepCounts& {
        return team.wide ? counts_of<true>(team, sweep) : counts_of<false>(team, sweep);
    };
    BackwardSweeps sweeps(team, shared().control.command.search, present_count(team, &Counts::full));
    sweeps.hold();
    SearchRun& run = sweeps.run();
    for (bool changed = true; changed; ++run.present) {
        if (__syncthreads_or(sweeps.sweep(run.present % 2)) && threadIdx.x == 0)
            atomicExch(&counts(run.present).event, 1u);
        if (blockIdx.x == 0 && threadIdx.x == 0) counts(run.present + 1).event = 0;
        team.sync();
        changed = (team.wide ? read_counts<true>(team, run.present) : read_counts<false>(team, run.present)).event != 0;
    }
    run.count = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) shared().control.command.search = run;
}
