// The code of each task, and the numbers that block 0 computes for the coordinator.
#pragma once
#include "core/search/auction.cuh"
#include "core/search/dummies.cuh"
#include "core/search/local.cuh"
#include "core/search/rectangular.cuh"

// The gap of row i's list: tau minus the row's minimum; 0 if the list has no bound. For sparse costs, whose lists are
// whole rows, it is extrapolated from the two nearest columns, and is infinity if the row has one column only.
__device__ inline Dual width_of_list(const State& state, int64 i) {
    const int64 list = i * Tuning::list_size;
    const auto distance = [&](int64 at) {
        return load_stable(state.list_cost + at) - __ldcg(state.v + load_stable(state.list_col + at));
    };
    if constexpr (Costs::is_sparse) {
        if (load_stable(state.list_col + list + 1) < 0) return infinity<Dual>();
        const Dual step = distance(list + 1) - distance(list);
        return step < infinity<Dual>() / Tuning::list_size ? step * static_cast<Dual>(Tuning::list_size) : step;
    }
    const Dual tau = load_stable(state.tau + i);
    return load_stable(state.list_col + list) >= 0 && tau < infinity<Dual>() ? tau - distance(list) : Dual(0);
}
// The list gap: the median gap of some rows' lists. It is the scale of the price changes still to come. Called by a
// block.
__device__ inline void find_list_gap(const Team& team, Scratch& scratch) {
    const State& state = team.state;
    const uint32 rows = state.matrix.rows, samples = rows < Tuning::gap_samples ? rows : Tuning::gap_samples;
    for (uint32 k = threadIdx.x; k < samples; k += kTeamThreads) {
        scratch.gaps[k] = width_of_list(state, static_cast<int64>(static_cast<uint64>(k) * rows / samples));
    }
    __syncthreads();
    const uint32 known = warp_count(samples, [&](uint32 k) { return scratch.gaps[k] < infinity<Dual>(); });
    for (uint32 k = threadIdx.x / kWarp; k < samples; k += kTeamWarps) {
        const Dual mine = scratch.gaps[k];
        const uint32 rank = warp_count(samples, [&](uint32 other) {
            return scratch.gaps[other] < mine || (scratch.gaps[other] == mine && other < k);
        });
        if (rank == known / 2 && rank < known && lane_index() == 0)
            (team.wide ? *state.counts : team.own).list_gap = as_key(mine);
    }
    __syncthreads();
}

// The spacing of the grid of bids: 2^-unit_bits of the list gap, rounded to a power of two; 1 for integers.
__device__ inline void choose_unit(AuctionRun& run, double list_gap) {
    constexpr bool whole = Dual(0.5) == Dual(0);
    int exponent = 0;
    frexp(list_gap, &exponent);
    // If the list gap is 0 (one column, or only ties), bids have no scale, and none is needed.
    run.unit = whole ? 1.0 : list_gap > 0 ? ldexp(1.0, exponent - Tuning::unit_bits) : 0.0;
    run.units_in_one = run.unit > 0 ? 1 / run.unit : 0.0;
}

// The dual objective under v: with the present u, or, where there is no u yet, from the lists, which must be fresh. The
// order of additions depends only on the number of blocks.
__device__ inline void find_bound(const Team& team, Scratch& scratch, bool from_lists) {
    const State& state = team.state;
    double sum = 0;
    team.each(state.matrix.cols, [&](uint32 j) { sum += static_cast<double>(__ldcg(state.v + j)); });
    team.each(state.matrix.rows, [&](uint32 i) {
        const int64 list = static_cast<int64>(i) * Tuning::list_size;
        if (!from_lists) {
            sum += static_cast<double>(load_stable(state.u + i));
        } else if (const int32 j = load_stable(state.list_col + list); j >= 0) {
            sum += static_cast<double>(load_stable(state.list_cost + list) - __ldcg(state.v + j));
        }
    });
    const auto add = [](double a, double b) { return a + b; };
    sum = warp_reduce(sum, add);
    if (lane_index() == 0) scratch.sums[threadIdx.x / kWarp] = sum;
    __syncthreads();
    if (threadIdx.x < kWarp) sum = warp_reduce(lane_index() < kTeamWarps ? scratch.sums[lane_index()] : 0.0, add);
    if (threadIdx.x == 0) __stcg(state.partial + team.block(), sum);
    team.sync();
    if (blockIdx.x > 0 || threadIdx.x >= kWarp) return;
    sum = 0;
    for (uint32 block = lane_index(); block < team.blocks; block += kWarp) sum += __ldcg(state.partial + block);
    sum = warp_reduce(sum, add);
    const uint64 bits = static_cast<uint64>(__double_as_longlong(sum));
    if (lane_index() == 0) (team.wide ? *state.counts : team.own).answer = bits;
}

// Before the first round: finds the list gap, the grid of bids, and the bound.
__device__ inline void open(const Team& team, Scratch& scratch) {
    if (team.block() == 0) find_list_gap(team, scratch);
    find_bound(team, scratch, true);  // contains a barrier of the team
    if (threadIdx.x == 0)
        choose_unit(shared().control.command.auction,
                    static_cast<double>(from_key<Dual>(present_count(team, &Counts::list_gap))));
    __syncthreads();
}

