// Jonker-Volgenant on full rows, for one target (see simd/foreach_target.hpp; the scans are in jv/scan.inc.hpp).
//
// Minimise over perfect matchings of the rows. Prices v and a partial matching are kept such that every matched pair
// attains its row's minimum of cost - v: then u[i] = that minimum makes the duals feasible and matched pairs tight.
//
//   1. Column reduction (square problems): v[j] = the column's minimum, at a row that takes the column if it has none
//      yet. A row that took exactly one column lowers that column's price as far as the row's second minimum allows
//      (reduction transfer), which makes room for others. Where few rows took columns, many costs attain a column's
//      minimum, as a rule: then a row without a column takes the first free one whose minimum it attains, and is read
//      no farther. If that leaves many without, though they attain some minimum, each takes the one that the fewest
//      rows attain instead.
//   2. Augmenting row reduction: a free row takes its nearest column and lowers the price until its second nearest is
//      as near; the row that had the column is free now and bids next. When the price cannot be lowered (a tie, or the
//      difference vanishes in rounding) the displaced row waits for the next pass: so a pass ends. All end after kReads
//      reads a row, or later, when a match takes many.
//   3. Augmentation: a shortest path search (Dijkstra over columns, all distances in one dense array) from each row
//      that is still free; prices of the columns in its tree fall by what they are nearer than the path's end. Short
//      rows are searched in registers (jv/short.inc.hpp).
//
// Square problems whose least costs are few and far apart (steep_rows.hpp), or most of whose costs are close to the
// largest (saturated_rows.hpp), leave out step 1, too: prices start at 0. So they may after a trial, where searches
// prove long (jv/trial.inc.hpp). Few rows are looked at after step 2, and only for costs close to the largest.
//
// Rectangular problems (more columns than rows) leave out step 1: prices start at 0, only fall for columns that are
// matched, and a matched column stays matched; so v <= 0, and v = 0 at free columns. With unmatched costs, row i has
// one more column, its unmatched column, at that cost and price 0. No other row can take it, so a row that takes it is
// done.
//
// If a search runs dry, its rows have only its columns, one fewer: a Hall violator.
//
// References: R. Jonker, A. Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment
// problems", Computing 38 (1987) 325-340. Complexity O(rows^2 cols). Deviations: dense distances instead of a partition
// of the columns (a scan is then one pass of vector instructions), free columns are preferred among ties and so are
// those that can be made free (jv/pairs.inc.hpp), and the bounds on step 2.
#include "lapwing/simd/lanes.inc.hpp"

#include "lapwing/jv/memory.inc.hpp"
#include "lapwing/jv/pairs.inc.hpp"
#include "lapwing/jv/rows.inc.hpp"
#include "lapwing/jv/scan.inc.hpp"
#include "lapwing/jv/short.inc.hpp"

namespace lapwing {
namespace LAPWING_TARGET {

template <class T, bool kNegated = false>
class Jv {
  public:
    using D = Dual<T>;

    // cost: rows x cols with col_stride 1, minimised as it is, or kNegated.
    Jv(const MatrixView<T>& cost, const D* unmatched_cost, Carver& memory, Control* control, JvLimit limit,
       JvStart start, const JvState<D>* state)
        : unmatched_cost_(unmatched_cost), control_(control), limit_(limit), from_zero_(start == JvStart::zero),
          state_(state), rows_(cost.rows), cols_(cost.cols), padded_((cols_ + kLanes - 1) / kLanes * kLanes),
          costs_(cost, memory), matching_(memory, rows_, cols_, padded_) {
        const auto longest = static_cast<std::size_t>(padded_);
        const auto rows = static_cast<std::size_t>(rows_);
        v_ = memory.take<D>(longest);
        distance_ = memory.take<D>(longest);
        from_ = memory.take<std::int64_t>(longest);
        tree_v_ = memory.take<D>(longest);
        tree_distance_ = memory.take<D>(longest);
        u_ = memory.take<D>(rows);
        matched_costs_ = memory.take<D>(fits_registers() ? longest * longest : 0);
        tree_ = memory.take<Index>(longest);
        free_ = memory.take<Index>(rows);
        hall_rows_ = memory.take<Index>(rows);
        aside_v_ = memory.take<D>(longest);
        aside_free_ = memory.take<Index>(rows);
        aside_row_to_col_ = memory.take<Index>(rows);
    }

    DirectAnswer<D> solve(bool with_u) {
        DirectAnswer<D> answer;
        answer.status = run();
        answer.gave_up = gave_up_;
        answer.rows_read = scans_;
        if (gave_up_) return answer;
        if (with_u) finish_u();
        if (with_u && answer.status == Status::time_limit && name_empty_row()) answer.status = Status::infeasible;
        answer.row_to_col = matching_.row_to_col;
        answer.u = with_u ? u_ : nullptr;
        answer.v = v_;
        answer.hall_rows = hall_rows_;
        answer.hall_cols = tree_;
        answer.hall_size = tree_size_;
        return answer;
    }

