// The core method on one GPU: candidate lists, epsilon phases by auction, shortest augmenting paths; see the files included.
//
//   prepare     the workspace                                    a grid of any size
//   list_rows   the list of every row under the prices v         256 threads a row
//   solve       all the rest, in one cooperative launch: u, v, row_to_col, and a Report
//
// All of it is deterministic: lists and prices depend on sets, maxima and minima alone, never on the order of threads.
#include "core_auction.cuh"
#include "core_search.cuh"

// Tuning. Times are flat in all of them, within a few per cent for factors of two.
struct Tuning {
    static constexpr uint32 wide_count = THREADS;  // of rows or columns from which all blocks take part
    static constexpr uint32 phase_rounds = 64;     // at most, of an auction phase
    static constexpr uint32 phase_left = 512;      // a phase ends when one row of so many is free
    static constexpr double epsilon_factor = 0.25; // from phase to phase
    static constexpr double least_epsilon = 1.0 / 1024;  // in list widths; below it comes zero
    static constexpr uint32 unit_bits = 30;        // the grid of offers is so many powers of two finer than a list's width
    static constexpr uint32 width_samples = 256;
};

enum class Task : uint32 { free_all, auction_round, refresh, derive_u, derive_u_refreshed, relax, settle, doubt_free, doubt,
                           resolve, lead_free, lead, lead_full, update, finish };

// What all blocks are asked to do.
struct Order {
    Task task;
    uint32 extra;
    AuctionStep auction;
    SearchStep search;
};

static_assert(sizeof(Order) <= kOrderBytes);

union Scratch {
    ListScratch list;
    uint64 keys[kMostWarps];
    Dual widths[Tuning::width_samples];
};

// From global to shared memory, past L1. The block must wait before it reads.
template <class T>
__device__ void copy_words(T* to, const T* from) {
    const uint32* words = reinterpret_cast<const uint32*>(from);
    if (threadIdx.x < sizeof(T) / 4) reinterpret_cast<uint32*>(to)[threadIdx.x] = __ldcg(words + threadIdx.x);
}

// Compiled once, though the leader and the others call it.
LAPWING_NOINLINE __device__ void carry_out(const Order& order, const Team& team, Scratch& scratch) {
    const AuctionStep& auction = order.auction;
    const SearchStep& search = order.search;
    switch (order.task) {
        case Task::free_all: return free_all(team);
        case Task::auction_round:
            offer(team, auction);
            team.sync();
            return settle_offers(team, auction);
        case Task::refresh:
            for (uint32 at = team.block(); at < order.extra; at += team.blocks()) {
                list_row(team.state, __ldcg(team.state.refresh_rows + at), scratch.list);
            }
            return;
        case Task::derive_u: return derive_u(team, team.state.matrix.rows, false);
        case Task::derive_u_refreshed: return derive_u(team, order.extra, true);
        case Task::relax: return relax(team, search);
        case Task::settle: return settle_changes(team, search);
        case Task::doubt_free: return find_doubtful(team, search, true);
        case Task::doubt: return find_doubtful(team, search, false);
        case Task::resolve:
            for (uint32 at = team.block(); at < search.count; at += team.blocks()) {
                resolve_doubt(team, search, __ldcg(team.state.refresh_rows + at), scratch.list);
            }
            return;
        case Task::lead_free: return find_leaders(team, search, true);
        case Task::lead: return find_leaders(team, search, false);
        case Task::lead_full: return find_leaders_in_full(team, search);
        case Task::update: return update_duals(team, search, order.extra);
        case Task::finish: return;
    }
}

// Block 0. All its threads run this alike; what they decide by is in shared memory, and changes only between barriers.
class Leader {
  public:
    __device__ Leader(State& state, Counts* counts, Scratch& scratch, double first_epsilon)
        : state_(state), counts_(counts), scratch_(scratch), first_epsilon_(first_epsilon) {}

    __device__ void solve() {
        if (__ldcg(&state_.report->invalid_row) < state_.matrix.rows) return conclude(Status::invalid);
        run_auction();
        conclude(run_searches());
    }
    // Lets the other blocks go.
    __device__ void dismiss() {
        if (gridDim.x == 1) return;
        if (threadIdx.x == 0) state_.order->task = Task::finish;
        grid_barrier(state_.barrier);
    }

