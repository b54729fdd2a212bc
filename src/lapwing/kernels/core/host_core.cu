// The core method (core/core.cu) for a matrix that stays on the host. Its rows arrive in parts, between launches of
// `solve` or at the coordinator's request, and are kept as row caches (core/lists/row_cache.cuh). `row` [count][pitch]
// holds the rows whose[0] .. whose[count - 1].
//
//   cache_rows       the row caches and lists of these rows
//   cache_own_rows   of these rows, which lie in a matrix from `own` on: cache number k is that of whose[k]
//   list_rows        all lists from the caches, under other prices; and the rows whose caches are insufficient
//   lower_bounds     the caches' bounds after prices were replaced
//   column_minima    v[j] = the least cost[i, j] - u[i] over the rows i that arrived
//   gather_cols      some columns of these rows
//   check_violator   counts the pairs that disprove a Hall violator
#include "core/lists/host.cuh"

#include "core/solve.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    cache_rows(LAPWING_PROBLEM, const Cost* row, const int32* whose, int64 count) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const int64 row_pitch = state.matrix.costs.data->pitch;
    for (int64 k = blockIdx.x; k < count; k += gridDim.x) {
        const int32 i = whose[k];
        const bool invalid = cache_row(i, row + k * row_pitch, i);
        list_row<true>(i);
        if (threadIdx.x == 0) note_listed(state, i, invalid);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) cache_own_rows(LAPWING_PROBLEM, const int32* whose, int64 count) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    for (int64 k = blockIdx.x; k < count; k += gridDim.x) {
        const int32 i = whose[k];
        cache_row(i, state.matrix.costs.own_row(i), k);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) list_rows(LAPWING_PROBLEM) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const Costs::Data& data = *state.matrix.costs.data;
    for (int64 i = blockIdx.x; i < rows; i += gridDim.x) {
        const bool insufficient = list_row<true>(static_cast<int32>(i));
        if (threadIdx.x != 0) continue;
        if (insufficient)
            data.insufficient_rows[atomicAdd(&data.request->insufficient, 1u)] = static_cast<int32>(i);
        else
            note_listed(state, i, false);
    }
}

// Adapts the bounds to the change of prices from `before` to v. Each bound falls by the largest increase of any v[j],
// and by a little more for rounding. One block.
extern "C" __global__ void __launch_bounds__(THREADS) lower_bounds(LAPWING_PROBLEM, const Dual* before) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    uint64 most = 0;
    for (int64 j = threadIdx.x; j < cols; j += blockDim.x) {
        const uint64 rise = ordered(v[j] - before[j]);
        most = rise > most ? rise : most;
    }
    const Dual rise = from_order<Dual>(best_in_block(shared().scratch.keys, most, false));
    Dual* const bounds = state.matrix.costs.data->cached_bound;
    for (int64 i = threadIdx.x; i < rows; i += blockDim.x) {
        const Dual bound = bounds[i];
        if (!(bound < infinity<Dual>())) continue;
        const double rounding = 0x1p-50 * (fabs(static_cast<double>(bound)) + fabs(static_cast<double>(rise)));
        bounds[i] = bound - rise - static_cast<Dual>(rounding);
    }
}

// `first`: these are the first rows. `last`: these are the last rows; v becomes 0 for columns that no row may have.
extern "C" __global__ void __launch_bounds__(256)
    column_minima(LAPWING_PROBLEM, const Cost* row, int64 count, const Dual* of_rows, int64 first, int64 last) {
    const Matrix matrix = LAPWING_MATRIX;
    const int64 row_pitch = costs->pitch;
    for (int64 j = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; j < cols; j += gridDim.x * blockDim.x) {
        Dual least = first != 0 ? infinity<Dual>() : v[j];
#pragma unroll 8
        for (int64 k = 0; k < count; ++k) {
            const Dual x = matrix.minimised(row[k * row_pitch + j]) - (of_rows == nullptr ? Dual(0) : of_rows[k]);
            least = x < least ? x : least;
        }
        if (last != 0 && !(least < infinity<Dual>() && least > -infinity<Dual>())) least = 0;
        v[j] = least;
    }
}

extern "C" __global__ void __launch_bounds__(256)
    gather_cols(LAPWING_PROBLEM, const Cost* row, int64 count, const int32* which, int64 width, Cost* out) {
    const int64 row_pitch = costs->pitch;
    for (int64 k = blockIdx.x; k < count; k += gridDim.x) {
        for (int64 c = threadIdx.x; c < width; c += blockDim.x) out[k * width + c] = row[k * row_pitch + which[c]];
    }
}

// The same as check_violator in core/complete.cuh, for the rows that arrived.
extern "C" __global__ void __launch_bounds__(256) check_violator(LAPWING_PROBLEM, const Cost* row, const int32* whose,
                                                                 int64 count, const uint8* of_cols, uint64* outside) {
    const Matrix matrix = LAPWING_MATRIX;
    const int64 row_pitch = costs->pitch;
    uint64 mine = 0;
    for (int64 k = blockIdx.x; k < count; k += gridDim.x) {
        const int32 real = matrix.real_cols(), unmatched_col = real + whose[k];
        for (int32 j = threadIdx.x; j < real; j += blockDim.x)
            mine += of_cols[j] == 0 && matrix.minimised(row[k * row_pitch + j]) < infinity<Dual>();
        if (prices != nullptr && threadIdx.x == 0)
            mine += of_cols[unmatched_col] == 0 && matrix.unmatched_cost(whose[k]) < infinity<Dual>();
    }
    if (mine != 0) atomicAdd(outside, mine);
}
