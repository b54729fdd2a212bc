#include "lapwing/hungarian/state.hpp"

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace lapwing {
namespace {

// Pieces of a loop that threads share: some 10 us of work, and so many columns that the pieces of rows are not too
// short for memory.
constexpr double kPairsPerPiece = 32768;
constexpr Index kColsPerPiece = 512;

auto without_member(const std::function<void(Index, Index)>& work) {
    return [&work](Index begin, Index end, int) { work(begin, end); };
}

}  // namespace

template <class D>
HungarianState<D>::HungarianState(const HungarianProblem<D>& given, int threads, Control& the_control)
    : problem(given), kernels(given.kernels), control(the_control), m(given.rows), n(given.cols), team(threads),
      u(m, D{0}), v(hungarian_padded(n), D{0}), row_to_col(m, kFreeRow), col_to_row(n, -1), root(m, -1), is_done(m, 0),
      predecessor(hungarian_padded(n), -1), open(hungarian_padded(n), 0), base_u_(m, D{0}), base_v_(n, D{0}),
      entered_(n, D{0}) {
    for (Index i = 0; i < m; ++i) free_rows.push_back(i);
    std::fill_n(open.begin(), n, -1);
}

template <class D>
void HungarianState<D>::for_rows(Index count, const std::function<void(Index, Index)>& work) {
    team.share(count, static_cast<Index>(kPairsPerPiece / n) + 1, [this] { poll(); }, without_member(work));
}

template <class D>
void HungarianState<D>::for_cols(Index pairs, const std::function<void(Index, Index)>& work) {
    const auto whole = static_cast<Index>(kPairsPerPiece / std::max<Index>(pairs, 1)) / kColsPerPiece;
    team.share(n, std::max<Index>(whole, 1) * kColsPerPiece, [this] { poll(); }, without_member(work));
}

template <class D>
Status HungarianState<D>::reduce() {
    std::vector<Index> invalid(m, -1);
    for_rows(m, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            invalid[i] = kernels.first_invalid(problem.row(i), problem.maximize, n);
            const D least = kernels.least(problem.row(i), problem.maximize, n, v.data(), open.data());
            u[i] = std::min(least, problem.unmatched_cost_of(i));
        }
    });
    counts.rows_scanned += m;
    for (Index i = 0; i < m; ++i)
        if (invalid[i] >= 0) throw InvalidCost{i, invalid[i]};
    for (Index i = 0; i < m; ++i) {
        if (u[i] < kInfinity<D>) continue;
        empty_row_ = i;
        return Status::infeasible;
    }
    if (expired()) return Status::time_limit;
    if (!problem.is_square()) return Status::optimal;
    std::fill_n(v.begin(), n, kInfinity<D>);
    for_cols(m, [&](Index begin, Index end) {
        for (Index i = 0; i < m; ++i)
            kernels.lower_columns(problem.row(i, begin), problem.maximize, end - begin, u[i], v.data() + begin);
    });
    counts.rows_scanned += m;
    // A column that no row may have can take any dual, since its costs are all infinite; the search detects it.
    for (D& least : v) least = least < kInfinity<D> ? least : D{0};
    std::fill(v.begin() + n, v.end(), D{0});
    return expired() ? Status::time_limit : Status::optimal;
}

template <class D>
std::vector<Index> HungarianState<D>::rows_by_regret() {
    std::vector<D> regret(m);
    for_rows(m, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            const auto two = kernels.two_least(problem.row(i), problem.maximize, n, v.data(), open.data());
            const D second = std::min(two.second, problem.unmatched_cost_of(i));
            regret[i] = second < kInfinity<D> ? second - two.least : kInfinity<D>;
        }
    });
    counts.rows_scanned += m;
    std::vector<Index> order(free_rows);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return regret[a] > regret[b]; });
    return order;
}

template <class D>
void HungarianState<D>::match_tight(const std::vector<Index>& order) {
    for (const Index i : order) {
        poll();
        const Index j = kernels.find(problem.row(i), problem.maximize, n, v.data(), open.data(), u[i], D{0});
        if (j >= 0) {
            match(i, j);
            open[j] = 0;
        } else if (problem.may_stay_unmatched(i) && problem.unmatched_cost_of(i) - u[i] <= 0) {
            match(i, kUnmatchedColumn);
        }
    }
    counts.rows_scanned += m;
    std::fill_n(open.begin(), n, -1);
    list_free_rows();
    statistics.set("matched_at_start", static_cast<double>(m) - static_cast<double>(free_rows.size()));
}

template <class D>
void HungarianState<D>::match(Index i, Index j) {
    row_to_col[i] = j;
    if (j != kUnmatchedColumn) col_to_row[j] = i;
    u[i] = j == kUnmatchedColumn ? problem.unmatched_cost_of(i) : problem.at(i, j) - v[j];
}

template <class D>
void HungarianState<D>::list_free_rows() {
    std::erase_if(free_rows, [this](Index i) { return row_to_col[i] != kFreeRow; });
}

