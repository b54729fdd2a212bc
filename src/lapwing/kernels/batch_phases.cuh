// Phases with falling epsilon, in which columns bid for rows: good duals for structured costs (step 3 of batch_block.cuh).
#pragma once

#include "batch_state.cuh"

// All free columns bid at once, each for the row with the least cost less the row's dual: it lowers the dual until the
// second nearest is as near, and by epsilon. The highest raise for a row wins, the first column among equals; whoever had
// the row is free again. A thread has a column, or several threads share one if few are free, so that neighbours read
// neighbours, and a round takes as long as a column reduction or less. Any duals are a start, so bids are found in float;
// what they add is coarse, so that sums in Dual stay exact.
template <class Team, int32 K>
class Phases {
  public:
    __device__ explicit Phases(const Team& team) : t_(team) {}

    // Of square problems: changes the duals of all rows. Whatever was matched is free afterwards.
    __device__ void run() const {
        if (t_.me == 0) t_.s.waiting[1] = t_.s.waiting[2] = 0;
        for (int32 phase = -1; phase < kPhases; ++phase) {
            const Dual epsilon = phase < 0 ? Dual(0) : epsilon_of(phase);
            if (phase >= 0 && !(epsilon > 0)) break;
            free_all();
            int32 left = phase < 0 ? 1 : larger(kLeastRounds, t_.rows / kRoundRows);
            while (left > 0 && round(epsilon, phase < 0)) --left;
        }
    }

  private:
    static constexpr int32 kPhases = 3;      // the first epsilon is as many raises as there are rows, the next ...
    static constexpr int32 kStep = 2;        // ... is smaller by so many bits
    static constexpr int32 kRoundRows = 16;  // rows for each round of a phase
    static constexpr int32 kLeastRounds = 8;
    static constexpr int32 kFewFree = 16;  // one column of so many: too few for a round, which reads most of the matrix
    static constexpr int32 kLoads = 16;    // in flight of a thread
    static constexpr float kNoise = 0x1p-18f;    // what floats may differ by that are meant to be equal
    static constexpr uint32 kNumber = 0xfff;     // of a column, in a key
    static constexpr uint32 kZero = 0x7fffffff;  // of a key, for no raise
    static constexpr uint32 kNobody = ~0u;
    static constexpr uint32 kCoarse = 0xffff0000;  // of a float

    // What a column has found: its nearest row, the first of equals, and the two least values.
    struct Found {
        float first, second;
        int32 row;
    };

    __device__ void free_all() const {
        __syncthreads();
        for (int32 j = t_.me; j < t_.cols; j += Team::threads) t_.s.row_of[j] = kFree;
        for (int32 i = t_.me; i < t_.rows; i += Team::threads) t_.s.column_of[i] = kFree;
        __syncthreads();
    }
    // A power of two, so that sums stay exact: of the sampled raises the mean exponent, since a few may be beyond all others,
    // less what ties there were, and more while many columns are free. 0 if that is nothing to an integer.
    __device__ Dual epsilon_of(int32 phase) const {
        const int32 sum = t_.s.waiting[1], raises = t_.s.waiting[2];
        if (raises == 0) return 0;
        const int32 mean = (sum - (sum < 0 ? raises - 1 : 0)) / raises, ties = __clz(raises) - __clz(t_.cols);
        const int32 power = mean - ties + (31 - __clz(t_.rows)) - phase * kStep;
        if constexpr (kFloating) {
            return power <= -1022 || power > 1000 ? 0 : __longlong_as_double(static_cast<int64>(power + 1023) << 52);
        } else {
            return power < 0 || power > 55 ? 0 : 1ll << power;
        }
    }

