// Phases with falling epsilon, in which rows bid for columns: good prices for structured costs (step 3 of batch_block.cuh).
#pragma once

#include "batch_state.cuh"

// All free rows bid at once, each for the column with the least cost less the column's price: it lowers the price until the
// second nearest is as near, and by epsilon. The highest raise for a column wins, the first row among equals; whoever had
// the column is free again. A warp looks at a few rows at a time, so that what few rows need is read, and no more. Any
// prices are a start, so bids are found in float; what they add is coarse, so that sums in Dual stay exact.
template <class Team>
class Phases {
  public:
    __device__ explicit Phases(const Team& team) : t_(team) {}

    // Of square problems: changes the prices. Nobody is matched afterwards, and row duals are undefined.
    __device__ void run() {
        Dual epsilon = 0;
        int32 left = 0;  // rounds of the phase
        for (int32 phase = 0; phase < kPhases;) {
            const bool begins = left == 0;
            if (begins) free_all();
            const bool many = look();
            if (begins) {
                if (phase == 0) sample();
                epsilon = epsilon_of(phase);
                if (!(epsilon > 0)) break;
                left = larger(kLeastRounds, t_.rows / kRoundRows);
            }
            if (many) settle(epsilon);
            left = many ? left - 1 : 0;
            if (left == 0) ++phase;
        }
        free_all();
    }

  private:
    static constexpr int32 kPhases = 3;     // the first epsilon is as many raises as there are columns, the next ...
    static constexpr int32 kStep = 2;       // ... is smaller by so many bits
    static constexpr int32 kRoundRows = 8;  // rows for each round of a phase
    static constexpr int32 kLeastRounds = 8;
    static constexpr int32 kColumns = Team::threads <= 64 ? 2 : 4;  // that a lane looks at together ...
    static constexpr int32 kRows = 16 / kColumns;                   // ... of so many rows, whose warp bids for them
    static constexpr float kNoise = 0x1p-18f;      // what floats may differ by that are meant to be equal
    static constexpr uint32 kNumber = 0xfff;      // of a row, in a key
    static constexpr uint32 kZero = 0x7fffffff;   // of a key, for no raise
    static constexpr uint32 kNobody = ~0u;
    static constexpr uint32 kCoarse = 0xffff0000;  // of a float

    // What a row would add for its nearest column, or kFree: it has none.
    struct Offer {
        float raise;
        int32 column;
    };

    __device__ Offer* offers() const { return reinterpret_cast<Offer*>(t_.s.row_dual); }  // by row
    __device__ float* prices() const { return reinterpret_cast<float*>(t_.s.queue); }     // by column, rounded
    __device__ uint32* best() const { return reinterpret_cast<uint32*>(t_.s.ends); }      // by column, the best bid's key
    __device__ static uint32 key_of(const Offer& offer, int32 row) {
        return (kZero - __float_as_uint(offer.raise)) & ~kNumber | static_cast<uint32>(row);
    }

    __device__ void free_all() const {
        __syncthreads();
        for (int32 j = t_.me; j < t_.cols; j += Team::threads) t_.s.row_of[j] = kFree;
        for (int32 i = t_.me; i < t_.rows; i += Team::threads) t_.s.column_of[i] = kFree;
        __syncthreads();
    }

    // Rows that are too few for a round: so many of few, so many of many.
    __device__ int32 few() const { return larger(smaller(t_.rows / 16, 8), t_.rows / 32); }

