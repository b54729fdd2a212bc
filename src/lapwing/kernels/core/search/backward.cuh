// Backward distances: of every reached row, the least sum of reduced costs from it to a free column, within the radius.
//
// Each row pulls its own. In a sweep it takes the least of (reduced cost + backward distance of the column) over its
// candidates, as the sweep before left them. Sweeps go on until nothing changes: as many as the longest of the least
// paths has pairs.
//
// Only backward distances move meanwhile. So before the first sweep every block writes down the arcs of its rows in
// shared memory: the candidates that can matter, with their reduced costs. A column that was not reached leads nowhere,
// and one whose reduced cost is above what is left of the radius is too far. Rows that find no room there read their
// lists in every sweep.
//
// Then come the full rows, all of whose columns matter, since their lists are insufficient. Of these there may be
// thousands. Each looks at the columns whose distance fell since it last did, if it is so small that tau, which no
// column outside the list is nearer than, leaves room for a shorter way. If some distance falls, sweeps over the lists
// follow again, and so on. Distances that arrive over lists make most other columns needless, so few of these passes
// are needed, and few costs are read in them.
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
// team. A warp has every kTeamWarps-th of them. All threads of the team call the public members.
class BackwardSweeps {
  public:
    __device__ BackwardSweeps(const Team& team, const SearchRun& run)
        : team_(team), state_(team.state), run_(run),
          rows_(run.count > team.block() ? (run.count - team.block() - 1) / team.blocks + 1 : 0) {}

    // Writes down arcs, as far as there is room.
    __device__ void hold() {
        BackwardScratch& held = shared().scratch.backward;
        if (threadIdx.x == 0) held.arcs = 0;
        for (uint32 slot = threadIdx.x; slot < BackwardScratch::rows; slot += kTeamThreads) held.row[slot] = {};
        __syncthreads();
        uint32 turn = threadIdx.x / kWarp;
        for (; turn < rows_ && turn < BackwardScratch::rows; turn += kTeamWarps) {
            const BackwardRow row = load_backward_row(state_, frontier_row(turn));
            const Candidate mine = load_candidate(state_, row.at.row);
            const Dual v = mine.col >= 0 ? load_stable(state_.v + mine.col) : Dual(0);
            const Dual x = reduced(Dual(mine.cost), v, row.u);
            const bool is_arc = matters(row, mine.col, x);
            const uint32 arcs = __ballot_sync(kAllLanes, is_arc), count = __popc(arcs), lane = lane_index();
            uint32 begin = 0;
            if (lane == 0) begin = add_in_shared(&held.arcs, count);
            begin = __shfl_sync(kAllLanes, begin, 0);
            if (begin + count > BackwardScratch::most_arcs) break;
            if (is_arc) {
                const uint32 place = begin + __popc(arcs & ((1u << lane) - 1));
                held.reduced_cost[place] = x;
                held.col[place] = mine.col;
            }
            if (lane == 0) held.row[turn] = {row.at, row.distance, kFar, begin, count, false};
        }
        first_unheld_ = turn;
        __syncthreads();
    }

    // Sweeps until nothing changes. `has_full`: some rows are full.
    __device__ void sweep_all(bool has_full) {
        for (uint32 since = 0;;) {
            while (falls(sweep_lists())) {
            }
            if (!has_full) break;
            const uint32 fallen = list_fallen(since);
            const bool is_first = since == 0;  // then a row's own unmatched column counts, which is not listed
            since = run_.number + 1;
            if ((fallen == 0 && !is_first) || !falls(sweep_full_rows(fallen))) break;
        }
        run_.count = 0;
    }
    __device__ const SearchRun& run() const { return run_; }

  private:
    // Rows of a warp whose loads are in flight together, and a lane for each; of one row, columns of a lane.
    static constexpr uint32 kTogether = 4;