    // Whether enough columns are free for one; one that samples only tells how large raises are.
    __device__ bool round(Dual epsilon, bool samples) const {
        const BlockState& s = t_.s;
        uint32* const best = reinterpret_cast<uint32*>(s.ends);  // by row, the key of the column that gets it
        for (int32 i = t_.me; i < t_.rows; i += Team::threads) {
            best[i] = kNobody;
            duals()[i] = static_cast<float>(s.row_dual[i]);
        }
        const int32 count = t_.list_free(s.row_of, t_.cols, s.from);
        if (count <= t_.cols / kFewFree) return false;
        int32 shift = 0;  // log2 of the threads that share a column
        while (shift < 5 && count << shift + 1 <= Team::threads) ++shift;
        uint32 key[K];
        int32 row[K];
        float raise[K];
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            const int32 before = k * (Team::threads >> shift), place = (t_.me >> shift) + before;
            key[k] = kNobody;
            if ((t_.me - t_.lane >> shift) + before >= count) continue;
            const int32 j = s.from[smaller(place, count - 1)];
            const Found found = find(j, shift);
            const bool bids =
                place < count && (t_.me & (1 << shift) - 1) == 0 && fabsf(found.first) < infinity<float>();
            if (!bids) continue;
            row[k] = found.row;
            raise[k] = found.second - found.first;
            if (!(raise[k] < infinity<float>())) raise[k] = 0;
            if (!samples) {
                key[k] = (kZero - __float_as_uint(raise[k])) & ~kNumber | static_cast<uint32>(j);
                atomicMin(&best[row[k]], key[k]);
            } else if (raise[k] > kNoise * fmaxf(fabsf(found.first), fabsf(duals()[row[k]]))) {
                atomicAdd(&s.waiting[1], exponent_of(raise[k]));
                atomicAdd(&s.waiting[2], 1);
            }
        }
        __syncthreads();
#pragma unroll
        for (int32 k = 0; k < K; ++k) {
            if (key[k] == kNobody || best[row[k]] != key[k]) continue;
            const int32 j = static_cast<int32>(key[k] & kNumber), i = row[k], before = s.column_of[i];
            if (before >= 0) s.row_of[before] = kFree;
            s.column_of[i] = j;
            s.row_of[j] = i;
            const Dual coarse = static_cast<Dual>(__uint_as_float(__float_as_uint(raise[k]) & kCoarse));
            s.row_dual[i] -= (coarse < epsilon / 64 ? 0 : coarse) + epsilon;
        }
        __syncthreads();
        return true;
    }
    __device__ static int32 exponent_of(float x) { return static_cast<int32>(__float_as_uint(x) >> 23) - 127; }
    __device__ float* duals() const { return reinterpret_cast<float*>(t_.s.queue); }  // of rows, rounded

    // A warp's: what its columns find, 2^shift neighbouring lanes each.
    __device__ Found find(int32 j, int32 shift) const {
        Found found = {infinity<float>(), infinity<float>(), 0};
        const int32 sharing = 1 << shift;
        int32 first = 0;
        for (; first + kLoads * sharing <= t_.rows; first += kLoads * sharing) look<true>(found, j, first, sharing);
        if (first < t_.rows) look<false>(found, j, first, sharing);
        for (int32 distance = 1; distance < sharing; distance *= 2) {
            found = of_both(found, {__shfl_xor_sync(kAllLanes, found.first, distance),
                                    __shfl_xor_sync(kAllLanes, found.second, distance),
                                    __shfl_xor_sync(kAllLanes, found.row, distance)});
        }
        return found;
    }
    // At kLoads rows for each lane that shares the column, from the first on, or at those that there are.
    template <bool kAll>
    __device__ void look(Found& found, int32 j, int32 first, int32 sharing) const {
        const int32 mine = first + (t_.lane & sharing - 1);
        Stored costs[kLoads];
#pragma unroll
        for (int32 r = 0; r < kLoads; ++r) {
            const int32 i = mine + r * sharing;
            costs[r] = t_.cost(kAll ? i : smaller(i, t_.rows - 1), j);
        }
        __syncwarp();  // keeps the compiler from loading later: all are in flight together
        int32 at = kFree;
#pragma unroll
        for (int32 r = 0; r < kLoads; ++r) {
            const int32 i = mine + r * sharing;
            const bool present = kAll || i < t_.rows;
            const float x = present ? static_cast<float>(costs[r]) - duals()[present ? i : 0] : infinity<float>();
            const bool nearer = x < found.first;
            const float other = nearer ? found.first : x;
            found.second = other < found.second ? other : found.second;
            found.first = nearer ? x : found.first;
            at = nearer ? r : at;
        }
        if (at >= 0) found.row = mine + at * sharing;
    }
    __device__ static Found of_both(const Found& a, const Found& b) {
        const bool other = b.first < a.first || (b.first == a.first && b.row < a.row);
        const float loser = other ? a.first : b.first, next = other ? b.second : a.second;
        return {other ? b.first : a.first, loser < next ? loser : next, other ? b.row : a.row};
    }

    const Team& t_;
};
