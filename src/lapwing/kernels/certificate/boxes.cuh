// The certificate's pass over costs of points that are in bounding boxes (gpu/costs/spatial_order.py), where costs are
// minimised; included by certificate/computed_certificate.cu.
//
// A box of rows is proven against a box of columns at once if c - u - v > 0 for a cost c that no pair of the two is
// below, and the largest u and v in them. Every coordinate is between its box's corners, so each term of a cost is
// least at places that are known: the nearest ones of two intervals or, for products, two ends. There the cost is
// computed by its definition. As each operation of the definition is rounded monotonically, no cost of the two boxes is
// below that one. A function that may not be monotone is lowered by a 4096th (cpp: certificate/point_boxes.hpp). Pairs
// of boxes that this does not prove are checked pair by pair, as certify_lines checks them.
//
// Nothing of the boxes is taken on trust: check_boxes looks whether the order has every point once, whether the points
// in this order are the points, and whether they are within the corners. If not, all pairs are checked. Shared with the
// method are these arrays, and the definition of costs.
//
// Cost: (rows / kBox) (cols / kBox) bounds, and the pairs of some ten boxes of columns for each box of rows, where
// dimensions are few and the duals are good; otherwise little more than certify_lines.
#pragma once
#include "certificate/computed.cuh"
#include "costs/points.cuh"

constexpr uint32 kBox = kWarp * CostTuning::positions_ahead;  // points; BOX_POINTS of gpu/runtime/tuning.py
__device__ inline int64 box_count(int64 points) { return (points + kBox - 1) / kBox; }

// Where a term of x in [x_low, x_high] and y in [y_low, y_high] is least; greatest if the cost falls with it.
template <class M>
__device__ inline void find_places(Cost x_low, Cost x_high, Cost y_low, Cost y_high, Cost power, Cost& x, Cost& y) {
    if constexpr (M::is_product) {
        const Cost ends_of_x[] = {x_low, x_low, x_high, x_high}, ends_of_y[] = {y_low, y_high, y_low, y_high};
        x = x_low, y = y_low;
        Cost best = M::term(x, y, power);
#pragma unroll
        for (uint32 end = 1; end < 4; ++end) {
            const Cost other = M::term(ends_of_x[end], ends_of_y[end], power);
            if (M::is_decreasing ? !(best < other) : !(other < best)) continue;
            best = other, x = ends_of_x[end], y = ends_of_y[end];
        }
    } else {
        const Cost within_both = x_low < y_low ? y_low : x_low;
        x = y_low > x_high ? x_high : within_both;
        y = x_low > y_high ? y_high : within_both;
    }
}

// total += what every pair costs at least. Other sources than points have no boxes.
template <bool kFirst, class Data, class Corner>
__device__ inline void add_least_between(const Data*, const Corner&, const Corner&, const Corner&, const Corner&,
                                         Cost&) {}
template <bool kFirst, class Data, class M, uint32 kDims, bool kWeighted, bool kGated, class... Rest>
__device__ inline void add_least_between(const Data* terms,
                                         const PointsOf<1, Term<M, kDims, kWeighted, kGated>, Rest...>& x_low,
                                         const PointsOf<1, Term<M, kDims, kWeighted, kGated>, Rest...>& x_high,
                                         const PointsOf<1, Term<M, kDims, kWeighted, kGated>, Rest...>& y_low,
                                         const PointsOf<1, Term<M, kDims, kWeighted, kGated>, Rest...>& y_high,
                                         Cost& total) {
    using One = Term<M, kDims, kWeighted, kGated>;
    const Cost power = static_cast<Cost>(terms->power), least_normal = sizeof(Cost) == 4 ? 0x1p-126 : 0x1p-1022;
    Cost sum = 0;
#pragma unroll
    for (uint32 k = 0; k < kDims; ++k) {
        Cost x, y;
        find_places<M>(x_low.mine.at(0, k), x_high.mine.at(0, k), y_low.mine.at(0, k), y_high.mine.at(0, k), power, x,
                       y);
        sum = One::added(sum, x, y, power, k == 0);
    }
    Cost cost = One::finished(sum, power);
    if constexpr (!M::is_monotone) cost = sum > least_normal * 4096 ? cost - cost / 4096 : Cost(0);
    if constexpr (One::weighted)  // zero times infinity would be no number
        total += terms->weight > 0 ? One::weighed(cost, *terms) : -infinity<Cost>();
    else
        total = kFirst ? cost : total + cost;
    add_least_between<false>(terms + 1, x_low.others, x_high.others, y_low.others, y_high.others, total);
}

