// What the leader asks a team to do, and where it says so.
#pragma once
#include "core_state.cuh"

// A step of one round, or the beginning of a phase.
struct AuctionStep {
    uint32 count;     // free rows, in rows_at_work[present]
    uint32 previous;  // how many offered in the round before
    uint32 present;   // 0 or 1
    Dual epsilon;
    double unit;  // of the grid; 1 for integers
    double units_in_one;
};

// One step of a search.
struct SearchStep {
    uint32 number;   // of the step; counts on from search to search
    uint32 count;    // of what is worked on
    uint32 present;  // the frontier is rows_at_work[present]
    uint32 search;   // number of the search
    uint64 cap;      // distances above it do not matter
};

enum class Task : uint32 {
    free_all,
    auction_round,
    refresh,
    derive_u,
    derive_u_refreshed,  // auction
    begin_search,
    step,
    doubt_free,
    doubt,
    resolve,  // distances
    lead_free,
    lead,
    lead_full,
    claim,
    update,
    augment,
    keep_free,
    copy_free,  // augmentation
    list_width,
    start_bound,
    bound,
    cap,
    farthest,  // by block 0, for its leader
    finish
};

struct Order {
    Task task;
    bool wide;     // all blocks carry it out
    uint32 count;  // how much there is to do
    uint32 extra;  // a second number, where a task needs one
    AuctionStep auction;
    SearchStep search;
};
static_assert(sizeof(Order) <= kOrderBytes);

// In the shared memory of every block: the order at hand. Counts are block 0's.
struct Desk {
    Counts counts;
    Order order;
};
