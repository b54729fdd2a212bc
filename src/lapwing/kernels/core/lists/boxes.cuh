// Bounding boxes of columns (costs/boxes.cuh) under the prices of a solve.
#pragma once
#include "costs/boxes.cuh"

#include "core/control/team.cuh"
#include "core/shared.cuh"

// Whether the columns are in boxes.
__device__ inline bool has_boxes(const Matrix& matrix) { return has_boxes(matrix.costs.data, matrix.maximize); }
__device__ inline BoxOrder box_order(const Matrix& matrix) { return {matrix.costs.data, matrix.costs.pitch}; }

// The highest price in box g, rounded upwards, of all boxes that are some warp's.
__device__ inline void price_box(const State& state, uint32 g) {
    const Margin most = highest_price(box_order(state.matrix), state.matrix.real_cols(), g,
                                      [&](int64 j) { return upward(load_stable(state.v + j)); });
    if (lane_index() == 0) __stcg(state.listing_price + g, most);
}
__device__ inline void price_all_boxes(const Team& team) {
    team.each_by_warp(piece_count(team.state.matrix.real_cols()), [&](uint32 g) { price_box(team.state, g); });
}

// The places of a row of which all columns within a limit are wanted (core/lists/full_row.cuh): those of the boxes that
// may have such columns, a chunk of boxes after the other. All threads of a block use it alike. Boxes must have been
// priced in this search.
class PlacesInBoxes {
  public:
    // `within`: columns with a greater cost - v are not wanted.
    __device__ PlacesInBoxes(const State& state, int32 i, Dual within)
        : state_(state), is_boxed_(has_boxes(state.matrix) && state.matrix.prices == nullptr),
          pieces_(is_boxed_ ? piece_count(state.matrix.real_cols()) : 1), order_(box_order(state.matrix)),
          boxes_(state.matrix.costs.data, state.matrix.costs.pitch, is_boxed_), limit_{limit_upward(within)} {
        const int64 index[1] = {state.matrix.costs.row(i)};
        if (is_boxed_) Source(state.matrix.costs.data).load(index, line_);
    }
    // The number of places in the next chunk; 0 after the last.
    __device__ uint32 next() {
        if (!is_boxed_) return next_++ == 0 ? state_.matrix.cols : 0;
        BoxScratch<true>& scratch = shared().scratch.boxes;
        for (; next_ < pieces_; next_ += blockDim.x) {
            const uint32 g = next_ + threadIdx.x;
            const bool wanted =
                g < pieces_ && boxes_.may_be_near(line_, g, load_stable(state_.listing_price + g), limit_);
            __syncthreads();  // no thread reads the chunk before any longer
            if (threadIdx.x == 0) scratch.count = 0;
            __syncthreads();
            const uint32 place = take_place<false>(&scratch.count, wanted);
            if (wanted) scratch.piece[place] = static_cast<uint16>(threadIdx.x);
            __syncthreads();
            if (scratch.count == 0) continue;
            first_ = next_;
            next_ += blockDim.x;
            return scratch.count * kPiece;
        }
        return 0;
    }
    // The place with this index in the chunk; kNone if there is none.
    __device__ int32 at(uint32 index) const {
        if (!is_boxed_) return static_cast<int32>(index);
        const int64 place =
            static_cast<int64>(first_ + shared().scratch.boxes.piece[index / kPiece]) * kPiece + index % kPiece;
        return place < state_.matrix.real_cols() ? static_cast<int32>(order_.at(place)) : kNone;
    }

  private:
    const State& state_;
    const bool is_boxed_;
    const uint32 pieces_;
    const BoxOrder order_;
    const Boxes boxes_;
    const Margin limit_[1];
    Source::Lines<1> line_;
    uint32 next_ = 0, first_ = 0;  // boxes
};