  private:
    struct End {
        enum { column, unmatched, dry, expired } what;
        Index number;  // of the free column, or of the row that takes its unmatched column
    };

    // Augmenting row reduction gives up after so many scans for each row of the matrix: by then a search is cheaper, as
    // it is bounded, where rows may fight over prices for long (structured costs), unless few reads still match a row.
    static constexpr Index kReads = 1, kReadsFromZero = 2;
    static constexpr int kRowReductionPasses = 2;
    static constexpr double kRecent = 16;  // searches
    // Fewer rows are looked at after steps 1 and 2, which take less time, where more than one in so many is left.
    static constexpr Index kShortColumn = 64, kFewFree = 8;

    static bool infinite(D x) { return x >= kInfinity<D>; }

    Status run() {
        matching_.clear();
        if (state_ != nullptr) {
            go_on();
            return search_all([&] { return gave_up_ = is_hard(scans_); });
        }
        const bool square = rows_ == cols_ && unmatched_cost_ == nullptr;
        const auto at = [this](Index i, Index j) {  // in double, since costs are not checked yet
            const auto c = static_cast<double>(costs_.at(i)[j]);
            return kNegated ? -c : c;
        };
        const bool is_short = rows_ < kShortColumn;
        const bool from_columns =
            square && !from_zero_ && (is_short || !(are_saturated(rows_, cols_, at) || fall_steeply(costs_, rows_)));
        unchecked_ = !from_columns;
        if (from_columns) {
            reduce_columns();
        } else {
            start_at_zero();
        }
        if (unmatched_cost_ != nullptr && too_many_rows()) {
            for (Index i = 0; i < rows_; ++i) costs_.check(i);
            return Status::infeasible;
        }
        if (reduce_rows(square && !from_columns ? kReadsFromZero : kReads)) return Status::time_limit;
        if (from_columns && is_short && free_count_ > rows_ / kFewFree && !fits_registers() &&
            are_saturated(rows_, cols_, at)) {
            matching_.clear();
            start_at_zero();
            if (reduce_rows(kReadsFromZero)) return Status::time_limit;
        }
        start_bound();
        if (fits_registers() && free_count_ > 0) search_in_registers();
        may_try_ = from_columns && !fits_registers();
        const double begun = scans_;
        Status status = search_all([&] {
            const bool hard = is_hard(scans_ - begun);
            gave_up_ = hard && !(may_try_ && limit_.grow);  // a guess at growth: the other start may still do better
            return hard || is_worth_a_trial(begun);
        });
        if (status == Status::optimal && done_ < free_count_ && !gave_up_) {
            status = try_from_zero();
            if (status == Status::optimal) status = search_all([&] { return gave_up_ = is_hard(scans_ - begun); });
        }
        return gave_up_ ? Status::time_limit : status;
    }
    // Searches from the rows that wait, until none does, or `stops()` before one of them.
    template <class Stops>
    Status search_all(const Stops& stops) {
        for (; done_ < free_count_ && !stops(); ++done_) {
            const Index root = free_[done_];
            const double begun = scans_;
            const End end = search(root);
            recent_ += (scans_ - begun - recent_) / kRecent;
            switch (end.what) {
                case End::column: augment(root, end.number); break;
                case End::unmatched: augment_to_unmatched(root, end.number); break;
                case End::dry: name_violator(root); return Status::infeasible;
                case End::expired: return Status::time_limit;
            }
        }
        return Status::optimal;
    }

    // Whether all searches together will read more rows than allowed (JvLimit), judged by those so far, which have read
    // `read`, and by the latest: the first are the shortest, as a rule.
    bool is_hard(double read) const {
        constexpr double kRowsEach = 2;  // to judge by, beside some searches
        if (scans_ > limit_.rows_read) return true;
        if (done_ < kRecent || read < kRowsEach * rows_) return false;
        const double left = free_count_ - done_, growth = limit_.grow ? 1 + std::log(left) / 2 : 1;
        return read + recent_ * left * growth > limit_.rows_read;
    }

    // Columns that only fill up a vector look like columns of the tree: nothing ever reaches them.
    void close_padding() { std::fill(v_ + cols_, v_ + padded_, -kInfinity<D>); }

