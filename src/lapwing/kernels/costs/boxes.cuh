// Bounding boxes of points: visit only the positions that may be near a line. The positions are points in an order that
// places near points near each other (gpu/costs/spatial_order.py).
//
// `data` is followed by three more blocks. data[1] has the coordinates of the positions in that order, kPiece positions
// per box (the last box may have fewer). data[2] has the boxes: first the low corners, then the high ones. data[3] has
// outer boxes, each of kFan boxes, likewise. A box is skipped for a line if its least cost, minus the highest price in
// the box, exceeds the line's limit; so is an outer box, with all its boxes. For four million points in the plane, a
// line reads 1000 outer boxes, those inside a few of them, and the points of about ten boxes.
//
// Where rows are matched far away, as between two clouds of points that lie apart, cost and price both vary much within
// a box, and that bound is far too low. So the prices of each piece are also described by a linear function a . y of
// the coordinates and a rise, which no price - a . y exceeds; if the cost is a sum over dimensions,
//     sum over dimensions of (least of (term - a y) in the box) - rise
// is a bound, too. It is computed in double, less a margin for all rounding, and only of boxes that the first bound
// does not skip, and of pieces that are *steep*: their prices differ by more than the cost between the corners of the
// box. Slopes may be any numbers, so each is fitted to what the ones before it leave. A source that can_tilt has this.
//
// A sample keeps this order. It has one position of each run, so a piece of kPiece sampled positions spans as many
// boxes as a run is long, and an outer piece of kFan pieces as many outer boxes.
#pragma once
#include "costs/computed.cuh"

// Whether positions are in boxes. Maximising has none, since it would need largest costs.
__device__ inline bool has_boxes(const Source::Block* data, bool maximize) {
    return Source::is_short && !maximize && data->neighbours.boxes > 0;
}
__device__ inline uint32 piece_count(int64 positions) { return static_cast<uint32>((positions + kPiece - 1) / kPiece); }
constexpr uint32 kFan = CostTuning::fan;
static_assert(kFan == kWarp);
__device__ inline uint32 outer_count(uint32 pieces) { return (pieces + kFan - 1) / kFan; }

// The position at each place of the boxes, of all positions or of a sample.
struct BoxOrder {
    const int32* order;  // null: as it is
    __device__ BoxOrder(const Source::Block* data, int64 run)
        : order(run == 1 ? data->neighbours.positions : nullptr) {}
    __device__ int64 at(int64 place) const { return order == nullptr ? place : __ldg(order + place); }
};

// Prices, rounded upwards: the highest of each piece, then of each outer piece, then those of all positions as they lie
// in the boxes, so that a warp reads those of a piece together. At most twice as many numbers as positions, of
// which there are more than one.
__device__ inline uint32 outer_prices(int64 positions) { return piece_count(positions); }
__device__ inline uint32 place_prices(int64 positions) {
    return piece_count(positions) + outer_count(piece_count(positions));
}
// Tilted prices, behind the others: rises, infinite for pieces that are not tilted, and slopes [dims, pieces]. Of few
// positions there are none, so that twice as many numbers as positions suffice.
struct Tilt {
    double* rises;
    float* slopes;
    uint32 pieces;

