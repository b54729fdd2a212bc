// Bounding boxes of columns (costs/boxes.cuh) under the prices of a solve.
#pragma once
#include "costs/boxes.cuh"

#include "core/control/team.cuh"
#include "core/shared.cuh"

// Whether the columns are in boxes.
__device__ inline bool has_boxes(const Matrix& matrix) { return has_boxes(matrix.costs.data, matrix.maximize); }
__device__ inline BoxOrder box_order(const Matrix& matrix) { return {matrix.costs.data, matrix.costs.pitch}; }

// Finds the highest price in each box, by so many warps.
__device__ inline void find_highest_prices(const State& state, uint32 warp, uint32 warps) {
    price_pieces(
        box_order(state.matrix), state.matrix.real_cols(), warp, warps,
        [&](int64 j) { return upward(load_stable(state.v + j)); }, state.listing_price);
}

// The places of a row of which all columns within a limit are wanted (core/lists/full_row.cuh): those of the boxes that
// may have such columns, a chunk of boxes after the other; all places where there are no boxes, or rows may stay free.
// All threads of a block use it alike. Highest prices must have been found in this search.
//
// Coordinates are read as they lie in the boxes, side by side; a column is looked up only if its cost, less the highest
// price in its box, may be within the limit. With many dimensions most boxes are wanted, and few of their columns.
class PlacesInBoxes {
  public:
    static constexpr bool all_wanted = false;

    // `within`: columns with a greater cost - v are not wanted.
    __device__ PlacesInBoxes(const State& state, int32 i, Dual within)
        : state_(state), matrix_(state.matrix), is_boxed_(has_boxes(matrix_) && matrix_.prices == nullptr),
          limit_{limit_upward(within)} {
        const int64 index[1] = {matrix_.costs.row(i)};
        if (is_boxed_) Source(matrix_.costs.data).load(index, line_);
    }
    // The number of places in the next chunk; 0 after the last.
    __device__ uint32 next() {
        if (!is_boxed_) return ended_++ == 0 ? matrix_.cols : 0;
        const Boxes boxes(matrix_.costs.data, matrix_.costs.pitch);
        const uint32 pieces = piece_count(matrix_.real_cols());
        BoxScratch<true>& scratch = shared().scratch.boxes();
        while (ended_ < pieces) {
            first_ = ended_;
            ended_ += blockDim.x;
            const uint32 g = first_ + threadIdx.x;
            const bool wanted =
                g < pieces && boxes.may_be_near(line_, g, load_stable(state_.listing_price + g), limit_);
            __syncthreads();  // no thread reads the chunk before any longer
            if (threadIdx.x == 0) scratch.wanted = 0;
            __syncthreads();
            const uint32 place = take_place<false>(&scratch.wanted, wanted);
            if (wanted) scratch.box[place] = static_cast<uint16>(threadIdx.x);
            __syncthreads();
            if (scratch.wanted > 0) return scratch.wanted * kPiece;
        }
        return 0;
    }
    // The place with this index in the chunk; kNone if there is none, or it is not wanted.
    __device__ int32 at(uint32 index) const {
        if (!is_boxed_) return static_cast<int32>(index);
        const int64 box = first_ + shared().scratch.boxes().box[index / kPiece], place = box * kPiece + index % kPiece;
        if (place >= matrix_.real_cols()) return kNone;
        const Costs& costs = matrix_.costs;
        const Source source = in_boxes(costs.data, costs.pitch);
        Source::Position position;
        Cost cost[1];
        source.load_position(costs.col(place), position);
        source.costs(line_, position, cost);
        if (!may_be_within(cost[0], load_stable(state_.listing_price + box), limit_[0])) return kNone;
        return static_cast<int32>(box_order(matrix_).at(place));
    }

  private:
    const State& state_;
    const Matrix& matrix_;
    const bool is_boxed_;
    const Margin limit_[1];
    Source::Lines<1> line_;
    uint32 first_ = 0, ended_ = 0;  // boxes of the chunk
};
