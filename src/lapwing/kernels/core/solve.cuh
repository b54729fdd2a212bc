// The kernels of the core method that all kinds of costs share: prepare, solve, deliver, violator. See core/core.cu.
#pragma once
#include "core/control/coordinator.cuh"
#include "core/problem.cuh"

__device__ void take_sample(const State& state);  // for a matrix in memory: core/start/minima.cuh

// Runs before every listing, and before prices are set. Sets the `keys` for column minima (common/column_keys.cuh) to
// all ones. If `sampled`, takes a sample for them. Without keys, sets v to its starting values for problems with more
// columns than rows.
extern "C" __global__ void __launch_bounds__(256)
    prepare(LAPWING_PROBLEM, uint64* keys, int64 key_count, int64 sampled) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    if (first == 0) {
        state.barrier[0] = state.barrier[kLine] = state.barrier[2 * kLine] = 0;
        *state.counts = Counts{};
        *state.report = Report{};
        state.report->invalid_row = state.report->empty_row = rows;
    }
    for (int64 j = first; j < cols; j += step) {
        state.distance[j] = kFar;
        state.stamp[j] = 0;
        state.col_to_row[j] = kNone;
    }
    for (int64 i = first; i < rows; i += step) {
        state.full_search[i] = 0;
        state.row_to_col[i] = kNone;
        u[i] = 0;
    }
    if (keys != nullptr) {
        for (int64 k = first; k < key_count; k += step) keys[k] = ~0ull;
        if constexpr (Costs::is_in_memory) {
            if (sampled != 0) take_sample(state);
        }
        if (rows == cols) return;
    }
    const int32 real = state.matrix.real_cols();
    for (int64 j = first; j < cols; j += step) {
        const int32 i = static_cast<int32>(j) - real;
        v[j] = i >= 0 && prices[i] < infinity<Dual>() ? state.matrix.unmatched_cost(i) - prices[i] : Dual(0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    solve(LAPWING_PROBLEM, double first_epsilon, double last_epsilon, double epsilon_factor, int64 rounds, int64 times,
          int64 warm_up, int64 most_steps, double structure_threshold, double most_reads, int64 most_left,
          int64 has_dummies, HostChannel* channel, Report* mail) {
    set_state(LAPWING_MATRIX, u, v, workspace);
    if (threadIdx.x == 0) {
        shared().control.counts = Counts{};
        shared().control.signals.begin(channel);
    }
    __syncthreads();
    if (blockIdx.x > 0) {
        worker_loop();
    } else if (threadIdx.x >= kWarp) {
        helper_loop();
    } else {
        const Schedule schedule = {first_epsilon,
                                   last_epsilon,
                                   epsilon_factor,
                                   static_cast<uint32>(rounds),
                                   static_cast<uint32>(times),
                                   static_cast<uint32>(warm_up),
                                   static_cast<uint32>(most_steps),
                                   structure_threshold,
                                   most_reads,
                                   has_dummies != 0};
        Coordinator(schedule).solve(static_cast<uint32>(most_left), mail);
    }
}

// Duals of the problem in which columns may stay free, at the price p of all rows, from those of this, x <= p of its
// rows and y <= 0 of its columns: x - p and y + p. Of a pair of an optimum, they add up to its cost.
struct TurnedDuals {
    const State& state;
    bool optimal;

    __device__ Dual of_row(int32 i) const {
        const Dual price = state.matrix.prices[i], u = state.u[i] < price ? state.u[i] - price : Dual(0);
        return u < Dual(0) ? u : Dual(0);
    }
    __device__ Dual of_col(int32 j) const {
        const Dual price = state.matrix.prices[0];
        const int32 i = state.col_to_row[j];
        Dual v = state.v[j] + price;
        if constexpr (!Costs::is_on_host) {
            if (optimal && i >= 0) v = state.matrix.at(i, j) - of_row(i);
        }
        return v < price ? v : price;
    }
};

// Writes the user's answer: the column of each row and the row of each column of the matrix, -1 where there is none;
// both duals in the user's sense, `turned` or not; and the given cost of each row's pair. Writes nothing if the solve
// did not finish, unless `always`.
extern "C" __global__ void __launch_bounds__(256)
    deliver(LAPWING_PROBLEM, int64 always, int64 turned, int64* row_to_col, int64* col_to_row, Dual* picked,
            Dual* given_u, Dual* given_v) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const bool optimal = state.report->status == static_cast<int64>(SolveStatus::optimal);
    if (always == 0 && !optimal) return;
    const TurnedDuals duals{state, optimal};
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    const int32 real = state.matrix.real_cols();
    for (int64 i = first; i < rows; i += step) {
        const int32 j = state.row_to_col[i];
        const bool matched = j >= 0 && j < real;
        Dual dual = u[i], price = 0;
        if (prices != nullptr) {
            dual = dual < prices[i] ? dual : prices[i];  // at an unmatched column, whose v may have fallen
            if (!matched && prices[i] < infinity<Dual>()) price = maximize ? -prices[i] : prices[i];
        }
        row_to_col[i] = matched ? j : kNone;
        if constexpr (Costs::is_on_host)
            picked[i] = price;  // the host sums these costs
        else
            picked[i] = matched ? Dual(widened(state.matrix.costs.at(i, j))) : price;
        if (turned != 0) dual = duals.of_row(i);
        given_u[i] = maximize ? -dual : dual;
    }
    for (int64 j = first; j < real; j += step) {
        col_to_row[j] = state.col_to_row[j];
        const Dual dual = turned != 0 ? duals.of_col(static_cast<int32>(j)) : v[j];
        given_v[j] = maximize ? -dual : dual;
    }
}

// If no assignment exists, marks a Hall violator: 1 for rows that have too few columns, and for the columns that they
// have; 0 for all others.
extern "C" __global__ void __launch_bounds__(256) violator(LAPWING_PROBLEM, uint8* of_rows, uint8* of_cols) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const Report& report = *state.report;
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    if (report.empty_row < rows) {
        if (first == 0) of_rows[report.empty_row] = 1;
        return;
    }
    for (int64 k = first; k < report.free_rows; k += step) of_rows[state.free_rows[k]] = 1;
    for (int64 j = first; j < cols; j += step) {
        if (state.distance[j] == kFar) continue;
        of_cols[j] = 1;
        of_rows[state.col_to_row[j]] = 1;
    }
}
