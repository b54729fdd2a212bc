// Step 3 of jv/jv.inc.hpp for short rows: the same searches, with all that a search changes by column in registers.
//
// Over so few columns, a step of a search costs what its chain of latencies costs: the smallest distance, where it is,
// whose column that is, that row's costs, the new distances. So nothing is stored and reloaded between steps, and the
// costs of matched rows lie by column, where they are found without a lookup of the row; augmenting moves them with
// their columns.
namespace lapwing {
namespace LAPWING_TARGET {

inline constexpr int kMostVectors = kLanes < 4 ? 8 : 32 / kLanes;  // of columns; a search has one bit for each column

template <class T, bool kNegated, int N>
class RegisterSearch {
  public:
    using D = Dual<T>;
    static constexpr Index kWidth = N * kLanes;

    // costs: kWidth x kWidth. The others as in Jv.
    RegisterSearch(D* costs, D* v, std::uint64_t& open, Index* row_to_col, Index* col_to_row, Index cols)
        : costs_(costs), v_(v), open_(open), row_to_col_(row_to_col), col_to_row_(col_to_row),
          columns_(static_cast<unsigned>((std::uint64_t{1} << cols) - 1)) {}

    // Copies the costs of the row that column j is matched to.
    void place(Index j, const Row<T, kNegated>& row) {
        for (int k = 0; k < N; ++k) store(costs_ + j * kWidth + k * kLanes, row.vector(k * kLanes));
    }

    // Matches row `root`; false, and nothing is changed, if the search runs dry. Adds the rows looked at to `scans`.
    bool match(Index root, const Row<T, kNegated>& row, double& scans) {
        const Vec<D> infinity = broadcast(kInfinity<D>);
        Vec<D> distance[N], price[N];  // in the tree infinity and -infinity
        Vec<D> taken_at[N];            // the distance at which a column came into the tree; infinity outside
        Lanes from[N];                 // the column through which the distance was found; -1: the root
        unsigned open = 0;
        for (int k = 0; k < N; ++k) {
            price[k] = load<Vec<D>>(v_ + k * kLanes);
            distance[k] = distance_through<D>(row.vector(k * kLanes), price[k], Vec<D>{});
            taken_at[k] = infinity;
            from[k] = broadcast(std::int64_t{-1});
            open |= static_cast<unsigned>(open_ >> k * 8 & ((1u << kLanes) - 1)) << k * kLanes;
        }
        open &= columns_;
        unsigned outside = columns_;  // the tree
        Vec<D> level = -infinity;
        for (int steps = 1;; ++steps) {
            Vec<D> nearest = distance[0];
            for (int k = 1; k < N; ++k) nearest = lane_min(nearest, distance[k]);
            nearest = min_of_lanes(nearest);
            if (nearest[0] >= kInfinity<D>) return false;
            unsigned hits = 0;
            for (int k = 0; k < N; ++k) hits |= bits(equal(distance[k], nearest)) << k * kLanes;
            level = lane_max(level, nearest);  // rounding may not lower it
            if ((hits & open) != 0) {
                for (int k = 0; k < N; ++k) {
                    const Vec<D> fall = lane_max(level - taken_at[k], Vec<D>{});
                    store(v_ + k * kLanes, load<Vec<D>>(v_ + k * kLanes) - fall);
                    store(from_ + k * kLanes, from[k]);
                }
                augment(root, row, __builtin_ctz(hits & open));
                scans += steps;
                return true;
            }
            // Not so if costs are NaN by now: what is nearest is not in the tree.
            if ((hits & -hits & outside) == 0) refuse_changed_costs();
            outside ^= hits & -hits;
            const Index j = __builtin_ctz(hits);
            const D* costs = costs_ + j * kWidth;
            const Vec<D> offset = level - broadcast(costs[j] - v_[j]);
            const Lanes me = broadcast(std::int64_t{j});
            for (int k = 0; k < N; ++k) {
                const Mask mine = equal(lane_numbers() + std::int64_t{k * kLanes}, me);
                price[k] = select(mine, -infinity, price[k]);
                taken_at[k] = select(mine, level, taken_at[k]);
                const Vec<D> old = select(mine, infinity, distance[k]);
                const Vec<D> x = distance_through<D>(load<Vec<D>>(costs + k * kLanes), price[k], offset);
                from[k] = select(less(x, old), me, from[k]);
                distance[k] = lane_min(old, x);
            }
        }
    }

  private:
    void augment(Index root, const Row<T, kNegated>& row, Index j) {
        open_ &= ~(std::uint64_t{1} << (j / kLanes * 8 + j % kLanes));
        for (;;) {
            const auto before = static_cast<Index>(from_[j]);
            const Index i = before < 0 ? root : col_to_row_[before];
            col_to_row_[j] = i;
            row_to_col_[i] = j;
            if (before < 0) return place(j, row);
            for (int k = 0; k < N; ++k)
                store(costs_ + j * kWidth + k * kLanes, load<Vec<D>>(costs_ + before * kWidth + k * kLanes));
            j = before;
        }
    }

    D* costs_;
    D* v_;
    std::uint64_t& open_;
    Index* row_to_col_;
    Index* col_to_row_;
    const unsigned columns_;  // a bit each
    std::int64_t from_[kWidth];
};

}  // namespace LAPWING_TARGET
}  // namespace lapwing
