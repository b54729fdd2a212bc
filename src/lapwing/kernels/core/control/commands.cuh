// Commands: what the coordinator has a team do, and the control block in which it says so.
#pragma once
#include "core/control/host_channel.cuh"
#include "core/control/team.cuh"

// Rounds of a phase; what begins a run, and what came of it.
struct AuctionRun {
    uint32 count;                // free rows, in rows_at_work[present]
    uint32 previous;             // how many bid in the round before
    uint32 present;              // 0 or 1
    uint32 rounds;               // so far in this phase
    uint32 most_rounds, enough;  // a phase ends after so many rounds, or when so few rows are free
    uint32 waiting;              // in refresh_rows
    bool moved;                  // in the last round, a price or a row
    Dual epsilon;
    double unit;  // of the grid; 1 for integers
    double units_in_one;
    uint64 bids;  // so far

    __device__ bool ended() const { return count <= enough || rounds >= most_rounds || (waiting == 0 && !moved); }
    // Rows are listed again when three of four free rows wait for it, or nothing else is left to do.
    __device__ bool refreshes() const { return waiting > 0 && (!moved || waiting * 4 >= count * 3); }
};

// Steps of a search; what begins a run, and what came of it.
struct SearchRun {
    uint32 number;  // of the step; counts on from search to search
    uint32 count;   // of the frontier, frontier[present]
    uint32 born;    // number before the search's first step
    uint32 present;
    uint32 search;  // number of the search
    uint32 free_count;
    uint32 wanted;          // free columns are to be reached, at least
    uint64 radius;          // distances above it do not matter
    uint64 bucket_limit;    // rows farther away wait
    uint64 previous_limit;  // where the bucket limit was before
    Dual bucket_width;      // of the bucket limit
    uint64 scans;           // so far
    bool exhausted;         // no row waits within the search radius, as the run found
    bool mixes;             // whole rows were looked at, as many costs tie
};

enum class Task : uint32 {
    rounds,
    refresh,
    relist,
    cache_fetched_rows,  // of row caches
    derive_duals,
    derive_u_refreshed,  // auction
    gather_free,
    steps,
    nearest_waiting,
    reached,
    advance,
    uncertified,
    resolve,  // distances
    parents,
    parents_in_full_rows,
    augment,  // augmentation
    close,    // uncertified rows, and if there is none lead and augment
    begin_backward,
    backward,
    successors,
    full_successors,
    claim_ends,
    augment_successors,  // the same where columns outnumber rows
    prepare_auction,
    prepare_and_round,  // warm-up rounds, then rounds
    bound,
    find_radius,
    farthest,  // by block 0, for the coordinator
    finish
};

struct Command {
    Task task;
    bool wide;      // not by block 0 alone
    uint32 blocks;  // that carry it out
    uint32 count;   // how much there is to do
    AuctionRun auction;
    SearchRun search;
};
static_assert(sizeof(Command) <= kCommandBytes);

// In the shared memory of every block: the command at hand, where block 0 also writes what came of a run. Counts and
// signals are block 0's.
struct ControlBlock {
    Counts counts;
    Command command;
    HostSignals signals;
};