template <class D>
void HungarianState<D>::begin_forest() {
    ++counts.iterations;
    theta = 0;
    for (const Index j : cols) open[j] = -1;
    cols.clear();
    ends.clear();
    rows = free_rows;
    for (const Index i : rows) {
        root[i] = i;
        is_done[i] = 0;
        base_u_[i] = u[i];
    }
    bound_ = 0;
    for (const D x : u) bound_ += static_cast<double>(x);
    for (const D x : v) bound_ += static_cast<double>(x);
    check_invariants();
}

template <class D>
Index HungarianState<D>::enter(Index i, Index j) {
    predecessor[j] = i;
    open[j] = 0;
    entered_[j] = theta;
    base_v_[j] = v[j];
    cols.push_back(j);
    const Index owner = col_to_row[j];
    if (owner == kFreeRow) {
        finish_tree({i, j});
    } else {
        root[owner] = root[i];
        rows.push_back(owner);
    }
    return owner;
}

template <class D>
void HungarianState<D>::finish_tree(End end) {
    is_done[root[end.row]] = 1;
    ends.push_back(end);
}

template <class D>
void HungarianState<D>::raise_duals() {
    for (const Index j : cols) v[j] = base_v_[j] - (theta - entered_[j]);
    for (const Index i : rows) {
        const Index j = row_to_col[i];
        u[i] = j == kFreeRow ? base_u_[i] + theta : problem.at(i, j) - v[j];
    }
}

template <class D>
void HungarianState<D>::flip_paths() {
    for (const End& end : ends) {
        for (auto [i, j] = end;;) {
            const Index before = row_to_col[i];
            match(i, j);
            if (before == kFreeRow) break;
            j = before;
            i = static_cast<Index>(predecessor[j]);
        }
    }
    const auto five = static_cast<std::size_t>(counts.iterations - early_iterations_ - 1) / 5;
    if (counts.dual_updates == 0)
        early_ += static_cast<std::int64_t>(ends.size()), ++early_iterations_;
    else if (five < by_five_.size())
        by_five_[five] += static_cast<std::int64_t>(ends.size());
    counts.augmentations += static_cast<std::int64_t>(ends.size());
    list_free_rows();
}

template <class D>
Solution<D> HungarianState<D>::finish(Status status) {
    Solution<D> solution;
    solution.status = status;
    if (status == Status::infeasible) solution.hall_rows = {empty_row_ >= 0 ? empty_row_ : free_rows.front()};
    for (Index i = 0; i < m; ++i) u[i] = std::min(u[i], problem.unmatched_cost_of(i));
    v.resize(n);
    for (Index& j : row_to_col) j = std::max(j, Index{-1});
    solution.row_to_col = std::move(row_to_col);
    solution.u = std::move(u);
    solution.v = std::move(v);
    solution.statistics = report();
    return solution;
}

template <class D>
Statistics HungarianState<D>::report() {
    Statistics all;
    const auto matched = m - static_cast<std::int64_t>(free_rows.size());
    all.set("matched_before_update", static_cast<double>(matched - counts.augmentations + early_));
    for (std::size_t k = 0; k < by_five_.size() && by_five_[k] != 0; ++k)
        all.set("matched_by_" + std::to_string(5 * k + 5), static_cast<double>(by_five_[k]));
    all.set("iterations", static_cast<double>(counts.iterations));
    all.set("dual_updates", static_cast<double>(counts.dual_updates));
    all.set("augmentations", static_cast<double>(counts.augmentations));
    all.set("levels", static_cast<double>(counts.levels));
    all.set("edges_visited", static_cast<double>(counts.edges_visited));
    all.set("rows_scanned", static_cast<double>(counts.rows_scanned));
    for (const auto& [name, value] : statistics.values) all.set(name, value);
    all.set("seconds", control.seconds());
    return all;
}

// In debug builds, where sums are exact and problems small.
template <class D>
void HungarianState<D>::check_invariants() const {
#ifdef LAPWING_CHECK_INVARIANTS
    if (std::is_floating_point_v<D> || static_cast<double>(m) * n > 2048) return;
    for (Index i = 0; i < m; ++i) {
        if (u[i] > problem.unmatched_cost_of(i))
            throw std::logic_error("hungarian: a row's dual is above its unmatched cost");
        for (Index j = 0; j < n; ++j) {
            const D slack = (problem.at(i, j) - v[j]) - u[i];
            if (slack < 0 || (slack > 0 && row_to_col[i] == j))
                throw std::logic_error("hungarian: duals are not feasible, or a matched pair is not tight");
        }
    }
    for (Index j = 0; j < n && !problem.is_square(); ++j)
        if (v[j] > 0 || (v[j] < 0 && col_to_row[j] == kFreeRow))
            throw std::logic_error("hungarian: the price of a column has the wrong sign");
#endif
}

template class HungarianState<double>;
template class HungarianState<std::int64_t>;

}  // namespace lapwing