  private:
    __device__ bool square() const { return state_.matrix.rows == state_.matrix.cols; }

    // Carries out a task, with all blocks if there is much to do; count of 0: nothing.
    __device__ void perform(Task task, uint32 count, bool by_block = false) {
        if (count == 0) return;
        const bool wide = count > (by_block ? 1 : Tuning::wide_count) && gridDim.x > 1;
        Order order = {task, extra_, auction_, search_};
        order.search.count = count;
        if (wide) {
            if (threadIdx.x == 0) {
                *state_.counts = *counts_;
                *state_.order = order;
            }
            grid_barrier(state_.barrier);
        }
        carry_out(order, Team{state_, wide ? state_.counts : counts_, wide}, scratch_);
        if (wide) {
            grid_barrier(state_.barrier);
            copy_words(counts_, state_.counts);
        }
        __syncthreads();
    }
    // The value of a count, which is set back; all threads get it.
    __device__ uint32 take(uint32& count) {
        const uint32 value = count;
        __syncthreads();
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
        return value;
    }
    __device__ uint64 reduce_keys(uint64 mine, bool least) {
        const auto better = [least](uint64 a, uint64 b) { return (a < b) == least ? a : b; };
        mine = warp_reduce(mine, better);
        if (lane_index() == 0) scratch_.keys[threadIdx.x / kWarp] = mine;
        __syncthreads();
        for (uint32 w = 0; w < kTeamThreads / kWarp; ++w) mine = better(mine, scratch_.keys[w]);
        __syncthreads();
        return mine;
    }

    // --- auction ---

    // The median of tau - first over some rows: the scale on which prices still have to move.
    __device__ Dual list_width() {
        const uint32 rows = state_.matrix.rows, samples = rows < Tuning::width_samples ? rows : Tuning::width_samples;
        for (uint32 k = threadIdx.x; k < samples; k += kTeamThreads) {
            const int32 i = static_cast<int32>(static_cast<uint64>(k) * rows / samples);
            const int32 j = __ldcg(state_.list_col + static_cast<int64>(i) * kListSize);
            const Dual tau = __ldcg(state_.tau + i);
            Dual width = infinity<Dual>();
            if (j >= 0 && tau < infinity<Dual>()) width = tau - (__ldcg(state_.list_cost + static_cast<int64>(i) * kListSize) - __ldcg(state_.v + j));
            scratch_.widths[k] = width;
        }
        __syncthreads();
        Dual median = Dual(0);
        for (uint32 k = threadIdx.x; k < samples; k += kTeamThreads) {
            uint32 rank = 0;
            for (uint32 other = 0; other < samples; ++other) {
                rank += scratch_.widths[other] < scratch_.widths[k] || (scratch_.widths[other] == scratch_.widths[k] && other < k);
            }
            if (rank == samples / 2) median = scratch_.widths[k];
        }
        __syncthreads();
        const uint64 key = reduce_keys(as_key(median), false);
        const Dual width = from_key<Dual>(key);
        return width < infinity<Dual>() ? width : Dual(0);
    }

    // Powers of two, so that float32 costs keep exact duals; whole numbers for integers.
    __device__ void choose_epsilon(Dual width, double multiple) {
        const bool whole = Dual(0.5) == Dual(0);
        double epsilon = 0;
        int exponent = 0;
        if (width > Dual(0)) {
            frexp(static_cast<double>(width) * multiple, &exponent);
            epsilon = ldexp(0.5, exponent);
            frexp(static_cast<double>(width), &exponent);
        }
        auction_.unit = whole ? 1.0 : ldexp(1.0, exponent - static_cast<int>(Tuning::unit_bits));
        auction_.epsilon = static_cast<Dual>(epsilon);
        least_epsilon_ = static_cast<double>(width) * Tuning::least_epsilon;
        if (!square()) auction_.epsilon = Dual(0);  // prices must rise no further than they have to
    }