    __device__ static bool exists(int64 positions) { return Source::can_tilt && positions >= 2 * kPiece; }
    __device__ Tilt(Margin* prices, int64 positions) : pieces(piece_count(positions)) {
        const int64 end = (place_prices(positions) + positions + 1) / 2 * 2;  // Margins: 8 bytes together
        rises = reinterpret_cast<double*>(prices + end);
        slopes = reinterpret_cast<float*>(rises + pieces);
    }
    __device__ bool has(uint32 g) const { return load_plain(rises + g) < infinity<double>(); }
};
// Prices that differ by more than this in piece g are tilted. A piece of a sample spans boxes that may lie far apart;
// samples are small, and all their pieces are tilted.
__device__ inline double least_steep(const Source::Block* data, int64 run, uint32 g) {
    if (run > 1) return -1;
    Source::Position low, high;
    const Source corners(data + 2);
    corners.load_position(g, low);
    corners.load_position(data->neighbours.boxes + g, high);
    return corners.across(low, high);
}
// Fits slopes to the prices `left` of the warp's positions in piece g, kAhead a lane (`there`), and finds the rise.
__device__ inline void tilt_piece(const Source::Position (&points)[kAhead], const bool (&there)[kAhead],
                                  double (&left)[kAhead], const Tilt& tilt, uint32 g) {
    constexpr double kTiny = 1.0 / (1ull << 44);
    const auto sum = [](double a, double b) { return a + b; };
    double size = 0, coordinate[kAhead];
    uint32 count = 0;
#pragma unroll
    for (uint32 a = 0; a < kAhead; ++a) {
        count += __popc(__ballot_sync(kAllLanes, there[a]));
        const double magnitude = left[a] < 0 ? -left[a] : left[a];
        if (there[a] && magnitude > size) size = magnitude;
    }
#pragma unroll
    for (uint32 k = 0; k < Source::dims; ++k) {
        double mean = 0, with_price = 0, with_itself = 0, largest = 0;
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
            coordinate[a] = 0;
            Source::coordinates(points[a], [&](uint32 at, double x) { coordinate[a] = at == k ? x : coordinate[a]; });
            if (there[a]) mean += coordinate[a];
        }
        mean = warp_reduce(mean, sum) / count;
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
            if (!there[a]) continue;
            const double apart = coordinate[a] - mean;
            with_price += apart * left[a], with_itself += apart * apart;
        }
        with_price = warp_reduce(with_price, sum), with_itself = warp_reduce(with_itself, sum);
        const double wanted = with_itself > 0 ? with_price / with_itself : 0;
        const float slope = wanted > -1e30 && wanted < 1e30 ? static_cast<float>(wanted) : 0.0f;
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
            const double product = static_cast<double>(slope) * coordinate[a];
            left[a] -= product;
            if (there[a]) largest = product > largest ? product : -product > largest ? -product : largest;
        }
        size += largest;
        if (lane_index() == 0) __stcg(tilt.slopes + static_cast<int64>(k) * tilt.pieces + g, slope);
    }
    double rise = -infinity<double>();
#pragma unroll
    for (uint32 a = 0; a < kAhead; ++a)
        if (there[a] && left[a] > rise) rise = left[a];
    rise = warp_reduce(rise + kTiny * size, [](double a, double b) { return a < b ? b : a; });
    if (lane_index() == 0) __stcg(tilt.rises + g, rise);
}

// Finds them. `may_tilt`: tilted, too, of columns, or of all positions. price(k): of position k. Blocks number `block`
// of `blocks` call it with all their threads; `scratch` is shared, a number for each warp.
template <class Price>
__device__ inline void price_pieces(const Source::Block* data, int64 run, int64 positions, uint32 block, uint32 blocks,
                                    bool may_tilt, Margin* scratch, Price price, Margin* prices) {
    const BoxOrder order(data, run);
    const Source source(data + 1);
    const Positions places{positions, run, kColSalt, nullptr};
    const bool tilts = Tilt::exists(positions);
    const Tilt tilt(prices, positions);
    const uint32 pieces = piece_count(positions), warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    Margin* const by_place = prices + place_prices(positions);
    const auto larger = [](Margin a, Margin b) { return a < b ? b : a; };
#pragma unroll 1
    for (uint32 outer = block; outer < outer_count(pieces); outer += blocks) {
        Margin all = -infinity<Margin>();
#pragma unroll 1
        for (uint32 g = outer * kFan + warp; g < pieces && g < (outer + 1) * kFan; g += warps) {
            Margin most = -infinity<Margin>(), least = infinity<Margin>();
            // Its loads are in flight with those of prices.
            const double steep = tilts && may_tilt ? least_steep(data, run, g) : infinity<double>();
            Source::Position points[kAhead];
            bool there[kAhead];
            double exact[kAhead] = {};
#pragma unroll
            for (uint32 a = 0; a < kAhead; ++a) {
                const int64 place = static_cast<int64>(g) * kPiece + a * kWarp + lane_index();
                there[a] = place < positions;
                if (!there[a]) continue;
                const Dual v = price(order.at(place));
                exact[a] = static_cast<double>(v);
                const Margin x = upward(v);
                __stcg(by_place + place, x);
                most = larger(most, x);
                least = x < least ? x : least;
            }
            most = warp_reduce(most, larger);
            if (tilts) {
                least = warp_reduce(least, [](Margin a, Margin b) { return b < a ? b : a; });
                if (static_cast<double>(most) - static_cast<double>(least) > steep) {
#pragma unroll
                    for (uint32 a = 0; a < kAhead; ++a) {
                        const int64 place = static_cast<int64>(g) * kPiece + a * kWarp + lane_index();
                        source.load_position(places.at(there[a] ? place : 0), points[a]);
                    }
                    tilt_piece(points, there, exact, tilt, g);
                } else if (lane_index() == 0) {
                    __stcg(tilt.rises + g, infinity<double>());
                }
            }
            if (lane_index() == 0) __stcg(prices + g, most);
            all = larger(all, most);
        }
        if (lane_index() == 0) scratch[warp] = all;
        __syncthreads();
        if (warp == 0) {
            all = warp_reduce(lane_index() < warps ? scratch[lane_index()] : -infinity<Margin>(), larger);
            if (lane_index() == 0) __stcg(prices + outer_prices(positions) + outer, all);
        }
        __syncthreads();
    }
}

