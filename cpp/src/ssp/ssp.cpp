// Method "ssp": shortest augmenting paths with epsilon-pricing on full rows.
//
// Problem   the linear assignment problem of types.hpp.
// Method    Each phase begins with no assignment and the prices that the last one left. It assigns row after row, each
//           by a shortest alternating path (Dijkstra, dense) under reduced costs c[i,j] - v[j]; u is implicit, each
//           matched pair being tight. Where plain shortest augmenting paths lower v of the columns closed by a search
//           by (path length - distance), a phase with epsilon > 0 lowers it by epsilon more: like an auction's bids,
//           this spreads prices early and makes later searches short. The last phase has epsilon = 0 and is exact
//           whatever the prices it starts from. The start is that of ssp/start.cpp; every second phase takes the rows
//           backwards, as in the authors' program (text: in_order of SspOptions).
// Schedule  epsilon = min(epsilon / 4, what epsilon added to the fall of prices in the last phase / (8 cols)), then 0;
//           0 at once when a phase's paths lowered prices by more than epsilon did, in the authors' program not after
//           the first phase (text: stop_early).
// Cost      O(rows) rows read a phase at best, O(rows^2) at worst, each O(cols); O(rows + cols) memory.
//
// More columns than rows: dummy rows of cost 0 take the columns left over. They are all alike, so one (kDummyRow)
// stands for all: a column owned by it has price `level_`, the highest, and a search that reaches one such column has
// reached all of them, and every other column j at level_ - v[j] more. A phase begins by giving the dummy rows what
// they would take first: the columns of the highest prices, cut down to a common level. At the end v - level_ is at
// most 0, and 0 for the columns left over. Nothing is stored for dummy rows. Together, the dummy rows and the columns
// at `level_` that no row owns form the sink: reaching it ends a search while it has a vacancy. Columns below the level
// that nobody owns end a search, too. Unmatched costs: row i has one more column of its own, its unmatched column, at
// that cost. As only dummy rows could take it otherwise, it belongs to the sink. Such problems are solved in one phase
// from v = 0 (prices that earlier phases made too low would have to rise again through the dummy rows, which costs more
// than the phases save).
//
// Deviations from the paper: the aggregated dummy row (the paper searches for each dummy row); unmatched columns;
// infinite costs; a unit for epsilon (ssp/start.cpp). The preference for free columns among equals is the paper's. On
// square problems the rows evaluated are those of the authors' published code (github.com/sguthe/lap-solver), up to
// rounding: tests/methods/test_ssp.py.
//
// Reference: S. Guthe, D. Thuerck, "Algorithm 1015: A Fast Scalable Solver for the Dense Linear (Sum) Assignment
// Problem", ACM Transactions on Mathematical Software 47(2), 2021, sections 3 and 4.
#include "lapwing/ssp/ssp.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "lapwing/certificate/hall.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/team.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/ssp/ssp.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

constexpr int kScheduleDivisor = 4;
constexpr int kScheduleShare = 8;

template <class T>
class Ssp {
    using D = Dual<T>;

  public:
    Ssp(SspRows<T>& rows, SspStart<D> start, const SspOptions& options, int threads, Control& control, double most_rows)
        : options_(options), problem_(rows.problem()), control_(control), most_rows_(most_rows), rows_(rows),
          m_(problem_.cost.rows), n_(problem_.cost.cols), has_sink_(problem_.unmatched_cost != nullptr || m_ != n_),
          start_(std::move(start)), v_(std::move(start_.v)), distance_(ssp_padded(n_), D{0}),
          predecessor_(ssp_padded(n_), 0), state_(ssp_padded(n_), ssp_closed), owner_(index(n_), kUnowned),
          row_to_col_(index(m_), kUnassigned), team_(threads),
          piece_(static_cast<Index>(ssp_padded((n_ + threads - 1) / threads))),
          found_(index((n_ + piece_ - 1) / piece_)) {}

    Solution<D> solve() {
        solution_.statistics = std::move(start_.statistics);
        keep_best(start_.best);
        if (start_.forbidden_row >= 0) {
            solution_.status = Status::infeasible;
            solution_.hall_rows = {start_.forbidden_row};
        } else if (start_.expired) {
            solution_.status = Status::time_limit;
        } else {
            solution_.status = run_phases();
        }
        report();
        if (solution_.status == Status::optimal) finish_optimal();
        if (solution_.status == Status::time_limit && !has_given_up()) finish_early();
        return std::move(solution_);
    }
    bool has_given_up() const { return static_cast<double>(rows_.scanned()) > rows_allowed_; }

