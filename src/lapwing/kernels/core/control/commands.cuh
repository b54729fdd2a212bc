// Commands from the coordinator to a team, and the control block that holds the current command.
#pragma once
#include "core/control/host_channel.cuh"
#include "core/control/team.cuh"

// Rounds of a phase: the input of a run, and its result.
struct AuctionRun {
    uint32 count;                // free rows, in rows_at_work[present]
    uint32 previous;             // number of bidding rows in the previous round
    uint32 present;              // 0 or 1
    uint32 rounds;               // so far in this phase
    uint32 most_rounds, enough;  // a phase ends after most_rounds rounds, or when at most `enough` rows are free
    uint32 waiting;              // in refresh_rows
    Dual level;                  // where dummy rows want columns (core/search/dummies.cuh); infinity: not known
    Dual finest;                 // the last epsilon that is not zero
    bool has_dummies;            // there are dummy rows
    bool moved;                  // a price moved or a row was matched in the last round
    Dual epsilon;
    double unit;  // spacing of the grid of bids; 1 for integers
    double units_in_one;
    uint64 bids;  // so far

    __device__ bool ended() const { return count <= enough || rounds >= most_rounds || (waiting == 0 && !moved); }
    // Rows are listed again when three of four free rows wait for it, or when no other work is left.
    __device__ bool refreshes() const { return waiting > 0 && (!moved || waiting * 4 >= count * 3); }
};

// Steps of a search: the input of a run, and its result.
struct SearchRun {
    uint32 number;  // of the step; continues from search to search
    uint32 count;   // rows in frontier[present]
    uint32 born;    // `number` before the search's first step
    uint32 present;
    uint32 search;          // number of the search
    uint32 free_count;      // free rows
    uint32 open_count;      // free columns, if the problem is square; from dummy rows: columns below the level
    uint32 wanted;          // number of free columns to reach, at least
    uint32 listed;          // rows that were listed again, of those that were resolved last
    uint64 radius;          // larger distances are irrelevant
    uint64 bucket_limit;    // rows beyond it wait
    uint64 previous_limit;  // the bucket limit of the step before
    Dual bucket_width;      // of the bucket limit
    uint64 scans;           // so far
    Dual level;             // of the dummy rows
    bool has_dummies;       // there are dummy rows
    bool from_dummies;      // it begins from them
    bool exhausted;         // no row waits within the search radius, according to the run
    bool nearer;            // a free column came nearer since the radius was found
    bool mixes;             // the search read whole rows, since many costs tie
};

enum class Task : uint32 {
    rounds,
    refresh,
    relist,
    cache_fetched_rows,  // puts fetched rows into row caches
    derive_duals,
    derive_u_refreshed,  // end of the auction
    gather_free,
    local_sweep,  // search: short paths
    steps,
    nearest_waiting,
    reached,
    advance,
    uncertified,
    resolve,  // search: distances
    tight,
    parents,
    parents_in_full_rows,
    augment,  // search: augmentation
    close,    // uncertified rows; if there are none, parents and augment
    begin_backward,
    backward,
    successors,
    full_successors,
    claim_ends,
    augment_successors,  // search where columns outnumber rows
    prepare_auction,
    prepare_and_round,  // warm-up rounds, then rounds
    find_highest,
    level,
    seed_distances,
    list_below_level,
    settle,  // dummy rows (core/search/dummies.cuh)
    bound,
    find_radius,
    farthest,  // by block 0, for the coordinator
    finish
};

struct Command {
    Task task;
    bool wide;      // not block 0 alone
    uint32 blocks;  // the first `blocks` blocks execute the command
    uint32 count;   // number of items
    AuctionRun auction;
    SearchRun search;
};
static_assert(sizeof(Command) <= kCommandBytes);

// In the shared memory of every block: the current command, in which block 0 also writes the result of a run. Only
// block 0 uses the counts and the signals.
struct ControlBlock {
    Counts counts;
    Command command;
    HostSignals signals;
};
