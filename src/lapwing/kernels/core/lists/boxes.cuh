// Bounding boxes of columns (costs/boxes.cuh) under the prices of a solve.
#pragma once
#include "costs/boxes.cuh"

#include "core/control/team.cuh"
#include "core/shared.cuh"

// Whether the columns are in boxes.
__device__ inline bool has_boxes(const Matrix& matrix) { return has_boxes(matrix.costs.data, matrix.maximize); }
__device__ inline BoxOrder box_order(const Matrix& matrix) { return {matrix.costs.data, matrix.costs.pitch}; }

// Finds the prices in boxes (price_pieces); by blocks number `block` of `blocks`.
__device__ inline void find_prices_in_boxes(const State& state, uint32 block, uint32 blocks) {
    const Costs& costs = state.matrix.costs;
    price_pieces(
        costs.data, costs.pitch, state.matrix.real_cols(), block, blocks, true, shared().scratch.boxes().highest,
        [&](int64 j) { return load_stable(state.v + j); }, state.listing_price);
}
