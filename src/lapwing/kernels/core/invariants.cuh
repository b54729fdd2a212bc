// Invariants of the core method, asserted by the coordinator after each phase and each search.
//
// Only checking builds, such as the emulated tests, assert them (common/require.cuh), since each assertion reads the
// whole matrix. A matrix on the host is not checked, since its rows are not on the GPU. Sums of floats are compared up
// to rounding, integers exactly.
//
//   tau                  no column outside row i's list has cost - v below tau[i]
//   epsilon-optimality   after a phase, a matched pair's cost - v exceeds its row's minimum by at most epsilon
//   feasibility          with u, u[i] + v[j] <= cost[i, j] for every allowed pair
//   tightness            with u, u[i] + v[j] = cost[i, j] for matched pairs
//   matching             row_to_col and col_to_row are inverse to each other
#pragma once
#include "common/require.cuh"
#include "core/state.cuh"

constexpr bool kChecksCore = kChecksInvariants && !Costs::is_on_host;

// A bound of the rounding error of sums of these numbers.
__device__ inline Dual rounding_of(Dual a, Dual b, Dual c) {
    if constexpr (Dual(0.5) == Dual(0)) return Dual(0);
    return static_cast<Dual>(
        1e-12 * (fabs(static_cast<double>(a)) + fabs(static_cast<double>(b)) + fabs(static_cast<double>(c))));
}

// Whether column j is in row i's list.
__device__ inline bool is_listed(const State& state, int32 i, int32 j) {
    for (uint32 k = 0; k < Tuning::list_size; ++k) {
        if (__ldcg(state.list_col + static_cast<int64>(i) * Tuning::list_size + k) == j) return true;
    }
    return false;
}

// All lanes of a warp call these functions between commands. Each lane takes every 32nd row.
__device__ inline void require_matching(const State& state) {
    for (int32 i = lane_index(); i < state.matrix.rows; i += kWarp) {
        const int32 j = __ldcg(state.row_to_col + i);
        require(j < state.matrix.cols && (j < 0 || __ldcg(state.col_to_row + j) == i), "a matched pair is one-sided");
    }
    for (int32 j = lane_index(); j < state.matrix.cols; j += kWarp) {
        const int32 i = __ldcg(state.col_to_row + j);
        require(i < state.matrix.rows && (i < 0 || __ldcg(state.row_to_col + i) == j), "a matched pair is one-sided");
    }
}
__device__ inline void require_tau(const State& state) {
    if (!kChecksCore) return;
    for (int32 i = lane_index(); i < state.matrix.rows; i += kWarp) {
        const Dual tau = __ldcg(state.tau + i);
        for (int32 j = 0; j < state.matrix.cols; ++j) {
            const Dual cost = state.matrix.at(i, j);
            if (!(cost < infinity<Dual>()) || cost - __ldcg(state.v + j) >= tau) continue;
            require(is_listed(state, i, j), "a column outside a list is below tau");
        }
    }
}
__device__ inline void require_epsilon_optimality(const State& state, Dual epsilon) {
    if (!kChecksCore) return;
    require_matching(state);
    for (int32 i = lane_index(); i < state.matrix.rows; i += kWarp) {
        const int32 own = __ldcg(state.row_to_col + i);
        if (own < 0) continue;
        const Dual cost = state.matrix.at(i, own), v = __ldcg(state.v + own);
        for (int32 j = 0; j < state.matrix.cols; ++j) {
            const Dual other = state.matrix.at(i, j), price = __ldcg(state.v + j);
            if (!(other < infinity<Dual>())) continue;
            require(cost - v <= other - price + epsilon + rounding_of(cost, v, price),
                    "a matched pair is not epsilon-optimal");
        }
    }
}
__device__ inline void require_feasible_duals(const State& state) {
    if (!kChecksCore) return;
    require_matching(state);
    for (int32 i = lane_index(); i < state.matrix.rows; i += kWarp) {
        const int32 own = __ldcg(state.row_to_col + i);
        const Dual u = __ldcg(state.u + i);
        for (int32 j = 0; j < state.matrix.cols; ++j) {
            const Dual cost = state.matrix.at(i, j), v = __ldcg(state.v + j);
            if (!(cost < infinity<Dual>())) continue;
            const Dual slack = cost - u - v, rounding = rounding_of(cost, u, v);
            require(slack >= -rounding, "the duals are infeasible");
            require(j != own || slack <= rounding, "a matched pair is not tight");
        }
    }
}