  private:
    enum Owner : Index { kUnowned = -1, kDummyRow = -2 };               // of a column; else a row
    enum Assigned : Index { kUnassigned = -1, kUnmatchedColumn = -2 };  // row_to_col_; else a column
    static constexpr Index kSink = -3;                                  // a node of a path; else a column

    const SspOptions options_;
    const Problem<T>& problem_;
    Control& control_;
    const double most_rows_;                                         // to be read before it gives up, with repetitions
    double rows_allowed_ = std::numeric_limits<double>::infinity();  // of these, before this search ends
    SspRows<T>& rows_;
    Index m_, n_;
    bool has_sink_;
    SspStart<D> start_;
    Solution<D> solution_;
    std::vector<Index> best_;  // [rows] the best complete assignment
    D objective_ = kInfinity<D>;

    // State of the phase. With epsilon == 0: v[j] <= level_, with equality if owner_[j] == kDummyRow; c[i,j] - v[j] is
    // row i's least at its own j.
    D epsilon_ = 0;
    Index phase_ = 0, matched_ = 0;
    D level_ = 0;
    std::int64_t path_rows_ = 0;  // of all augmenting paths
    Index level_vacancies_ = 0;   // searches that may end at the sink; with unmatched costs, all that are to come
    double path_fall_ = 0, epsilon_fall_ = 0;  // of prices, by the lengths of paths and by epsilon
    std::vector<D> v_;                         // [padded cols]

    // State of the search.
    std::vector<D> distance_;
    std::vector<std::int64_t> predecessor_, state_;
    std::vector<Index> owner_;       // [cols]
    std::vector<Index> row_to_col_;  // [rows]
    std::vector<Index> closed_;      // columns, in the order of their distance
    D sink_distance_ = 0;
    // The column by which the sink is reached; kUnmatchedColumn: that of sink_row_.
    Index sink_entry_ = kUnmatchedColumn;
    Index sink_row_ = -1;
    bool sink_closed_ = false;
    D reached_ = 0;  // distance of the last node closed; never falls

    Team team_;  // shares a row among threads, in pieces
    Index piece_;
    std::vector<SspNearest<D>> found_;  // in each piece

    static std::size_t index(Index i) { return static_cast<std::size_t>(i); }
    SspLabels<D> labels() { return {v_.data(), distance_.data(), predecessor_.data(), state_.data(), n_}; }

    // --- phases

    Status run_phases() {
        epsilon_ = start_.epsilon;
        if (options_.trace != nullptr) {
            options_.trace->scans.assign(index(m_), 0);
            options_.trace->searched.assign(index(m_), 0);
            options_.trace->path_rows.assign(index(m_), 0);
        }
        solution_.statistics.set("rows_scanned_start", static_cast<double>(rows_.scanned()));
        solution_.statistics.set("epsilon_0", static_cast<double>(epsilon_));
        for (;;) {
            ++phase_;
            const std::int64_t before = rows_.scanned();
            begin_phase();
            for (Index k = 0; k < m_; ++k) {
                const Status status =
                    search(start_.order[index(phase_ % 2 == 1 || options_.in_order ? k : m_ - 1 - k)]);
                if (status != Status::optimal) return status;
                ++matched_;
            }
            if (options_.trace != nullptr) {
                options_.trace->epsilon.push_back(static_cast<double>(epsilon_));
                options_.trace->v.emplace_back(v_.begin(), v_.begin() + n_);
            }
            keep_best(row_to_col_);
            solution_.statistics.set("rows_scanned_phase_" + std::to_string(phase_),
                                     static_cast<double>(rows_.scanned() - before));
            if (epsilon_ == 0) return Status::optimal;
            next_epsilon();
        }
    }

    void keep_best(const std::vector<Index>& row_to_col) {
        if (!control_.wants_previews()) return;
        const D objective = total_cost(problem_, row_to_col);
        if (!best_.empty() && !(objective < objective_)) return;
        objective_ = objective;
        best_ = row_to_col;
    }

