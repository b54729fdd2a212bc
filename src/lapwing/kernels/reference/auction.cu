// Method "auction": Bertsekas' forward auction with epsilon scaling, and a last stage that makes it exact.
//
// Problem   the linear assignment problem of struct Matrix.
// Method    cpp/src/auction/auction.cpp explains the phases with falling epsilon, their start and their limits. Here
//           all free rows bid at once (Jacobi). In a round each free row bids for its cheapest column; the best bid for
//           a column wins, the lowest row among equal ones; the row that held the column is free again. So a round
//           never ends with more free rows than it began with, and once they are few, block 0 continues alone, a row
//           for each of its warps. The last stage is the last phase of "ssp" from these prices (reference/ssp.cu).
// Cost      A round of the grid takes three barriers of the grid, one of block 0 two barriers of the block; a bid reads
//           a list of 32 columns, or a row. At n = 8000 there are 23,000 (uniform) to 80,000 rounds (geometric) of
//           about 3 us on an H200, nine in ten with at most 16 free rows, and 50 to 260 bids a row. O(rows + cols)
//           memory beside the lists. The number of bids is limited, as on the CPU, but to twice as many a row, since
//           the bids of a round compete.
// Variants  as on the CPU: in "plain" a block reads a row for every bid; in "optimised" a warp bids from a list that
//           its row proved (reference/auction_bids.cuh). Both make the same bids.
//
// Protocol: v changes in `settle` (and in block 0 while it runs alone) and is read in `bid`, with a barrier between.
// Best bids and claims are atomic minima, read after the next barrier. The word that ends the rounds is read before the
// barrier after which it may change.
//
// Deviations from the papers: those of the CPU, and Jacobi rounds in place of Gauss-Seidel ones. v and the counts
// differ from the CPU's, the cost of the answer does not.
//
// References: D. P. Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem",
// Annals of Operations Research 14 (1988) 105-123; S. Guthe, D. Thuerck, Algorithm 1015 (2021), section 5.
#include "costs/matrix.cuh"

#include "reference/one_gpu.cuh"

#include "reference/auction_bids.cuh"

namespace auction {

constexpr bool kFloats = Dual(0.5) != Dual(0);

// Words that all blocks share; each with its writer and the time of the write.
struct Board {
    uint32 count[2];    // free rows, of this round and the next in turn. settle: counted. bid: the next one set back.
    uint32 ended;       // a limit is reached, or the host requests the end. bid, and block 0 alone.
    uint64 alone_bids;  // block 0 alone
};

class Auction {
  public:
    __device__ Auction(Board* board, bool listed)
        : s_(ssp::self()), board_(board), rows_(s_.core.matrix.rows), cols_(s_.core.matrix.real_cols()),
          bidder_{s_.core.matrix, s_.core.v, s_.core.col_to_row, Dual(1), Dual(0), Dual(0), listed} {}

    // Leaves prices in State::v, no matching, and counts in the report.
    __device__ void run() {
        each_thread(cols_, [&](uint32 j) {
            __stcg(s_.core.v + j, Dual(0));
            __stcg(s_.core.best_bid[0] + j, kFar);
            __stcg(s_.core.distance + j, kFar);
        });
        each_thread(rows_, [&](uint32 i) { __stcg(s_.core.tau + i, -infinity<Dual>()); });
        Bidder::prepare();
        if (choose_units()) run_phases();
        grid_barrier(s_.core.barrier, gridDim.x);
        conclude();
    }

  private:
    // False if no bid is possible, or sums could overflow.
    __device__ bool choose_units() {
        const Report& report = *s_.core.report;
        const Matrix& matrix = s_.core.matrix;
        if (__ldcg(&report.invalid_row) < rows_ || __ldcg(&report.empty_row) < rows_) return false;
        const Dual least = from_order<Dual>(__ldcg(&s_.board->least));
        const Dual greatest = from_order<Dual>(__ldcg(&s_.board->greatest));
        if (matrix.prices != nullptr || !(greatest > least)) return false;
        const Dual most = greatest < -least ? -least : greatest;
        if constexpr (kFloats) {
            int exponent = 0;
            frexp(static_cast<double>(most), &exponent);
            unit_ = ldexp(1.0, exponent - 1 - AuctionTuning::unit_bits);
            bidder_.range = greatest - least;
            last_ = in_units(bidder_.range * AuctionTuning::least_per_row / rows_);
            if (!(last_ > 0) || !(bidder_.range * AuctionTuning::deepest < infinity<Dual>())) return false;
        } else {
            if (most >= AuctionTuning::room / 2) return false;
            const Dual room = AuctionTuning::room / 2 / most;
            bidder_.scale = room < rows_ + 1 ? room : rows_ + 1;
            bidder_.range = (greatest - least) * bidder_.scale;
            last_ = 1;
        }
        deepest_ = -bidder_.range * AuctionTuning::deepest;
        return true;
    }
    __device__ Dual in_units(double x) const { return static_cast<Dual>(unit_ > 0 ? floor(x / unit_) * unit_ : x); }
    __device__ Dual no_less_than_last(double x) const {
        const Dual epsilon = in_units(x);
        return epsilon > last_ ? epsilon : last_;
    }

