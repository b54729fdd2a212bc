// Differences without rounding, for one target (see simd/foreach_target.hpp).

namespace lapwing {
namespace LAPWING_TARGET {

// high + low, less x, in both: what rounding takes from high (D. E. Knuth's sum of two) is added to low.
void subtract(const double* x, Index count, double* high, double* low) {
    for (Index k = 0; k < count; ++k) {
        const double difference = high[k] - x[k], taken = difference - high[k];
        low[k] += (high[k] - (difference - taken)) + (-x[k] - taken);
        high[k] = difference;
    }
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