    // The copy of the backward distances that this sweep reads; it writes the other.
    __device__ uint32 now() const { return run_.present % 2; }
    __device__ uint64* read_copy() const { return backward_copy(state_, now()); }
    // The counts of this sweep, or of one after it.
    __device__ StepCounts& counts(uint32 after = 0) const {
        return team_.wide ? counts_of<true>(team_, run_.present + after)
                          : counts_of<false>(team_, run_.present + after);
    }
    // Ends a sweep, and returns its counts.
    __device__ StepCounts conclude() {
        if (blockIdx.x == 0 && threadIdx.x == 0) counts(1).event = counts(1).next = 0;
        team_.sync();
        const uint32 sweep = run_.present++;
        return team_.wide ? read_counts<true>(team_, sweep) : read_counts<false>(team_, sweep);
    }
    // The same: whether the distance of a row fell that some thread wrote.
    __device__ bool falls(bool of_mine) {
        if (__syncthreads_or(of_mine) && threadIdx.x == 0) atomicExch(&counts().event, 1u);
        return conclude().event != 0;
    }

    __device__ Edge frontier_row(uint32 turn) const {
        return load_stable(state_.frontier[0] + team_.block() + turn * team_.blocks);
    }
    __device__ bool matters(const BackwardRow& row, int32 j, Dual reduced_cost) const {
        if (j < 0 || j == row.at.col || as_key(row.distance + reduced_cost) > run_.radius) return false;
        return __ldcg(state_.distance + j) <= run_.radius;
    }
    // The backward distance of a row at distance d through a column; kFar if that is too far.
    __device__ uint64 through(Dual reduced_cost, uint64 onward, Dual d) const {
        return within(backward_by(reduced_cost, onward), d, run_.radius);
    }

    // The next three: whether a distance fell that this thread wrote.

