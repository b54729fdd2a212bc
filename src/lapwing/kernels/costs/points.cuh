// Costs of points: a weighted sum of terms, each a metric of one set of coordinates (lapwing/costs/points.py).
//
// All arithmetic is in the costs' type: differences first, then dimensions and terms in order, each operation rounded
// once, as on the CPU (cpp/include/lapwing/costs/points.inc.hpp). The results have the same bits as there, except for
// the powers of `minkowski`.
//
// Up to CostTuning::most_held coordinates of a point are held in registers; Term::dims is then their number. If
// Term::dims is 0, the block holds the number, and coordinates are read when they are needed. They come from L1, since
// all warps of a block are at the same columns.
//
// The least cost between a point and a box of others is the cost to the nearest place of the box, computed by the same
// operations in the same order. Each operation rounds monotonically, so no computed cost to a point in the box is less
// (costs/metrics.cuh).
#pragma once
#include "costs/sample.cuh"

// Each metric is a struct in Metric, with its arithmetic: see costs/metrics.cuh.
struct Metric {
    using Scalar = Cost;
    using Number = Cost;
    __device__ static Number square_root(Number x) {
        if constexpr (sizeof(Scalar) == 4)
            return sqrtf(x);
        else
            return sqrt(static_cast<double>(x));
    }
    __device__ static Number raised_to(Number x, Scalar power) {
        if constexpr (sizeof(Scalar) == 4)
            return powf(x, power);
        else
            return pow(static_cast<double>(x), static_cast<double>(power));
    }
#define METRIC_FUNCTION __device__ static
#include "costs/metrics.cuh"
#undef METRIC_FUNCTION
};

// One term in memory, as gpu/costs/computed.py writes it: coordinate k of line i is lines[k * line_stride + i].
struct TermData {
    const Cost *lines, *positions;
    int64 line_stride, position_stride, dims;
    double weight, power;
};
// A term of a source with limits: an unweighted cost above `limit` counts as `beyond`, an infinity.
struct GatedTermData : TermData {
    double limit, beyond;
};
template <bool kGated>
struct DataOf {
    using type = TermData;
};
template <>
struct DataOf<true> {
    using type = GatedTermData;
};

// One metric, with the number of coordinates held in registers, whether its weight differs from 1, and whether it has a
// limit.
template <class M, uint32 kDims, bool kWeighted, bool kGated = false>
struct Term {
    static constexpr uint32 dims = kDims;
    static constexpr bool weighted = kWeighted || kGated, gated = kGated;
    static constexpr bool is_short = M::is_monotone;  // its terms take little code: no library's functions
    static constexpr bool is_additive = M::is_additive, is_square = M::is_square, is_product = M::is_product,
                          is_decreasing = M::is_decreasing;
    // The term of an additive metric, in double.
    __device__ static double exact_term(double x, double y) {
        const double d = x - y;
        return is_product ? x * y : is_square ? d * d : d < 0 ? -d : d;
    }

    // The weighted cost; infinite beyond the limit. The same holds for the least cost of a box, since boxes are used
    // only when costs are minimised.
    template <class Data>
    __device__ static Cost weighed(Cost cost, const Data& term) {
        const Cost weighted_cost = static_cast<Cost>(term.weight) * cost;
        if constexpr (kGated)
            return cost > static_cast<Cost>(term.limit) ? static_cast<Cost>(term.beyond) : weighted_cost;
        return weighted_cost;
    }
    // The sum with one more dimension. The first term is the sum itself.
    __device__ static Cost added(Cost sum, Cost a, Cost b, Cost power, bool first) {
        const Cost term = M::term(a, b, power);
        return first && !M::is_product ? term : M::joined(sum, term);
    }
    // The same for the place between `low` and `high` where the cost is least.
    __device__ static Cost least_added(Cost sum, Cost a, Cost low, Cost high, Cost power, bool first) {
        if constexpr (M::is_product) {
            const Cost x = M::term(a, low, power), y = M::term(a, high, power);
            return M::joined(sum, (x < y) != M::is_decreasing ? x : y);
        }
        const Cost not_below = a < low ? low : a;
        return added(sum, a, not_below > high ? high : not_below, power, first);
    }
    __device__ static Cost finished(Cost sum, Cost power) { return M::finished(sum, power); }
    // The least cost from a sum of least_added. Library functions need not be monotone, so the bound allows for far
    // more than their error.
    __device__ static Cost least_finished(Cost sum, Cost power) {
        const Cost least = M::finished(sum, power);
        if constexpr (!M::is_monotone) return least * (1 - Cost(1.0 / (1 << 14)));
        return least;
    }
};

