// Shared by the two kernels of method "ssp" on the GPU (reference/ssp.cu explains the method): memory, the searching
// cluster, the ownership of columns, and the reduction to a minimum over its threads. Class Gpus, of a header that is
// included before this one, tells whether other GPUs have some of the columns.
#pragma once
#include "core/control/host_channel.cuh"
#include "reference/full_rows.cuh"

namespace ssp {

using namespace costs;

constexpr uint32 kBlocks = SEARCH_BLOCKS;  // of the cluster that searches
constexpr uint32 kSearchThreads = SEARCH_THREADS;
constexpr uint32 kMostWarps = kBlocks * kSearchThreads / kWarp;
constexpr uint32 kNearSteps = NEAR_STEPS;  // of a search, that are kept in shared memory
constexpr uint32 kOwned = 1u << 31;
constexpr uint32 kNoColumn = ~0u;

enum Owner : int32 { kUnowned = -1, kVirtual = -2 };  // of a column; else a row

// The best candidate of a warp.
struct alignas(16) Message {
    uint64 key;  // ordered; kFar: nothing
    uint32 col;  // with kOwned
    int32 owner;
    Dual number;
    uint32 word;
    uint32 stop;  // the host requests a stop

    __device__ bool is_before(const Message& other) const {
        return key < other.key || (key == other.key && col < other.col);
    }
};
constexpr Message kNothing = {kFar, kNoColumn, kUnowned, Dual(0), 0, 0};

// A column that a search closed, the row that owned it, and the step whose row reached it. Row kVirtual: the sink;
// `col` is the column by which it was reached.
struct alignas(16) Step {
    int32 col, row;
    uint32 by_step;
};

// In the dynamic shared memory of each block, followed by its columns if they fit.
struct Near {
    Message mail[2][kMostWarps];  // two in turn
    Step steps[kNearSteps];
};
static_assert(sizeof(Near) <= NEAR_BYTES);

// Where the answer goes.
struct Answer {
    Dual *u, *v;
    int32 *row_to_col, *col_to_row;
};

// Words that all blocks share.
struct Board {
    uint64 least, greatest;  // ordered; of the costs. survey.
    Dual level;              // of a phase (reference/ssp.cu)
    uint32 below;
    Message mail[2][kMostWarps];  // on GPUs without clusters
};

// A block's columns, by place (place_of). Each belongs to one thread, and no other thread accesses it.
struct Columns {
    Dual* v;
    Dual* distance;   // shortest known path; final where closed
    Cost* cost;       // of the matched pair
    Cost* by_cost;    // of the pair by which the column was reached
    uint32* by_step;  // the step that reached the column
    int32* owner;
    uint32* closed;  // the search that closed it last; in the start, whether it is taken

    __device__ void carve(unsigned char* base, uint64 count) {
        take(base, v, count);
        take(base, distance, count);
        take(base, cost, count);
        take(base, by_cost, count);
        take(base, by_step, count);
        take(base, owner, count);
        take(base, closed, count);
    }
    template <class T>
    __device__ static void take(unsigned char*& base, T*& array, uint64 count) {  // a multiple of a pack
        array = reinterpret_cast<T*>(base);
        base += count * sizeof(T);
    }
    static constexpr uint64 bytes = 2 * sizeof(Dual) + 2 * sizeof(Cost) + 12;  // of one
    static_assert(bytes == COLUMN_BYTES + 2 * sizeof(Cost));
};

struct Ssp {
    State core;
    HostSignals signals;  // block 0's
    Board* board;
    // By row.
    Dual* row_least;  // with v = 0: feasible duals
    Dual* diagonal;   // cost of its pair with the column of the same number
    Dual* regret;     // of a row that does not get its best column
    int32* order;     // of the rows: greatest regret first
    int32* chosen;    // the columns that they choose in this order; kNone: no column was left
    Step* far_steps;  // [cols] of a search, the later ones
    unsigned char* end;
    Near* near;
    Columns columns;

    // Bytes per row and per column of the arrays above. The host allocates by these (gpu/reference/ssp.py).
    static constexpr uint64 row_bytes = 3 * sizeof(Dual) + 2 * 4, col_bytes = sizeof(Step);
    static_assert(sizeof(Board) <= BOARD_BYTES && row_bytes == SSP_ROW_BYTES && col_bytes == SSP_COL_BYTES);

