// The boxes of columns that a search looks at for a row of which more than its list is wanted.
//
// Those within the search radius are a few boxes of uniform points, but nearly all where a search reaches far, as
// between sets of uneven density. Most of their columns were reached already, on shorter paths. The *reach* of a box is
// the greatest distance of its columns, at most the search radius. A row at distance d whose reduced costs in the box
// are all above reach - d brings none of them nearer. A row that brings no column nearer is left as it is, with the
// list that it has: of two photographs pixel by pixel, a search reaches 270,000 columns, a third of their rows have
// lists that do not tell, and of each of these 32,000 costs were computed, of which three could matter.
//
// Reaches are found when no distance falls, and distances only fall: what they leave out holds until the search ends,
// and is the same in whatever order rows are read.
//
// Only where the square method solves the problem, with or without dummy rows; elsewhere its memory is in use
// (core/search/rectangular.cuh).
#pragma once
#include "core/lists/boxes.cuh"

#include "core/lists/listing.cuh"

__device__ inline bool has_reach(const Matrix& matrix) {
    return has_boxes(matrix) && (matrix.rows == matrix.cols || shared().control.command.search.has_dummies);
}
// By box, then by outer box. There are fewer of them than rows, or they are two.
__device__ inline uint64* reach_of_boxes(const State& state) { return state.best_bid[0]; }
// Of the column at each place: its price and its distance, at most the search radius, rounded upwards.
__device__ inline Margin* reach_of_places(const State& state) {
    return reinterpret_cast<Margin*>(state.backward_distance);
}
__device__ inline Margin price_and_distance(Dual price, uint64 key) {
    const Dual distance = key == kFar ? infinity<Dual>() / 4 : from_key<Dual>(key);
    if constexpr (sizeof(Margin) < sizeof(Dual))
        return __fadd_ru(upward(price), upward(distance));
    else
        return price + distance + rounding_of_sums(price, distance, Dual(0));
}

// Finds the reach of all boxes. `beyond`: what counts for a column beyond the radius. By blocks number `block` of
// `blocks`.
LAPWING_NOINLINE __device__ void find_reach(const State& state, uint64 radius, uint64 beyond, uint32 block,
                                            uint32 blocks) {
    const BoxOrder order = box_order(state.matrix);
    const int64 cols = state.matrix.real_cols();
    const uint32 pieces = piece_count(cols), warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    const auto larger = [](uint64 a, uint64 b) { return a < b ? b : a; };
    uint64* const reach = reach_of_boxes(state);
#pragma unroll 1
    for (uint32 outer = block; outer < outer_count(pieces); outer += blocks) {
        uint64 all = 0;
#pragma unroll 1
        for (uint32 g = outer * kFan + warp; g < pieces && g < (outer + 1) * kFan; g += warps) {
            uint64 most = 0;
#pragma unroll
            for (uint32 a = 0; a < kAhead; ++a) {
                const int64 place = static_cast<int64>(g) * kPiece + a * kWarp + lane_index();
                if (place >= cols) continue;
                const int64 j = order.at(place);
                const uint64 distance = __ldcg(state.distance + j), key = distance <= radius ? distance : beyond;
                __stcg(reach_of_places(state) + place, price_and_distance(load_stable(state.v + j), key));
                most = larger(most, key);
            }
            most = warp_reduce(most, larger);
            if (lane_index() == 0) __stcg(reach + g, most);
            all = larger(all, most);
        }
        all = best_in_block(shared().scratch.keys, all, false);
        if (threadIdx.x == 0) __stcg(reach + pieces + outer, all);
    }
}

// Which boxes may have a wanted column of a row. Prices in boxes must have been found in this search, and so must the
// reach.
class WantedBoxes {
  public:
    const uint32 pieces, outers;