    __device__ void run_auction() {
        choose_epsilon(list_width(), first_epsilon_);
        for (;;) {
            run_phase();
            ++phases_;
            if (auction_.epsilon == Dual(0)) break;
            auction_.epsilon = static_cast<Dual>(static_cast<double>(auction_.epsilon) * Tuning::epsilon_factor);
            if (static_cast<double>(auction_.epsilon) < least_epsilon_) auction_.epsilon = Dual(0);
        }
        perform(Task::derive_u, state_.matrix.rows);
        refresh();
        extra_ = refreshed_;
        perform(Task::derive_u_refreshed, refreshed_);
        free_count_ = take(counts_->next);
        left_ = free_count_;
    }

    __device__ void run_phase() {
        perform(Task::free_all, state_.matrix.cols);
        auction_.count = state_.matrix.rows;
        auction_.previous = auction_.present = 0;
        const uint32 enough = state_.matrix.rows / Tuning::phase_left;
        for (uint32 round = 0; round < Tuning::phase_rounds && auction_.count > enough; ++round) {
            perform(Task::auction_round, auction_.count);
            ++rounds_;
            offers_ += auction_.count;
            auction_.previous = auction_.count;
            auction_.count = take(counts_->next);
            auction_.present ^= 1;
            refresh();
            if (take(counts_->moved) == 0 && refreshed_ == 0) break;
        }
    }

    __device__ void refresh() {
        refreshed_ = extra_ = take(counts_->refresh);
        refreshes_ += refreshed_;
        perform(Task::refresh, refreshed_, true);
    }

    // --- searches ---

    __device__ Status run_searches() {
        search_.number = 0;
        for (search_.search = 1; free_count_ > 0; ++search_.search) {
            begin_search();
            explore();
            if (search_.cap == kFar) {
                if (counts_->met == 0) return Status::infeasible;
                search_.cap = farthest_met();
            }
            if (!match()) return Status::contradiction;
        }
        return Status::optimal;
    }

    __device__ void begin_search() {
        search_.cap = kFar;
        search_.present = 0;
        for (uint32 k = threadIdx.x; k < free_count_; k += kTeamThreads) {
            const int32 i = __ldcg(state_.free_rows + k);
            state_.rows_at_work[0][k] = i;
            state_.row_distance[i] = Dual(0);
            state_.claim[i] = kNoRow;
        }
        __syncthreads();
        if (threadIdx.x == 0) *counts_ = Counts{};
        __syncthreads();
    }

    // Distances up to a cap, and the cap.
    __device__ void explore() {
        uint32 frontier = free_count_;
        for (;;) {
            while (frontier > 0) {
                ++search_.number;
                ++steps_;
                scans_ += frontier;
                perform(Task::relax, frontier);
                frontier = settle();
            }
            perform(Task::doubt_free, free_count_);
            perform(Task::doubt, counts_->reached);
            const uint32 doubtful = take(counts_->refresh);
            if (doubtful == 0) return;
            refreshes_ += doubtful;
            ++search_.number;
            perform(Task::resolve, doubtful, true);
            frontier = settle();
        }
    }
    // Returns the next frontier's size.
    __device__ uint32 settle() {
        perform(Task::settle, take(counts_->changed));
        search_.present ^= 1;
        if (take(counts_->nearer) != 0) lower_cap();
        return take(counts_->next);
    }

