// The sum of the costs of an assignment, for answers that come without a certificate.
//
// The rounding errors of its additions are added up beside it and added at the end (A. Neumaier, Zeitschrift für
// Angewandte Mathematik und Mechanik 54 (1974)). Sums of integers have none.
#pragma once

#include <cmath>
#include <type_traits>

namespace lapwing {

template <class D>
class Total {
  public:
    void add(D x) {
        const D next = sum_ + x;
        if constexpr (std::is_floating_point_v<D>)
            lost_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - next) + x : (x - next) + sum_;
        sum_ = next;
    }
    D value() const { return sum_ + lost_; }  // not finite where a sum on the way is not

  private:
    D sum_{}, lost_{};
};

}  // namespace lapwing