    __device__ WantedBoxes(const State& state, int32 i, const Wanted& wanted)
        : pieces(piece_count(state.matrix.real_cols())), outers(outer_count(pieces)), state_(state), wanted_(wanted),
          reach_(has_reach(state.matrix) ? reach_of_boxes(state) : nullptr),
          by_place_(reach_ != nullptr ? reach_of_places(state)
                                      : state.listing_price + place_prices(state.matrix.real_cols())),
          limit_(limit_upward(reach_ != nullptr ? wanted.base() : wanted.within(wanted.radius))) {
        const int64 index[1] = {state.matrix.costs.row(i)};
        if (has_boxes(state.matrix)) Source(state.matrix.costs.data).load(index, line_);
    }
    __device__ bool has_outer(uint32 g) const {
        const Costs& costs = state_.matrix.costs;
        if (g >= outers) return false;
        const Margin limit[1] = {limit_at(pieces + g)}, price = price_at(outer_prices(state_.matrix.real_cols()) + g);
        return Boxes::outer(costs.data, costs.pitch).may_be_near(line_, g, price, limit);
    }
    // Of an inner box, whose prices may be tilted.
    __device__ bool has(uint32 g) const {
        const Costs& costs = state_.matrix.costs;
        if (g >= pieces) return false;
        const int64 cols = state_.matrix.real_cols();
        const Boxes boxes = Boxes::inner(costs.data, costs.pitch);
        const Tilt tilt(state_.listing_price, cols);
        const Margin limit[1] = {limit_at(g)}, price = price_at(g);
        const bool tilted = Tilt::exists(cols) && tilt.has(g), near = boxes.may_be_near(line_, g, price, limit);
        return near && (!tilted || !(boxes.tilted(line_, 0, g, tilt) > static_cast<double>(limit[0])));
    }
    // Whether the column at a place may be wanted.
    __device__ bool has_place(int64 place) const {
        Cost cost[1];
        return place < state_.matrix.real_cols() && has_place(place, cost);
    }
    // Whether the row brings a column of box g nearer; by a warp.
    __device__ bool brings_nearer(uint32 g) const {
        const int64 cols = state_.matrix.real_cols(), first = static_cast<int64>(g) * kPiece + lane_index();
        Cost cost[kAhead][1];
        bool may[kAhead], any = false;
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
            const int64 place = first + a * kWarp;
            may[a] = has_place(place < cols ? place : cols - 1, cost[a]) && place < cols;
            any |= may[a];
        }
        if (!__any_sync(kAllLanes, any)) return false;
        any = false;
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
            if (!may[a]) continue;
            const int64 j = box_order(state_.matrix).at(first + a * kWarp);
            const uint64 key = as_key(
                wanted_.distance + reduced(state_.matrix.minimised(cost[a][0]), load_stable(state_.v + j), wanted_.u));
            any |= key <= wanted_.radius && key < __ldcg(state_.distance + j);
        }
        return __any_sync(kAllLanes, any) != 0;
    }

  private:
    const State& state_;
    const Wanted wanted_;
    const uint64* const reach_;     // of boxes, where there is one
    const Margin* const by_place_;  // prices, with distances where there is a reach
    const Margin limit_;            // of cost - these prices
    Source::Lines<1> line_;

    __device__ Margin price_at(int64 k) const { return load_stable(state_.listing_price + k); }
    __device__ Margin limit_at(uint32 k) const {
        return reach_ == nullptr ? limit_ : limit_upward(wanted_.within(load_stable(reach_ + k)));
    }
    __device__ bool has_place(int64 place, Cost (&cost)[1]) const {
        const Costs& costs = state_.matrix.costs;
        const Source source = in_boxes(costs.data);
        Source::Position position;
        source.load_position(places_in_boxes(state_.matrix.real_cols(), costs.pitch, kColSalt).at(place), position);
        source.costs(line_, position, cost);
        return may_be_within(cost[0], load_stable(by_place_ + place), limit_);
    }
};

