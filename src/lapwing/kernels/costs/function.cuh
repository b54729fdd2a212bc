// Costs by the user's own function (lapwing.costs.cuda_source): `Arrays` and `cost` of namespace `user`, which the
// program defines before this file.
#pragma once
#include "costs/sample.cuh"

struct Function {
    struct Block {
        int64 exchanged;  // not 0: lines are the user's columns
        user::Arrays arrays;
        static constexpr Neighbours neighbours = {};
    };
    template <uint32 n>
    struct Lines {
        int64 index[n];
    };
    struct Position {
        int64 index;
    };
    static constexpr bool is_short = false, can_tilt = false;
    static constexpr uint32 dims = 0;

    const Block block;
    __device__ explicit Function(const Block* from) : block(*from) {}

    template <uint32 n>
    __device__ void load(const int64 (&index)[n], Lines<n>& lines) const {
        for (uint32 r = 0; r < n; ++r) lines.index[r] = index[r];
    }
    __device__ void load_position(int64 index, Position& position) const { position.index = index; }
    template <uint32 n>
    __device__ void costs(const Lines<n>& lines, const Position& position, Cost (&out)[n]) const {
#pragma unroll
        for (uint32 r = 0; r < n; ++r) {
            const int64 i = block.exchanged ? position.index : lines.index[r],
                        j = block.exchanged ? lines.index[r] : position.index;
            out[r] = static_cast<Cost>(user::cost(block.arrays, i, j));
        }
    }
    // Only points are in boxes.
    template <uint32 n>
    __device__ void least_costs(const Lines<n>&, const Position&, const Position&, Cost (&)[n]) const {}
    template <uint32 n>
    __device__ void tilted(const Lines<n>&, uint32, const Position&, const Position&, const float*, uint32,
                           TiltedSums&) const {}
    __device__ double across(const Position&, const Position&) const { return 0; }
    template <class F>
    __device__ static void coordinates(const Position&, F) {}
};
