// Lists of a matrix in shards (core/lists/matrix.cuh): the GPU that has a row lists it, also when it is listed again.
// So its costs are read at the speed of that GPU's memory, twelve times that of the link between two H200s, and all
// GPUs list at the same time.
//
// While the first GPU solves, `serve` runs on each of the others. The first GPU writes to each the prices, 12 bytes a
// column, and which of its rows are to be listed, into the workspace of that GPU. Then it sends an order, a word in
// that GPU's memory: its turn, and the number of rows. The other GPU lists them into the workspace of the solve, and
// writes the turn as its answer. A word that says kNoMore ends its service. A GPU that has several shards gets no
// orders: the first GPU lists their rows.
//
// All that is sent is written where it will be read: nobody waits for a write over the link, but a read takes 0.9 us.
// No block of the other GPU waits for another: each that sees an order lists every gridDim-th row, and the last to end
// answers. A block that has no row of an order may miss it.
//
// Invariant: from an order to its answer nobody else reads or writes the lists of these rows, and what was sent stays
// as it is. The lists are those that the first GPU would make.
//
// Cost: the prices, and two words, over the link; the first GPU lists its own rows meanwhile.
#pragma once
#include "core/lists/matrix.cuh"
#include "core/problem.cuh"

constexpr uint32 kNoMore = ~0u;

// What the first GPU keeps of its orders, by shard.
struct Answers {
    uint64 answered[Costs::Data::most_shards];  // the last turn that was answered; its owner writes it
    uint64 turn[Costs::Data::most_shards];      // the last order's
    uint32 asked[Costs::Data::most_shards];     // rows of the next one
};

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
    __device__ static Answers& answers(const Costs& costs) { return *reinterpret_cast<Answers*>(costs.data->answers); }
    __device__ static int32* own_rows(const State& state) { return state.successor; }  // not in use meanwhile
    // The array of an owner's workspace that is at the place of this one of the first GPU's.
    template <class T>
    __device__ static T* of_owner(const State& state, uint32 shard, T* array) {
        const uint64 at = reinterpret_cast<uint64>(array) - reinterpret_cast<uint64>(state.report);
        return reinterpret_cast<T*>(state.matrix.costs.data->workspaces[shard] + at);
    }
    // body(shard) of each that has orders.
    template <class Body>
    __device__ static void each_owner(const Costs& costs, Body body) {
#pragma unroll 1
        for (uint32 shard = 0; shard < kShards; ++shard) {
            if (costs.data->orders[shard] != nullptr) body(shard);
        }
    }

    // Lists the first `count` of refresh_rows, each GPU its own; of those of the first GPU without rows for which
    // is_useless(row). At the next barrier of the team the lists are there.
    template <class IsUseless>
    __device__ static void list_by_owners(const Team& team, uint32 count, IsUseless is_useless) {
        const State& state = team.state;
        const Costs& costs = state.matrix.costs;
        send_prices(team);
        share_out(team, count);
        __threadfence_system();  // before the order
        team.sync();
        const bool asks = team.block() == 0 && threadIdx.x < kShards && costs.data->orders[threadIdx.x] != nullptr &&
                          send(costs, threadIdx.x);
        const uint32 own = present_count(team, &Counts::insufficient);
        for (uint32 at = team.block(); at < own; at += team.blocks) {
            const int32 i = load_stable(own_rows(state) + at);
            if (!is_useless(i)) relist_row(i);
        }
        if (asks) wait(costs, threadIdx.x);
        __syncthreads();
    }
    __device__ static void send_prices(const Team& team) {
        const State& state = team.state;
        team.each(state.matrix.cols, [&](uint32 j) {
            const Dual price = __ldcg(state.v + j);
            ListingPrice low = 0;
            if constexpr (kNarrowCosts) state.listing_price[j] = low = lowered(price);
            each_owner(state.matrix.costs, [&](uint32 shard) {
                __stcg(state.matrix.costs.data->prices[shard] + j, price);
                if constexpr (kNarrowCosts) __stcg(of_owner(state, shard, state.listing_price) + j, low);
            });
        });
    }
    // Puts each row into the list of its owner, or of the first GPU.
    __device__ static void share_out(const Team& team, uint32 count) {
        const State& state = team.state;
        const Costs& costs = state.matrix.costs;
        team.each_converged(count, [&](uint32 index) {
            const int32 i = index < count ? load_stable(state.refresh_rows + index) : kNone;
            const uint32 shard = i >= 0 ? costs.shard_of(i) : kShards;
            const bool own = i >= 0 && costs.data->orders[shard] == nullptr;
            append(team, own_rows(state), &Counts::insufficient, own ? i : kNone);
            each_owner(costs, [&](uint32 owner) {
                const bool its = shard == owner;
                const uint32 place = take_place<true>(&answers(costs).asked[owner], its);
                if (its) __stcg(of_owner(state, owner, state.refresh_rows) + place, i);
            });
        });
    }
    // Orders what was shared out to this shard; false if it is nothing.
    __device__ static bool send(const Costs& costs, uint32 shard) {
        Answers& of = answers(costs);
        const uint32 count = __ldcg(&of.asked[shard]);
        if (count == 0) return false;
        const uint64 mine = __ldcg(&of.turn[shard]) + 1;
        __stcg(&of.turn[shard], mine);
        __stcg(&of.asked[shard], 0u);
        __threadfence_system();  // what the others wrote, of which the team's barrier told
        store_to_gpus(costs.data->orders[shard], mine << 32 | count);
        return true;
    }
    // If the host requests a stop, the wait for a GPU that does not answer ends in the end.
    __device__ static void wait(const Costs& costs, uint32 shard) {
        const Answers& of = answers(costs);
        const uint64 turn = __ldcg(&of.turn[shard]);
        for (uint32 polls = 1; load_from_gpus(&of.answered[shard]) != turn; ++polls) {
            if (polls % kPollsBetweenLooks == 0 && shared().control.signals.polls_stop()) break;
        }
        __threadfence_system();
    }
};

// On a GPU that has one shard: lists its rows again on orders. `solver`: the workspace of the solve. `order`, `answer`:
// the words of this shard, zero at first.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    serve(LAPWING_PROBLEM, unsigned char* solver, const uint64* order, uint64* answer) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    __shared__ uint64 word;
    if (threadIdx.x == 0) {
        word = 0;
        State there;
        there.matrix = state.matrix;
        there.carve(solver);
        state.list_col = there.list_col;
        state.list_cost = there.list_cost;
        state.tau = there.tau;
    }
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            const uint64 last = word;
            do word = load_from_gpus(order);
            while (word == last || word == 0);
            __threadfence_system();
        }
        __syncthreads();
        const uint32 count = static_cast<uint32>(word);
        if (count == kNoMore) return;
        uint32 listed = 0;
        for (uint32 at = blockIdx.x; at < count; at += gridDim.x, ++listed) relist_row(__ldcg(state.refresh_rows + at));
        if (listed == 0) continue;
        __threadfence_system();
        __syncthreads();
        if (threadIdx.x > 0) continue;
        uint32* const ended = &state.counts->insufficient;
        if (add_count<true>(ended, listed) + listed < count) continue;
        __stcg(ended, 0u);
        __threadfence_system();
        store_to_gpus(answer, word >> 32);
    }
}
