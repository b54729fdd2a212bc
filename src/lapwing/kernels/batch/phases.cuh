// Phases with falling epsilon, in which rows bid for columns: prices for structured costs (step 3 of batch/block.cuh).
#pragma once

#include "batch/nearest.cuh"

// All free rows bid at once (a Jacobi auction, Bertsekas 1988), each for the column with the least cost minus price. It
// lowers the price until the second nearest column is as near, and by epsilon more. The largest step wins the column,
// the lowest row among equals, and the displaced row is free again. A warp handles a few rows at a time and reads only
// these. Any prices are a valid start for the next steps. So bids are computed in float, and their steps are coarse,
// which keeps sums in Dual exact. A round has two barriers of the block.
template <class Team>
class Phases {
  public:
    __device__ explicit Phases(const Team& team) : t_(team) {}

    // For square problems: changes the prices. Afterwards no row is matched, and row duals are undefined.
    __device__ void run() {
        Dual epsilon = 0;
        for (int32 phase = 0; phase < BatchTuning::phases; ++phase) {
            free_all();
            for (int32 left = larger(BatchTuning::least_rounds, t_.rows / BatchTuning::round_rows);
                 left > 0 && count_ > few(); --left) {
                bid();
                if (count_ == t_.rows) {  // in its first round alone
                    if (phase == 0) sample();
                    epsilon = epsilon_of(phase);
                    if (!(epsilon > 0)) return finish();
                }
                settle(epsilon);
            }
        }
        finish();
    }

  private:
    static constexpr int32 kColumns = Team::threads <= 64 ? 2 : 4;  // columns per lane at one time ...
    static constexpr int32 kRows = 16 / kColumns;                   // ... of so many rows of a warp
    static constexpr float kNoise =
        kRoughly > 0x1p-18f ? kRoughly : 0x1p-18f;  // relative difference within which numbers count as equal
    static constexpr uint32 kCoarse = 0xffff0000;   // of a float
    static constexpr uint32 kZero = 0x7fffffff;     // the key of no raise

    // The bid of a row: its step, and its nearest column, or kFree if it has none.
    struct PhaseBid {
        float raise;
        int32 column;
    };

    // These arrays use memory that is otherwise unused during the phases.
    __device__ PhaseBid* phase_bids() const { return reinterpret_cast<PhaseBid*>(t_.s.row_dual); }  // by row
    __device__ float* prices() const { return reinterpret_cast<float*>(t_.s.queue); }  // by column, rounded
    // By parity of the round: the bidding rows in any order, and their number; by column, the best bid's key.
    __device__ uint16* listed(uint32 odd) const { return reinterpret_cast<uint16*>(t_.s.from) + odd * t_.cols; }
    __device__ int32& listed_count(uint32 odd) const { return t_.s.waiting[odd ? 3 : 0]; }
    __device__ uint32* best(uint32 odd) const {
        return reinterpret_cast<uint32*>(t_.s.unmatched_price) + odd * t_.cols;
    }
    __device__ static uint32 key_of(const PhaseBid& own, int32 row) { return bid_key(own.raise, row, kZero); }

    // Makes all rows bid. Valid after a barrier.
    __device__ void free_all() {
        for (int32 j = t_.me; j < t_.cols; j += Team::threads) {
            t_.s.row_of[j] = t_.s.column_of[j] = kFree;
            listed(0)[j] = static_cast<uint16>(j);
            best(0)[j] = kNoBid;
            prices()[j] = static_cast<float>(t_.s.price[j]);
        }
        odd_ = 0;
        count_ = t_.rows;
        __syncthreads();
    }
    // Restores the state that the next step expects: no row is matched, and no row may stay unmatched.
    __device__ void finish() {
        free_all();
        for (int32 i = t_.me; i < t_.rows; i += Team::threads) t_.s.unmatched_price[i] = infinity<Dual>();
        __syncthreads();
    }

    // The number of free rows below which a phase ends.
    __device__ int32 few() const { return larger(smaller(t_.rows / 16, 8), t_.rows / 32); }

