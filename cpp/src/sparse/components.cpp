#include "lapwing/sparse/components.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>

#include "lapwing/threads.hpp"

namespace lapwing {
namespace {

constexpr Index kAlone = 24;    // rows from which on a component is a group of its own,
constexpr Index kPacked = 256;  // and up to which smaller ones share one

class DisjointSets {
  public:
    explicit DisjointSets(Index size) : parent_(static_cast<std::size_t>(size)), size_(parent_.size(), 1) {
        std::iota(parent_.begin(), parent_.end(), Index{0});
    }
    Index find(Index x) {
        while (parent_[x] != x) {
            parent_[x] = parent_[parent_[x]];
            x = parent_[x];
        }
        return x;
    }
    // Returns the size of the united set.
    Index unite(Index a, Index b) {
        a = find(a);
        b = find(b);
        if (a == b) return size_[a];
        if (b < a) std::swap(a, b);
        parent_[b] = a;
        return size_[a] += size_[b];
    }

  private:
    std::vector<Index> parent_, size_;
};

// Rows and columns in the order of their groups; group g has those from row_begin[g] and col_begin[g] on.
struct Groups {
    std::vector<Index> rows, cols, row_begin, col_begin;
    Index count() const { return static_cast<Index>(row_begin.size()) - 1; }
};

// The component of every row, numbered in the order of rows, -1 without a pair; empty if there is only one to speak of.
template <class T>
std::vector<Index> components_of_rows(const Adjacency<T>& pairs, Index cols, std::vector<Index>& of_col) {
    const auto rows = static_cast<Index>(pairs.rows.size());
    DisjointSets sets(cols);
    for (Index i = 0; i < rows; ++i) {
        const auto* const entry = pairs.entries.data() + pairs.rows[i].begin;
        for (Index k = 1; k < pairs.rows[i].count; ++k)
            if (sets.unite(entry[0].col, entry[k].col) > cols / 2) return {};
    }
    std::vector<Index> number(static_cast<std::size_t>(cols), -1), of_row(static_cast<std::size_t>(rows), -1);
    Index count = 0;
    for (Index i = 0; i < rows; ++i) {
        if (pairs.rows[i].count == 0) continue;
        Index& mine = number[sets.find(pairs.entries[static_cast<std::size_t>(pairs.rows[i].begin)].col)];
        if (mine < 0) mine = count++;
        of_row[i] = mine;
    }
    for (Index j = 0; j < cols; ++j) of_col[j] = number[sets.find(j)];
    return of_row;
}

// Sorts lines by group, those without one left out.
void sort_lines(const std::vector<Index>& of_line, const std::vector<Index>& group, Index groups,
                std::vector<Index>& lines, std::vector<Index>& begin) {
    begin.assign(static_cast<std::size_t>(groups) + 1, 0);
    for (const Index component : of_line)
        if (component >= 0) ++begin[group[component] + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    lines.resize(static_cast<std::size_t>(begin.back()));
    std::vector<Index> next(begin.begin(), begin.end() - 1);
    for (Index line = 0; line < static_cast<Index>(of_line.size()); ++line)
        if (of_line[line] >= 0) lines[next[group[of_line[line]]]++] = line;
}

template <class T>
Groups make_groups(const Adjacency<T>& pairs, Index cols) {
    Groups made;
    std::vector<Index> of_col(static_cast<std::size_t>(cols));
    const auto of_row = components_of_rows(pairs, cols, of_col);
    if (of_row.empty()) return made;
    std::vector<Index> size;
    for (const Index component : of_row)
        if (component >= 0) {
            if (component == static_cast<Index>(size.size())) size.push_back(0);
            ++size[component];
        }
    std::vector<Index> group(size.size());
    Index count = 0, open = -1, packed = 0;
    for (std::size_t c = 0; c < size.size(); ++c) {
        if (size[c] >= kAlone) {
            group[c] = count++;
            continue;
        }
        if (open < 0 || packed + size[c] > kPacked) {
            open = count++;
            packed = 0;
        }
        group[c] = open;
        packed += size[c];
    }
    if (count <= 1) return made;
    sort_lines(of_row, group, count, made.rows, made.row_begin);
    sort_lines(of_col, group, count, made.cols, made.col_begin);
    return made;
}

template <class T>
class GroupSolver {
  public:
    using D = Dual<T>;

    GroupSolver(const Adjacency<T>& pairs, Index cols, const D* exits, const D* start_v, const D* free_cols, bool whole,
                const Groups& groups)
        : pairs_(pairs), exits_(exits), start_v_(start_v), free_cols_(free_cols), whole_(whole),
          rectangular_(exits != nullptr || static_cast<Index>(pairs.rows.size()) < cols), groups_(groups),
          place_(static_cast<std::size_t>(cols), -1) {
        for (Index g = 0; g < groups.count(); ++g)
            for (Index k = groups.col_begin[g]; k < groups.col_begin[g + 1]; ++k)
                place_[groups.cols[k]] = k - groups.col_begin[g];
        whole_answer_.row_to_col.assign(pairs.rows.size(), -1);
        whole_answer_.u.assign(pairs.rows.size(), D{0});
        whole_answer_.v.assign(static_cast<std::size_t>(cols), D{0});
        for (Index j = 0; free_cols != nullptr && j < cols; ++j) whole_answer_.v[j] = free_cols[j];
        for (std::size_t i = 0; i < pairs.rows.size(); ++i)
            if (pairs.rows[i].count == 0) whole_answer_.u[i] = exits[i];
    }

    SparseSolution<D> run(int threads, Control& control) {
        std::exception_ptr failure;  // the first; guarded by mutex_
        const Index most = groups_.count();
        run_together(std::min(threads, static_cast<int>(most)), [&](bool is_caller) {
            try {
                Control mine(
                    control.remaining_seconds(),
                    [&](const Progress& progress) {
                        if (is_caller) control.look(progress);
                        return next_ < kStopped;
                    },
                    false);
                for (Index g; (g = next_.fetch_add(1)) < std::min(most, first_infeasible_.load());) solve(g, mine);
            } catch (const Interrupted&) {
                if (is_caller) stop(failure);
            } catch (...) {
                stop(failure);
            }
        });
        if (failure) std::rethrow_exception(failure);
        return std::move(whole_answer_);
    }

  private:
    static constexpr Index kStopped = std::numeric_limits<Index>::max() / 2;

    void stop(std::exception_ptr& failure) {
        next_ = kStopped;
        const std::lock_guard lock(mutex_);
        if (!failure) failure = std::current_exception();
    }
    // The values of a group's lines; none if there are none.
    std::vector<D> picked(const D* values, const std::vector<Index>& lines, Index begin, Index end) const {
        std::vector<D> made;
        for (Index k = begin; values != nullptr && k < end; ++k) made.push_back(values[lines[k]]);
        return made;
    }
    Adjacency<T> pairs_of(Index g) const {
        Adjacency<T> made;
        for (Index k = groups_.row_begin[g]; k < groups_.row_begin[g + 1]; ++k) {
            SparseRow<D> row = pairs_.rows[groups_.rows[k]];
            const auto* const entry = pairs_.entries.data() + row.begin;
            row.begin = static_cast<std::int64_t>(made.entries.size());
            for (Index e = 0; e < row.count; ++e) made.entries.push_back({entry[e].cost, place_[entry[e].col]});
            made.rows.push_back(row);
        }
        return made;
    }
    void solve(Index g, Control& control) {
        auto pairs = pairs_of(g);
        const Index r = groups_.row_begin[g], c = groups_.col_begin[g];
        const Index r_end = groups_.row_begin[g + 1], c_end = groups_.col_begin[g + 1];
        const auto exits = picked(exits_, groups_.rows, r, r_end), start = picked(start_v_, groups_.cols, c, c_end),
                   free_cols = picked(free_cols_, groups_.cols, c, c_end);
        const auto given = [](const std::vector<D>& values) { return values.empty() ? nullptr : values.data(); };
        const auto answer = solve_adjacency(pairs, c_end - c, given(exits), given(start), control, Keep<D>{},
                                            given(free_cols), whole_, rectangular_);
        put(answer, g);
    }
    // Groups write to lines of their own; the rest is guarded by mutex_.
    void put(const SparseSolution<D>& answer, Index g) {
        const Index r = groups_.row_begin[g], c = groups_.col_begin[g];
        for (std::size_t k = 0; k < answer.u.size(); ++k) {
            const Index row = groups_.rows[r + static_cast<Index>(k)];
            whole_answer_.u[row] = answer.u[k];
            const Index j = answer.row_to_col[k];
            whole_answer_.row_to_col[row] = j < 0 ? -1 : groups_.cols[c + j];
        }
        for (std::size_t k = 0; k < answer.v.size(); ++k)
            whole_answer_.v[groups_.cols[c + static_cast<Index>(k)]] = answer.v[k];
        const std::lock_guard lock(mutex_);
        for (const auto& [name, value] : answer.statistics.values) whole_answer_.statistics.add(name, value);
        if (answer.status == Status::infeasible && g < first_infeasible_) {
            first_infeasible_ = g;
            whole_answer_.status = Status::infeasible;
            whole_answer_.violator_is_cols = answer.violator_is_cols;
            const Index of_rows = answer.violator_is_cols ? c : r, of_cols = answer.violator_is_cols ? r : c;
            const auto& rows = answer.violator_is_cols ? groups_.cols : groups_.rows;
            const auto& cols = answer.violator_is_cols ? groups_.rows : groups_.cols;
            whole_answer_.hall_rows = answer.hall_rows;
            whole_answer_.hall_cols = answer.hall_cols;
            for (Index& line : whole_answer_.hall_rows) line = rows[of_rows + line];
            for (Index& line : whole_answer_.hall_cols) line = cols[of_cols + line];
        } else if (answer.status == Status::time_limit && whole_answer_.status == Status::optimal) {
            whole_answer_.status = Status::time_limit;
        }
    }

    const Adjacency<T>& pairs_;
    const D *exits_, *start_v_, *free_cols_;
    bool whole_, rectangular_;
    const Groups& groups_;
    std::vector<Index> place_;  // of each column in its group
    SparseSolution<D> whole_answer_;
    std::mutex mutex_;
    std::atomic<Index> next_ = 0;
    std::atomic<Index> first_infeasible_ = kStopped;  // groups after this one need not be solved
};

// A row or column that makes the problem infeasible on its own, which the solve as one finds at once.
template <class T>
bool has_lonely_line(const Adjacency<T>& pairs, Index cols, const Dual<T>* exits, const Groups& groups) {
    if (exits == nullptr && static_cast<Index>(pairs.rows.size()) == cols &&
        static_cast<Index>(groups.cols.size()) < cols)
        return true;
    for (std::size_t i = 0; i < pairs.rows.size(); ++i)
        if (pairs.rows[i].count == 0 && (exits == nullptr || !(exits[i] < kInfinity<Dual<T>>))) return true;
    return false;
}

}  // namespace

template <class T>
SparseSolution<Dual<T>> solve_components(Adjacency<T>& pairs, Index cols, const Dual<T>* exits, const Dual<T>* start_v,
                                         int threads, Control& control, const Keep<Dual<T>>& keep,
                                         const Dual<T>* free_cols, bool whole) {
    const bool rectangular = exits != nullptr || static_cast<Index>(pairs.rows.size()) < cols;
    if ((threads > 1 || !rectangular) && !control.is_watched() && !control.keeps()) {
        const Groups groups = make_groups(pairs, cols);
        if (groups.count() > 1 && !has_lonely_line(pairs, cols, exits, groups))
            return GroupSolver<T>(pairs, cols, exits, start_v, free_cols, whole, groups).run(threads, control);
    }
    return solve_adjacency(pairs, cols, exits, start_v, control, keep, free_cols, whole);
}

#define LAPWING_INSTANTIATE(T)                                                                                   \
    template SparseSolution<Dual<T>> solve_components(Adjacency<T>&, Index, const Dual<T>*, const Dual<T>*, int, \
                                                      Control&, const Keep<Dual<T>>&, const Dual<T>*, bool);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

}  // namespace lapwing
