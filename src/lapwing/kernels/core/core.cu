// The core method on one GPU: minimum-cost assignment by candidate lists, an auction with falling epsilon, and shortest
// augmenting paths from all free rows at once.
//
// Terms. u, v: the duals ("prices") of rows and columns, feasible if u[i] + v[j] <= cost[i, j]. A matched pair is tight
// if it attains equality. A row's list holds the 32 columns with the smallest cost - v; tau is a lower bound of cost -
// v for all other columns. Prices only rise (v only falls) while lists are in use, so tau stays valid.
//
//   prepare        the state, and prices or room for them                       a grid of any size
//   column_minima  prices of a square matrix (core/start/minima.cuh)            256 threads a block
//   lower_prices   -v rounded down, which listings of a matrix read             a grid of any size
//   list_rows      the list of every row under the prices v                     256 threads a row
//   solve          all the rest in one cooperative launch: u, v, row_to_col and a Report, which is written to pinned
//                  memory of the host, too: that spares a copy
//
// Cost: list_rows reads the matrix once. `solve` reads lists, 256 to 384 bytes a row for each bid or scan, and whole
// rows only where a list does not suffice. A round or step takes two barriers of the team that runs it.
//
// Every result is deterministic: lists and prices depend on sets, maxima and minima alone, never on the order of
// threads.
//
// Rows of a matrix on the host (STORED) arrive in parts and are kept as row caches (core/lists/row_cache.cuh).
//
// References: R. Jonker and A. Volgenant, Computing 38 (1987), shortest augmenting paths with a reduced start; D. P.
// Bertsekas, Annals of Operations Research 14 (1988), and Linear Network Optimization (1991), the auction; A. V.
// Goldberg and R. Kennedy, Mathematical Programming 71 (1995), epsilon scaling; U. Meyer and P. Sanders, Journal of
// Algorithms 49 (2003), delta-stepping; K. Date and R. Nagi, Parallel Computing 57 (2016), and S. Guthe and D. Thuerck,
// Algorithm 1015, ACM TOMS 47 (2021), augmenting paths on GPUs.
#include "core/control/coordinator.cuh"

__device__ inline Matrix make_matrix(const Costs::Data* costs, int64 pitch, int64 rows, int64 cols, int64 maximize,
                                     const Dual* prices) {
    return {{costs, pitch}, static_cast<int32>(rows), static_cast<int32>(cols), maximize != 0, prices};
}
// All arrays of the state, the same for every thread of the block. All of them call it.
__device__ inline State& set_state(Matrix matrix, Dual* u, Dual* v, unsigned char* workspace) {
    State& state = shared().state;
    if (threadIdx.x == 0) {
        state.matrix = matrix;
        state.u = u;
        state.v = v;
        state.carve(workspace);
    }
    __syncthreads();
    return state;
}

// What every kernel here gets first: where costs are (costs/costs.cuh); rows <= cols, unmatched columns included if
// there are `prices` (struct Matrix); u: (rows,), v: (cols,), where v starts.
#define LAPWING_PROBLEM                                                                                         \
    const Costs::Data *costs, int64 pitch, int64 rows, int64 cols, int64 maximize, const Dual *prices, Dual *u, \
        Dual *v, unsigned char *workspace
#define LAPWING_MATRIX make_matrix(costs, pitch, rows, cols, maximize, prices)

#if !defined(COMPUTED) && !defined(STORED)
#include "core/start/minima.cuh"
#endif

// Before every listing, and before prices are set: `keys`, for column minima (common/column_keys.cuh), begin as all
// ones; if `sampled`, a sample is taken for them. Without keys v is set to where it must begin when there are more
// columns than rows.
extern "C" __global__ void __launch_bounds__(256)
    prepare(LAPWING_PROBLEM, uint64* keys, int64 key_count, int64 sampled) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    if (first == 0) {
        state.barrier[0] = state.barrier[kLine] = state.barrier[2 * kLine] = 0;
        *state.counts = Counts{};
        *state.report = Report{};
        state.report->invalid_row = state.report->empty_row = rows;
    }
    for (int64 j = first; j < cols; j += step) {
        state.distance[j] = kFar;
        state.stamp[j] = 0;
        state.col_to_row[j] = kNone;
    }
    for (int64 i = first; i < rows; i += step) {
        state.full_search[i] = 0;
        state.row_to_col[i] = kNone;
        u[i] = 0;
    }
    if (keys != nullptr) {
        for (int64 k = first; k < key_count; k += step) keys[k] = ~0ull;
#if !defined(COMPUTED) && !defined(STORED)
        if (sampled != 0) take_sample(state);
#endif
        return;
    }
    const int32 real = state.matrix.real_cols();
    for (int64 j = first; j < cols; j += step) {
        const int32 i = static_cast<int32>(j) - real;
        v[j] = i >= 0 && prices[i] < infinity<Dual>() ? state.matrix.unmatched_cost(i) - prices[i] : Dual(0);
    }
}