    // The bids of all rows listed.
    __device__ void bid() const {
        for (int32 j = t_.me; j < t_.cols; j += Team::threads) best(odd_ ^ 1)[j] = kNoBid;
        if (t_.me == 0) listed_count(odd_ ^ 1) = 0;
        for (int32 first = t_.warp * kRows; first < count_; first += Team::warps * kRows) bid(first);
        __syncthreads();
    }
    // By a warp: the bids of kRows listed rows.
    __device__ void bid(int32 first) const {
        int32 row[kRows];
#pragma unroll
        for (int32 r = 0; r < kRows; ++r) row[r] = listed(odd_)[smaller(first + r, count_ - 1)];
        const Nearest found = find_nearest<kColumns>(t_, row, prices());
        if (t_.lane >= smaller(kRows, count_ - first)) return;
        const float raise = found.second - found.least,
                    size = fmaxf(fabsf(found.least), fabsf(prices()[larger(found.column, 0)]));
        const PhaseBid own = {raise > kNoise * size && raise < infinity<float>() ? raise : 0, found.column};
        const int32 i = listed(odd_)[first + t_.lane];
        phase_bids()[i] = own;
        if (own.column >= 0) atomicMin(&best(odd_)[own.column], key_of(own, i));
    }

    // Samples the sizes of all bids: the sum of their exponents, and their number.
    __device__ void sample() const {
        if (t_.me == 0) t_.s.waiting[1] = t_.s.waiting[2] = 0;
        __syncthreads();
        for (int32 i = t_.me; i < t_.rows; i += Team::threads) {
            const PhaseBid own = phase_bids()[i];
            if (own.column < 0 || !(own.raise > 0)) continue;
            atomicAdd(&t_.s.waiting[1], exponent_of(own.raise));
            atomicAdd(&t_.s.waiting[2], 1);
        }
        __syncthreads();
    }
    __device__ static int32 exponent_of(float x) { return static_cast<int32>(__float_as_uint(x) >> 23) - 127; }
    // Epsilon of a phase, a power of two, so that sums stay exact: the mean exponent of the sampled steps (a mean of
    // the steps themselves would follow a few outliers), less for ties, more in earlier phases. 0 below 1 for integers.
    __device__ Dual epsilon_of(int32 phase) const {
        const int32 sum = t_.s.waiting[1], raises = t_.s.waiting[2];
        if (raises == 0) return 0;
        const int32 mean = (sum - (sum < 0 ? raises - 1 : 0)) / raises, ties = __clz(raises) - __clz(t_.rows);
        const int32 power = mean - ties + (31 - __clz(t_.cols)) - phase * BatchTuning::epsilon_bits;
        if constexpr (kFloating) {
            return power <= -1022 || power > 1000 ? 0 : __longlong_as_double(static_cast<int64>(power + 1023) << 52);
        } else {
            return power < 0 || power > 55 ? 0 : 1ll << power;
        }
    }

    // Assigns columns to the best bids. Rows that lost their bid or their column bid in the next round.
    __device__ void settle(Dual epsilon) {
        const BlockState& s = t_.s;
        for (int32 first = t_.warp * 32; first < count_; first += Team::threads) {
            const bool there = first + t_.lane < count_;
            const int32 i = listed(odd_)[there ? first + t_.lane : 0];
            const PhaseBid own = phase_bids()[i];
            const bool bids = there && own.column >= 0;
            const bool wins = bids && best(odd_)[own.column] == key_of(own, i);
            int32 next = bids && !wins ? i : kFree;
            if (wins) {
                next = s.row_of[own.column];
                s.row_of[own.column] = i;
                const Dual coarse = static_cast<Dual>(__uint_as_float(__float_as_uint(own.raise) & kCoarse));
                const Dual price = s.price[own.column] - (coarse < epsilon / 64 ? 0 : coarse) - epsilon;
                s.price[own.column] = price;
                prices()[own.column] = static_cast<float>(price);
            }
            const uint32 nexts = __ballot_sync(kAllLanes, next >= 0);
            int32 place = 0;
            if (t_.lane == 0) place = atomicAdd(&listed_count(odd_ ^ 1), __popc(nexts));
            place = __shfl_sync(kAllLanes, place, 0) + __popc(nexts & ((1u << t_.lane) - 1));
            if (next >= 0) listed(odd_ ^ 1)[place] = static_cast<uint16>(next);
        }
        __syncthreads();
        odd_ ^= 1;
        count_ = listed_count(odd_);
    }

    const Team& t_;
    uint32 odd_ = 0;
    int32 count_ = 0;  // rows listed
};