    __device__ void lower_cap() {
        const uint32 wanted = square() && free_count_ > 1 ? free_count_ / 2 : 1, met = counts_->met;
        if (met < wanted) return;
        uint64 nearest = kFar, farthest = 0;
        each_met([&](uint64 key) {
            nearest = key < nearest ? key : nearest;
            farthest = key > farthest ? key : farthest;
        });
        nearest = reduce_keys(nearest, true);
        farthest = reduce_keys(farthest, false);
        if (wanted == 1) farthest = nearest;
        while (nearest < farthest) {  // the smallest key with enough at or below it is in nearest..farthest
            const uint64 middle = nearest + (farthest - nearest) / 2;
            uint32 below = 0;
            uint64 largest = 0;
            each_met([&](uint64 key) {
                below += key <= middle;
                largest = key <= middle && key > largest ? key : largest;
            });
            const uint64 all = sum_in_block(below);
            if (all < wanted) {
                nearest = middle + 1;
            } else {
                farthest = reduce_keys(largest, false);
                if (all == wanted) break;
            }
        }
        search_.cap = farthest < search_.cap ? farthest : search_.cap;
    }
    template <class F>
    __device__ void each_met(F f) {
        for (uint32 k = threadIdx.x; k < counts_->met; k += kTeamThreads) f(__ldcg(state_.distance + __ldcg(state_.met_cols + k)));
    }
    __device__ uint64 sum_in_block(uint64 mine) {
        mine = warp_reduce(mine, [](uint64 a, uint64 b) { return a + b; });
        if (lane_index() == 0) scratch_.keys[threadIdx.x / kWarp] = mine;
        __syncthreads();
        uint64 sum = 0;
        for (uint32 w = 0; w < kTeamThreads / kWarp; ++w) sum += scratch_.keys[w];
        __syncthreads();
        return sum;
    }
    __device__ uint64 farthest_met() {
        uint64 farthest = 0;
        each_met([&](uint64 key) { farthest = key > farthest ? key : farthest; });
        return reduce_keys(farthest, false);
    }

    // Augments along disjoint paths within the cap, and moves the duals. False if there is a contradiction.
    __device__ bool match() {
        perform(Task::lead_free, free_count_);
        perform(Task::lead, counts_->reached);
        perform(Task::lead_full, counts_->full, true);
        full_rows_ += counts_->full;
        const Team block{state_, counts_, false};
        int32* roots = state_.changed_cols;
        const bool sound = claim_roots(block, counts_->met, search_.cap, roots);
        if (__syncthreads_or(!sound)) return false;
        extra_ = free_count_;
        perform(Task::update, counts_->reached);
        augment(block, counts_->met, roots);
        __syncthreads();
        const uint32 before = free_count_;
        for (uint32 k = threadIdx.x; k - lane_index() < before; k += kTeamThreads) {
            const int32 i = k < before ? __ldcg(state_.free_rows + k) : kNone;
            append(state_.rows_at_work[0], &counts_->next, i >= 0 && __ldcg(state_.row_to_col + i) < 0 ? i : kNone);
        }
        __syncthreads();
        free_count_ = take(counts_->next);
        for (uint32 k = threadIdx.x; k < free_count_; k += kTeamThreads) state_.free_rows[k] = __ldcg(state_.rows_at_work[0] + k);
        __syncthreads();
        return free_count_ < before;
    }

    __device__ void conclude(Status status) {
        if (threadIdx.x != 0) return;
        Report& report = *state_.report;
        report.status = static_cast<int64>(status);
        report.free_rows = free_count_;
        report.reached_cols = counts_->reached;
        report.phases = phases_;
        report.rounds = rounds_;
        report.offers = offers_;
        report.searches = search_.search - 1;
        report.steps = steps_;
        report.scans = scans_;
        report.refreshes = refreshes_;
        report.full_rows = full_rows_;
        report.left = left_;
    }

    State& state_;
    Counts* counts_;
    Scratch& scratch_;
    AuctionStep auction_ = {};
    SearchStep search_ = {};
    double first_epsilon_, least_epsilon_ = 0;  // in list widths; as they are
    uint32 extra_ = 0, free_count_ = 0, refreshed_ = 0, left_ = 0;
    uint32 phases_ = 0, rounds_ = 0, steps_ = 0, full_rows_ = 0;
    uint64 offers_ = 0, scans_ = 0, refreshes_ = 0;
};

// The other blocks, until they are dismissed.
__device__ void serve(State& state, Scratch& scratch) {
    __shared__ Order order;
    for (;;) {
        grid_barrier(state.barrier);
        copy_words(&order, state.order);
        __syncthreads();
        if (order.task == Task::finish) return;
        carry_out(order, Team{state, state.counts, true}, scratch);
        grid_barrier(state.barrier);
    }
}

