// Shortest augmenting paths on candidate lists: the stage that makes the assignment perfect and exact.
//
// Problem: assign the rows that the auction left free, keeping the duals feasible and the assigned pairs tight. Method:
// from each free row, Dijkstra's algorithm over reduced costs (successive shortest paths). The nodes are columns.
// Scanning a row relaxes the columns in its list and plants a *refresh event* at distance d + tau - u: no column that
// the list leaves out is nearer than that. When an event is due, the row is listed again. Where the new list proves no
// more (many near-ties, or a row that this search has listed already), all columns of the row up to a limit are
// relaxed; the limit grows by a factor from one event of the row to the next, and at least to the next column. Where
// columns are in boxes, those without an open column are left out (costs/open_boxes.hpp): most rows of a long search
// are deep in the region that it has closed. Where some rows tell columns far apart and others near ones (heavy tails),
// it would come to these rows again and again; where columns tie (lines, grids), it would find the same ones from row
// after row. So once it has read more rows than it has scanned, or many costs in boxes, rows are *read out*, once each:
// all columns that come nearer, up to the nearest end, in those boxes that have some. The search stops at the nearest
// unassigned column. Columns that are farther than the nearest one found so far are never pushed. Dummy
// rows (state.hpp): an unassigned column that the aggregated dummy row holds ends a path only if the dummy row can
// spare a column. Otherwise the dummy row is scanned, and relaxes every column at its distance plus ceiling - v[j].
// Complexity: O(k) a scanned row with k listed columns, O(log(m + n)) a push, one dense row a refresh event. In the
// worst case O(n (m + log n)) a search and O(m n (m + log n)) in all, as for full rows. Deviations: candidate lists
// with bounds in place of full rows; the dummy rows as one node. Reference: Jonker and Volgenant, Computing 38 (1987),
// "augmentation".
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "lapwing/core/dummy_rows.hpp"
#include "lapwing/core/heap.hpp"
#include "lapwing/core/state.hpp"

namespace lapwing {

enum class SearchOutcome { augmented, infeasible, expired };

template <class T>
class PathSearch {
  public:
    using D = Dual<T>;

    explicit PathSearch(CoreState<T>& state)
        : s_(state), dummy_row_(state.columns + state.m), heap_(dummy_row_ + 1), dist_(state.columns, kInfinity<D>),
          pred_(state.columns, -1), closed_(state.columns, 0), row_dist_(state.m, D{0}), covered_(state.m, D{0}),
          listed_in_(state.m, 0), open_(state.lists.open_boxes()) {
        if (s_.has_dummy_rows()) prepare_dummy_rows();
    }

    // Gives free row `source` a column. u[source] is set here; all other invariants of the state hold before and after.
    SearchOutcome augment(Index source);

    // After `augmented`: the path's length, by which the dual objective has risen.
    D length() const { return bound_; }

    // After `infeasible`: the rows of the search tree and all columns that they may take, which are fewer.
    std::vector<Index> tree_rows(Index source) const {
        std::vector<Index> rows{source};
        for (const Index j : settled_) rows.push_back(s_.col_to_row[j]);
        return rows;
    }
    const std::vector<Index>& tree_columns() const { return settled_; }

  private:
    static constexpr Index kDummyRow = -2;  // as a predecessor

    void prepare_dummy_rows();
    void count_held();
    void reset();
    void scan(Index i, D d);
    void relax_list(Index i, D base);
    void scan_dummy_row(D d);
    void cover(Index i, D base, D value);
    void refresh(Index i, D d);
    void reach_further(Index i, D base, D d);
    void begin_to_read_out();
    void read_out(Index i, D base);
    void relax(Index j, Index from, D d);
    void update_duals(Index source);
    void flip(Index source);