// The boxes of the pieces of some positions, or their outer boxes.
class Boxes {
  public:
    __device__ static Boxes inner(const Source::Block* data, int64 run) {
        return Boxes(data + 2, run, data->neighbours.boxes);
    }
    __device__ static Boxes outer(const Source::Block* data, int64 run) {
        return Boxes(data + 3, run, (data->neighbours.boxes + kFan - 1) / kFan);
    }

    // f(the least costs of lines) for every box that piece g spans.
    template <uint32 n, class F>
    __device__ void each_of_piece(const Source::Lines<n>& lines, uint32 g, F f) const {
        const int64 first = g * run_, end = first + run_;
        for (int64 box = first; box < end && box < all_; ++box) {
            Source::Position low, high;
            Cost least[n];
            corners_.load_position(box, low);
            corners_.load_position(all_ + box, high);
            corners_.least_costs(lines, low, high, least);
            f(least);
        }
    }
    // Whether a position of piece g, whose prices are at most `most`, may be within a limit.
    template <uint32 n>
    __device__ bool may_be_near(const Source::Lines<n>& lines, uint32 g, Margin most, const Margin (&limit)[n]) const {
        bool near = false;
        each_of_piece(lines, g, [&](const Cost(&least)[n]) {
#pragma unroll
            for (uint32 r = 0; r < n; ++r) near |= may_be_within(least[r], most, limit[r]);
        });
        return near;
    }
    // The least cost - price of line r in piece g by tilted prices, for inner boxes.
    template <uint32 n>
    __device__ double tilted(const Source::Lines<n>& lines, uint32 r, uint32 g, const Tilt& tilt) const {
        double least = infinity<double>();
        constexpr double kTiny = 1.0 / (1ull << 44);
        const double rise = load_plain(tilt.rises + g);
        const int64 first = g * run_, end = first + run_;
#pragma unroll 1
        for (int64 box = first; box < end && box < all_; ++box) {
            Source::Position low, high;
            TiltedSums sums;
            corners_.load_position(box, low);
            corners_.load_position(all_ + box, high);
            corners_.tilted(lines, r, low, high, tilt.slopes + g, tilt.pieces, sums);
            const double bound = sums.least - rise - (sums.margin + kTiny * (rise < 0 ? -rise : rise));
            if (!(bound >= least)) least = bound;
        }
        return least;
    }

  private:
    __device__ Boxes(const Source::Block* corners, int64 run, int64 all) : corners_(corners), run_(run), all_(all) {}
    const Source corners_;
    const int64 run_, all_;
};

// The positions as they lie in the boxes, and where a sample of them is there: one of each run of places.
__device__ inline Source in_boxes(const Source::Block* data) { return Source(data + 1); }
__device__ inline Positions places_in_boxes(int64 count, int64 run, uint32 salt) { return {count, run, salt, nullptr}; }

// Whether a position of piece g may be within a limit, by tilted prices. Not inlined, and a line after the other, since
// it is called for few pieces.
template <uint32 n>
LAPWING_NOINLINE __device__ bool may_be_near_tilted(const Source::Block* data, int64 run, Source::Lines<n> lines,
                                                    uint32 g, Tilt tilt, const Margin (&limit)[n]) {
    const Boxes boxes = Boxes::inner(data, run);
    bool near = false;
#pragma unroll 1
    for (uint32 r = 0; r < n; ++r) near |= !(boxes.tilted(lines, r, g, tilt) > static_cast<double>(limit[r]));
    return near;
}