// Whether a point has the coordinates of its copy, finite ones, between the corners.
template <class Point>
__device__ inline bool is_in_box(const Point&, const Point&, const Point&, const Point&) {
    return true;
}
template <class First, class... Rest>
__device__ inline bool is_in_box(const PointsOf<1, First, Rest...>& point, const PointsOf<1, First, Rest...>& copy,
                                 const PointsOf<1, First, Rest...>& low, const PointsOf<1, First, Rest...>& high) {
    bool inside = true;
#pragma unroll
    for (uint32 k = 0; k < First::dims; ++k) {
        const Cost x = point.mine.at(0, k);
        inside = inside && x == copy.mine.at(0, k) && low.mine.at(0, k) <= x && x <= high.mine.at(0, k) && x - x == 0;
    }
    return inside && is_in_box(point.others, copy.others, low.others, high.others);
}

// Checks the boxes of `count` positions, and sets *broken if they are not as they should be. in_order: the positions'
// duals in that order, rounded upwards, unless it is null; highest: the largest in each box. `seen`: a bit for each
// position, and *broken, zeroed before.
extern "C" __global__ void __launch_bounds__(THREADS)
    check_boxes(const Costs::Data* data, int64 count, const Dual* duals, uint32* seen, uint32* broken, Margin* in_order,
                Margin* highest) {
    const Source points(data), copies(data + 1), corners(data + 2);
    const int32* const order = data->neighbours.positions;
    const int64 boxes = box_count(count), warps = gridDim.x * int64{THREADS / kWarp};
    for (int64 g = (blockIdx.x * int64{THREADS} + threadIdx.x) / kWarp; g < boxes; g += warps) {
        Source::Position low, high;
        corners.load_position(g, low);
        corners.load_position(boxes + g, high);
        bool sound = data->neighbours.boxes == boxes;
        Margin most = -infinity<Margin>();
        for (int64 place = g * kBox + lane_index(); place < count && place < (g + 1) * kBox; place += kWarp) {
            const int64 k = order[place];
            const uint32 bit = 1u << static_cast<uint32>(k) % 32;
            if (k < 0 || k >= count || (atomicOr(seen + k / 32, bit) & bit) != 0) {
                sound = false;
                continue;
            }
            Source::Position point, copy;
            points.load_position(k, point);
            copies.load_position(place, copy);
            sound = sound && is_in_box(point, copy, low, high);
            const Margin dual = upward(duals[k]);
            if (in_order != nullptr) in_order[place] = dual;
            most = dual <= most ? most : dual == dual ? dual : infinity<Margin>();
        }
        most = warp_reduce(most, [](Margin a, Margin b) { return a < b ? b : a; });
        if (lane_index() == 0) highest[g] = most;
        if (!sound) *broken = 1;
    }
}

// The boxes of rows and of columns, as check_boxes left them.
struct BoxPairs {
    const Costs::Data *data, *exchanged;  // where columns, and where rows, are the positions
    int64 rows, cols;
    const Margin *highest_u, *highest_v;

    // Whether no pair of row box a and column box b violates its constraint. False for NaN.
    __device__ bool is_proven(int64 a, int64 b) const {
        const Source of_rows(exchanged + 2), of_cols(data + 2);
        Source::Position x_low, x_high, y_low, y_high;
        of_rows.load_position(a, x_low);
        of_rows.load_position(box_count(rows) + a, x_high);
        of_cols.load_position(b, y_low);
        of_cols.load_position(box_count(cols) + b, y_high);
        Cost least = 0;
        least_between(of_cols, x_low, x_high, y_low, y_high, least);
        return is_surely_positive(static_cast<Margin>(widened(least)), highest_u[a], highest_v[b]);
    }

  private:
    template <class S, class Corner>
    __device__ static void least_between(const S& source, const Corner& x_low, const Corner& x_high,
                                         const Corner& y_low, const Corner& y_high, Cost& least) {
        if constexpr (S::is_short) add_least_between<true>(source.block.terms, x_low, x_high, y_low, y_high, least);
    }
};

// The column boxes that a block checks pair by pair, of those that it looked at together.
struct WantedBoxes {
    uint32 count;
    uint16 box[THREADS];
};

// How pairs are checked one by one: in the order of the boxes, or, if the boxes are not as they should be, as given.
struct PairPass {
    const bool trusts;
    const Source as_given, source;
    const int32 *row_order, *col_order;
    const int64 cols;
    const Dual *u, *v;
    const Margin* v_in_order;
    const Found found;