// Whether a row brings its unmatched column nearer.
__device__ inline bool brings_exit_nearer(const State& state, int32 i, const Wanted& wanted) {
    const Matrix& matrix = state.matrix;
    if (matrix.prices == nullptr) return false;
    const int32 j = matrix.real_cols() + i;
    const Dual cost = matrix.unmatched_cost(i);
    if (!(cost < infinity<Dual>())) return false;
    const uint64 key = as_key(wanted.distance + reduced(cost, load_stable(state.v + j), wanted.u));
    return key <= wanted.radius && key < __ldcg(state.distance + j);
}
// Whether a row brings a column nearer; by one warp.
LAPWING_NOINLINE __device__ bool brings_nearer(const State& state, int32 i, const Wanted& wanted) {
    if (brings_exit_nearer(state, i, wanted)) return true;
    const WantedBoxes boxes(state, i, wanted);
    for (uint32 base = 0; base < boxes.outers; base += kWarp) {
        for (uint32 left = __ballot_sync(kAllLanes, boxes.has_outer(base + lane_index())); left != 0;
             left &= left - 1) {
            const uint32 first = (base + __ffs(static_cast<int32>(left)) - 1) * kFan;
            uint32 inner = __ballot_sync(kAllLanes, boxes.has(first + lane_index()));
            for (; inner != 0; inner &= inner - 1)
                if (boxes.brings_nearer(first + __ffs(static_cast<int32>(inner)) - 1)) return true;
        }
    }
    return false;
}

// The places of a row that must be looked at for wanted columns (core/lists/full_row.cuh): those of the boxes that may
// have some, a chunk after the other, of as many boxes as the block has threads, and its unmatched column; all places
// where there are no boxes. All threads of a block use it alike.
//
// Coordinates and prices are read as they lie in the boxes, side by side; a column is looked up only if its cost, less
// its price, may be within the limit. With many dimensions most boxes are wanted, and few of their columns.
class PlacesInBoxes {
  public:
    static constexpr bool all_wanted = false;

    __device__ PlacesInBoxes(const State& state, int32 i, const Wanted& wanted)
        : matrix_(state.matrix), row_(i), is_boxed_(has_boxes(matrix_)), has_exit_(matrix_.prices != nullptr),
          boxes_(state, i, wanted) {}
    // The number of places in the next chunk; 0 after the last.
    __device__ uint32 next() {
        if (!is_boxed_) return ended_++ == 0 ? matrix_.places(row_) : 0;
        BoxScratch<true>& scratch = shared().scratch.boxes();
        for (;;) {
            while (taken_ < found_) {  // outer boxes, one for each warp
                const uint32 at = taken_ + threadIdx.x / kWarp;
                taken_ += blockDim.x / kWarp;
                const uint32 g = at < found_ ? (first_ + scratch.outer[at]) * kFan + lane_index() : boxes_.pieces;
                if (const uint32 count = gather(boxes_.has(g), g - first_ * kFan, scratch.box)) return count * kPiece;
            }
            if (ended_ >= boxes_.outers) {
                if (!has_exit_ || is_at_exit_) return 0;
                is_at_exit_ = true;
                return 1;
            }
            first_ = ended_;
            ended_ += blockDim.x;
            found_ = gather(boxes_.has_outer(first_ + threadIdx.x), threadIdx.x, scratch.outer);
            taken_ = 0;
        }
    }
    // The place with this index in the chunk; kNone if there is none, or it is not wanted.
    __device__ int32 at(uint32 index) const {
        if (!is_boxed_) return static_cast<int32>(index);
        if (is_at_exit_) return matrix_.real_cols();  // the last place
        const int64 box = first_ * kFan + shared().scratch.boxes().box[index / kPiece],
                    place = box * kPiece + index % kPiece;
        return boxes_.has_place(place) ? static_cast<int32>(box_order(matrix_).at(place)) : kNone;
    }

  private:
    const Matrix& matrix_;
    const int32 row_;
    const bool is_boxed_, has_exit_;  // unmatched column
    const WantedBoxes boxes_;
    bool is_at_exit_ = false;
    uint32 first_ = 0, ended_ = 0;  // the outer boxes that were examined last
    uint32 found_ = 0, taken_ = 0;  // how many of them are wanted, and were opened

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