    // All free rows, if they are not too few: lists them, and finds their offers.
    __device__ bool look() {
        for (int32 j = t_.me; j < t_.cols; j += Team::threads) {
            best()[j] = kNobody;
            prices()[j] = static_cast<float>(t_.s.price[j]);
        }
        count_ = t_.list_free(t_.s.column_of, t_.rows, t_.s.from);
        if (count_ <= few()) return false;
        for (int32 first = t_.warp * kRows; first < count_; first += Team::warps * kRows) find(first);
        __syncthreads();
        return true;
    }
    // A warp's: the offers of kRows listed rows.
    __device__ void find(int32 first) const {
        float least[kRows], second[kRows];
        int32 row[kRows], nearest[kRows];
#pragma unroll
        for (int32 r = 0; r < kRows; ++r) {
            row[r] = t_.s.from[smaller(first + r, count_ - 1)];
            least[r] = second[r] = infinity<float>();
            nearest[r] = kFree;
        }
        for (int32 begin = t_.lane; begin - t_.lane < t_.cols; begin += 32 * kColumns) {
            Stored costs[kRows][kColumns];
            t_.load(row, begin, costs);
#pragma unroll
            for (int32 k = 0; k < kColumns; ++k) {
                const int32 j = begin + 32 * k;
                const float price = j < t_.cols ? prices()[j] : -infinity<float>();
#pragma unroll
                for (int32 r = 0; r < kRows; ++r) {
                    const float x = static_cast<float>(costs[r][k]) - price;
                    second[r] = fminf(second[r], fmaxf(least[r], x));
                    nearest[r] = x < least[r] ? j : nearest[r];
                    least[r] = fminf(least[r], x);
                }
            }
        }
        // Without branches, so that several rows are in flight; of row r in lane r.
        float low = 0, next = 0;
        int32 column = kFree;
#pragma unroll
        for (int32 r = 0; r < kRows; ++r) {
            const float all = warp_least(least[r]);
            const int32 holder = __ffs(static_cast<int32>(__ballot_sync(kAllLanes, least[r] == all))) - 1;
            const float other = warp_least(t_.lane == holder ? second[r] : least[r]);
            const int32 j = __shfl_sync(kAllLanes, nearest[r], holder);
            low = t_.lane == r ? all : low;
            next = t_.lane == r ? other : next;
            column = t_.lane == r ? j : column;
        }
        if (t_.lane >= smaller(kRows, count_ - first)) return;
        const float raise = next - low, size = fmaxf(fabsf(low), fabsf(prices()[larger(column, 0)]));
        offers()[t_.s.from[first + t_.lane]] = {raise > kNoise * size && raise < infinity<float>() ? raise : 0,
                                                fabsf(low) < infinity<float>() ? column : kFree};
    }

    // How large the offers of all rows are: the exponents' sum, and how many.
    __device__ void sample() const {
        if (t_.me == 0) t_.s.waiting[1] = t_.s.waiting[2] = 0;
        __syncthreads();
        for (int32 i = t_.me; i < t_.rows; i += Team::threads) {
            const Offer offer = offers()[i];
            if (offer.column < 0 || !(offer.raise > 0)) continue;
            atomicAdd(&t_.s.waiting[1], exponent_of(offer.raise));
            atomicAdd(&t_.s.waiting[2], 1);
        }
        __syncthreads();
    }
    __device__ static int32 exponent_of(float x) { return static_cast<int32>(__float_as_uint(x) >> 23) - 127; }
    // A power of two, so that sums stay exact: of the sampled raises the mean exponent, since a few may be beyond all others,
    // less what ties there were, and more while many rows are free. 0 if that is nothing to an integer.
    __device__ Dual epsilon_of(int32 phase) const {
        const int32 sum = t_.s.waiting[1], raises = t_.s.waiting[2];
        if (raises == 0) return 0;
        const int32 mean = (sum - (sum < 0 ? raises - 1 : 0)) / raises, ties = __clz(raises) - __clz(t_.rows);
        const int32 power = mean - ties + (31 - __clz(t_.cols)) - phase * kStep;
        if constexpr (kFloating) {
            return power <= -1022 || power > 1000 ? 0 : __longlong_as_double(static_cast<int64>(power + 1023) << 52);
        } else {
            return power < 0 || power > 55 ? 0 : 1ll << power;
        }
    }

    // Gives columns to the best bidders among the listed rows.
    __device__ void settle(Dual epsilon) const {
        const BlockState& s = t_.s;
        for (int32 p = t_.me; p < count_; p += Team::threads) {
            const int32 i = s.from[p];
            const Offer offer = offers()[i];
            if (offer.column >= 0) atomicMin(&best()[offer.column], key_of(offer, i));
        }
        __syncthreads();
        for (int32 p = t_.me; p < count_; p += Team::threads) {
            const int32 i = s.from[p];
            const Offer offer = offers()[i];
            if (offer.column < 0 || best()[offer.column] != key_of(offer, i)) continue;
            const int32 before = s.row_of[offer.column];
            if (before >= 0) s.column_of[before] = kFree;
            s.row_of[offer.column] = i;
            s.column_of[i] = offer.column;
            const Dual coarse = static_cast<Dual>(__uint_as_float(__float_as_uint(offer.raise) & kCoarse));
            s.price[offer.column] -= (coarse < epsilon / 64 ? 0 : coarse) + epsilon;
        }
        __syncthreads();
    }

    const Team& t_;
    int32 count_ = 0;  // rows listed
};