    void next_epsilon() {
        const double share = epsilon_fall_ / (kScheduleShare * static_cast<double>(n_));
        const double next = std::min(static_cast<double>(epsilon_) / kScheduleDivisor, share);
        if (((phase_ > 1 || options_.stop_early) && path_fall_ > epsilon_fall_) || next < start_.epsilon_least) {
            epsilon_ = 0;
        } else {
            epsilon_ = start_.in_units(next);
        }
    }

    // Nothing is assigned; the dummy rows have theirs, except in a first phase with epsilon.
    void begin_phase() {
        std::fill(row_to_col_.begin(), row_to_col_.end(), kUnassigned);
        std::fill(owner_.begin(), owner_.end(), kUnowned);
        std::fill_n(state_.begin(), n_, ssp_unowned);
        matched_ = 0;
        path_fall_ = epsilon_fall_ = 0;
        level_vacancies_ = 0;
        if (!has_sink_ || (epsilon_ > 0 && phase_ == 1)) return;
        level_ = 0;
        if (problem_.unmatched_cost == nullptr) {  // the prices of cols - rows columns are at or above it
            std::vector<D> sorted(v_.begin(), v_.begin() + n_);
            std::nth_element(sorted.begin(), sorted.begin() + m_, sorted.end());
            level_ = sorted[index(m_)];
        }
        level_vacancies_ = m_;
        for (Index j = 0; j < n_; ++j) {
            if (v_[index(j)] >= level_) {
                v_[index(j)] = level_;
                owner_[index(j)] = kDummyRow;
            } else {
                --level_vacancies_;
            }
        }
    }

    // --- one search: Dijkstra from row f, then the fall of prices, then the augmentation

    // The share of the rows allowed that may be read before this search ends. Of phases with epsilon the first takes a
    // third of all reads, or less. Where plain paths suffice, each halving of the rows that are left takes about as
    // many reads. Elsewhere they are behind that pace early: by a tenth of the rows (colours, columns of other scales)
    // to nine tenths (ties, clusters). The start is extra.
    double pace() const {
        constexpr double kFirstPhase = 0.4, kStart = 0.1;
        if (options_.pricing) return phase_ == 1 ? kFirstPhase : 1;
        return kStart + std::log((m_ + 1.0) / (m_ - matched_ + 1.0)) / std::log(m_ + 2.0);
    }

    Status search(Index f) {
        closed_.clear();
        sink_closed_ = false;
        sink_distance_ = kInfinity<D>;
        reached_ = -kInfinity<D>;
        Index end = kUnassigned;
        reach_unmatched_column(f, D{0});
        const std::int64_t scanned = rows_.scanned();
        SspNearest<D> nearest = scan_first(f);
        rows_allowed_ = most_rows_ * pace();
        while (end == kUnassigned) {
            if (has_given_up() ||
                control_.poll({"search", phase_, matched_, start_.bound, static_cast<double>(objective_)}))
                return Status::time_limit;
            if (!sink_closed_ && sink_distance_ < kInfinity<D> && !(nearest.distance < sink_distance_)) {
                reached_ = std::max(reached_, sink_distance_);
                if (level_vacancies_ > 0) {
                    end = kSink;
                } else {
                    nearest = scan_sink();
                }
                continue;
            }
            const Index j = nearest.column;
            if (j < 0 || nearest.distance == kInfinity<D>) return stuck(f);
            reached_ = std::max(reached_, nearest.distance);
            close(j);
            const Index owner = owner_[index(j)];
            if (owner == kUnowned) {
                end = j;
            } else if (owner == kDummyRow) {
                sink_distance_ = nearest.distance;
                sink_entry_ = j;
            } else {
                const T* row = read(owner);
                const D offset = (problem_.minimised(row[j]) - v_[index(j)]) - reached_;
                reach_unmatched_column(owner, offset);
                nearest = shared([&](Index begin, Index end) {
                    return LAPWING_DISPATCH(ssp_next_row, row, problem_.maximize, labels(), offset, owner, begin, end);
                });
            }
        }
        lower_prices();
        const std::int64_t before = path_rows_;
        augment(f, end);
        if (options_.trace != nullptr) {
            options_.trace->path_rows[index(f)] += path_rows_ - before - 1;
            options_.trace->searched[index(f)] += rows_.scanned() - scanned;
        }
        for (const Index j : closed_) state_[index(j)] = owner_[index(j)] >= 0 ? ssp_owned : ssp_unowned;
        return Status::optimal;
    }

