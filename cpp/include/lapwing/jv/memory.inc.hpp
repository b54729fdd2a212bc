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

// The matrix as it is minimised, rows one after another in `to`.
template <class T, class D = Dual<T>>
MatrixView<D> copy_minimised(const Problem<T>& problem, D* to) {
    const MatrixView<T>& cost = problem.cost;
    const D sign = problem.maximize ? D{-1} : D{1};
    constexpr Index kTogether = 64 / sizeof(T);  // strided rows whose costs share lines of the cache
    const Index step = cost.col_stride == 1 ? 1 : kTogether;
    for (Index i = 0; i < cost.rows; i += step) {
        const T* in = cost.row(i);
        D* const out = to + static_cast<std::ptrdiff_t>(i) * cost.cols;
        if (cost.col_stride == 1) {
            for (Index j = 0; j < cost.cols; ++j) out[j] = sign * static_cast<D>(in[j]);
            continue;
        }
        const Index count = std::min(step, cost.rows - i);
        for (Index j = 0; j < cost.cols; ++j)
            for (Index k = 0; k < count; ++k)
                out[static_cast<std::ptrdiff_t>(k) * cost.cols + j] = sign * static_cast<D>(cost.at(i + k, j));
    }
    return {to, cost.rows, cost.cols, cost.cols, 1};
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
