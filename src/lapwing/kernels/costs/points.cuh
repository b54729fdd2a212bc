// Costs of points: a weighted sum of terms, each a metric of one set of coordinates (lapwing/costs/points.py).
//
// All arithmetic is that of the costs' type: differences first, dimensions and terms in their order, each operation rounded
// once, as on the CPU (cpp/include/lapwing/costs/points.inc.hpp), whose bits these are but for the power of `minkowski`.
//
// Up to kMostHeld coordinates of a point are held in registers; Term::dims is then their number. Where it is 0, the block
// says how many, and coordinates are read when they are needed: from L1, as all warps of a block are at the same columns.
//
// The least cost between a point and a box of others is the cost to the box's nearest place, computed by the same operations in the
// same order: each of them rounds monotonically, so no computed cost to a point in the box is below it.
#pragma once
#include "costs/sample.cuh"

// With d[k] = x[k] - y[k]:
enum class Metric {
    squared_euclidean,  // sum d[k]^2
    euclidean,          // its square root
    manhattan,          // sum |d[k]|
    chebyshev,          // max |d[k]|
    minkowski,          // (sum |d[k]|^power)^(1 / power)
    inner_product,      // sum x[k] y[k]
    cosine,             // 1 - sum x[k] y[k], of unit vectors
    great_circle,       // 2 arcsin(sqrt(sum d[k]^2) / 2), of unit vectors
};

// One term in memory, as gpu/costs/computed.py writes it: coordinate k of line i is lines[k * line_stride + i].
struct TermData {
    const Cost *lines, *positions;
    int64 line_stride, position_stride, dims;
    double weight, power;
};

__device__ inline Cost root(Cost x) {
    if constexpr (sizeof(Cost) == 4)
        return sqrtf(x);
    else
        return sqrt(x);
}
__device__ inline Cost raised(Cost x, Cost exponent) {
    if constexpr (sizeof(Cost) == 4)
        return powf(x, exponent);
    else
        return pow(x, exponent);
}
__device__ inline Cost magnitude(Cost x) { return x < 0 ? -x : x; }
// 2 arcsin(h) for 0 <= h <= 1, as points.inc.hpp has it.
__device__ inline Cost twice_arcsine(Cost h) {
    const bool is_small = h < Cost(0.5);
    const Cost z = is_small ? h * h : (1 - h) * Cost(0.5), s = is_small ? h : root(z);
    Cost p, q;
    if constexpr (sizeof(Cost) == 4) {
        p = z * (1.6666586697e-01f + z * (-4.2743422091e-02f + z * -8.6563630030e-03f));
        q = 1 + z * -7.0662963390e-01f;
    } else {
        p = z * (1.66666666666666657415e-01 +
                 z * (-3.25565818622400915405e-01 +
                      z * (2.01212532134862925881e-01 +
                           z * (-4.00555345006794114027e-02 +
                                z * (7.91534994289814532176e-04 + z * 3.47933107596021167570e-05)))));
        q = 1 +
            z * (-2.40339491173441421878e+00 +
                 z * (2.02094576023350569471e+00 + z * (-6.88283971605453293030e-01 + z * 7.70381505559019352791e-02)));
    }
    const Cost r = s + s * (p / q);
    return is_small ? r + r : Cost(3.14159265358979323846) - 4 * r;
}

// kWeighted: its weight is not 1.
template <Metric kMetric, uint32 kDims, bool kWeighted>
struct Term {
    static constexpr uint32 dims = kDims;
    static constexpr bool weighted = kWeighted;
    static constexpr bool is_product = kMetric == Metric::inner_product || kMetric == Metric::cosine;