// The coordinates of n points for one term, in registers or in memory.
template <uint32 n, uint32 dims>
struct Coordinates {
    Cost values[n][dims];
    __device__ void load(const Cost* from, int64 stride, const int64 (&index)[n]) {
#pragma unroll
        for (uint32 k = 0; k < dims; ++k) {
#pragma unroll
            for (uint32 r = 0; r < n; ++r) values[r][k] = __ldg(from + k * stride + index[r]);
        }
    }
    __device__ Cost at(uint32 r, uint32 k) const { return values[r][k]; }
};
template <uint32 n>
struct Coordinates<n, 0> {
    const Cost* from[n];
    int64 stride;
    __device__ void load(const Cost* origin, int64 to_next, const int64 (&index)[n]) {
        stride = to_next;
        for (uint32 r = 0; r < n; ++r) from[r] = origin + index[r];
    }
    __device__ Cost at(uint32 r, uint32 k) const { return __ldg(from[r] + k * stride); }
};

// n points, for all terms.
template <uint32 n, class... Terms>
struct PointsOf {
    template <class Data>
    __device__ void load_lines(const Data*, const int64 (&)[n]) {}
    template <class Data>
    __device__ void load_positions(const Data*, const int64 (&)[n]) {}
};
template <uint32 n, class First, class... Rest>
struct PointsOf<n, First, Rest...> {
    Coordinates<n, First::dims> mine;
    PointsOf<n, Rest...> others;
    template <class Data>
    __device__ void load_lines(const Data* terms, const int64 (&index)[n]) {
        mine.load(terms->lines, terms->line_stride, index);
        others.load_lines(terms + 1, index);
    }
    template <class Data>
    __device__ void load_positions(const Data* terms, const int64 (&index)[n]) {
        mine.load(terms->positions, terms->position_stride, index);
        others.load_positions(terms + 1, index);
    }
};

template <bool kFirst, class Data, uint32 n>
__device__ inline void add_terms(const Data*, const PointsOf<n>&, const PointsOf<1>&, Cost (&)[n]) {}
template <bool kFirst, class Data, uint32 n, class First, class... Rest>
__device__ inline void add_terms(const Data* terms, const PointsOf<n, First, Rest...>& lines,
                                 const PointsOf<1, First, Rest...>& position, Cost (&total)[n]) {
    const Cost power = static_cast<Cost>(terms->power);
    Cost sum[n] = {};
    if constexpr (First::dims > 0) {
#pragma unroll
        for (uint32 k = 0; k < First::dims; ++k) {
#pragma unroll
            for (uint32 r = 0; r < n; ++r)
                sum[r] = First::added(sum[r], lines.mine.at(r, k), position.mine.at(0, k), power, k == 0);
        }
    } else {
        const uint32 dims = static_cast<uint32>(terms->dims);
        for (uint32 k = 0; k < dims; ++k) {
            const Cost b = position.mine.at(0, k);
#pragma unroll
            for (uint32 r = 0; r < n; ++r) sum[r] = First::added(sum[r], lines.mine.at(r, k), b, power, false);
        }
    }
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {
        const Cost term = First::finished(sum[r], power);
        if constexpr (First::weighted)
            total[r] = total[r] + First::weighed(term, *terms);
        else
            total[r] = kFirst ? term : total[r] + term;
    }
    add_terms<false>(terms + 1, lines.others, position.others, total);
}

