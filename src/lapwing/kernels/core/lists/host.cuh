// Lists of a matrix on the host. They come from row caches (core/lists/row_cache.cuh), whose bounds limit tau. Where
// these are insufficient, rows are requested from the host.
#pragma once
#include "costs/host_rows.cuh"

#include "core/lists/build.cuh"
#include "core/lists/listing.cuh"
#include "core/lists/row_cache.cuh"

// The cached columns of a row, in any order, as a part that can be collected (core/lists/build.cuh). `frozen`: no
// thread writes prices while the kernel runs.
template <bool frozen>
struct CachedRow {
    template <class F>
    __device__ void operator()(const State& state, int32 i, F f) const {
        const Matrix& matrix = state.matrix;
        const Costs::Data& data = *matrix.costs.data;
        const int64 cached = i * data.depth;
        const int32 count = data.cached_count[i], cols = matrix.real_cols();
        for (int32 k = threadIdx.x; k < count; k += blockDim.x) {
            const int32 j = data.cached_col[cached + k];
            const Dual cost = matrix.minimised(data.cached_cost[cached + k]);
            f(j, cost, cost - (frozen ? state.v[j] : __ldcg(state.v + j)));
        }
        if (matrix.prices != nullptr && threadIdx.x == 0) {
            const Dual cost = matrix.unmatched_cost(i);
            if (cost < infinity<Dual>()) f(cols + i, cost, cost - __ldcg(state.v + cols + i));
        }
    }
};
template <bool frozen>
LAPWING_NOINLINE __device__ bool collect(int32 i) {
    return collect_from(i, static_cast<uint32>(shared().state.matrix.costs.data->depth), CachedRow<frozen>());
}

// See core/lists/build.cuh.
LAPWING_NOINLINE __device__ void collect_ties(int32 i, Dual bound) { collect_ties_of(CachedRow<false>(), i, bound); }

// Lowers tau to the bound of the row cache. True if too few candidates are within it. All threads of a block call it.
__device__ inline bool apply_cache_bound(const State& state, int32 i, const ListScratch& scratch) {
    const Dual bound = state.matrix.costs.data->cached_bound[i];
    const bool mine = threadIdx.x < scratch.below && scratch.collected[threadIdx.x].value <= bound;
    const int within = __syncthreads_count(mine);
    if (threadIdx.x == 0 && bound < state.tau[i]) state.tau[i] = bound;
    __syncthreads();
    return within < Tuning::enough_cached && bound < infinity<Dual>();
}

// Lists row i under the present prices, and synchronises the block. All threads of the block call it. True if the list
// is insufficient.
template <bool frozen>
__device__ inline bool list_row(int32 i) {
    collect<frozen>(i);
    write_list(i, infinity<Dual>());
    __syncthreads();
    return apply_cache_bound(shared().state, i, shared().scratch.list);
}
// The same while prices move, compiled once.
LAPWING_NOINLINE __device__ bool relist_row(int32 i) { return list_row<false>(i); }

__device__ inline void note_insufficient(const Team& team, int32 i, bool insufficient) {
    if (threadIdx.x >= kWarp) return;
    append(team, team.state.matrix.costs.data->insufficient_rows, &Counts::insufficient,
           insufficient && threadIdx.x == 0 ? i : kNone);
}

// Called by the coordinator's warp: requests rows, or row caches, from the host, and waits until they have arrived.
// False if the host requests a stop.
LAPWING_NOINLINE __device__ bool fetch_rows(const int32* list, uint32 count, bool for_caches) {
    HostSignals& signals = shared().control.signals;
    Request* const request = shared().state.matrix.costs.data->request;
    __syncwarp();
    if (lane_index() == 0) {
        request->list = reinterpret_cast<uint64>(list);
        request->count = count;
        request->for_caches = for_caches;
        __threadfence();
        const uint32 number = __ldcg(&request->asked) + 1;
        __stcg(&request->asked, number);
        while (load_acquire(&request->answered) != number && !signals.stopped) signals.stopped = signals.polls_stop();
    }
    __syncwarp();
    return !signals.stopped;
}

struct Listing {
    using Places = AllPlaces;
    static constexpr bool fetches_rows = true, has_owners = false;

    __device__ static uint32 leave_open(const Team&, const SearchRun&, uint32 count) { return count; }
    __device__ static void before_parents(const Team&, const SearchRun&) {}
    __device__ static void refresh(const Team& team, uint32 count) {
        for (uint32 at = team.block(); at < count; at += team.blocks) {
            const int32 i = load_stable(team.state.refresh_rows + at);
            note_insufficient(team, i, relist_row(i));
        }
    }
    __device__ static void end(const State&) {}  // never called
    // `relist` lists uncertified rows, before the coordinator requests those whose caches are insufficient.
    __device__ static void refresh_all(const Team&, uint32) {}
    __device__ static void refresh_one(const State&, const SearchRun&, int32) {}
    __device__ static const int32* insufficient_rows(const State& state) {
        return state.matrix.costs.data->insufficient_rows;
    }
    __device__ static uint32 room(const State& state) { return static_cast<uint32>(state.matrix.costs.data->room); }
    __device__ static bool fetch(const int32* list, uint32 count, bool for_caches) {
        return fetch_rows(list, count, for_caches);
    }
    __device__ static bool came_as_caches(const State& state) {
        return __ldcg(&state.matrix.costs.data->request->as_caches) != 0;
    }
    __device__ static int32 full_row(const State& state, uint32 index) {
        const Costs::Data& data = *state.matrix.costs.data;
        const int32 i = __ldcg(data.owner + index);
        if (threadIdx.x == 0 && i >= 0) data.place[i] = static_cast<int32>(index);
        __syncthreads();
        return i;
    }
    __device__ static void run_task(const Team& team, const Command& command) {
        if (command.task == Task::relist) return relist(team, command.search, command.count);
        if (command.task == Task::cache_fetched_rows) return cache_fetched(team, command.count);
    }

  private:
    __device__ static void relist(const Team& team, const SearchRun& run, uint32 count) {
        for (uint32 at = team.block(); at < count; at += team.blocks) {
            const int32 i = load_stable(team.state.refresh_rows + at);
            relist_row(i);
            note_insufficient(team, i, !list_suffices(team.state, run, i));
        }
    }
    __device__ static void cache_fetched(const Team& team, uint32 count) {
        const Costs::Data& data = *team.state.matrix.costs.data;
        for (uint32 at = team.block(); at < count; at += team.blocks) {
            const int32 came = full_row(team.state, at), i = came < 0 ? ~came : came;
            const Costs& costs = team.state.matrix.costs;
            if (came < 0)
                adopt_cache(data, i, reinterpret_cast<const CacheRecord*>(costs.came_at(at)));
            else
                cache_row(i, costs.row(i), i);
            relist_row(i);
        }
    }
};
