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

// The places of a row of which all columns within a limit are wanted (core/lists/full_row.cuh): those of the boxes that
// may have such columns, a chunk after the other, of as many boxes as the block has threads; all places where there are
// no boxes, or rows may stay free. All threads of a block use it alike. Prices in boxes must have been found in this
// search.
//
// Coordinates and prices are read as they lie in the boxes, side by side; a column is looked up only if its cost, less
// its price, may be within the limit. With many dimensions most boxes are wanted, and few of their columns.
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
        const Source::Block* const data = matrix_.costs.data;
        const int64 run = matrix_.costs.pitch;
        const uint32 pieces = piece_count(matrix_.real_cols()), outers = outer_count(pieces);
        BoxScratch<true>& scratch = shared().scratch.boxes();
        for (;;) {
            const Boxes boxes = Boxes::inner(data, run);
            while (taken_ < found_) {  // outer boxes, one for each warp
                const uint32 at = taken_ + threadIdx.x / kWarp;
                taken_ += blockDim.x / kWarp;
                const uint32 g = at < found_ ? (first_ + scratch.outer[at]) * kFan + lane_index() : pieces;
                const bool wanted = g < pieces && may_be_near_tilted(boxes, g);
                if (const uint32 count = gather(wanted, g - first_ * kFan, scratch.box)) return count * kPiece;
            }
            if (ended_ >= outers) return 0;
            first_ = ended_;
            ended_ += blockDim.x;
            const uint32 g = first_ + threadIdx.x;
            const bool wanted =
                g < outers && may_be_near(Boxes::outer(data, run), g, outer_prices(matrix_.real_cols()) + g);
            found_ = gather(wanted, threadIdx.x, scratch.outer);
            taken_ = 0;
        }
    }
    // The place with this index in the chunk; kNone if there is none, or it is not wanted.
    __device__ int32 at(uint32 index) const {
        if (!is_boxed_) return static_cast<int32>(index);
        const int64 box = first_ * kFan + shared().scratch.boxes().box[index / kPiece],
                    place = box * kPiece + index % kPiece;
        if (place >= matrix_.real_cols()) return kNone;
        const Costs& costs = matrix_.costs;
        const Source source = in_boxes(costs.data);
        Source::Position position;
        Cost cost[1];
        source.load_position(places_in_boxes(matrix_.real_cols(), costs.pitch, kColSalt).at(place), position);
        source.costs(line_, position, cost);
        const Margin price = load_stable(state_.listing_price + place_prices(matrix_.real_cols()) + place);
        if (!may_be_within(cost[0], price, limit_[0])) return kNone;
        return static_cast<int32>(box_order(matrix_).at(place));
    }

  private:
    const State& state_;
    const Matrix& matrix_;
    const bool is_boxed_;
    const Margin limit_[1];
    Source::Lines<1> line_;
    uint32 first_ = 0, ended_ = 0;  // the outer boxes that were examined last
    uint32 found_ = 0, taken_ = 0;  // how many of them are wanted, and were opened

    // Whether box g, whose highest price is number `price` of those in boxes, may have a wanted column.
    __device__ bool may_be_near(const Boxes& boxes, uint32 g, uint32 price) const {
        return boxes.may_be_near(line_, g, load_stable(state_.listing_price + price), limit_);
    }
    // The same of an inner box, whose prices may be tilted.
    __device__ bool may_be_near_tilted(const Boxes& boxes, uint32 g) const {
        const int64 cols = matrix_.real_cols();
        const Tilt tilt(state_.listing_price, cols);
        const bool tilted = Tilt::exists(cols) && tilt.has(g), near = may_be_near(boxes, g, g);
        return near && (!tilted || !(boxes.tilted(line_, 0, g, tilt) > static_cast<double>(limit_[0])));
    }
    // Gathers the numbers of the threads that want it, and returns how many did.
    __device__ static uint32 gather(bool wanted, uint32 number, uint16* into) {
        uint32& count = shared().scratch.boxes().wanted;
        __syncthreads();  // no thread reads what was gathered before any longer
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
        const uint32 place = take_place<false>(&count, wanted);
        if (wanted) into[place] = static_cast<uint16>(number);
        __syncthreads();
        return count;
    }
};