// total += the term of a box, whose least and largest coordinates are `low` and `high`.
template <bool kFirst, class Data, uint32 n>
__device__ inline void add_least(const Data*, const PointsOf<n>&, const PointsOf<1>&, const PointsOf<1>&, Cost (&)[n]) {
}
template <bool kFirst, class Data, uint32 n, class First, class... Rest>
__device__ inline void add_least(const Data* terms, const PointsOf<n, First, Rest...>& lines,
                                 const PointsOf<1, First, Rest...>& low, const PointsOf<1, First, Rest...>& high,
                                 Cost (&total)[n]) {
    const Cost power = static_cast<Cost>(terms->power);
#pragma unroll
    for (uint32 r = 0; r < n; ++r) {
        Cost sum = 0;
#pragma unroll
        for (uint32 k = 0; k < First::dims; ++k)
            sum = First::least_added(sum, lines.mine.at(r, k), low.mine.at(0, k), high.mine.at(0, k), power, k == 0);
        const Cost term = First::least_finished(sum, power);
        if constexpr (First::weighted)
            total[r] = total[r] + First::weighed(term, *terms);
        else
            total[r] = kFirst ? term : total[r] + term;
    }
    add_least<false>(terms + 1, lines.others, low.others, high.others, total);
}

// Adds, for each dimension, the least of q term(x, y) - a y over the box, where q is the weight and x is of line r: of
// a square at x + a / 2q or at an end, of a magnitude at x or an end, else at an end. slopes[k * stride] is a of
// dimension k. The margin: half a unit in the last place for each operation of a computed cost, of all terms and their
// sums; far more than the rounding of the double arithmetic here; and what misses the least place of a square.
template <uint32 before, uint32 dims, class Data, uint32 n>
__device__ inline void add_tilted(const Data*, const PointsOf<n>&, uint32, const PointsOf<1>&, const PointsOf<1>&,
                                  const float*, uint32, TiltedSums&) {}
template <uint32 before, uint32 dims, class Data, uint32 n, class First, class... Rest>
__device__ inline void add_tilted(const Data* terms, const PointsOf<n, First, Rest...>& lines, uint32 r,
                                  const PointsOf<1, First, Rest...>& low, const PointsOf<1, First, Rest...>& high,
                                  const float* slopes, uint32 stride, TiltedSums& sums) {
    constexpr double kTiny = 1.0 / (1ull << 44), kUnit = sizeof(Cost) == 4 ? 1.0 / (1 << 23) : 1.0 / (1ull << 52);
    constexpr double kOfCosts = 0.55 * kUnit * (dims + 4) + kTiny, kLeast = sizeof(Cost) == 4 ? 1e-37 : 1e-300;
    const double weight = First::weighted ? static_cast<double>(static_cast<Cost>(terms->weight)) : 1.0;
    const double q = First::is_decreasing ? -weight : weight;
    const auto positive = [](double a) { return a < 0 ? -a : a; };
    const auto smaller = [](double a, double b) { return b < a ? b : a; };
    const auto larger = [](double a, double b) { return a < b ? b : a; };
#pragma unroll
    for (uint32 k = 0; k < First::dims; ++k) {
        const double a = load_plain(slopes + (before + k) * stride), x = lines.mine.at(r, k);
        const double l = low.mine.at(0, k), h = high.mine.at(0, k);
        const double at_low = q * First::exact_term(x, l), at_high = q * First::exact_term(x, h);
        double least = smaller(at_low - a * l, at_high - a * h);
        if (!First::is_product && q > 0) {
            const double away = First::is_square ? a * (0.5 / q) : 0.0, y = smaller(larger(x + away, l), h);
            const double missed = kTiny * (positive(x) + positive(away));
            least = smaller(least, q * First::exact_term(x, y) - a * y);
            sums.margin += q * missed * missed;
        }
        sums.least += least;
        sums.margin += kOfCosts * larger(positive(at_low), positive(at_high)) + (1 + weight) * kLeast +
                       kTiny * positive(a) * larger(positive(l), positive(h));
    }
    if constexpr (First::is_decreasing) sums.least += weight, sums.margin += kOfCosts * weight;
    add_tilted<before + First::dims, dims>(terms + 1, lines.others, r, low.others, high.others, slopes, stride, sums);
}