    __device__ void carve(unsigned char* base) {
        const uint64 rows = core.matrix.rows, cols = core.matrix.cols;
        State::take(base, board, 1);
        State::take(base, row_least, rows);
        State::take(base, diagonal, rows);
        State::take(base, regret, rows);
        State::take(base, order, rows);
        State::take(base, chosen, rows);
        State::take(base, far_steps, cols);
        end = base;
    }
};
static_assert(sizeof(Ssp) + 512 <= STATIC_BYTES);  // beside it: what reductions of a block take
__device__ inline Ssp& self() {
    __shared__ Ssp memory;
    return memory;
}

// --- the cluster that searches ------------------------------------------------------------------------------------

__device__ inline bool in_cluster() {
#ifdef LAPWING_EMULATION
    return lapwing::emulation::current_launch->cluster_size > 1;
#elif __CUDA_ARCH__ >= 900
    return true;
#else
    return false;
#endif
}
// Number of searching blocks, number of their threads, and this thread's number; the first two are powers of two.
__device__ inline uint32 blocks() {
    return gridDim.x >= kBlocks ? kBlocks : gridDim.x >= 4 ? 4 : gridDim.x >= 2 ? 2 : 1;
}
__device__ inline uint32 member() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline uint32 members() { return blocks() * blockDim.x; }
// A barrier: afterwards all threads see the earlier writes of all threads. Whole warps call meanwhile() before they
// wait; its writes need not be visible.
template <class Meanwhile>
__device__ void barrier(Meanwhile meanwhile) {
#if defined(LAPWING_EMULATION) || __CUDA_ARCH__ >= 900
    if (in_cluster()) {
        __syncwarp();
        cluster_arrive();
        meanwhile();
        __syncwarp();
        cluster_wait();
        return;
    }
#endif
    meanwhile();
    grid_barrier(self().core.barrier + kLine, blocks());
}
__device__ inline void barrier() {
    barrier([] {});
}
// body(index) for each index below count, one thread of the cluster each.
template <class Body>
__device__ void each(uint32 count, Body body) {
#pragma unroll 1
    for (uint32 index = member(); index < count; index += members()) body(index);
}

// --- columns ------------------------------------------------------------------------------------------------------

// The columns of this GPU, of which there are matrix.real_cols(), lie side by side. A column's number counts those of
// other GPUs before them, Gpus::first(); packs and places do not.

__device__ inline uint32 packs_of(int32 cols) { return (cols + kPackCols - 1) / kPackCols; }
// Columns that a block has room for.
__device__ inline uint32 room_of_block(int32 cols) {
    return (packs_of(cols) + members() - 1) / members() * blockDim.x * kPackCols;
}
// Whether column j belongs to this thread, and its place if so.
__device__ inline bool has(int32 j) {
    const auto own = static_cast<uint32>(j - Gpus::first());
    return Gpus::has(j) && ((own / kPackCols) & (members() - 1)) == member();
}
__device__ inline uint32 place_of(int32 j) {
    const auto own = static_cast<uint32>(j - Gpus::first());
    const uint32 shift = 31 - __clz(static_cast<int>(members()));
    return ((own / kPackCols >> shift) * blockDim.x + threadIdx.x) * kPackCols + own % kPackCols;
}
// body(first column among the GPU's, place) for this thread's packs of columns.
template <class Body>
__device__ void each_own_place(int32 cols, Body body) {
    uint32 at = threadIdx.x * kPackCols;
#pragma unroll 1
    for (uint32 pack = member(); pack < packs_of(cols); pack += members(), at += blockDim.x * kPackCols)
        body(static_cast<int32>(pack) * kPackCols, at);
}
// body(column, place) for this thread's columns.
template <class Body>
__device__ void each_own_col(int32 cols, Body body) {
    each_own_place(cols, [&](int32 first, uint32 at) {
#pragma unroll
        for (int32 k = 0; k < kPackCols; ++k) {
            if (first + k < cols) body(Gpus::first() + first + k, at + k);
        }
    });
}
// body(first column among the GPU's, place, given costs) for this thread's packs of row i, with the next one in flight.
// All threads call meanwhile() while the first is in flight.
template <class Body, class Meanwhile>
__device__ void each_own_pack(const Matrix& matrix, int32 i, Body body, Meanwhile meanwhile) {
    const Cost* row = matrix.costs.row(i);
    const bool aligned = matrix.costs.aligned();
    const uint32 packs = packs_of(matrix.real_cols()), step = members();
    uint32 at = threadIdx.x * kPackCols;
    Pack<Cost> next;
    if (member() < packs) load_costs(matrix, row, aligned, static_cast<int32>(member()) * kPackCols, next);
    meanwhile();
#pragma unroll 1
    for (uint32 pack = member(); pack < packs; pack += step, at += blockDim.x * kPackCols) {
        const Pack<Cost> costs = next;
        const int32 ahead = static_cast<int32>(pack + step) * kPackCols;
        if (pack + step < packs) load_costs(matrix, row, aligned, ahead, next);
        body(static_cast<int32>(pack) * kPackCols, at, costs.values);
    }
}
// Prefetches this thread's share of row i into L2.
__device__ inline void prefetch_own(const Matrix& matrix, int32 i) {
    const Cost* row = matrix.costs.row(i);
#pragma unroll 1
    for (uint32 pack = member(); pack < packs_of(matrix.real_cols()); pack += members())
        prefetch_far(row + pack * kPackCols);
}
// Loads a thread's numbers for a pack of its columns.
template <class T>
__device__ inline void load_own(const T* from, T (&to)[kPackCols]) {
    constexpr uint32 at_once = 16 / sizeof(T) < kPackCols ? 16 / sizeof(T) : kPackCols;
    struct alignas(at_once * sizeof(T)) Some {
        T values[at_once];
    };
#pragma unroll
    for (uint32 k = 0; k < kPackCols; k += at_once) {
        const Some some = *reinterpret_cast<const Some*>(from + k);
#pragma unroll
        for (uint32 l = 0; l < at_once; ++l) to[k + l] = some.values[l];
    }
}

// --- agreement ----------------------------------------------------------------------------------------------------

// The least candidate of a thread; among equals the first column without an owner, or else the first.
struct Best {
    Dual distance = infinity<Dual>();
    uint32 col = kNoColumn;  // with kOwned
    uint32 at = threadIdx.x * kPackCols;