    CoreState<T>& s_;
    Index dummy_row_;  // heap ids: columns, then a refresh event a row, then the dummy row
    IndexedHeap<D> heap_;
    std::vector<D> dist_;                  // of columns; kInfinity where not reached
    std::vector<Index> pred_;              // the row (or kDummyRow) from which a column is reached
    std::vector<char> closed_;             // column settled
    std::vector<D> row_dist_;              // of scanned rows
    std::vector<D> covered_;               // c - v up to which a scanned row's columns have been reached
    std::vector<std::int64_t> listed_in_;  // the search (s_.paths) that last refreshed the row
    std::vector<Index> touched_, settled_;
    std::optional<OpenBoxes> open_;  // if columns are in boxes: of those not settled
    std::optional<BoxReach> reach_;  // of columns in boxes, while rows are read out ...
    BoxPrices<T> prices_;            // ... by these prices
    bool reads_out_ = false;
    std::int64_t more_reads_ = 0;  // refresh events of this search that came due, less the rows that it has scanned
    std::int64_t costs_read_ = 0;  // in this search, of rows that were listed again or read further
    D bound_ = 0;                  // distance of the nearest end found
    Index end_ = -1;
    D dummy_dist_ = 0;
    Index dummy_via_ = -1;  // the held column through which the dummy row is reached
    bool dummy_closed_ = false;
    Index held_ = 0;  // unassigned columns with v == ceiling
};

template <class T>
void PathSearch<T>::reset() {
    for (const Index j : touched_) dist_[j] = kInfinity<D>, closed_[j] = 0;
    if (open_)
        for (const Index j : settled_)
            if (j < s_.n) open_->reopen(j);
    touched_.clear();
    settled_.clear();
    heap_.clear();
    bound_ = dummy_dist_ = kInfinity<D>;
    end_ = dummy_via_ = -1;
    dummy_closed_ = reads_out_ = false;
    more_reads_ = costs_read_ = 0;
}

template <class T>
SearchOutcome PathSearch<T>::augment(Index source) {
    reset();
    ++s_.paths;
    s_.lists.keep_prices_fresh(s_.v.data(), s_.scratch);
    const BestTwo<D> best = best_two(s_, source, s_.scratch);
    if (best.column < 0) return SearchOutcome::infeasible;
    s_.u[source] = best.first;
    scan(source, D{0});
    while (!heap_.empty() && heap_.top_key() < bound_) {
        const D d = heap_.top_key();
        const Index id = heap_.pop();
        // The next row, unless this one leads to a nearer column.
        if (!heap_.empty() && heap_.top() < s_.columns) s_.lists.ask_for(s_.col_to_row[heap_.top()]);
        if (id < s_.columns) {
            closed_[id] = 1;
            settled_.push_back(id);
            if (open_ && id < s_.n) {
                open_->close(id);
                if (reads_out_) reach_->close(id);
            }
            scan(s_.col_to_row[id], d);
        } else if (id == dummy_row_) {
            scan_dummy_row(d);
        } else {
            refresh(id - s_.columns, d);
        }
        if (s_.control.poll(s_.progress)) return SearchOutcome::expired;
    }
    if (end_ < 0) return SearchOutcome::infeasible;
    update_duals(source);
    flip(source);
    return SearchOutcome::augmented;
}

template <class T>
void PathSearch<T>::scan(Index i, D d) {
    ++s_.rows_scanned;
    --more_reads_;
    row_dist_[i] = d;
    const D base = d - s_.u[i];
    if (reads_out_)
        read_out(i, base);
    else
        relax_list(i, base);
    if (s_.has_unmatched_columns() && s_.unmatched_cost_of(i) < kInfinity<D>) {
        const Index column = s_.unmatched_column(i);
        relax(column, i, base + (s_.unmatched_cost_of(i) - s_.v[column]));
    }
}

template <class T>
void PathSearch<T>::relax_list(Index i, D base) {
    Index places[kMaxCapacity];
    D values[kMaxCapacity];
    const Index* cols = s_.lists.cols(i).data();
    const Index count = s_.lists.below(i, s_.v.data(), bound_ - base, places, values);
    for (Index t = 0; t < count; ++t) relax(cols[places[t]], i, base + values[t]);
    cover(i, base, s_.lists.tau(i));
}

// All columns of row i up to this value have been reached.
template <class T>
void PathSearch<T>::cover(Index i, D base, D value) {
    covered_[i] = value;
    if (value < kInfinity<D> && base + value < bound_) heap_.lower(s_.columns + i, base + value);
}

template <class T>
void PathSearch<T>::relax(Index j, Index from, D d) {
    if (!(d < bound_ && d < dist_[j]) || closed_[j]) return;
    if (dist_[j] == kInfinity<D>) touched_.push_back(j);
    dist_[j] = d;
    pred_[j] = from;
    if (s_.col_to_row[j] >= 0) {
        heap_.lower(j, d);
    } else if (!s_.has_dummy_rows() || s_.v[j] < s_.ceiling || held_ > s_.spare()) {
        bound_ = d;
        end_ = j;
    } else if (!dummy_closed_ && d < dummy_dist_) {
        dummy_dist_ = d;
        dummy_via_ = j;
        heap_.lower(dummy_row_, d);
    }
}

template <class T>
void PathSearch<T>::scan_dummy_row(D d) {
    dummy_closed_ = true;
    closed_[dummy_via_] = 1;  // or rounding might find it nearer once more, through the dummy row itself
    for (Index j = 0; j < s_.columns; ++j)
        if (s_.col_to_row[j] >= 0 || s_.v[j] < s_.ceiling) relax(j, kDummyRow, d + (s_.ceiling - s_.v[j]));
}

template <class T>
void PathSearch<T>::refresh(Index i, D d) {
    constexpr std::int64_t kFewReads = 256, kFewCosts = 32;  // more rows read than scanned; costs for each column
    const D base = row_dist_[i] - s_.u[i];
    if (!reads_out_ && (++more_reads_ > kFewReads || (open_ && costs_read_ > kFewCosts * s_.n))) begin_to_read_out();
    if (reads_out_) return read_out(i, base);
    const std::int64_t rows = s_.scratch.dense_rows_read, in_boxes = s_.scratch.pairs_in_boxes;
    reach_further(i, base, d);
    costs_read_ += s_.lists.has_boxes() ? s_.scratch.pairs_in_boxes - in_boxes
                                        : (s_.scratch.dense_rows_read - rows) * std::int64_t{s_.n};
}

template <class T>
void PathSearch<T>::reach_further(Index i, D base, D d) {
    constexpr D kGrowth = 4, kFar = 1024;
    auto& scratch = s_.scratch;
    s_.lists.keep_prices_fresh(s_.v.data(), scratch);
    if (std::exchange(listed_in_[i], s_.paths) != s_.paths) {
        s_.refresh(i, scratch);
        if (s_.lists.tau(i) > covered_[i]) return relax_list(i, base);
    }
    D limit = std::max(covered_[i] + (kGrowth - 1) * (covered_[i] - s_.u[i]), d - base);
    if (!(limit > covered_[i])) limit = kInfinity<D>;
    // Deep in the region that was searched no box has an open column, and nothing is read.
    const OpenBoxes* const open = open_ ? &*open_ : nullptr;
    Index count = s_.lists.collect(i, s_.v.data(), limit, scratch, open);
    const auto is_new = [&](D value) { return value > covered_[i]; };
    const bool finds_none = std::none_of(scratch.value.data(), scratch.value.data() + count, is_new);
    const bool is_far = limit - s_.u[i] > kFar * (s_.lists.tau(i) - s_.u[i]);
    if (finds_none && s_.lists.has_boxes() && !is_far) {
        // not before the next column, unless a box with one has columns that are nearer
        const D next = s_.lists.nearest_open(i, s_.v.data(), scratch, open);
        covered_[i] = limit;
        const D due = base + std::max(next, limit);
        if (next < kInfinity<D> && due < bound_) heap_.lower(s_.columns + i, due);
        return;
    }
    if (finds_none) {
        // up to the next column, if there is one
        count = s_.lists.collect(i, s_.v.data(), kInfinity<D>, scratch, open);
        limit = kInfinity<D>;
        for (Index t = 0; t < count; ++t)
            if (is_new(scratch.value[t])) limit = std::min(limit, scratch.value[t]);
    }
    for (Index t = 0; t < count; ++t)
        if (scratch.value[t] <= limit) relax(scratch.found[t], i, base + scratch.value[t]);
    cover(i, base, limit);
}

template <class T>
void PathSearch<T>::begin_to_read_out() {
    reads_out_ = true;
    if (!open_) return;
    s_.lists.take_prices_for_search(s_.v.data(), prices_);
    if (!reach_) reach_.emplace(*open_);
    reach_->start(s_.n, [this](Index j) {
        if (closed_[j]) return -kInfinity<double>;
        return dist_[j] < kInfinity<D> ? static_cast<double>(dist_[j]) : kInfinity<double>;
    });
}

template <class T>
void PathSearch<T>::read_out(Index i, D base) {
    auto& scratch = s_.scratch;
    if (!open_) {
        const Index count = s_.lists.collect_nearer(i, s_.v.data(), base, dist_.data(), bound_, scratch);
        for (Index t = 0; t < count; ++t) relax(scratch.found[t], i, base + scratch.value[t]);
        return;
    }
    s_.lists.collect_nearer(i, s_.v.data(), base, bound_ - base, *open_, prices_, *reach_, scratch);
    for (const NearColumn<T>& near : scratch.near) relax(near.col, i, base + static_cast<D>(near.value));
}

template <class T>
void PathSearch<T>::update_duals(Index source) {
    // Rounding can leave a distance past the bound; v must not rise by it.
    for (const Index j : settled_) {
        const D rise = std::max(bound_ - dist_[j], D{0});
        if (!(rise < kInfinity<D>)) refuse_changed_costs();
        s_.v[j] -= rise;
        s_.u[s_.col_to_row[j]] += rise;
    }
    s_.u[source] += bound_;
    if (dummy_closed_) {
        const D lower = s_.ceiling - std::max(bound_ - dummy_dist_, D{0});
        for (Index j = 0; j < s_.columns; ++j)
            if (s_.col_to_row[j] < 0 && s_.v[j] > lower) s_.v[j] = lower;  // held ones, and what rounding left above
        s_.ceiling = lower;
    }
}

template <class T>
void PathSearch<T>::flip(Index source) {
    if (!dummy_closed_ && s_.has_dummy_rows() && s_.v[end_] == s_.ceiling) --held_;
    Index j = end_;
    for (;;) {
        const Index i = pred_[j];
        if (i == kDummyRow) {  // the dummy row takes j and gives up the column through which it was reached
            s_.col_to_row[j] = -1;
            s_.v[j] = s_.ceiling;
            j = dummy_via_;
            continue;
        }
        const Index next = s_.row_to_col[i];
        s_.assign(i, j);
        if (i == source) break;
        j = next;
    }
    if (dummy_closed_) count_held();
}

template <class T>
void PathSearch<T>::count_held() {
    held_ = 0;
    for (Index j = 0; j < s_.columns; ++j) held_ += s_.col_to_row[j] < 0 && s_.v[j] == s_.ceiling;
}

// Gives the dummy rows their columns: those with the highest v, which come down to the same level, the ceiling. Rows
// that have one of them lose it, where there are too few unassigned ones. Nothing happens when all prices are zero.
template <class T>
void PathSearch<T>::prepare_dummy_rows() {
    const Index spare = s_.spare();
    std::vector<D> prices = s_.v;
    s_.ceiling = kth_highest(spare, prices);
    const auto release = [&](Index j) {
        const Index i = s_.col_to_row[j];
        if (i >= 0) s_.row_to_col[i] = s_.col_to_row[j] = -1;
    };
    for (Index j = 0; j < s_.columns; ++j)
        if (s_.v[j] > s_.ceiling) {
            release(j);
            s_.v[j] = s_.ceiling;
        }
    count_held();
    for (Index j = 0; j < s_.columns && held_ < spare; ++j)
        if (s_.col_to_row[j] >= 0 && s_.v[j] == s_.ceiling) {
            release(j);
            ++held_;
        }
}

}  // namespace lapwing
