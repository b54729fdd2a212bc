// Sparse arrays of any library as the lines of struct Costs (costs/sparse.cuh): checked while they are copied, and
// sorted by their lines where they come as pairs or by the other side.
//
//   copy_ends         where lines end
//   copy_indices      rows or columns of entries as 32-bit numbers; pairs beyond the matrix may be padding
//   find_disorder     whether the pairs do not rise strictly: only then may one be given twice
//   find_duplicates   whether one is, by a hash table of twice as many words as there are entries
//   count_entries, add_up_counts, sort_entries    a counting sort by lines; entries of a line come in any order
//   find_longest      how many entries the longest line has
//
// `report` [4] is zero before. A kernel that depends on what one before it checks does nothing where that failed. Cost:
// each array is read once by each kernel that gets it; no barriers but in add_up_counts, which is one block.
#include "costs/entries.cuh"

enum ReportWord { kDamaged = 0, kDisordered = 1, kTwice = 2, kLongest = 3 };

// An array of 32-bit or 64-bit integers with a stride.
struct Integers {
    const void* at;
    int64 stride, wide;
    __device__ int64 operator[](int64 k) const {
        return wide != 0 ? static_cast<const int64*>(at)[k * stride] : static_cast<const int32*>(at)[k * stride];
    }
};
__device__ inline int64 first_index() { return static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline int64 index_step() { return static_cast<int64>(gridDim.x) * blockDim.x; }
__device__ inline void report(uint64* words, ReportWord word, bool found) {
    if (found) atomicExch(words + word, 1ull);
}

// ends: [lines + 1]. Damaged: they do not rise from 0 to at most `entries`.
extern "C" __global__ void __launch_bounds__(THREADS)
    copy_ends(const void* given, int64 stride, int64 wide, int64 lines, int64 entries, int64* ends, uint64* words) {
    const Integers from{given, stride, wide};
    for (int64 line = first_index(); line <= lines; line += index_step()) {
        const int64 end = from[line], before = line == 0 ? 0 : from[line - 1];
        ends[line] = end;
        report(words, kDamaged, end < before || end > entries || (line == 0 && end != 0));
    }
}

// to: [count], or as many as ends[lines] says, where there are `ends`. Damaged: an index is not in 0 .. size - 1; if it
// is `size` and `pads`, it becomes -1.
extern "C" __global__ void __launch_bounds__(THREADS)
    copy_indices(const void* given, int64 stride, int64 wide, int64 count, const int64* ends, int64 lines, int64 size,
                 int64 pads, int32* to, uint64* words) {
    if (__ldcg(words + kDamaged) != 0) return;
    const Integers from{given, stride, wide};
    const int64 all = ends == nullptr ? count : ends[lines];
    for (int64 k = first_index(); k < all; k += index_step()) {
        const int64 index = from[k];
        const bool padding = pads != 0 && index == size, within = index >= 0 && index < size;
        to[k] = within ? static_cast<int32>(index) : -1;
        report(words, kDamaged, !within && !padding);
    }
}

// f(line, k) for the entries of lines that end at `ends` or, where that is null, of `count` pairs with lines `line_of`.
template <class F>
__device__ void each_pair(const int64* ends, int64 lines, const int32* line_of, int64 count, F f) {
    if (ends != nullptr) return each_entry(ends, lines, f);
    for (int64 k = first_index(); k < count; k += index_step()) f(static_cast<int64>(line_of[k]), k);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    find_disorder(const int64* ends, int64 lines, const int32* line_of, int64 count, const int32* across,
                  uint64* words) {
    if (__ldcg(words + kDamaged) != 0) return;
    each_pair(ends, lines, line_of, count, [&](int64 line, int64 k) {
        const bool follows = k > 0 && (ends != nullptr ? ends[line] < k : line_of[k - 1] == line);
        const bool falls = ends == nullptr && k > 0 && line_of[k - 1] > line;
        report(words, kDisordered, falls || (follows && across[k - 1] >= across[k]));
    });
}

// table: [mask + 1], a power of two, at least twice the entries; all ones before.
extern "C" __global__ void __launch_bounds__(THREADS)
    find_duplicates(const int64* ends, int64 lines, const int32* line_of, int64 count, const int32* across,
                    uint64* table, int64 mask, uint64* words) {
    each_pair(ends, lines, line_of, count, [&](int64 line, int64 k) {
        if (line < 0 || across[k] < 0) return;  // padding
        const uint64 pair = static_cast<uint64>(line) << 32 | static_cast<uint32>(across[k]);
        uint64 place = pair * 0x9e3779b97f4a7c15ull >> 20;
        for (;; ++place) {
            const uint64 there = atomicCAS(table + (place & static_cast<uint64>(mask)), ~0ull, pair);
            report(words, kTwice, there == pair);
            if (there == ~0ull || there == pair) return;
        }
    });
}

// counts: [lines], zero before. `of`: the line of each entry; `other`, which may be null: the rest of the pair.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_entries(const int32* of, const int32* other, int64 count, uint32* counts) {
    for (int64 k = first_index(); k < count; k += index_step()) {
        if (of[k] >= 0 && (other == nullptr || other[k] >= 0)) atomicAdd(counts + of[k], 1u);
    }
}

// ends: [lines + 1], the sums of the counts before each line, and all. One block.
extern "C" __global__ void __launch_bounds__(THREADS) add_up_counts(const uint32* counts, int64 lines, int64* ends) {
    constexpr int64 kEach = 8;  // counts of a thread at once
    __shared__ uint64 of_warp[THREADS / kWarp];
    uint64 before = 0;
    for (int64 base = 0; base < lines; base += kEach * THREADS) {
        const int64 first = base + kEach * threadIdx.x;
        uint64 mine = 0, own[kEach];
#pragma unroll
        for (int64 k = 0; k < kEach; ++k) {
            own[k] = mine;
            mine += first + k < lines ? counts[first + k] : 0;
        }
        uint64 sum = mine;  // of this thread and those before it in the warp
        for (uint32 distance = 1; distance < kWarp; distance *= 2) {
            const uint64 other = __shfl_up_sync(kAllLanes, sum, distance);
            if (lane_index() >= distance) sum += other;
        }
        if (lane_index() == kWarp - 1) of_warp[threadIdx.x / kWarp] = sum;
        __syncthreads();
        uint64 all = 0, ahead = 0;
        for (uint32 w = 0; w < THREADS / kWarp; ++w) {
            if (w == threadIdx.x / kWarp) ahead = all;
            all += of_warp[w];
        }
#pragma unroll
        for (int64 k = 0; k < kEach; ++k) {
            if (first + k < lines) ends[first + k] = static_cast<int64>(before + ahead + sum - mine + own[k]);
        }
        before += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) ends[lines] = static_cast<int64>(before);
}

// Entries to their lines `of`: across[at] is the line in which they come (by `given_ends`, of given_lines), or
// `position`, and cost[at] their cost, of item_bytes; next: [lines], where the next entry of a line goes.
extern "C" __global__ void __launch_bounds__(THREADS)
    sort_entries(const int64* given_ends, int64 given_lines, const int32* position, int64 count, const int32* of,
                 const void* costs, int64 item_bytes, uint64* next, int32* across, void* sorted) {
    each_pair(given_ends, given_lines, position, count, [&](int64 its, int64 k) {
        if (its < 0 || of[k] < 0) return;
        const uint64 at = atomicAdd(next + of[k], 1ull);
        across[at] = static_cast<int32>(its);
        if (item_bytes == 8)
            static_cast<uint64*>(sorted)[at] = static_cast<const uint64*>(costs)[k];
        else if (item_bytes == 4)
            static_cast<uint32*>(sorted)[at] = static_cast<const uint32*>(costs)[k];
        else if (item_bytes == 2)
            static_cast<uint16*>(sorted)[at] = static_cast<const uint16*>(costs)[k];
        else
            static_cast<uint8*>(sorted)[at] = static_cast<const uint8*>(costs)[k];
    });
}

extern "C" __global__ void __launch_bounds__(THREADS) find_longest(const int64* ends, int64 lines, uint64* words) {
    if (__ldcg(words + kDamaged) != 0) return;
    uint64 longest = 0;
    for (int64 line = first_index(); line < lines; line += index_step()) {
        const auto entries = static_cast<uint64>(ends[line + 1] - ends[line]);
        longest = entries > longest ? entries : longest;
    }
    longest = warp_reduce(longest, [](uint64 a, uint64 b) { return a > b ? a : b; });
    if (lane_index() == 0) atomicMax(words + kLongest, longest);
}