    // jv/reduction.inc.hpp
    void reduce_columns();
    void take_attained_minima();
    void take_rarest_minima(Index few);
    void transfer(Index i);
    void start_at_zero();
    bool reduce_rows(Index reads_each);
    // A read of row i fetches the vectors from here on: row `ahead`, or the next part of a row that fills the first
    // cache.
    const T* fetched_during(Index i, Index ahead) const {
        constexpr Index kLongRow = 2048;
        return cols_ > kLongRow ? costs_.at(i) + kPage<T> : costs_.at(ahead);
    }
    TwoSmallest<D> checked_two_smallest(Index i, Index ahead);
    Index reduce_row(Index i, Index ahead, bool is_new);
    void go_on();
    // jv/trial.inc.hpp
    bool is_worth_a_trial(double begun) const;
    Status try_from_zero();
    void set_aside();
    void go_back();

    // Step 3: distances from row `root` until a free column or an unmatched column is the nearest.
    End search(Index root) {
        tree_size_ = 0;
        D unmatched_distance = unmatched_cost_ != nullptr ? unmatched_cost_[root] : kInfinity<D>;
        Index unmatched_row = root;
        Nearest<D> nearest = relax<true>(costs_[root], v_, D{}, root, distance_, from_);
        ++scans_;
        start_ = std::min(nearest.distance, unmatched_distance);
        level_ = -kInfinity<D>;
        for (;;) {
            if (infinite(nearest.distance) && infinite(unmatched_distance)) return {End::dry, root};
            if (unmatched_distance <= nearest.distance) {
                level_ = std::max(level_, unmatched_distance);
                return {End::unmatched, unmatched_row};
            }
            const Index j = nearest.column, i = matching_.col_to_row[j];
            const bool tied = nearest.tied || nearest.distance == level_;
            level_ = std::max(level_, nearest.distance);  // rounding may not lower it
            if (i < 0) return {End::column, j};
            if (tied) {
                const auto distances = [&](Index k) { return load<Vec<D>>(distance_ + k); };
                const Index other = matching_.claim(nearest.distance, distances);
                if (other >= 0) return {End::column, other};
            }
            if (expired()) {
                restore_prices();
                return {End::expired, root};
            }
            const D to_row = level_ - (costs_.at(i, j) - v_[j]);  // its distance, less its u
            if (unmatched_cost_ != nullptr && !infinite(unmatched_cost_[i]) &&
                to_row + unmatched_cost_[i] < unmatched_distance) {
                unmatched_distance = to_row + unmatched_cost_[i];
                unmatched_row = i;
            }
            if (tree_size_ == most_in_tree_) refuse_changed_costs();
            tree_[tree_size_] = j;
            tree_v_[tree_size_] = v_[j];
            tree_distance_[tree_size_++] = level_;
            put(v_, j, -kInfinity<D>);
            put(distance_, j, kInfinity<D>);
            nearest = relax<false>(costs_[i], v_, to_row, i, distance_, from_);
            ++scans_;
        }
    }
    // All searches for short rows, up to one that runs dry.
    bool fits_registers() const { return padded_ <= kMostVectors * kLanes && unmatched_cost_ == nullptr; }
    template <int N = 1>
    void search_in_registers() {
        if constexpr (N < kMostVectors)
            if (padded_ > N * kLanes) return search_in_registers<N + 1>();
        RegisterSearch<T, kNegated, N> search(matched_costs_, v_, matching_.free.word(0), matching_.row_to_col,
                                              matching_.col_to_row, cols_);
        for (Index j = 0; j < cols_; ++j)
            if (matching_.col_to_row[j] >= 0) search.place(j, costs_[matching_.col_to_row[j]]);
        while (done_ < free_count_ && search.match(free_[done_], costs_[free_[done_]], scans_)) ++done_;
    }
    void restore_prices() {
        for (Index k = 0; k < tree_size_; ++k) v_[tree_[k]] = tree_v_[k];
    }
    void lower_prices() {
        for (Index k = 0; k < tree_size_; ++k) v_[tree_[k]] = tree_v_[k] - (level_ - tree_distance_[k]);
        bound_ += static_cast<double>(level_ - start_);
    }
    void augment(Index root, Index column) {
        lower_prices();
        for (Index i = -1; i != root;) {
            i = static_cast<Index>(from_[column]);
            matching_.take(std::exchange(column, matching_.row_to_col[i]), i);
        }
    }
    void augment_to_unmatched(Index root, Index i) {
        if (i == root) return lower_prices();
        const Index column = matching_.row_to_col[i];
        matching_.row_to_col[i] = -1;
        augment(root, column);
    }

