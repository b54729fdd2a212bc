// How rows are listed again, and where whole rows come from: struct Listing, of which a program has one of four, of a
// matrix (core/lists/matrix.cuh), of computed costs (core/lists/computed.cuh), of a matrix on the host
// (core/lists/host.cuh), or of sparse costs (core/lists/sparse.cuh). The program's .cu file includes it before the
// stages that use it.
//
//   refresh(team, count)          lists the first `count` of refresh_rows under the present prices
//   refresh_all(team, count)      before these are resolved: the same where it takes all rows together, else what
//                                 refresh_one needs; with a barrier of the team where the stages need one
//   refresh_one(state, run, i)    lists one of them, unless all are; all threads of a block call it
//   full_row(state, index)        the row at a place of full_rows; of the host, of the rows that are here
//
// Where `fetches_rows`, the coordinator asks the host for rows that row caches do not suffice for:
//
//   insufficient_rows(state)      the list of these rows, counted in Counts
//   room(state)                   how many rows fit at once
//   fetch(list, count)            waits until the host has brought some; false if it requests a stop
//   run_task(team, command)       Task::cache_fetched_rows puts these into their row caches and lists; Task::relist
//                                 lists the first `count` of refresh_rows, and notes those that it does not suffice for
#pragma once
#include "core/shared.cuh"

// Whether row i's list reaches beyond the search radius, not to it: what an old list led to there must be in the new
// one.
__device__ inline bool list_suffices(const State& state, const SearchRun& run, int32 i) {
    const Dual u = load_stable(state.u + i), distance = load_stable(state.row_distance + i),
               tau = load_stable(state.tau + i);
    return tau == infinity<Dual>() || as_key(distance + reduced(tau, Dual(0), u)) > run.radius;
}

// Shared by all costs that the GPU can read at any time.
struct ListingAtHand {
    static constexpr bool fetches_rows = false;

    __device__ static int32 full_row(const State& state, uint32 index) { return load_stable(state.full_rows + index); }

    // Never called.
    __device__ static const int32* insufficient_rows(const State&) { return nullptr; }
    __device__ static uint32 room(const State&) { return 0; }
    __device__ static bool fetch(const int32*, uint32) { return false; }
    __device__ static void run_task(const Team&, const Command&) {}
};