    const T* read(Index i) {
        if (options_.trace != nullptr) ++options_.trace->scans[index(i)];
        return rows_(i);
    }
    SspNearest<D> scan_first(Index i) {
        const T* row = read(i);
        return shared([&](Index begin, Index end) {
            return LAPWING_DISPATCH(ssp_first_row, row, problem_.maximize, labels(), i, begin, end);
        });
    }
    // The nearest column of all pieces: whatever their number.
    template <class Scan>
    SspNearest<D> shared(const Scan& scan) {
        if (found_.size() == 1) return scan(0, n_);
        team_.share(
            n_, piece_, [] {}, [&](Index begin, Index end, int) { found_[index(begin / piece_)] = scan(begin, end); });
        SspNearest<D> nearest{kInfinity<D>, -1};
        for (const SspNearest<D>& piece : found_) {
            if (piece.column >= 0) nearest = ssp_nearer(nearest, piece, state_.data());
        }
        return nearest;
    }

    void close(Index j) {
        state_[index(j)] = ssp_closed;
        closed_.push_back(j);
    }
    void reach_unmatched_column(Index i, D offset) {
        const D cost = rows_.unmatched_cost(i);
        if (sink_closed_ || cost == kInfinity<D>) return;
        const D distance = (cost - level_) - offset;
        if (distance >= sink_distance_) return;
        sink_distance_ = distance;
        sink_entry_ = kUnmatchedColumn;
        sink_row_ = i;
    }
    // The dummy rows: their columns are closed, all others reached. Not with unmatched costs: see level_vacancies_.
    SspNearest<D> scan_sink() {
        sink_closed_ = true;
        sink_distance_ = reached_;
        for (Index j = 0; j < n_; ++j) {
            if (owner_[index(j)] != kDummyRow || state_[index(j)] == ssp_closed) continue;
            distance_[index(j)] = reached_;
            close(j);
        }
        return LAPWING_DISPATCH(ssp_virtual_row, static_cast<const T*>(nullptr), labels(), -level_ - reached_);
    }

    // By the rest of the path's length, and epsilon. With epsilon > 0 a matched pair need not be tight, so a column may
    // be nearer than one that was closed before it; then it falls by the difference, too.
    void lower_prices() {
        for (const Index j : closed_) {
            const D rest = reached_ - distance_[index(j)];
            path_fall_ += static_cast<double>(rest);
            v_[index(j)] -= rest + epsilon_;
        }
        epsilon_fall_ += static_cast<double>(epsilon_) * static_cast<double>(closed_.size());
        if (sink_closed_) level_ -= (reached_ - sink_distance_) + epsilon_;
    }

    // Flips the path from `end` back to row f.
    void augment(Index f, Index end) {
        if (end == kSink) --level_vacancies_;
        for (Index j = end;;) {
            if (j == kSink && sink_entry_ == kUnmatchedColumn) {
                j = std::exchange(row_to_col_[index(sink_row_)], kUnmatchedColumn);
                if (sink_row_ == f) return;
                continue;
            }
            if (j == kSink) j = sink_entry_;  // a dummy row gives it up
            const auto i = static_cast<Index>(predecessor_[index(j)]);
            if (i == kSspVirtualRow) {
                owner_[index(j)] = kDummyRow;
                v_[index(j)] = level_;  // so it is up to rounding, and up to epsilon
                j = kSink;
                continue;
            }
            owner_[index(j)] = i;
            ++path_rows_;
            j = std::exchange(row_to_col_[index(i)], j);
            if (i == f) return;
        }
    }

    Status stuck(Index f) {
        std::vector<Index> matching(row_to_col_);
        for (Index& j : matching) j = std::max(j, Index{-1});
        auto found = find_hall_violator(problem_, matching, f);
        if (!found) refuse_changed_costs();
        solution_.hall_rows = std::move(found->rows);
        solution_.hall_cols = std::move(found->cols);
        return Status::infeasible;
    }

    // --- the answer

    void report() {
        solution_.statistics.set("phases", static_cast<double>(phase_));
        solution_.statistics.set("path_rows", static_cast<double>(path_rows_));
        solution_.statistics.set("rows_scanned", static_cast<double>(rows_.scanned()));
        solution_.statistics.set("seconds", control_.seconds());
    }