__device__ inline Matrix make_matrix(const Cost* cost, int64 row_stride, int64 rows, int64 cols, int64 maximize) {
    return {cost, row_stride, static_cast<int32>(rows), static_cast<int32>(cols), maximize != 0};
}
// All arrays of the state, the same for every thread of the block. All of them call it.
__device__ inline void set_state(State& state, Matrix matrix, Dual* u, Dual* v, unsigned char* workspace) {
    if (threadIdx.x == 0) {
        state.matrix = matrix;
        state.u = u;
        state.v = v;
        state.carve(workspace);
    }
    __syncthreads();
}

// cost: rows x cols elements, rows <= cols, rows `row_stride` elements apart; u: (rows,), v: (cols,), the prices to start from.
extern "C" __global__ void __launch_bounds__(256) prepare(const Cost* cost, int64 row_stride, int64 rows, int64 cols,
                                                          int64 maximize, Dual* u, Dual* v, unsigned char* workspace) {
    __shared__ State state;
    set_state(state, make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x, step = static_cast<int64>(gridDim.x) * blockDim.x;
    if (first == 0) {
        *state.barrier = 0;
        *state.counts = Counts{};
        *state.report = Report{};
        state.report->invalid_row = rows;
    }
    for (int64 j = first; j < cols; j += step) {
        state.distance[j] = kFar;
        state.step[j] = 0;
    }
    for (int64 i = first; i < rows; i += step) state.full_search[i] = 0;
}

extern "C" __global__ void __launch_bounds__(256, 6) list_rows(const Cost* cost, int64 row_stride, int64 rows, int64 cols,
                                                            int64 maximize, Dual* u, Dual* v, unsigned char* workspace) {
    __shared__ State state;
    __shared__ ListScratch scratch;
    set_state(state, make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    for (int64 i = blockIdx.x; i < rows; i += gridDim.x) {
        if (list_row(state, static_cast<int32>(i), scratch) && threadIdx.x == 0) {
            atomicMin(&state.report->invalid_row, i);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) solve(const Cost* cost, int64 row_stride, int64 rows, int64 cols,
                                                               int64 maximize, Dual* u, Dual* v, unsigned char* workspace,
                                                               double first_epsilon) {
    __shared__ State state;
    __shared__ Counts counts;
    __shared__ Scratch scratch;
    set_state(state, make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    if (blockIdx.x > 0) return serve(state, scratch);
    if (threadIdx.x == 0) counts = Counts{};
    __syncthreads();
    Leader leader(state, &counts, scratch, first_epsilon);
    leader.solve();
    leader.dismiss();
}

// The matching as numbers of 64 bits: of each row its column, -1 where it has none; or of each column its row.
extern "C" __global__ void __launch_bounds__(256) deliver(const Cost* cost, int64 row_stride, int64 rows, int64 cols,
                                                          int64 maximize, Dual* u, Dual* v, unsigned char* workspace,
                                                          int64 by_column, int64* partner) {
    __shared__ State state;
    set_state(state, make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    const int64 count = by_column ? cols : rows;
    const int32* from = by_column ? state.col_to_row : state.row_to_col;
    for (int64 k = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += static_cast<int64>(gridDim.x) * blockDim.x) {
        partner[k] = from[k];
    }
}

// If there is no assignment: 1 for the rows that have too few columns, and for the columns that they have; 0 for the rest.
extern "C" __global__ void __launch_bounds__(256) violator(const Cost* cost, int64 row_stride, int64 rows, int64 cols,
                                                           int64 maximize, Dual* u, Dual* v, unsigned char* workspace,
                                                           uint8* of_rows, uint8* of_cols) {
    __shared__ State state;
    set_state(state, make_matrix(cost, row_stride, rows, cols, maximize), u, v, workspace);
    const int64 first = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x, step = static_cast<int64>(gridDim.x) * blockDim.x;
    for (int64 k = first; k < state.report->free_rows; k += step) of_rows[state.free_rows[k]] = 1;
    for (int64 k = first; k < state.report->reached_cols; k += step) {
        const int32 j = state.reached_cols[k];
        of_cols[j] = 1;
        of_rows[state.col_to_row[j]] = 1;
    }
}