__device__ inline void note_listed(const State& state, int64 i, bool invalid) {
    if (invalid) atomicMin(&state.report->invalid_row, i);
    if (state.list_col[i * Tuning::list_size] == kNone) atomicMin(&state.report->empty_row, i);
}
#ifdef STORED
#include "core/lists/host_rows.cuh"
#elif !defined(COMPUTED)
// Before every listing, when prices are set; column_minima has done it.
extern "C" __global__ void __launch_bounds__(256) lower_prices(LAPWING_PROBLEM) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    for (int64 j = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; j < cols; j += gridDim.x * blockDim.x)
        state.lowered[j] = lowered(v[j]);
}
// Blocks take rows as they get done with others. The last come first: column_minima ended with them, and the
// certificate begins with the first, so that L2 has a part of the matrix either time.
extern "C" __global__ void __launch_bounds__(256, 4) list_rows(LAPWING_PROBLEM) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const Matrix matrix = LAPWING_MATRIX;
    ListScratch& scratch = shared().scratch.list;
    for (int32 turn = static_cast<int32>(blockIdx.x); turn < rows; turn = scratch.next_turn) {
        const uint32 taken = threadIdx.x == 0 ? atomicAdd(&state.counts->listed, 1u) : 0;
        const int32 i = matrix.rows - 1 - turn;
        bool invalid = make_list<true>(matrix, i);
        if (threadIdx.x == 0) scratch.next_turn = static_cast<int32>(gridDim.x + taken);
        invalid = __syncthreads_or(invalid);
        if (threadIdx.x == 0) {
            if (invalid) atomicMin(&state.report->invalid_row, static_cast<int64>(i));
            if (scratch.below == 0) atomicMin(&state.report->empty_row, static_cast<int64>(i));
        }
    }
}
#else
// `count` rows from row `first` on: a part of all, so that a long pass can be interrupted.
extern "C" __global__ void __launch_bounds__(256) list_rows(LAPWING_PROBLEM, int64 first, int64 count) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const uint32 warps = blockDim.x / kWarp, each = static_cast<uint32>((count + gridDim.x - 1) / gridDim.x);
    const uint32 parts = warps_of_row_group(warps, each), at_once = warps / parts * kLines;
    const uint32 end = static_cast<uint32>(first + count);
    for (uint32 begin = static_cast<uint32>(first) + blockIdx.x * at_once; begin < end; begin += gridDim.x * at_once) {
        const auto row_of = [](uint32 at) { return static_cast<int32>(at); };
        const auto met = [&](int32 i, bool invalid) { note_listed(state, i, invalid); };
        for (bool guess = true; list_row_group<Listing::fresh>(begin, end, parts, guess, row_of, met);) guess = false;
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    solve(LAPWING_PROBLEM, double first_epsilon, double last_epsilon, double epsilon_factor, int64 rounds,
          int64 warm_up, double structure_threshold, int64 most_left, HostChannel* channel, Report* mail) {
    set_state(LAPWING_MATRIX, u, v, workspace);
    if (threadIdx.x == 0) {
        shared().control.counts = Counts{};
        shared().control.signals.begin(channel);
    }
    __syncthreads();
    if (blockIdx.x > 0) {
        worker_loop();
    } else if (threadIdx.x >= kWarp) {
        helper_loop();
    } else {
        const Schedule schedule = {
            first_epsilon,      last_epsilon, epsilon_factor, static_cast<uint32>(rounds), static_cast<uint32>(warm_up),
            structure_threshold};
        Coordinator(schedule, static_cast<uint32>(most_left), mail).solve();
    }
}

#ifndef STORED
// The cheapest free column that row i may have, if it costs less than to stay free, or kNoRow. All threads of a block
// call it, and get it.
__device__ inline int32 cheapest_free(const State& state, int32 i) {
    const Matrix& matrix = state.matrix;
    Scratch& scratch = shared().scratch;
    Dual least = matrix.prices == nullptr ? infinity<Dual>() : matrix.prices[i];
    int32 nearest = kNoRow;
    for (int32 j = threadIdx.x; j < matrix.real_cols(); j += blockDim.x) {
        if (__ldcg(state.col_to_row + j) >= 0) continue;
        const Dual cost = matrix.minimised(matrix.costs.at(i, j));
        if (cost < least) least = cost, nearest = j;
    }
    const uint64 best = best_in_block(scratch.keys, nearest == kNoRow ? kFar : ordered(least), true);
    const bool mine = best != kFar && nearest != kNoRow && ordered(least) == best;
    const uint64 col = best_in_block(scratch.keys, mine ? static_cast<uint64>(nearest) : kFar, true);
    return col == kFar ? kNoRow : static_cast<int32>(col);
}

// What an interrupted solve leaves free: a few rounds, in which all free rows ask for their cheapest free column, and
// the lowest row gets it. A cooperative launch.
extern "C" __global__ void __launch_bounds__(THREADS, 1) complete_most(LAPWING_PROBLEM) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const Team team{state, shared().control.counts, true, gridDim.x};
    for (uint32 round = 0; round < Tuning::complete_rounds; ++round) {
        team.each(state.matrix.real_cols(), [&](uint32 j) { state.parent_row[j] = kNoRow; });
        team.sync();
        for (int32 i = static_cast<int32>(blockIdx.x); i < state.matrix.rows; i += static_cast<int32>(gridDim.x)) {
            if (__ldcg(state.row_to_col + i) >= 0) continue;
            const int32 j = cheapest_free(state, i);
            if (threadIdx.x != 0) continue;
            __stcg(state.target[0] + i, j);
            if (j != kNoRow) atomicMin(state.parent_row + j, i);
        }
        team.sync();
        team.each(state.matrix.rows, [&](uint32 i) {
            if (__ldcg(state.row_to_col + i) >= 0) return;
            const int32 j = __ldcg(state.target[0] + i);
            if (j == kNoRow || __ldcg(state.parent_row + j) != static_cast<int32>(i)) return;
            __stcg(state.row_to_col + i, j);
            __stcg(state.col_to_row + j, static_cast<int32>(i));
        });
        team.sync();
    }
}
// Completes the other rows, where many want the same column: one after the other. `count` rows, from row `first` on.
// One block.
extern "C" __global__ void __launch_bounds__(THREADS) complete(LAPWING_PROBLEM, int64 first, int64 count) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    for (int64 row = first; row < first + count && row < rows; ++row) {
        const int32 i = static_cast<int32>(row);
        if (__ldcg(state.row_to_col + i) >= 0) continue;
        const int32 j = cheapest_free(state, i);
        if (threadIdx.x == 0 && j != kNoRow) {
            __stcg(state.row_to_col + i, j);
            __stcg(state.col_to_row + j, i);
        }
        __syncthreads();
    }
}
#endif