// Of additive metrics, the cost between two places; of products, half the square of the distance, which is that of unit
// vectors.
template <class Data>
__device__ inline double cost_across(const Data*, const PointsOf<1>&, const PointsOf<1>&) {
    return 0;
}
template <class Data, class First, class... Rest>
__device__ inline double cost_across(const Data* terms, const PointsOf<1, First, Rest...>& low,
                                     const PointsOf<1, First, Rest...>& high) {
    double sum = 0;
#pragma unroll
    for (uint32 k = 0; k < First::dims; ++k) {
        const double d = static_cast<double>(high.mine.at(0, k)) - static_cast<double>(low.mine.at(0, k));
        sum += First::is_product ? d * d / 2 : First::is_square ? d * d : d;
    }
    if constexpr (First::weighted) sum *= terms->weight;
    return sum + cost_across(terms + 1, low.others, high.others);
}

// f(k, coordinate k) of a position, over all terms.
template <uint32 before, class F>
__device__ inline void each_coordinate(const PointsOf<1>&, F) {}
template <uint32 before, class F, class First, class... Rest>
__device__ inline void each_coordinate(const PointsOf<1, First, Rest...>& position, F f) {
#pragma unroll
    for (uint32 k = 0; k < First::dims; ++k) f(before + k, static_cast<double>(position.mine.at(0, k)));
    each_coordinate<before + First::dims>(position.others, f);
}

template <class... Terms>
struct TermList {};
template <class... Terms>
__device__ constexpr bool is_one_short_term(TermList<Terms...>) {
    return sizeof...(Terms) == 1 && (Terms::is_short && ...);
}

template <class... Terms>
struct Points {
    using All = TermList<Terms...>;
    struct Block {
        typename DataOf<(Terms::gated || ...)>::type terms[sizeof...(Terms)];
        Neighbours neighbours;
    };
    template <uint32 n>
    using Lines = PointsOf<n, Terms...>;
    using Position = PointsOf<1, Terms...>;
    static constexpr bool is_short = ((Terms::dims > 0) && ...);  // little code: several costs are made side by side
    static constexpr bool can_tilt = false;
    static constexpr uint32 dims = (Terms::dims + ...);

    const Block block;  // in registers
    __device__ explicit Points(const Block* from) : block(*from) {}

    template <uint32 n>
    __device__ void load(const int64 (&index)[n], Lines<n>& lines) const {
        lines.load_lines(block.terms, index);
    }
    __device__ void load_position(int64 index, Position& position) const {
        const int64 indices[1] = {index};
        position.load_positions(block.terms, indices);
    }
    template <uint32 n>
    __device__ void costs(const Lines<n>& lines, const Position& position, Cost (&out)[n]) const {
        for (uint32 r = 0; r < n; ++r) out[r] = 0;
        add_terms<true>(block.terms, lines, position, out);
    }
    // A lower bound of the costs of positions between `low` and `high`; only for short sources with bounding boxes.
    template <uint32 n>
    __device__ void least_costs(const Lines<n>& lines, const Position& low, const Position& high,
                                Cost (&out)[n]) const {
        for (uint32 r = 0; r < n; ++r) out[r] = 0;
        add_least<true>(block.terms, lines, low, high, out);
    }
    // Of a box, less a linear function of the coordinates; if can_tilt.
    template <uint32 n>
    __device__ void tilted(const Lines<n>& lines, uint32 r, const Position& low, const Position& high,
                           const float* slopes, uint32 stride, TiltedSums& sums) const {
        add_tilted<0, dims>(block.terms, lines, r, low, high, slopes, stride, sums);
    }
    __device__ double across(const Position& low, const Position& high) const {
        return cost_across(block.terms, low, high);
    }
    template <class F>
    __device__ static void coordinates(const Position& position, F f) {
        each_coordinate<0>(position, f);
    }
};

// The same, with tilted prices in boxes (costs/boxes.cuh). They cost points that are matched nearby a twentieth of the
// time, so the host chooses by a look at the points.
template <class... Terms>
struct TiltedPoints : Points<Terms...> {
    using Points<Terms...>::Points;
    static constexpr bool can_tilt = Points<Terms...>::is_short && (Terms::is_additive && ...);
};
