// The metrics of points: one definition of their arithmetic, for GPUs and for every instruction set of a CPU.
//
// A cost is finished(sum), where the sum starts at 0 and takes, for k = 0, 1, ..., the term of x[k] and y[k], with
// d[k] = x[k] - y[k] below. Each operation is rounded once and none is fused, so every device computes the same bits,
// except for the powers of `minkowski`, which are its library's.
//
// Boxes of points (here, in costs/boxes.hpp and in certificate/point_boxes.hpp of cpp/include/lapwing) rely on these
// properties:
//   - term(x, y) has the bits of term(y, x), since either set of points may be the rows;
//   - as y moves away from x, to either side, the term never falls; if is_product, it is linear in y;
//   - joined never falls as either argument rises; neither does finished, which instead never rises if is_decreasing.
// The last two hold for the computed values, rounding included. If rounding breaks them, is_monotone is false, and
// boxes allow for one part in 2^14, far more than the error of a few operations.
// The file is the body of a class. costs/points.cuh includes it in `Metric`, whose numbers are single costs, and
// cpp/include/lapwing/costs/points.inc.hpp in a class for each instruction set, whose numbers are vectors of costs. So
// it has no include guard, includes nothing, and uses only operations that C++ allows for numbers and for vectors. The
// class defines
//     Scalar, Number                       the type of costs, and of the numbers that are computed with
//     square_root(x), raised_to(x, power)  square roots, correctly rounded, and powers
//     METRIC_FUNCTION                      the specifiers of a function
// Without METRIC_FUNCTION the file defines only the list of names.
//
// A new metric is a line of the list and a struct here; ARCHITECTURE.md names the other files.
#ifndef FOR_EACH_METRIC
#define FOR_EACH_METRIC(USE) \
    USE(squared_euclidean)   \
    USE(euclidean)           \
    USE(manhattan)           \
    USE(chebyshev)           \
    USE(minkowski)           \
    USE(inner_product)       \
    USE(cosine)              \
    USE(great_circle)
#endif

#ifdef METRIC_FUNCTION

METRIC_FUNCTION Number magnitude(Number x) { return x < 0 ? -x : x; }
METRIC_FUNCTION Number larger(Number a, Number b) { return a < b ? b : a; }
METRIC_FUNCTION Number smaller(Number a, Number b) { return a < b ? a : b; }

// 2 arcsin(h) for 0 <= h <= 1. Up to 1/2 by the rational approximation of FDLIBM's e_asin.c and e_asinf.c (Sun
// Microsystems, 1993), above by arcsin(h) = pi / 2 - 2 arcsin(sqrt((1 - h) / 2)).
METRIC_FUNCTION Number twice_arcsine(Number h) {
    const auto is_small = h < Scalar(0.5);
    const Number z = is_small ? h * h : (1 - h) * Scalar(0.5), s = is_small ? h : square_root(z);
    Number p, q;
    if constexpr (sizeof(Scalar) == 4) {
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
    const Number r = s + s * (p / q);
    return is_small ? r + r : Scalar(3.14159265358979323846) - 4 * r;
}

// A metric's properties unless it defines its own.
struct Sum {
    static constexpr bool is_product = false;     // a term is least and greatest at ends of y
    static constexpr bool is_decreasing = false;  // the larger a term, the smaller the cost
    static constexpr bool is_monotone = true;     // as computed, too; libraries promise less
    static constexpr bool is_additive = true;     // the cost is the sum of the terms, or 1 less the sum
    static constexpr bool is_square = false;      // a term is the square of d[k]
    METRIC_FUNCTION Number joined(Number sum, Number term) { return sum + term; }
    METRIC_FUNCTION Number finished(Number sum, Scalar) { return sum; }
};

// sum d[k]^2
struct squared_euclidean : Sum {
    static constexpr bool is_square = true;
    METRIC_FUNCTION Number term(Number x, Number y, Scalar) { return (x - y) * (x - y); }
};
// sqrt(sum d[k]^2)
struct euclidean : squared_euclidean {
    static constexpr bool is_additive = false;
    METRIC_FUNCTION Number finished(Number sum, Scalar) { return square_root(sum); }
};
// sum |d[k]|
struct manhattan : Sum {
    METRIC_FUNCTION Number term(Number x, Number y, Scalar) { return magnitude(x - y); }
};
// max |d[k]|
struct chebyshev : manhattan {
    static constexpr bool is_additive = false;
    METRIC_FUNCTION Number joined(Number sum, Number term) { return larger(sum, term); }
};
// (sum |d[k]|^power)^(1 / power)
struct minkowski : Sum {
    static constexpr bool is_monotone = false, is_additive = false;
    METRIC_FUNCTION Number term(Number x, Number y, Scalar power) { return raised_to(magnitude(x - y), power); }
    METRIC_FUNCTION Number finished(Number sum, Scalar power) { return raised_to(sum, 1 / power); }
};
// sum x[k] y[k]
struct inner_product : Sum {
    static constexpr bool is_product = true;
    METRIC_FUNCTION Number term(Number x, Number y, Scalar) { return x * y; }
};
// 1 - sum x[k] y[k], of unit vectors
struct cosine : inner_product {
    static constexpr bool is_decreasing = true;
    METRIC_FUNCTION Number finished(Number sum, Scalar) { return 1 - sum; }
};
// 2 arcsin(sqrt(sum d[k]^2) / 2), of unit vectors
struct great_circle : squared_euclidean {
    static constexpr bool is_monotone = false, is_additive = false;
    METRIC_FUNCTION Number finished(Number sum, Scalar) {
        return twice_arcsine(smaller(square_root(sum) * Scalar(0.5), Number{} + 1));
    }
};

#endif