// What the user gets: the column of each row and the row of each column of the matrix, -1 where there is none; the
// duals of both in the user's sense; and what each row costs, as it is given. Nothing unless the solve came to its end,
// or `always`.
extern "C" __global__ void __launch_bounds__(256)
    deliver(LAPWING_PROBLEM, int64 always, int64* row_to_col, int64* col_to_row, Dual* picked, Dual* given_u,
            Dual* given_v) {
    const State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    if (always == 0 && state.report->status != static_cast<int64>(SolveStatus::optimal)) return;
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    const int32 real = state.matrix.real_cols();
    for (int64 i = first; i < rows; i += step) {
        const int32 j = state.row_to_col[i];
        const bool matched = j >= 0 && j < real;
        Dual dual = u[i], price = 0;
        if (prices != nullptr) {
            dual = dual < prices[i] ? dual : prices[i];  // at an unmatched column, whose v may have fallen
            if (!matched && prices[i] < infinity<Dual>()) price = maximize ? -prices[i] : prices[i];
        }
        row_to_col[i] = matched ? j : kNone;
#ifdef STORED
        picked[i] = price;  // the host adds the costs
#else
        picked[i] = matched ? Dual(widened(state.matrix.costs.at(i, j))) : price;
#endif
        given_u[i] = maximize ? -dual : dual;
    }
    for (int64 j = first; j < real; j += step) {
        col_to_row[j] = state.col_to_row[j];
        given_v[j] = maximize ? -v[j] : v[j];
    }
}

// If there is no assignment: 1 for the rows that have too few columns, and for the columns that they have; 0 for the
// rest.
extern "C" __global__ void __launch_bounds__(256) violator(LAPWING_PROBLEM, uint8* of_rows, uint8* of_cols) {
    State& state = set_state(LAPWING_MATRIX, u, v, workspace);
    const Report& report = *state.report;
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x,
                step = static_cast<int64>(gridDim.x) * blockDim.x;
    if (report.empty_row < rows) {
        if (first == 0) of_rows[report.empty_row] = 1;
        return;
    }
    for (int64 k = first; k < report.free_rows; k += step) of_rows[state.free_rows[k]] = 1;
    for (int64 j = first; j < cols; j += step) {
        if (state.distance[j] == kFar) continue;
        of_cols[j] = 1;
        of_rows[state.col_to_row[j]] = 1;
    }
}

#ifndef STORED
// Adds to `outside` how many pairs of the rows marked in `of_rows` with columns not marked in `of_cols` are allowed,
// unmatched columns included: 0 proves the violator, whoever marked it. A block a row.
extern "C" __global__ void __launch_bounds__(256)
    check_violator(LAPWING_PROBLEM, const uint8* of_rows, const uint8* of_cols, uint64* outside) {
    const Matrix& matrix = set_state(LAPWING_MATRIX, u, v, workspace).matrix;
    uint64 mine = 0;
    for (int64 i = blockIdx.x; i < rows; i += gridDim.x) {
        if (of_rows[i] == 0) continue;
        for (int64 j = threadIdx.x; j < cols; j += blockDim.x) {
            mine += of_cols[j] == 0 && matrix.at(static_cast<int32>(i), static_cast<int32>(j)) < infinity<Dual>();
        }
    }
    if (mine != 0) atomicAdd(outside, mine);
}
#endif