    void finish_optimal() {
        v_.resize(index(n_));
        if (has_sink_) {
            solution_.shift = std::fabs(static_cast<double>(level_));
            for (D& price : v_) price = std::min(price - level_, D{0});
        }
        solution_.u.resize(index(m_));
        for (Index i = 0; i < m_; ++i) {
            Index& j = row_to_col_[index(i)];
            const D alone = rows_.unmatched_cost(i);
            solution_.u[index(i)] =
                j == kUnmatchedColumn ? alone : std::min(at_pair(problem_, i, j) - v_[index(j)], alone);
            j = std::max(j, Index{-1});
        }
        solution_.row_to_col = std::move(row_to_col_);
        solution_.v = std::move(v_);
    }

    // The last complete assignment; the duals are the row minima under v = 0 (those of the start), or under today's v
    // where they give the better bound: one more pass, where there are such prices, unless costs are supplied row by
    // row.
    void finish_early() {
        solution_.row_to_col = best_;
        for (Index& j : solution_.row_to_col) j = std::max(j, Index{-1});
        solution_.v.assign(index(n_), D{0});
        solution_.u = std::move(start_.row_least);
        const bool priced = std::any_of(v_.begin(), v_.begin() + n_, [](D price) { return price != 0; });
        if (!priced || (problem_.source != nullptr && !problem_.source->has_parts())) return;
        v_.resize(ssp_padded(n_));
        const D greatest = *std::max_element(v_.begin(), v_.begin() + n_);
        for (Index j = 0; j < n_; ++j) v_[index(j)] -= greatest;
        std::fill_n(state_.begin(), n_, ssp_unowned);
        std::vector<D> u(index(m_));
        double bound = 0, old_bound = 0;
        for (Index i = 0; i < m_; ++i) {
            // for the hook: the time is up anyway
            control_.poll({"bound", phase_, matched_, start_.bound, static_cast<double>(objective_)});
            const SspNearest<D> least = scan_first(i);
            u[index(i)] = std::min(least.distance, rows_.unmatched_cost(i));
            bound += static_cast<double>(u[index(i)]);
            old_bound += static_cast<double>(solution_.u[index(i)]);
        }
        for (Index j = 0; j < n_; ++j) bound += static_cast<double>(v_[index(j)]);
        if (bound <= old_bound) return;
        v_.resize(index(n_));
        solution_.u = std::move(u);
        solution_.v = std::move(v_);
    }
};

template <class T>
Ssp<T> ssp_of(SspRows<T>& rows, SspStart<Dual<T>> start, const SspOptions& options, int threads, Control& control,
              double most_rows_read) {
    const Index useful = std::max(rows.problem().cost.cols / kSspColumnsPerThread, Index{1});
    return Ssp<T>(rows, std::move(start), options, std::clamp(threads, 1, useful), control, most_rows_read);
}

}  // namespace

template <class T>
Solution<Dual<T>> ssp_solve(SspRows<T>& rows, SspStart<Dual<T>> start, const SspOptions& options, int threads,
                            Control& control) {
    return ssp_of(rows, std::move(start), options, threads, control, std::numeric_limits<double>::infinity()).solve();
}

template <class T>
Solution<Dual<T>> solve_ssp(const Problem<T>& problem, const SspOptions& options, int threads, Control& control) {
    Solution<Dual<T>> solution;
    solve_ssp_within(problem, options, std::numeric_limits<double>::infinity(), threads, control, solution);
    return solution;
}

template <class T>
bool solve_ssp_within(const Problem<T>& problem, const SspOptions& options, double most_rows_read, int threads,
                      Control& control, Solution<Dual<T>>& solution) {
    require_range(problem, &control);
    if (problem.source != nullptr && !problem.source->has_parts()) control.look_at_every_poll();
    SspRows<T> rows(problem);
    solution = ssp_of(rows, ssp_start(rows, options, control), options, threads, control, most_rows_read).solve();
    return solution.status != Status::time_limit || control.is_expired();
}

#define LAPWING_INSTANTIATE(T)                                                                              \
    template Solution<Dual<T>> ssp_solve(SspRows<T>&, SspStart<Dual<T>>, const SspOptions&, int, Control&); \
    template Solution<Dual<T>> solve_ssp(const Problem<T>&, const SspOptions&, int, Control&);              \
    template bool solve_ssp_within(const Problem<T>&, const SspOptions&, double, int, Control&, Solution<Dual<T>>&);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

}  // namespace lapwing
