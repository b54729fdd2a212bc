// Lists of a matrix in shards (core/lists/matrix.cuh): the GPU that has a row lists it, also when it is listed again.
// So its costs are read at the speed of that GPU's memory, twelve times that of the link between two H200s, and all
// GPUs list at the same time.
//
// While the first GPU solves, `serve` runs on each of the others. An order is a word in that GPU's memory: its turn,
// and how many rows are in refresh_rows of the solve. Every GPU takes its own among them. One that serves copies the
// prices, 8 bytes a column, lists its rows into the workspace of the solve, and writes the turn as its answer. A word
// that says kNoMore ends its service. A GPU that has several shards gets no orders: the first GPU lists their rows.
//
// Invariant: from an order to its answer the prices and refresh_rows stay as they are, and nobody else reads or writes
// the lists of these rows. The lists are those that the first GPU would make.
//
// Cost: two words over the link and two barriers of the other grid, beside the prices; the first GPU lists its own rows
// meanwhile.
#pragma once
#include "core/lists/matrix.cuh"
#include "core/problem.cuh"

constexpr uint32 kNoMore = ~0u;

struct Listing : MatrixListing {
    static constexpr bool has_owners = true;

    __device__ static void refresh(const Team& team, uint32 count) {
        if (!is_shared_out(team.state)) return MatrixListing::refresh(team, count);
        list_by_owners(team, count, [](int32) { return false; });
    }
    __device__ static void refresh_all(const Team& team, uint32 count) {
        if (!is_shared_out(team.state)) return MatrixListing::refresh_all(team, count);
        list_by_owners(team, count,
                       [&](int32 i) { return list_is_ties(team.state, shared().control.command.search, i); });
        team.sync();
    }
    __device__ static void refresh_one(const State& state, const SearchRun& run, int32 i) {
        if (!is_shared_out(state)) MatrixListing::refresh_one(state, run, i);
    }
    __device__ static void end(const State& state) {
        if (!is_shared_out(state) || lane_index() >= kShards) return;
        if (uint64* const order = state.matrix.costs.data->orders[lane_index()]) store_to_gpus(order, ~uint64(0));
    }

  private:
    static constexpr uint32 kShards = Costs::Data::most_shards;
    static_assert(kShards <= kWarp);

    __device__ static bool is_shared_out(const State& state) { return state.matrix.costs.data->answers != nullptr; }
    __device__ static int32* own_rows(const State& state) { return state.successor; }  // not in use meanwhile

    // Lists the first `count` of refresh_rows, each GPU its own; of those of the first GPU without rows for which
    // is_useless(row). At the next barrier of the team the lists are there.
    template <class IsUseless>
    __device__ static void list_by_owners(const Team& team, uint32 count, IsUseless is_useless) {
        const State& state = team.state;
        const Costs& costs = state.matrix.costs;
        const bool orders = team.block() == 0 && threadIdx.x < kShards && costs.data->orders[threadIdx.x] != nullptr;
        if (orders) send(costs, threadIdx.x, count);
        team.each_converged(count, [&](uint32 index) {
            const int32 i = index < count ? load_stable(state.refresh_rows + index) : kNone;
            const bool own = i >= 0 && costs.data->orders[costs.shard_of(i)] == nullptr;
            append(team, own_rows(state), &Counts::insufficient, own ? i : kNone);
        });
        if constexpr (!kNarrowCosts) team.sync();
        lower_all_prices(team);
        const uint32 own = present_count(team, &Counts::insufficient);
        for (uint32 at = team.block(); at < own; at += team.blocks) {
            const int32 i = load_stable(own_rows(state) + at);
            if (!is_useless(i)) relist_row(i);
        }
        if (orders) wait(costs, threadIdx.x);
        __syncthreads();
    }
    __device__ static void send(const Costs& costs, uint32 shard, uint32 count) {
        uint64* const turn = costs.data->answers + kShards + shard;
        const uint64 mine = __ldcg(turn) + 1;
        __stcg(turn, mine);
        __threadfence_system();  // the prices and the rows, of which the team's last barrier told
        store_to_gpus(costs.data->orders[shard], mine << 32 | count);
    }
    // If the host requests a stop, the wait for a GPU that does not answer ends in the end.
    __device__ static void wait(const Costs& costs, uint32 shard) {
        const uint64 *const answer = costs.data->answers + shard, turn = __ldcg(costs.data->answers + kShards + shard);
        for (uint32 polls = 1; load_from_gpus(answer) != turn; ++polls) {
            if (polls % kPollsBetweenLooks == 0 && shared().control.signals.polls_stop()) break;
        }
        __threadfence_system();
    }
};

// On a GPU that has one shard: lists its rows again on orders. `solver`, solver_v: the workspace and the prices of the
// solve. `order`, `answer`: the words of this shard, zero at first.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    serve(LAPWING_PROBLEM, unsigned char* solver, const Dual* solver_v, const uint64* order, uint64* answer) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    __shared__ const int32* asked_rows;
    __shared__ uint32 asked;
    if (threadIdx.x == 0) {
        State there;
        there.matrix = state.matrix;
        there.carve(solver);
        state.list_col = there.list_col;
        state.list_cost = there.list_cost;
        state.tau = there.tau;
        asked_rows = there.refresh_rows;
    }
    const int32 first = state.matrix.costs.own_first(), end = state.matrix.costs.own_end(0);
    const uint32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (uint64 turn = 1;; ++turn) {
        __syncthreads();
        if (threadIdx.x == 0) {
            uint64 word = 0;
            while (word >> 32 != turn && static_cast<uint32>(word) != kNoMore) word = load_from_gpus(order);
            asked = static_cast<uint32>(word);
        }
        __syncthreads();
        const uint32 count = asked;
        if (count == kNoMore) return;
        __threadfence_system();
        for (uint32 j = thread; j < static_cast<uint32>(state.matrix.cols); j += threads) {
            const uint64 word = load_from_gpus(reinterpret_cast<const uint64*>(solver_v) + j);
            Dual price;
            memcpy(&price, &word, sizeof price);
            state.v[j] = price;
            if constexpr (kNarrowCosts) state.listing_price[j] = lowered(price);
        }
        for (uint32 two = thread; two < (count + 1) / 2; two += threads) {
            const uint64 word = load_from_gpus(reinterpret_cast<const uint64*>(asked_rows) + two);
            for (uint32 k = 0; k < 2 && 2 * two + k < count; ++k) {
                const auto i = static_cast<int32>(word >> 32 * k);
                if (i >= first && i < end) state.refresh_rows[atomicAdd(&state.counts->insufficient, 1u)] = i;
            }
        }
        grid_barrier(state.barrier, gridDim.x);
        const uint32 own = __ldcg(&state.counts->insufficient);
        for (uint32 at = blockIdx.x; at < own; at += gridDim.x) relist_row(load_stable(state.refresh_rows + at));
        __threadfence_system();
        grid_barrier(state.barrier, gridDim.x);
        if (thread == 0) {
            state.counts->insufficient = 0;
            __threadfence_system();
            store_to_gpus(answer, turn);
        }
    }
}
