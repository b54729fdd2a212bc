// Shortest augmenting paths on sparse rows: the stage that makes the assignment complete and exact.
//
// Dijkstra's algorithm from one free row over reduced costs (the successive shortest path method; Jonker and Volgenant,
// Computing 38, 1987). Nodes are columns. The search ends at the nearest free column, or at the exit of a row that may
// stay free, whichever is nearer; paths that cannot beat the best end found are never pushed. Columns at the distance
// of the row that is being scanned need no heap: they wait on a stack (ties are many where costs are integers).
// O(degree) a row scanned, and O(log) a push.
#pragma once

#include "lapwing/core/heap.hpp"
#include "lapwing/sparse/state.hpp"

namespace lapwing {

enum class SparseOutcome { augmented, infeasible, expired };

template <class T>
class SparseSearch {
  public:
    using D = Dual<T>;

    explicit SparseSearch(SparseState<T>& state)
        : s_(state), heap_(state.n), dist_(state.n, kInfinity<D>), pred_(state.n, -1) {}

    // Gives free row `source` a column, or its exit, or the exit of a row that it displaces.
    SparseOutcome augment(Index source);

    // After `augmented`: by how much the dual objective has risen.
    D length() const { return bound_; }

    // After `infeasible`: the rows of the search tree and all columns that they may take, which are one fewer. No part
    // of these rows has too few columns: a part without the source has its own partners, and one with it reaches them
    // all.
    std::vector<Index> tree_rows(Index source) const {
        std::vector<Index> rows{source};
        for (const Index j : settled_) rows.push_back(s_.col_to_row[j]);
        return rows;
    }
    const std::vector<Index>& tree_columns() const { return settled_; }

  private:
    void reset();
    void scan(Index i, D d);
    void settle(Index j, D d);
    void update_duals(Index source);
    void flip(Index source);

    SparseState<T>& s_;
    IndexedHeap<D> heap_;
    std::vector<D> dist_;      // of columns; kInfinity where not reached
    std::vector<Index> pred_;  // the row from which a column is reached
    std::vector<Index> touched_, settled_, ready_;
    D bound_ = 0;                       // distance of the nearest end found
    Index end_col_ = -1, leaver_ = -1;  // which is this column, or the exit of this row
};

template <class T>
void SparseSearch<T>::reset() {
    for (const Index j : touched_) dist_[j] = kInfinity<D>;
    touched_.clear();
    settled_.clear();
    ready_.clear();
    heap_.clear();
    bound_ = kInfinity<D>;
    end_col_ = leaver_ = -1;
}

template <class T>
SparseOutcome SparseSearch<T>::augment(Index source) {
    reset();
    ++s_.paths;
    const BestPair<D> best = best_pair(s_, source);
    if (best.col == -1) return SparseOutcome::infeasible;
    s_.u[source] = best.first;
    scan(source, D{0});
    for (;;) {
        if (!ready_.empty()) {
            const Index j = ready_.back();
            ready_.pop_back();
            settle(j, dist_[j]);
        } else if (!heap_.empty() && heap_.top_key() < bound_) {
            const D d = heap_.top_key();
            settle(heap_.pop(), d);
        } else {
            break;
        }
        if (s_.control.poll(s_.progress)) return SparseOutcome::expired;
    }
    if (end_col_ < 0 && leaver_ < 0) return SparseOutcome::infeasible;
    update_duals(source);
    flip(source);
    return SparseOutcome::augmented;
}

template <class T>
void SparseSearch<T>::settle(Index j, D d) {
    settled_.push_back(j);
    scan(s_.col_to_row[j], d);
}

template <class T>
void SparseSearch<T>::scan(Index i, D d) {
    ++s_.rows_scanned;
    const D base = d - s_.u[i];
    if (s_.exits != nullptr && s_.exits[i] < kInfinity<D> && base + s_.exits[i] < bound_) {
        bound_ = std::max(base + s_.exits[i], d);
        end_col_ = -1;
        leaver_ = i;
    }
    const auto& row = s_.pairs.rows[i];
    const SparseEntry<T>* e = s_.entries(i);
    const SparseEntry<T>* const end = e + (base + row.tau < bound_ ? row.count : row.listed);
    for (; e != end; ++e) {
        const Index j = e->col;
        // Rounding can make a reduced cost negative; a path never gets shorter by it.
        const D reached = std::max(base + (static_cast<D>(e->cost) - s_.v[j]), d);
        if (!(reached < bound_ && reached < dist_[j])) continue;
        const Index owner = s_.col_to_row[j];
        if (dist_[j] == kInfinity<D>) touched_.push_back(j);
        dist_[j] = reached;
        pred_[j] = i;
        if (owner < 0) {
            bound_ = reached;
            end_col_ = j;
            leaver_ = -1;
        } else {
            __builtin_prefetch(&s_.pairs.rows[owner]);
            if (reached > d || heap_.contains(j))
                heap_.lower(j, reached);
            else
                ready_.push_back(j);
        }
    }
}

template <class T>
void SparseSearch<T>::update_duals(Index source) {
    for (const Index j : settled_) {
        const D rise = std::max(bound_ - dist_[j], D{0});
        s_.v[j] -= rise;
        s_.u[s_.col_to_row[j]] += rise;
    }
    s_.u[source] += bound_;
}

template <class T>
void SparseSearch<T>::flip(Index source) {
    Index j = end_col_;
    if (leaver_ >= 0) {  // its column goes to the row before it on the path
        j = s_.row_to_col[leaver_];
        s_.row_to_col[leaver_] = kExit;
        if (leaver_ == source) return;
    }
    for (;;) {
        const Index i = pred_[j];
        const Index next = s_.row_to_col[i];
        s_.assign(i, j);
        if (i == source) return;
        j = next;
    }
}

}  // namespace lapwing
