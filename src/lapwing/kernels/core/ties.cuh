// More matches of a solve whose rows may stay free, where they cost nothing (matching/ties.cuh). Not of a matrix on the
// host.
#pragma once
#include "core/problem.cuh"
#include "matching/ties.cuh"

// The problem in the state of a solve that has come to its end.
struct TiedState {
    const State& state;
    const bool listed;  // whether lists are valid, so that most rows need no other look at the costs
    const int32 rows, cols;

    __device__ TiedState(const State& s, bool has_lists)
        : state(s), listed(has_lists), rows(s.matrix.rows), cols(s.matrix.real_cols()) {}

    __device__ int32 column_of(int32 i) const {
        const int32 j = state.row_to_col[i];
        return j < cols ? j : kNone;
    }
    __device__ int32 row_of(int32 j) const { return state.col_to_row[j]; }
    __device__ void match(int32 i, int32 j) const {
        state.row_to_col[i] = j;
        state.col_to_row[j] = i;
    }
    __device__ Dual cost(int32 i, int32 j) const { return state.matrix.minimised(state.matrix.costs.at(i, j)); }
    __device__ Dual price(int32 i) const { return state.matrix.prices[i]; }
    __device__ bool is_open(int32 j) const { return is_nearly_tight(Dual(0), state.v[j], Dual(0)); }

    template <class Visit>
    __device__ void each_tight(int32 i, Visit visit) const {
        const Dual dual = state.u[i], own = price(i), u = dual < own ? dual : own;  // as it is delivered
        if (listed && !is_nearly_tight(state.tau[i], Dual(0), u)) {
            const Candidate mine = load_candidate(state, i);
            if (mine.col >= 0 && mine.col < cols && is_nearly_tight(Dual(mine.cost), state.v[mine.col], u))
                visit(mine.col);
            return;
        }
        const Costs& costs = state.matrix.costs;
        const int32 places = costs.places(i, cols);
        for (int32 k = static_cast<int32>(lane_index()); k < places; k += kWarp) {
            const int32 j = costs.col_of(i, k);
            if (is_nearly_tight(state.matrix.minimised(costs.at_place(i, k)), state.v[j], u)) visit(j);
        }
    }
};

// After `solve`, if it came to its end. A cooperative launch.
extern "C" __global__ void __launch_bounds__(THREADS, 1) match_ties(LAPWING_PROBLEM, int64 listed) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    if (state.report->status != static_cast<int64>(SolveStatus::optimal)) return;
    const Team team{state, shared().control.counts, true, gridDim.x};
    const TiedState problem(state, listed != 0);
    const TieSearch search{state.distance, state.target[0], state.claim, state.target[1],
                           reinterpret_cast<uint32*>(state.best_bid[0])};
    TieMatcher<Team, TiedState>(team, problem, search).run();
}
