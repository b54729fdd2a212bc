// Refreshes of many rows of a matrix in shards: each GPU lists its own rows (the first GPU's order, costs/sharded.cuh).
//
// The other GPUs read their memory at 4600 GB/s, and send lists of 270 bytes; over the link, the first GPU would read
// whole rows at 375 GB/s. An order takes the host some 100 us, in which the link carries 37 MB, so few rows are read.
// Prices don't move meanwhile, and a list depends on its row and the prices alone: it has the same bits from any GPU.
#pragma once
#include "core/lists/matrix.cuh"

// Called by one thread of block 0, after which all GPUs may read the prices: posts an order.
__device__ inline void post_order(Order& order, const int32* list, uint32 count) {
    order.list = reinterpret_cast<uint64>(list);
    order.count = count;
    __threadfence_system();
    __stcg(&order.asked, __ldcg(&order.asked) + 1);
}
// Called by the same thread: waits for the lists. False if the host requests a stop, after which it answers no more.
__device__ inline bool wait_for_answer(Order& order) {
    const HostSignals& signals = shared().control.signals;
    const uint32 number = __ldcg(&order.asked);
    bool answered = false;
    for (bool stopped = false; !answered && !stopped;) {
        stopped = signals.polls_stop();
        answered = load_acquire(&order.answered) == number;
    }
    return answered;
}

struct Listing : MatrixListing {
    __device__ static void refresh(const Team& team, uint32 count) {
        const Costs& costs = team.state.matrix.costs;
        if (count < costs.data->ordered_from) return MatrixListing::refresh(team, count);
        lower_all_prices(team);
        const int32* rows = team.state.refresh_rows;
        const bool posts = team.block() == 0 && threadIdx.x == 0;
        if (posts) post_order(*costs.data->order, rows, count);
        for (uint32 at = team.block(); at < count; at += team.blocks) {
            const int32 i = load_stable(rows + at);
            if (costs.owns(i)) relist_row(i);
        }
        if (team.block() != 0) return;
        // In vain after a stop: then this block lists the others' rows, as they may be doing, with the same result.
        if (__syncthreads_or(posts && !wait_for_answer(*costs.data->order))) {
            for (uint32 at = 0; at < count; ++at) {
                const int32 i = load_stable(rows + at);
                if (!costs.owns(i)) relist_row(i);
            }
        }
    }
};