    __device__ void run_phases() {
        const double first = static_cast<double>(bidder_.range) / AuctionTuning::divisor;
        bidder_.epsilon = rows_ != cols_ ? last_ : no_less_than_last(first);
        for (;;) {
            ++phase_;
            grid_barrier(s_.core.barrier, gridDim.x);  // the board has been read
            each_thread(cols_, [&](uint32 j) { __stcg(s_.core.col_to_row + j, kNone); });
            each_thread(rows_, [&](uint32 i) { __stcg(s_.core.rows_at_work[0] + i, static_cast<int32>(i)); });
            if (is_first_thread()) *board_ = {{static_cast<uint32>(rows_), 0}, 0, 0};
            grid_barrier(s_.core.barrier, gridDim.x);
            if (!bid_for_all() || bidder_.epsilon <= last_) return;
            bidder_.epsilon = no_less_than_last(static_cast<double>(bidder_.epsilon) / AuctionTuning::divisor);
        }
    }

    // False if it has ended before.
    __device__ bool bid_for_all() {
        const uint32 few = bidder_.listed ? AuctionTuning::few_listed : AuctionTuning::few_read,
                     warps = blockDim.x / kWarp;
        for (uint32 turn = 0;; turn ^= 1) {
            const uint32 count = __ldcg(board_->count + turn);
            if (count <= few && count <= warps) return count == 0 || bid_alone(turn, count);
            bids_ += count;
            left_ = count;
            if (bids_ > limit() || !round(turn, count)) return false;
            left_ = 0;
        }
    }
    __device__ uint64 limit() const { return static_cast<uint64>(AuctionTuning::bids_per_row * rows_); }

    // --- a round of the grid

    __device__ bool round(uint32 turn, uint32 count) {
        ++rounds_;
        const int32* rows = pick(s_.core.rows_at_work, turn);
        bid(rows, turn, count);
        grid_barrier(s_.core.barrier, gridDim.x);
        const bool ended = __ldcg(&board_->ended) != 0;
        claim(rows, count);
        grid_barrier(s_.core.barrier, gridDim.x);
        settle(rows, turn, count);
        grid_barrier(s_.core.barrier, gridDim.x);
        return !ended;
    }
    __device__ void bid(const int32* rows, uint32 turn, uint32 count) {
        const uint32 warp = threadIdx.x / kWarp;
#pragma unroll 1
        for (uint32 base = blockIdx.x; base < count; base += grid_warps()) {
            const uint32 index = base + warp * gridDim.x;
            const Bid mine = bidder_.bid(index < count ? __ldcg(rows + index) : kNone);
            if (lane_index() == 0 && mine.row >= 0) {
                __stcg(s_.core.target[0] + mine.row, mine.col);
                __stcg(s_.regret + mine.row, mine.v);
                if (mine.col >= 0) min_in_global(s_.core.best_bid[0] + mine.col, ordered(mine.v));
                if (is_hopeless(mine)) __stcg(&board_->ended, 1u);
            }
            __syncthreads();
        }
        if (!is_first_thread()) return;
        __stcg(board_->count + (turn ^ 1), 0u);
        if (look(count, true)) __stcg(&board_->ended, 1u);
    }
    // No column, or one whose price has fallen too far.
    __device__ bool is_hopeless(const Bid& bid) const { return bid.col < 0 || bid.v < deepest_; }
    // Bids only fall, like v, so those of earlier rounds need not be reset. Neither need claims, which contain the
    // number of the round.
    __device__ void claim(const int32* rows, uint32 count) {
        each_thread(count, [&](uint32 index) {
            const int32 i = __ldcg(rows + index), j = __ldcg(s_.core.target[0] + i);
            if (j >= 0 && __ldcg(s_.core.best_bid[0] + j) == ordered(__ldcg(s_.regret + i)))
                min_in_global(s_.core.distance + j, claim_of(i));
        });
    }
    __device__ uint64 claim_of(int32 i) const { return static_cast<uint64>(~rounds_) << 32 | static_cast<uint32>(i); }
    __device__ void settle(const int32* rows, uint32 turn, uint32 count) {
        int32* next = pick(s_.core.rows_at_work, turn ^ 1);
        each_thread_converged(count, [&](uint32 index) {
            int32 goes_on = kNone;
            if (index < count) {
                goes_on = __ldcg(rows + index);
                const int32 i = goes_on, j = __ldcg(s_.core.target[0] + i);
                if (j >= 0 && __ldcg(s_.core.distance + j) == claim_of(i)) {
                    goes_on = __ldcg(s_.core.col_to_row + j);
                    take({i, j, goes_on, __ldcg(s_.regret + i)});
                }
            }
            const uint32 going = __ballot_sync(kAllLanes, goes_on >= 0);
            uint32 base = 0;
            if (lane_index() == 0 && going != 0) base = add_in_global(board_->count + (turn ^ 1), __popc(going));
            base = __shfl_sync(kAllLanes, base, 0) + __popc(going & ((1u << lane_index()) - 1));
            if (goes_on >= 0) __stcg(next + base, goes_on);
        });
    }
    __device__ void take(const Bid& best) const {
        __stcg(s_.core.col_to_row + best.col, best.row);
        __stcg(s_.core.v + best.col, best.v);
    }