    // Considers a candidate, without branches, unless x is infinite or `open` is false.
    __device__ void consider(Dual x, int32 j, uint32 place, bool owned = false, bool open = true) {
        const uint32 mine = static_cast<uint32>(j) | (owned ? kOwned : 0);
        const bool takes = open & !is_far(x) & ((x < distance) | ((x == distance) & (mine < col)));
        distance = takes ? x : distance;
        col = takes ? mine : col;
        at = takes ? place : at;
    }
    __device__ uint64 key() const { return col == kNoColumn ? kFar : ordered(distance + Dual(0)); }  // -0 is 0
};

// The least candidate of all threads, with the data of its thread.
struct Found {
    Dual distance;  // infinity: there is none
    int32 col;      // kNone then
    int32 owner;
    Dual number;
    uint32 word;
    Message rest;  // the best candidate of this lane among the others
};

// The threads of the cluster run the same program on different columns. The searches derive from this class: an object
// without references to itself stays in registers.
class Cluster {
  protected:
    // Copies, since shared memory would be loaded again after every store.
    const Matrix matrix_;
    const Columns own_;
    Near* const near_;
    uint64 scans_ = 0;  // rows read
    bool stopped_ = false;

    __device__ Cluster() : matrix_(self().core.matrix), own_(self().columns), near_(self().near) {}
    __device__ static bool leads() { return is_first_thread(); }
    // Counts a row that is about to be read.
    __device__ void count_scan() {
        ++scans_;
        if (leads() && scans_ % SspTuning::scans_between_looks == 1) self().signals.poll(static_cast<uint32>(scans_));
    }
    __device__ Found least_of(const Best& best) { return least_of(best, kUnowned, Dual(0), 0, {}); }
    // The sum of a number of each GPU's, in their order.
    __device__ double sum_of_gpus(double mine) { return gpus_.sum<Message>(mine, stopped_); }
    // A barrier of all GPUs.
    __device__ void barrier_of_gpus() {
        barrier();
        gpus_.meet<Message>(stopped_);
    }
    // The least of all candidates, in all threads of all GPUs, with one barrier. During the wait, rows whose columns
    // precede `next` are prefetched.
    __device__ Found least_of(const Best& best, int32 owner, Dual number, uint32 word, const Message& next) {
        const uint32 turn = turn_++ % 2, warps = blockDim.x / kWarp, count = blocks() * warps;
        const bool looked = leads() && self().signals.reads_stop();
        Message mine = {best.key(), best.col, owner, number, word, __shfl_sync(kAllLanes, looked ? 1u : 0u, 0)};
        reduce(mine);
        if (lane_index() < (in_cluster() ? blocks() : 1))
            send(mine, mail_of(lane_index(), turn) + blockIdx.x * warps + threadIdx.x / kWarp);
        barrier([&] {  // the fence in it may wait for what is being fetched
            if (mine.owner >= 0 && mine.is_before(next)) prefetch_row(mine.owner);
        });
        const Message* mail = in_cluster() ? near_->mail[turn] : self().board->mail[turn];
        Message two[2];
#pragma unroll
        for (uint32 k = 0; k < 2; ++k) {
            const uint32 index = k * kWarp + lane_index();
            two[k] = index < count ? mail[index] : kNothing;
        }
        stopped_ = stopped_ || mail[0].stop != 0;
        const bool second = two[1].is_before(two[0]);
        const Message own = second ? two[1] : two[0], other = second ? two[0] : two[1];
        Message all = own;
        reduce(all);
        const Message rest = own.col == all.col ? other : own;
        all = gpus_.least(all, stopped_);
        if (all.key == kFar) return {infinity<Dual>(), kNone, kUnowned, Dual(0), 0, rest};
        return {
            from_order<Dual>(all.key), static_cast<int32>(all.col & ~kOwned), all.owner, all.number, all.word, rest};
    }
    // The probable next result.
    __device__ static Message runner_up(const Found& found) {
        Message next = found.rest;
        reduce(next);
        return next;
    }