    // The rows of a warp from place `first` on, before place `end`.
    __device__ void load(int64 first, int64 end, RowGroup& group) const {
#pragma unroll
        for (uint32 r = 0; r < kLines; ++r) {  // past the end: the last line again
            const int64 place = first + r < end ? first + r : end - 1;
            group.row[r] = trusts ? row_order[place] : place;
            group.dual[r] = u[group.row[r]];
            group.margin[r] = upward(group.dual[r]);
        }
        source.load(group.row, group.lines);
    }
    // Their pairs with the columns of box b.
    __device__ void check(const RowGroup& group, int64 b) const {
        const int64 from = b * kBox;
        for (int64 k = from + lane_index(); k < from + kBox && k - lane_index() < cols; k += kPiece) {
            for (uint32 doubtful = doubtful_places(group, k); doubtful != 0; doubtful &= doubtful - 1) {
                const int64 place = k + (__ffs(static_cast<int>(doubtful)) - 1) * kWarp;
                examine_position(as_given, group, found, trusts ? col_order[place] : place, v, false);
            }
        }
    }
    // See certificate/invariants.cuh; a lane's share of all columns.
    __device__ void require(const RowGroup& group) const {
        for (int64 k = lane_index(); k < cols; k += kWarp * kAhead)
            require_violations(as_given, group, found, k, cols, v, false);
    }

  private:
    // The undecided pairs among a thread's places `first`, `first` + kWarp ..., one bit each.
    __device__ uint32 doubtful_places(const RowGroup& group, int64 first) const {
        uint32 bits = 0;
#pragma unroll
        for (uint32 a = 0; a < kAhead; ++a) {
            const int64 place = first + a * kWarp;
            if (place >= cols) continue;
            Source::Position position;
            Cost costs[kLines];
            source.load_position(place, position);
            source.costs(group.lines, position, costs);
            const Margin b = trusts ? v_in_order[place] : upward(v[place]);
            bool doubtful = false;
#pragma unroll
            for (uint32 r = 0; r < kLines; ++r) doubtful |= !is_surely_positive(Margin(costs[r]), group.margin[r], b);
            bits |= static_cast<uint32>(doubtful) << a;
        }
        return bits;
    }
};

// Checks rows first .. first + count - 1 in the order of their boxes, a box of them after the other by each block. A
// long pass is several launches, so that it can be interrupted.
extern "C" __global__ void __launch_bounds__(THREADS)
    certify_boxes(const Costs::Data* data, const Costs::Data* exchanged, int64 first, int64 count, int64 rows,
                  int64 cols, const Dual* u, const Dual* v, uint64* violations, uint64* summary,
                  const int64* row_to_col, uint32* owners, const uint32* broken, const Margin* highest_u,
                  const Margin* highest_v, const Margin* v_in_order) {
    __shared__ WantedBoxes wanted;
    if (first == 0) claim_columns(row_to_col, rows, cols, owners);
    const bool trusts = *broken == 0;
    const PairPass pass{trusts,
                        Source(data),
                        Source(trusts ? data + 1 : data),
                        exchanged->neighbours.positions,
                        data->neighbours.positions,
                        cols,
                        u,
                        v,
                        v_in_order,
                        {violations, summary + kInvalidCost}};
    const BoxPairs pairs{data, exchanged, rows, cols, highest_u, highest_v};
    const int64 boxes = box_count(cols), end = first + count, step = THREADS / kWarp * kLines;
    for (int64 a = first / kBox + blockIdx.x; a * kBox < end; a += gridDim.x) {
        const int64 start = a * kBox < first ? first : a * kBox, stop = (a + 1) * kBox < end ? (a + 1) * kBox : end;
        const int64 mine = start + threadIdx.x / kWarp * kLines;
        RowGroup group;
        for (int64 base = 0; base < boxes; base += THREADS) {
            __syncthreads();  // no thread reads the boxes before any longer
            if (threadIdx.x == 0) wanted.count = 0;
            __syncthreads();
            const int64 b = base + threadIdx.x;
            if (b < boxes && !(trusts && pairs.is_proven(a, b)))
                wanted.box[atomicAdd(&wanted.count, 1u)] = static_cast<uint16>(threadIdx.x);
            __syncthreads();
            if (wanted.count == 0) continue;
            for (int64 place = mine; place < stop; place += step) {
                pass.load(place, stop, group);
                for (uint32 w = 0; w < wanted.count; ++w) pass.check(group, base + wanted.box[w]);
            }
        }
        if constexpr (kChecksInvariants) {
            __syncthreads();
            for (int64 place = mine; place < stop; place += step) {
                pass.load(place, stop, group);
                pass.require(group);
            }
        }
    }
}