    // --- block 0 alone

    // The rest of a phase. The others wait.
    __device__ bool bid_alone(uint32 turn, uint32 count) {
        if (blockIdx.x == 0) bid_in_block(pick(s_.core.rows_at_work, turn), count);
        grid_barrier(s_.core.barrier, gridDim.x);
        bids_ += __ldcg(&board_->alone_bids);
        return __ldcg(&board_->ended) == 0;
    }
    __device__ void bid_in_block(const int32* rows, uint32 count) {
        const uint32 warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
        const Bid* bids = shared_bids().bids;
        uint64 made = 0;
        bool ended = false;
        int32 row = warp < count ? __ldcg(rows + warp) : kNone;
        while (count != 0) {
            ++rounds_alone_;
            if (threadIdx.x == 0) look(count, rounds_alone_ % AuctionTuning::rounds_between_looks == 1);
            const Bid mine = bidder_.bid(row);
            const Bid other = lane_index() < warps ? bids[lane_index()] : Bid::of(kNone, kNone);
            const bool hopeless = __any_sync(kAllLanes, other.row >= 0 && is_hopeless(other)) != 0;
            const bool rival = other.row >= 0 && other.col == mine.col &&
                               (other.v < mine.v || (other.v == mine.v && other.row < mine.row));
            const bool wins = __any_sync(kAllLanes, rival) == 0 && row >= 0;
            made += count;
            ended = hopeless || s_.signals.stopped || bids_ + made > limit();
            if (ended) break;
            if (wins) {
                if (lane_index() == 0) take(mine);
                row = mine.owner;
            }
            count = static_cast<uint32>(__syncthreads_count(row >= 0 && lane_index() == 0));
        }
        if (threadIdx.x != 0) return;
        board_->alone_bids = made;
        if (!ended) return;
        board_->ended = 1;
        left_ = count;
    }

    // Whether the host requests the end. By the first thread.
    __device__ bool look(uint32 count, bool afresh) const {
        constexpr uint32 auction = 1;  // of the stages of gpu/core/monitor.py
        if (afresh) s_.signals.poll(rounds_ + rounds_alone_);
        if (s_.signals.requested != s_.signals.answered)
            s_.signals.publish(auction, phase_, static_cast<uint32>(rows_) - count, -infinity<double>());
        return s_.signals.stopped;
    }

    __device__ void conclude() {
        const Dual scale = bidder_.scale;
        each_thread(cols_, [&](uint32 j) {
            __stcg(s_.core.col_to_row + j, kNone);
            if (kFloats || scale == Dual(1)) return;
            const Dual v = __ldcg(s_.core.v + j);
            __stcg(s_.core.v + j, -((scale - Dual(1) - v) / scale));
        });
        Report& report = *s_.core.report;
        if (threadIdx.x == 0) atomicAdd(reinterpret_cast<uint64*>(&report.full_rows), bidder_.read);
        if (!is_first_thread()) return;
        report.phases = phase_;
        report.rounds = rounds_ + rounds_alone_;
        report.bids = static_cast<int64>(bids_);
        report.left = left_;
    }

    ssp::Ssp& s_;
    Board* const board_;
    const int32 rows_, cols_;
    Bidder bidder_;
    double unit_ = 0;              // of prices and epsilons: keeps sums on a binary grid
    Dual last_ = 0, deepest_ = 0;  // epsilon; v. Scaled.
    uint32 phase_ = 0;
    uint32 rounds_ = 0, rounds_alone_ = 0;  // of the grid, and of this block alone
    uint64 bids_ = 0;
    uint32 left_ = 0;  // free rows where it has ended before its time
};

}  // namespace auction

// A cooperative launch of the whole grid, after survey_ssp. listed: the optimised variant.
extern "C" __global__ void __launch_bounds__(THREADS, 1) bid_auction(LAPWING_SSP, int64 listed) {
    LAPWING_SET_SSP;
    auction::Auction(reinterpret_cast<auction::Board*>(ssp::self().end), listed != 0).run();
}
