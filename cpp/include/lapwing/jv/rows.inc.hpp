// The matrix as the direct path reads it: rows of whole vectors, and whether their costs are valid.
//
// Columns come in whole vectors straight from the matrix; the last, partial one of every row lies in a side table,
// padded with kInfinity, and the arrays by column (prices, distances, ...) are as long as the padded rows. So no pass
// has a scalar remainder, and the matrix is not copied.
namespace lapwing {
namespace LAPWING_TARGET {

template <class T, bool kNegated>
struct Row {
    const T* cost = nullptr;
    const Dual<T>* tail = nullptr;  // the last, partial vector, as minimised; null if there is none
    Index whole = 0;                // columns in whole vectors, a multiple of kLanes
    // f(costs as duals, first column) for every vector of the row
    template <class F>
    LAPWING_INLINE void for_each(F&& f) const {
        for (Index j = 0; j < whole; j += kLanes) f(minimised(j), j);
        if (tail != nullptr) f(load<Vec<Dual<T>>>(tail), whole);
    }
    // The vector that begins with column j.
    LAPWING_INLINE Vec<Dual<T>> vector(Index j) const { return j < whole ? minimised(j) : load<Vec<Dual<T>>>(tail); }

  private:
    LAPWING_INLINE Vec<Dual<T>> minimised(Index j) const {
        const Vec<Dual<T>> x = load_as<Dual<T>>(cost + j);
        return kNegated ? -x : x;
    }
};

// kNegated: costs that are maximised, minimised as they are read.
template <class T, bool kNegated>
class Rows {
  public:
    using D = Dual<T>;

    // cost: col_stride 1.
    Rows(const MatrixView<T>& cost, Carver& memory)
        : cost_(cost), too_large_(above(cost_limit<D>(std::min(cost.rows, cost.cols)))),
          whole_(cost.cols / kLanes * kLanes),
          tails_(memory.take<D>(whole_ < cost.cols ? static_cast<std::size_t>(cost.rows) * kLanes : 0)) {
        const Index rest = cost.cols - whole_;
        for (Index i = 0; i < cost.rows && rest > 0; ++i) {
            store(tail(i), load_partial<D>(cost.row(i) + whole_, rest));
            for (Index k = 0; k < rest && kNegated; ++k) tail(i)[k] = at(i, whole_ + k);
        }
    }

    Row<T, kNegated> operator[](Index i) const {
        return {cost_.row(i), whole_ < cost_.cols ? tail(i) : nullptr, whole_};
    }
    const T* at(Index i) const { return cost_.row(i); }
    D at(Index i, Index j) const {
        return kNegated ? -static_cast<D>(cost_.row(i)[j]) : static_cast<D>(cost_.row(i)[j]);
    }

    // Whether any value of the type is a valid cost.
    static constexpr bool kAlwaysUsual = sizeof(T) < sizeof(D) && !std::is_floating_point_v<T>;
    // Forbidden pairs do not pass; check lets them.
    LAPWING_INLINE Mask is_usual(Vec<D> x) const {
        if constexpr (std::is_floating_point_v<D>) {
            const Lanes magnitude = (Lanes)x & broadcast(std::numeric_limits<std::int64_t>::max());
            return less((Vec<D>)magnitude, broadcast(too_large_));
        } else {
            return less(x ^ (x >> 63), broadcast(too_large_));
        }
    }
    // Throws InvalidCost or CostTooLarge for the matrix if row i has a cost that is not valid.
    void check(Index i) const {
        if constexpr (!kAlwaysUsual)
            check_on_the_way([&](auto&& see) __attribute__((always_inline)) {
                (*this)[i].for_each([&](Vec<D> x, Index) __attribute__((always_inline)) { see(x); });
            });
    }
    // The same for costs that are read for another purpose: read(see) calls see(costs) for every vector of them.
    template <class Read>
    LAPWING_INLINE void check_on_the_way(Read&& read) const {
        Mask valid = is_usual(Vec<D>{});
        const unsigned all = bits(valid);
        const Vec<D> forbidden = broadcast(kInfinity<D>);
        read([&](Vec<D> x) __attribute__((always_inline)) {
            if constexpr (!kAlwaysUsual) valid = static_cast<Mask>(valid & (is_usual(x) | equal(x, forbidden)));
        });
        if (bits(valid) != all) refuse_first_invalid();
    }

  private:
    D* tail(Index i) const { return tails_ + static_cast<std::ptrdiff_t>(i) * kLanes; }
    static D above(D x) {
        if constexpr (std::is_floating_point_v<D>) return std::nextafter(x, kInfinity<D>);
        return x + 1;
    }
    [[noreturn]] void refuse_first_invalid() const {
        for (Index i = 0; i < cost_.rows; ++i) {
            for (Index j = 0; j < cost_.cols; ++j) {
                const D x = at(i, j);
                if (!(x > -kInfinity<D>)) throw InvalidCost{i, j};
                if (!(std::max(x, -x) < too_large_) && x < kInfinity<D>) throw CostTooLarge{i, j};
            }
        }
        refuse_changed_costs();
    }

    const MatrixView<T> cost_;
    const D too_large_;  // the smallest magnitude that a cost may not have
    const Index whole_;  // columns in whole vectors
    D* const tails_;     // [rows, kLanes]
};

// steep_rows.hpp
template <class T, bool kNegated>
bool fall_steeply(const Rows<T, kNegated>& costs, Index rows) {
    SteepRows<Dual<T>> look(rows);
    while (look.wants_more()) {
        costs[look.next()].for_each([&](Vec<Dual<T>> x, Index j) __attribute__((always_inline)) {
            for (unsigned closer = bits(less(x, broadcast(look.limit()))); closer != 0; closer &= closer - 1) {
                const int lane = __builtin_ctz(closer);
                look.add(x[lane], j + lane);
            }
        });
        look.finish();
    }
    return look.are_steep();
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