  private:
    // The address of messages to block `rank`; without clusters all blocks read the same ones.
    __device__ Message* mail_of(uint32 rank, uint32 turn) const {
#if defined(LAPWING_EMULATION) || __CUDA_ARCH__ >= 900
        if (in_cluster()) return in_block(near_->mail[turn], rank);
#endif
        return self().board->mail[turn];
    }
    static_assert(kMostWarps <= 2 * kWarp);
    // Copies 16 bytes at a time.
    __device__ static void send(const Message& message, Message* to) {
        longlong2 halves[2];
        memcpy(halves, &message, sizeof halves);
        reinterpret_cast<longlong2*>(to)[0] = halves[0];
        reinterpret_cast<longlong2*>(to)[1] = halves[1];
    }
    // The least of a warp's messages, in all lanes.
    __device__ static void reduce(Message& message) {
        const uint64 key = warp_min(message.key);
        const uint32 col = warp_min(message.key == key ? message.col : kNoColumn);
        const int holder =
            __ffs(static_cast<int>(__ballot_sync(kAllLanes, message.key == key && message.col == col))) - 1;
        message.key = key;
        message.col = col;
        message.owner = __shfl_sync(kAllLanes, message.owner, holder);
        message.number = __shfl_sync(kAllLanes, message.number, holder);
        message.word = __shfl_sync(kAllLanes, message.word, holder);
    }
    __device__ void prefetch_row(int32 i) const {
        constexpr uint32 line = 128 / sizeof(Cost);
        const Cost* row = matrix_.costs.row(i);
#pragma unroll 1
        for (uint32 j = lane_index() * line; j < static_cast<uint32>(matrix_.real_cols()); j += kWarp * line)
            prefetch_far(row + j);
    }

    Gpus gpus_;
    uint32 turn_ = 0;
};

__device__ inline void set_self(Matrix matrix, Dual* u, Dual* v, unsigned char* workspace, unsigned char* more,
                                ::HostChannel* watch) {
    Ssp& s = self();
    if (threadIdx.x == 0) {
        s.core.matrix = matrix;
        s.core.matrix.cols = Gpus::all_cols(matrix.rows, matrix.cols);  // for which there is memory
        s.core.u = u;
        s.core.v = v;
        s.core.carve(workspace);
        s.carve(more);
        s.core.matrix.cols = matrix.cols;
        if (blockIdx.x == 0) s.signals.begin(watch);
    }
    __syncthreads();
}
// `far`: memory for columns that do not fit in shared memory, or null.
__device__ inline void set_columns(unsigned char* far) {
    LAPWING_DYNAMIC_SHARED(memory);
    Ssp& s = self();
    if (threadIdx.x == 0) {
        const uint64 room = room_of_block(s.core.matrix.real_cols());
        s.near = reinterpret_cast<Near*>(memory);
        s.columns.carve(far == nullptr ? memory + sizeof(Near) : far + blockIdx.x * room * Columns::bytes, room);
    }
    barrier();  // all blocks are there before the first message
}

}  // namespace ssp

// As LAPWING_HUNGARIAN (reference/hungarian_run.cuh), with the workspace of struct Ssp.
#define LAPWING_SSP                                                                                                   \
    const Cost *cost, int64 row_stride, int64 rows, int64 cols, int64 maximize, const Dual *prices, Dual *u, Dual *v, \
        unsigned char *workspace, unsigned char *more, HostChannel *watch
#define LAPWING_SET_SSP                                                                                               \
    ssp::set_self({{cost, row_stride}, static_cast<int32>(rows), static_cast<int32>(cols), maximize != 0, prices}, u, \
                  v, workspace, more, watch)