// Visits, by whole boxes, all places of a part that may be within the limits: calls near and meet as walk does, with
// places in the boxes. `limit` may fall meanwhile, and falls soon if piece `start` is near the lines, since it comes
// first. prices: of price_pieces; null: zero. Returns how many pieces it visited.
template <uint32 n, class Near, class Meet>
__device__ inline uint32 walk_boxes(const Source::Block* data, const Source::Lines<n>& lines,
                                    const Positions& positions, Part share, uint32 start, const Margin (&limit)[n],
                                    const Margin* prices, Near near, Meet meet) {
    if (share.idle) return 0;
    uint32 visited = 0;
    const Source source = in_boxes(data);
    const Positions places = places_in_boxes(positions.count, positions.run, positions.salt);
    const Boxes boxes = Boxes::inner(data, positions.run), outer = Boxes::outer(data, positions.run);
    const uint32 pieces = piece_count(positions.count), outers = outer_count(pieces);
    const Margin* const by_place = prices == nullptr ? nullptr : prices + place_prices(positions.count);
    const bool tilts = prices != nullptr && Tilt::exists(positions.count);
    const Tilt tilt(const_cast<Margin*>(prices), positions.count);
    const auto price = [=](int64 k) { return prices == nullptr ? Margin(0) : load_plain(prices + k); };
    const auto price_at = [=](int64 place) { return by_place == nullptr ? Margin(0) : load_plain(by_place + place); };
    const auto outer_at = [=](uint32 k) {
        const uint32 number = k + start / kFan;
        return number < outers ? number : number - outers;
    };
    const auto piece_at = [=](uint32 k) { return (k + start) % kFan; };
    for (uint32 base = share.part; base < outers; base += share.parts * kWarp) {
        const uint32 k = base + lane_index() * share.parts, mine = outer_at(k < outers ? k : 0);
        const bool wanted =
            k < outers && outer.may_be_near(lines, mine, price(outer_prices(positions.count) + mine), limit);
        for (uint32 left = __ballot_sync(kAllLanes, wanted); left != 0; left &= left - 1) {
            const uint32 first = outer_at(base + (__ffs(left) - 1) * share.parts) * kFan,
                         g = first + piece_at(lane_index());
            const bool tilted = tilts && g < pieces && tilt.has(g);  // in flight with the price
            bool inner_wanted = g < pieces && boxes.may_be_near(lines, g, price(g), limit);
            if (tilted && inner_wanted)
                inner_wanted = may_be_near_tilted<n>(data, positions.run, lines, g, tilt, limit);
            uint32 inner = __ballot_sync(kAllLanes, inner_wanted);
            visited += __popc(inner);
            for (; inner != 0; inner &= inner - 1) {
                const int64 place = static_cast<int64>(first + piece_at(__ffs(inner) - 1)) * kPiece + lane_index();
                walk_piece<false, n>(source, lines, places, place, price_at, near, meet);
            }
        }
    }
    return visited;
}

// The piece whose bound for a line is least, of `count` positions; by one warp. prices: of price_pieces; null: zero. Of
// 32 outer pieces at a time, those that may have it are opened in the order of their bounds. Not inlined, since it is
// called once for each line.
LAPWING_NOINLINE __device__ uint32 nearest_piece(const Source::Block* data, int64 run, int64 count, int64 line,
                                                 const Margin* prices) {
    const Boxes boxes = Boxes::inner(data, run), outer = Boxes::outer(data, run);
    const uint32 pieces = piece_count(count), outers = outer_count(pieces);
    const int64 index[1] = {line};
    Source::Lines<1> mine;
    Source(data).load(index, mine);
    const auto bound = [&](const Boxes& level, uint32 g, uint32 end, uint32 price) {
        Margin least = infinity<Margin>();
        if (g >= end) return least;
        const Margin most = prices == nullptr ? Margin(0) : __ldcg(prices + price);
        level.each_of_piece(mine, g, [&](const Cost(&of_box)[1]) {
            const Margin x = static_cast<Margin>(widened(of_box[0])) - most;
            least = x < least ? x : least;
        });
        return least;
    };
    const bool tilts = prices != nullptr && Tilt::exists(count);
    const Tilt tilt(const_cast<Margin*>(prices), count);
    const auto of_inner = [&](uint32 g) {
        const bool tilted = tilts && g < pieces && tilt.has(g);
        const Margin plain = bound(boxes, g, pieces, g);
        if (!tilted) return plain;
        const Margin least = static_cast<Margin>(boxes.tilted(mine, 0, g, tilt));
        return least > plain ? least : plain;
    };
    const auto smaller = [](Margin a, Margin b) { return b < a ? b : a; };
    Margin nearest = infinity<Margin>();
    uint32 at = 0;
    for (uint32 base = 0; base < outers; base += kWarp) {
        Margin of_outer = bound(outer, base + lane_index(), outers, outer_prices(count) + base + lane_index());
        for (;;) {
            const Margin next = warp_reduce(of_outer, smaller);
            if (!(next < nearest)) break;
            const uint32 lane = __ffs(__ballot_sync(kAllLanes, of_outer == next)) - 1, first = (base + lane) * kFan;
            if (lane_index() == lane) of_outer = infinity<Margin>();
            const Margin of_piece = of_inner(first + lane_index());
            const Margin least = warp_reduce(of_piece, smaller);
            const uint32 lanes = __ballot_sync(kAllLanes, of_piece == least);
            if (least < nearest && lanes != 0) nearest = least, at = first + __ffs(lanes) - 1;
        }
    }
    return at;
}