// The parts of a search's end. Each is compiled once.
__device__ inline Team team_of_command() {
    return {shared().state, shared().control.counts, shared().control.command.wide, shared().control.command.blocks};
}
LAPWING_NOINLINE __device__ void look_for_uncertified() {
    find_uncertified(team_of_command(), shared().control.command.search);
}
LAPWING_NOINLINE __device__ void look_for_parents() {
    find_parents(team_of_command(), shared().control.command.search);
}
LAPWING_NOINLINE __device__ void look_for_parents_in_full_rows() {
    const Command& command = shared().control.command;
    if constexpr (Costs::is_in_memory)
        find_parents_in_rows_of(shared().state.matrix.costs, team_of_command(), command.search, command.count);
    else
        find_parents_in_full_rows(team_of_command(), command.search, command.count);
}
LAPWING_NOINLINE __device__ void augment_all() { augment(team_of_command(), shared().control.command.search); }
// Ends a search that has reached enough free columns: finds the uncertified rows, whose lists may be too short
// (refresh_rows). If there are none, augments along paths.
__device__ inline void close_search(const Team& team, const SearchRun& search) {
    if (search.radius != as_key(Dual(0))) {
        look_for_uncertified();
        team.sync();
        if (present_count(team, &Counts::refresh) > 0) return;
    }
    look_for_parents();
    team.sync();
    augment_all();
}
// Compiled once, though the coordinator, the helpers and the other blocks call it.
LAPWING_NOINLINE __device__ void run_task() {
    State& state = shared().state;
    Scratch& scratch = shared().scratch;
    const Command& command = shared().control.command;
    const SearchRun& search = command.search;
    const Team team{state, shared().control.counts, command.wide, command.blocks};
    switch (command.task) {
        case Task::prepare_and_round: open(team, scratch); [[fallthrough]];
        case Task::rounds:
            return run_by_smaller_teams(
                command.wide, command.blocks,
                [](bool wide, uint32 blocks) { wide ? run_rounds<true>(blocks) : run_rounds<false>(1); },
                [] {
                    const AuctionRun& run = shared().control.command.auction;
                    return run.ended() || run.refreshes() ? 0 : run.count;
                });
        case Task::find_highest:
            if constexpr (kMayHaveDummies) find_highest(team);
            return;
        case Task::level:
            if constexpr (kMayHaveDummies) level_prices();
            return;
        case Task::seed_distances:
            if constexpr (kMayHaveDummies) seed_distances(team, search);
            return;
        case Task::list_below_level:
            if constexpr (kMayHaveDummies) list_below_level(team, search);
            return;
        case Task::settle:
            if constexpr (kMayHaveDummies) settle(team, command.auction.level);
            return;
        case Task::refresh: return Listing::refresh(team, command.count);
        case Task::derive_duals:
            derive_u(team, state.matrix.rows, false);
            team.sync();
            if (present_count(team, &Counts::refresh) > 0) return;
            return gather_free(team);
        case Task::derive_u_refreshed: return derive_u(team, command.count, true);
        case Task::gather_free: return gather_free(team);
        case Task::local_sweep:
            if constexpr (Costs::is_sparse) sweep_locally();
            return;
        case Task::steps:
            return run_by_smaller_teams(
                command.wide, command.blocks,
                [](bool wide, uint32 blocks) { wide ? run_steps<true>(blocks) : run_steps<false>(1); },
                [] { return shared().control.command.search.count; });
        case Task::close: return close_search(team, search);
        case Task::nearest_waiting: return find_nearest_waiting(team, search);
        case Task::reached: return count_reached(team, scratch, search);
        case Task::advance: return advance(team);
        case Task::uncertified: return look_for_uncertified();
        case Task::tight:
            if constexpr (Costs::is_in_memory) count_tight(team);
            return;
        case Task::resolve: return command.wide ? resolve_uncertified<true>() : resolve_uncertified<false>();
        case Task::parents: return look_for_parents();
        case Task::parents_in_full_rows: return look_for_parents_in_full_rows();
        case Task::augment: return augment_all();
        case Task::begin_backward: return begin_backward(team, search);
        case Task::backward: return run_backward_sweeps();
        case Task::successors: return find_successors(team, command.count);
        case Task::full_successors: return find_full_successors(team, command.count);
        case Task::claim_ends: return claim_ends(team, search);
        case Task::augment_successors:
            update_duals_by_backward(team, search);
            team.sync();
            match_successors(team, search.free_count);
            team.sync();
            return gather_free(team);
        case Task::prepare_auction: return open(team, scratch);
        case Task::bound: return find_bound(team, scratch, false);
        case Task::find_radius: return find_radius(team, scratch, search.open_count, search.wanted);
        case Task::farthest: return find_farthest(team, scratch, search.open_count);
        case Task::finish: return;
        default: return Listing::run_task(team, command);
    }
}
