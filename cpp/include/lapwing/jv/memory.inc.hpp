// The workspace of the direct path (see jv/jv.inc.hpp): arrays one after another, and a copy of matrices that cannot be
// read in place because they are maximised or their rows are not contiguous.
namespace lapwing {
namespace LAPWING_TARGET {

// Consecutive arrays in one block, each aligned to kDirectAlignment.
class Carver {
  public:
    explicit Carver(std::byte* block) : at_(block) {}
    template <class U>
    U* take(std::size_t count) {
        U* p = reinterpret_cast<U*>(at_);
        at_ += (count * sizeof(U) + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
        return p;
    }

  private:
    std::byte* at_;
};

// Lanes of a and b by turns, from the first or the second half of each.
template <bool kSecondHalf, class V>
LAPWING_INLINE V interleave(V a, V b) {
    constexpr int kFrom = kSecondHalf ? kLanes / 2 : 0, kOther = kFrom + kLanes;
    if constexpr (kLanes == 8) {
        return __builtin_shufflevector(a, b, kFrom, kOther, kFrom + 1, kOther + 1, kFrom + 2, kOther + 2, kFrom + 3,
                                       kOther + 3);
    } else if constexpr (kLanes == 4) {
        return __builtin_shufflevector(a, b, kFrom, kOther, kFrom + 1, kOther + 1);
    } else {
        return __builtin_shufflevector(a, b, kFrom, kOther);
    }
}
// Lane l of rows[k] becomes lane k of rows[l]: in each step an element's place, a number, rotates by one bit.
template <class V>
LAPWING_INLINE void transpose(V (&rows)[kLanes]) {
    for (int step = 1; step < kLanes; step *= 2) {
        V next[kLanes];
        for (int k = 0; k < kLanes / 2; ++k) {
            next[2 * k] = interleave<false>(rows[k], rows[k + kLanes / 2]);
            next[2 * k + 1] = interleave<true>(rows[k], rows[k + kLanes / 2]);
        }
        for (int k = 0; k < kLanes; ++k) rows[k] = next[k];
    }
}

// The matrix as it is minimised, rows one after another in `to`. Of a matrix whose columns are contiguous, squares of
// kLanes lines each, those together whose costs share lines of the cache.
template <class T, class D = Dual<T>>
MatrixView<D> copy_minimised(const Problem<T>& problem, D* to) {
    const MatrixView<T>& cost = problem.cost;
    const Index rows = cost.rows, cols = cost.cols;
    const D sign = problem.maximize ? D{-1} : D{1};
    const auto copy = [&](Index first_row, Index end_row, Index first_col, std::ptrdiff_t col_stride)
                          __attribute__((always_inline)) {
                              for (Index i = first_row; i < end_row; ++i) {
                                  const T* const in = cost.row(i);
                                  D* const out = to + static_cast<std::ptrdiff_t>(i) * cols;
                                  for (Index j = first_col; j < cols; ++j)
                                      out[j] = sign * static_cast<D>(in[j * col_stride]);
                              }
                          };
    if (cost.col_stride == 1) {
        copy(0, rows, 0, 1);
        return {to, rows, cols, cols, 1};
    }
    constexpr Index kTogether = 64 / sizeof(T);
    const bool by_squares = cost.row_stride == 1;
    const Index squared_rows = by_squares ? rows / kTogether * kTogether : 0;
    const Index squared_cols = by_squares ? cols / kLanes * kLanes : 0;
    for (Index i = 0; i < squared_rows; i += kTogether) {
        for (Index j = 0; j < squared_cols; j += kLanes) {
            for (Index k = i; k < i + kTogether; k += kLanes) {
                Vec<D> square[kLanes];
                for (Index l = 0; l < kLanes; ++l) {
                    square[l] = load_as<D>(cost.row(k) + static_cast<std::ptrdiff_t>(j + l) * cost.col_stride);
                    if (problem.maximize) square[l] = -square[l];
                }
                transpose(square);
                for (Index l = 0; l < kLanes; ++l) store(to + static_cast<std::ptrdiff_t>(k + l) * cols + j, square[l]);
            }
        }
    }
    copy(0, squared_rows, squared_cols, cost.col_stride);
    copy(squared_rows, rows, 0, cost.col_stride);
    return {to, rows, cols, cols, 1};
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
