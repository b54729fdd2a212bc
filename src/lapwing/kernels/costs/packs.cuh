// The whole packs of a row in memory, aligned 16 bytes each: a row may begin and end within one.
#pragma once
#include "common/ptx.cuh"

constexpr int32 kPackSize = static_cast<int32>(Pack<Cost>::size);

// Number of costs from an address to the next pack.
__device__ inline int32 before_pack(const Cost* from) {
    return static_cast<int32>(-reinterpret_cast<uint64>(from) % 16 / sizeof(Cost));
}
// The column after the last whole pack of a row of so many columns, whose first pack begins at column `head`; that may
// be beyond the row, which then has none.
__device__ inline int32 end_of_packs(int32 head, int32 cols) { return cols - (cols - head) % kPackSize; }
// Whether every row of a matrix consists of whole packs.
template <class Costs>
__device__ inline bool are_whole_packs(const Costs& costs, int32 cols) {
    return costs.aligned() && cols % kPackSize == 0;
}