    __device__ bool sweep_lists() {
        ++run_.number;
        bool any = sweep_held();
        for (uint32 turn = first_unheld_; turn < rows_; turn += kTeamWarps) any |= sweep_list(frontier_row(turn));
        return any;
    }
    __device__ bool sweep_held() const {
        static_assert(BackwardScratch::rows % (kTogether * kTeamWarps) == 0);
        BackwardScratch& held = shared().scratch.backward;
        const uint64* const from = read_copy();
        const uint32 lane = lane_index();
        bool any = false;
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
                if (lane < row.count) least = through(held.reduced_cost[row.begin + lane], onward[r], row.distance);
                least = warp_min(least);
                if (lane == r) mine = least;
            }
            if (lane < kTogether) any |= settle(held.row[base + lane * kTeamWarps], mine);
            __syncwarp();
        }
        return any;
    }
    __device__ bool sweep_list(Edge at) const {
        const BackwardRow row = load_backward_row(state_, at);
        const Candidate mine = load_candidate(state_, at.row);
        uint64 onward = kFar;
        if (mine.col >= 0 && mine.col != at.col) {
            const Dual x = reduced(Dual(mine.cost), load_stable(state_.v + mine.col), row.u);
            onward = through(x, __ldcg(read_copy() + mine.col), row.distance);
        }
        onward = warp_min(onward);
        return lane_index() == 0 && write_least(at, onward);
    }
    // When no sweep over lists changes anything, so both copies are the same.
    __device__ bool sweep_full_rows(uint32 fallen) {
        ++run_.number;
        BackwardScratch& held = shared().scratch.backward;
        bool any = false;
        for (uint32 turn = threadIdx.x / kWarp; turn < rows_; turn += kTeamWarps) {
            const Edge at = turn < first_unheld_ ? held.row[turn].at : frontier_row(turn);
            if (!is_full_row(state_, run_, at.row)) continue;
            const uint64 least = warp_min(least_outside(at, fallen));
            __syncwarp();
            if (lane_index() == 0) any |= turn < first_unheld_ ? settle(held.row[turn], least) : write_least(at, least);
        }
        return any;
    }

    // Lists the real columns whose backward distances fell in sweep `since` or later; since 0: all that have one.
    // (Nothing else of the search needs met_cols where columns outnumber rows.)
    __device__ uint32 list_fallen(uint32 since) {
        uint32* const count = &counts().next;
        const uint32 cols = state_.matrix.real_cols();
        team_.each_converged(cols, [&](uint32 j) {
            const bool fell = j < cols && __ldcg(read_copy() + j) != kFar && step_of(__ldcg(state_.stamp + j)) >= since;
            const uint32 place = team_.wide ? take_place<true>(count, fell) : take_place<false>(count, fell);
            if (fell) state_.met_cols[place] = static_cast<int32>(j);
        });
        return conclude().next;
    }
    // The least backward distance of a full row through its unmatched column or one of those listed last, if that is
    // below its own; of a lane's share. The row's list has been looked at, and no other column is nearer than tau.
    // Sparse costs have few columns in a row, which are all looked at.
    __device__ uint64 least_outside(Edge at, uint32 fallen) const {
        const Matrix& matrix = state_.matrix;
        const BackwardRow row = load_backward_row(state_, at);
        const Dual gap = reduced(load_stable(state_.tau + at.row), Dual(0), row.u);
        uint64 least = __ldcg(distance_in(now(), at));
        const uint32 count = Costs::is_sparse ? matrix.places(at.row) : fallen + (matrix.prices != nullptr ? 1 : 0);
        const auto col_of = [&](uint32 place) {
            if constexpr (Costs::is_sparse) return matrix.col_of(at.row, static_cast<int32>(place));
            return place < fallen ? load_stable(state_.met_cols + place) : matrix.real_cols() + at.row;
        };
        const auto cost_of = [&](uint32 place, int32 col) {
            return Costs::is_sparse ? matrix.at_place(at.row, static_cast<int32>(place)) : matrix.at(at.row, col);
        };
        for (uint32 base = lane_index(); base < count; base += kTogether * kWarp) {
            int32 col[kTogether];
            uint64 onward[kTogether];
            Dual cost[kTogether], v[kTogether];
#pragma unroll
            for (uint32 k = 0; k < kTogether; ++k)
                col[k] = base + k * kWarp < count ? col_of(base + k * kWarp) : at.col;
#pragma unroll
            for (uint32 k = 0; k < kTogether; ++k) onward[k] = col[k] != at.col ? __ldcg(read_copy() + col[k]) : kFar;
#pragma unroll
            for (uint32 k = 0; k < kTogether; ++k) {
                const bool may = through(gap, onward[k], row.distance) < least;
                cost[k] = may ? cost_of(base + k * kWarp, col[k]) : infinity<Dual>();
                v[k] = may ? load_stable(state_.v + col[k]) : Dual(0);
            }
#pragma unroll
            for (uint32 k = 0; k < kTogether; ++k) {
                if (!(cost[k] < infinity<Dual>())) continue;
                const uint64 by = through(reduced(cost[k], v[k], row.u), onward[k], row.distance);
                least = by < least ? by : least;
            }
        }
        return least;
    }

    // Called by one thread.
    __device__ bool settle(BackwardHeld& row, uint64 least) const {
        const uint64 before = row.backward;
        const bool fell = least < before;
        if (!fell && !row.fell) return false;
        row.backward = fell ? least : before;
        row.fell = fell;
        write(row.at, row.backward, fell);
        return fell;
    }
    // One thread writes the lesser of both distances.
    __device__ bool write_least(Edge at, uint64 least) const {
        const uint64 before = __ldcg(distance_in(now(), at));
        write(at, least < before ? least : before, least < before);
        return least < before;
    }
    // A row's distance after this sweep.
    __device__ void write(Edge at, uint64 backward, bool fell) const {
        __stcg(distance_in(now() ^ 1, at), backward);
        if (fell && at.col >= 0) __stcg(state_.stamp + at.col, stamp(run_.number, false));
    }
    // Where a copy has a row's distance.
    __device__ uint64* distance_in(uint32 copy, Edge at) const {
        return (at.col >= 0 ? backward_copy(state_, copy) : state_.backward_distance) +
               backward_place(state_, at.row, at.col);
    }

    const Team& team_;
    State& state_;
    SearchRun run_;
    uint32 rows_;              // of the block
    uint32 first_unheld_ = 0;  // turn of the warp
};

LAPWING_NOINLINE __device__ void run_backward_sweeps() {
    State state = shared().state;  // its pointers in registers
    const Team team{state, shared().control.counts, shared().control.command.wide, shared().control.command.blocks};
    BackwardSweeps sweeps(team, shared().control.command.search);
    sweeps.hold();
    sweeps.sweep_all(present_count(team, &Counts::full) > 0);
    if (blockIdx.x == 0 && threadIdx.x == 0) shared().control.command.search = sweeps.run();
}