    // What one dimension adds.
    __device__ static Cost added(Cost sum, Cost a, Cost b, Cost power, bool first) {
        if constexpr (is_product) return sum + a * b;
        const Cost d = a - b;
        Cost more = d * d;
        if constexpr (kMetric == Metric::manhattan || kMetric == Metric::chebyshev) more = magnitude(d);
        if constexpr (kMetric == Metric::minkowski) more = raised(magnitude(d), power);
        if (first) return more;  // never -0, as it would be from 0
        if constexpr (kMetric == Metric::chebyshev) return sum < more ? more : sum;
        return sum + more;
    }
    // The same for whatever is between `low` and `high`, where that adds least.
    __device__ static Cost least_added(Cost sum, Cost a, Cost low, Cost high, Cost power, bool first) {
        if constexpr (is_product) {
            const Cost x = a * low, y = a * high;
            return sum + ((x < y) == (kMetric == Metric::inner_product) ? x : y);
        }
        const Cost below = low - a, above = a - high, d = below < above ? above : below;
        return added(sum, d > 0 ? d : Cost(0), Cost(0), power, first);
    }
    // Of a sum of least_added; less, by far more than powers and arcsines may be off, for metrics that have them.
    __device__ static Cost least_finished(Cost sum, Cost power) {
        const Cost least = finished(sum, power);
        if constexpr (kMetric == Metric::minkowski || kMetric == Metric::great_circle)
            return least * (1 - Cost(1.0 / (1 << 14)));
        return least;
    }
    __device__ static Cost finished(Cost sum, Cost power) {
        if constexpr (kMetric == Metric::euclidean) return root(sum);
        if constexpr (kMetric == Metric::minkowski) return raised(sum, 1 / power);
        if constexpr (kMetric == Metric::cosine) return 1 - sum;
        if constexpr (kMetric == Metric::great_circle) {
            const Cost half = root(sum) * Cost(0.5);
            return twice_arcsine(half < 1 ? half : Cost(1));
        }
        return sum;
    }
};

// The coordinates of n points, for one term: in registers, or where they are.
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
    __device__ void load_lines(const TermData*, const int64 (&)[n]) {}
    __device__ void load_positions(const TermData*, const int64 (&)[n]) {}
};
template <uint32 n, class First, class... Rest>
struct PointsOf<n, First, Rest...> {
    Coordinates<n, First::dims> mine;
    PointsOf<n, Rest...> others;
    __device__ void load_lines(const TermData* terms, const int64 (&index)[n]) {
        mine.load(terms->lines, terms->line_stride, index);
        others.load_lines(terms + 1, index);
    }
    __device__ void load_positions(const TermData* terms, const int64 (&index)[n]) {
        mine.load(terms->positions, terms->position_stride, index);
        others.load_positions(terms + 1, index);
    }
};

template <bool kFirst, uint32 n>
__device__ inline void add_terms(const TermData*, const PointsOf<n>&, const PointsOf<1>&, Cost (&)[n]) {}
template <bool kFirst, uint32 n, class First, class... Rest>
__device__ inline void add_terms(const TermData* terms, const PointsOf<n, First, Rest...>& lines,
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
            total[r] = total[r] + static_cast<Cost>(terms->weight) * term;
        else
            total[r] = kFirst ? term : total[r] + term;
    }
    add_terms<false>(terms + 1, lines.others, position.others, total);
}

// total += the term of a box, whose least and largest coordinates are `low` and `high`.
template <bool kFirst, uint32 n>
__device__ inline void add_least(const TermData*, const PointsOf<n>&, const PointsOf<1>&, const PointsOf<1>&,
                                 Cost (&)[n]) {}
template <bool kFirst, uint32 n, class First, class... Rest>
__device__ inline void add_least(const TermData* terms, const PointsOf<n, First, Rest...>& lines,
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
            total[r] = total[r] + static_cast<Cost>(terms->weight) * term;
        else
            total[r] = kFirst ? term : total[r] + term;
    }
    add_least<false>(terms + 1, lines.others, low.others, high.others, total);
}

template <class... Terms>
struct Points {
    struct Block {
        TermData terms[sizeof...(Terms)];
        Neighbours neighbours;
    };
    template <uint32 n>
    using Lines = PointsOf<n, Terms...>;
    using Position = PointsOf<1, Terms...>;
    static constexpr bool is_short = ((Terms::dims > 0) && ...);  // little code: several costs are made side by side

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
    // Not above any of the costs of positions between `low` and `high`; only of what is short, and has groups.
    template <uint32 n>
    __device__ void least_costs(const Lines<n>& lines, const Position& low, const Position& high,
                                Cost (&out)[n]) const {
        for (uint32 r = 0; r < n; ++r) out[r] = 0;
        add_least<true>(block.terms, lines, low, high, out);
    }
};