    bool expired() {
        if (control_ == nullptr) return false;
        return control_->poll({"search", 0, rows_ - free_count_, std::max(bound_, aside_.bound)});
    }
    // The dual objective, of which every search adds its own part.
    void start_bound() {
        if (control_ == nullptr || !control_->is_watched()) return;
        finish_u();
        double sum = 0;
        for (Index i = 0; i < rows_; ++i) sum += static_cast<double>(u_[i]);
        for (Index j = 0; j < cols_; ++j) sum += static_cast<double>(v_[j]);
        bound_ = sum;
    }
    // u of every row; those of free_ from number done_ on are still waiting for a column.
    void finish_u() {
        for (Index i = 0; i < rows_; ++i) {
            const Index j = matching_.row_to_col[i];
            u_[i] = j >= 0 ? costs_.at(i, j) - v_[j] : unmatched_cost_ != nullptr ? unmatched_cost_[i] : D{};
        }
        for (Index k = done_; k < free_count_; ++k) {
            const Index i = free_[k];
            u_[i] = two_smallest(costs_[i], v_, costs_.at(i)).first;
            if (unmatched_cost_ != nullptr) u_[i] = std::min(u_[i], unmatched_cost_[i]);
        }
    }
    // More rows without an unmatched column than columns: detected here, before their prices fall without end.
    bool too_many_rows() {
        Index count = 0;
        for (Index i = 0; i < rows_ && count <= cols_; ++i)
            if (infinite(unmatched_cost_[i])) hall_rows_[count++] = i;
        if (count <= cols_) return false;
        for (Index j = 0; j < cols_; ++j) tree_[j] = j;
        tree_size_ = cols_;
        return true;
    }
    // Under finished u: a row with neither a column nor an unmatched column, if there is one.
    bool name_empty_row() {
        tree_size_ = 0;
        hall_rows_[0] = static_cast<Index>(std::find_if(u_, u_ + rows_, infinite) - u_);
        return hall_rows_[0] < rows_;
    }
    void name_violator(Index root) {
        hall_rows_[0] = root;
        for (Index k = 0; k < tree_size_; ++k) hall_rows_[k + 1] = matching_.col_to_row[tree_[k]];
        restore_prices();
    }

    const D* const unmatched_cost_;  // unmatched cost by row, or null
    Control* const control_;
    const JvLimit limit_;
    const bool from_zero_;
    const JvState<D>* const state_;  // from which the solve goes on, or null
    const Index rows_, cols_;
    const Index padded_;  // columns rounded up to whole vectors
    const Rows<T, kNegated> costs_;
    Matching matching_;

    // By column. While a search runs, v of a column in the tree is -infinity, and its price is in tree_v_.
    D* v_;
    D* distance_;
    std::int64_t* from_;  // the row through which distance_ was found
    D* matched_costs_;    // the matched rows' costs, for searches in registers
    // The tree of one search, in the order of distance_.
    Index* tree_;
    D* tree_v_;
    D* tree_distance_;
    Index tree_size_ = 0;
    const Index most_in_tree_ = std::min(rows_ - 1, cols_);  // each column brings its row, and the root has none
    D start_{}, level_{};                                    // the first and the present distance
    // By row.
    D* u_;
    Index* free_;                      // rows that wait for a column
    Index free_count_ = 0, done_ = 0;  // done_ of them have been searched for
    Index* hall_rows_;
    bool has_nearest_ = false;  // whether from_ holds the rows of step 1, for spares
    bool unchecked_ = false;    // whether costs are still to be checked
    bool gave_up_ = false;
    // Set aside while another start is on trial.
    struct Aside {
        Index free_count, done;
        double recent, bound = -std::numeric_limits<double>::infinity();
        bool keeps_spares;
    } aside_{};
    D* aside_v_;
    Index* aside_free_;
    Index* aside_row_to_col_;
    bool may_try_ = false;
    double recent_ = 0;  // rows that the latest searches have read, on average
    double bound_ = -std::numeric_limits<double>::infinity();
    double scans_ = 0;
};

}  // namespace LAPWING_TARGET
}  // namespace lapwing

#include "lapwing/jv/reduction.inc.hpp"
#include "lapwing/jv/trial.inc.hpp"

namespace lapwing {
namespace LAPWING_TARGET {

template <class T, class D = Dual<T>>
DirectAnswer<D> solve_direct(const Problem<T>& problem, std::byte* workspace, bool with_u, Control* control,
                             JvLimit limit, JvStart start, const JvState<D>* state) {
    Carver memory(workspace);
    const MatrixView<T>& cost = problem.cost;
    if (!copies_for_direct(problem)) {
        if (problem.maximize)
            return Jv<T, true>(cost, problem.unmatched_cost, memory, control, limit, start, state).solve(with_u);
        return Jv<T>(cost, problem.unmatched_cost, memory, control, limit, start, state).solve(with_u);
    }
    const auto entries = static_cast<std::size_t>(cost.rows) * static_cast<std::size_t>(cost.cols);
    const MatrixView<D> copied = copy_minimised(problem, memory.take<D>(entries));
    return Jv<D>(copied, problem.unmatched_cost, memory, control, limit, start, state).solve(with_u);
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
