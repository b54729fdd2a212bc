// The interface by which rows are listed again and whole rows are read: struct Listing. Each program has one of five:
// for a matrix (core/lists/matrix.cuh), one in shards (core/lists/owners.cuh), computed costs
// (core/lists/computed.cuh), a matrix on the host (core/lists/host.cuh), or sparse costs (core/lists/sparse.cuh). The
// program's .cu file includes it before the stages that use it.
//
//   refresh(team, count)          lists the first `count` of refresh_rows under the present prices
//   leave_open(team, run, count)  called before these rows are resolved: leaves those that may bring a column nearer,
//                                 and returns how many these are
//   refresh_all(team, count)      called then, with that number: lists them if it lists all together,
//                                 otherwise prepares refresh_one; has a barrier of the team if the stages need one
//   refresh_one(state, run, i)    lists one of them, unless refresh_all did; all threads of a block call it
//   before_parents(team, run)     called before whole rows are read for parents; has a barrier of the team if need be
//   Places(state, i, wanted)      the places of row i that must be looked at for the wanted columns; those of all
//                                 columns, unless bounding boxes tell (AllPlaces, which are `all_wanted`)
//   full_row(state, index)        the row at a place of full_rows; for the host, of the rows on the GPU
//
// If `fetches_rows`, the coordinator requests rows whose row caches are insufficient from the host:
//
//   insufficient_rows(state)      the list of these rows, whose length is in Counts
//   room(state)                   how many rows fit at once
//   fetch(list, count, for_caches)   waits until the host has copied some, or the row caches of some; false if it
//                                 requests a stop
//   came_as_caches(state)         whether some of them came as row caches
//   run_task(team, command)       Task::cache_fetched_rows puts these into their row caches and lists; Task::relist
//                                 lists the first `count` of refresh_rows, and notes rows with insufficient caches
//
// If it `has_owners`, other GPUs may list rows (core/lists/owners.cuh); then the coordinator's warp calls end(state) at
// the end of the solve.
#pragma once
#include "core/shared.cuh"

// Whether row i's list proves all distances up to and including the search radius. It must exceed the radius strictly:
// the new list must contain every column at the radius that the old list contained.
__device__ inline bool list_suffices(const State& state, const SearchRun& run, int32 i) {
    const Dual u = load_stable(state.u + i), distance = load_stable(state.row_distance + i),
               tau = load_stable(state.tau + i);
    return tau == infinity<Dual>() || as_key(distance + reduced(tau, Dual(0), u)) > run.radius;
}

// Rounding of the sums that a search forms moves them by less than 2^-48 of their terms.
__device__ inline double rounding_of_sums(double u, double radius, double distance) {
    return (fabs(u) + fabs(radius) + fabs(distance)) * (1.0 / (1ull << 48));
}
__device__ inline int64 rounding_of_sums(int64, int64, int64) { return 0; }
// The columns wanted of a row: those that it brings nearer, or those that are where it leads, within the search radius.
struct Wanted {
    uint64 radius;
    Dual distance, u;  // of the row
    bool nearer;

    // The greatest cost - v - distance of the column, or a little more.
    __device__ Dual base() const {
        return u - distance + rounding_of_sums(u, radius == kFar ? Dual(0) : from_key<Dual>(radius), distance);
    }
    // The greatest cost - v, or a little more, of wanted columns whose distances are at most `farthest`.
    __device__ Dual within(uint64 farthest) const {
        if (farthest == kFar) return infinity<Dual>();
        const Dual most = from_key<Dual>(farthest);
        if (nearer ? most <= distance : most < distance) return -infinity<Dual>();
        return u + (most - distance) + rounding_of_sums(u, most, distance);
    }
};

// In State::full_search, beside the number of the search: at full_distance the row brings no column nearer, and it is
// not in full_rows.
constexpr uint32 kNoneNearer = 1u << 31;
__device__ inline bool is_certified(const State& state, const SearchRun& run, int32 i, Dual distance) {
    return (load_stable(state.full_search + i) & ~kNoneNearer) == run.search &&
           load_stable(state.full_distance + i) == distance;
}
__device__ inline void note_certified(const State& state, const SearchRun& run, int32 i, Dual distance) {
    if (load_stable(state.full_search + i) != run.search) state.full_search[i] = run.search | kNoneNearer;
    state.full_distance[i] = distance;
}

// All places of a row, in one chunk. All threads of a block use it alike.
class AllPlaces {
  public:
    static constexpr bool all_wanted = true;

    __device__ AllPlaces(const State& state, int32 i, const Wanted&) : count_(state.matrix.places(i)) {}
    // The number of places in the next chunk; 0 after the last.
    __device__ uint32 next() {
        const uint32 count = count_;
        count_ = 0;
        return count;
    }
    // The place with this index in the chunk; kNone if there is none.
    __device__ int32 at(uint32 index) const { return static_cast<int32>(index); }

  private:
    uint32 count_;
};

// Shared by all costs that the GPU can read at any time.
struct ListingAtHand {
    using Places = AllPlaces;
    static constexpr bool fetches_rows = false, has_owners = false;

    __device__ static uint32 leave_open(const Team&, const SearchRun&, uint32 count) { return count; }
    __device__ static void before_parents(const Team&, const SearchRun&) {}
    __device__ static int32 full_row(const State& state, uint32 index) { return load_stable(state.full_rows + index); }

    // Never called.
    __device__ static void end(const State&) {}
    __device__ static const int32* insufficient_rows(const State&) { return nullptr; }
    __device__ static uint32 room(const State&) { return 0; }
    __device__ static bool fetch(const int32*, uint32, bool) { return false; }
    __device__ static bool came_as_caches(const State&) { return false; }
    __device__ static void run_task(const Team&, const Command&) {}
};
