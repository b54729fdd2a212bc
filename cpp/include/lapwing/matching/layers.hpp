// The largest matching of a bipartite graph, from any matching: Hopcroft and Karp.
//
// Problem. Give columns to as many free rows as possible, by augmenting paths: rows and columns that are matched stay
// matched, perhaps otherwise.
// Method. In each phase, a breadth-first search from all free rows finds the length of the shortest augmenting paths,
// and a depth-first search takes disjoint ones of that length. Either comes to a column once, so a graph is asked only
// for columns of a row that are still of use. O(sqrt(k)) phases for k paths, each O(pairs); of rows of bits, each
// O(rows cols / 64 + pairs that it follows).
// Reference. Hopcroft and Karp, SIAM Journal on Computing 2, 1973.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lapwing/matching/columns.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Graph:
//   Index next(Index i, std::int64_t& cursor, const Columns& among)
//                               the next column of row i that is among these, -1 at the end; cursors begin at 0
//   bool is_open(Index j)       whether free column j may be taken
//   bool accepts(const std::vector<Index>& rows, const std::vector<Index>& cols)
//                               whether a path may be used: rows[k] leaves its column for cols[k]
template <class Graph>
class LayeredMatching {
  public:
    // `row_to_col`: below 0 for free rows; `sources`: those of them that want a column.
    LayeredMatching(Graph& graph, std::vector<Index>& row_to_col, std::vector<Index>& col_to_row,
                    std::vector<Index> sources)
        : graph_(graph), row_to_col_(row_to_col), col_to_row_(col_to_row), sources_(std::move(sources)),
          level_(row_to_col.size(), -1), seen_(col_to_row.size(), 0), of_use_(static_cast<Index>(col_to_row.size())) {}

    // Returns how many rows got a column.
    Index run() {
        Index gained = 0, before = -1;
        while (gained != before && find_layers()) {
            before = gained;
            choose([this](std::size_t j) { return seen_[j] != 0; });
            cursor_.assign(row_to_col_.size(), 0);
            std::size_t kept = 0;
            for (const Index i : sources_) {
                if (descend(i))
                    ++gained;
                else
                    sources_[kept++] = i;
            }
            sources_.resize(kept);
        }
        return gained;
    }
    // After run(): whether a path was not accepted, behind which others may lie.
    bool has_refused() const { return has_refused_; }
    // After run(): whether alternating paths lead from a source to the row or column. Rows not reached and columns
    // reached cover all pairs (Koenig).
    bool reached_row(Index i) const { return level_[static_cast<std::size_t>(i)] >= 0; }
    bool reached_col(Index j) const { return seen_[static_cast<std::size_t>(j)] != 0; }

  private:
    // The columns of use: of those that rows have, these, and of the others those that may be taken.
    template <class Choose>
    void choose(const Choose& is_of_use) {
        of_use_.clear();
        for (std::size_t j = 0; j < col_to_row_.size(); ++j)
            if (col_to_row_[j] < 0 ? graph_.is_open(static_cast<Index>(j)) : is_of_use(j))
                of_use_.insert(static_cast<Index>(j));
    }
    // Levels of rows, up to the first level from which a free column is seen; whether there is one.
    bool find_layers() {
        std::fill(level_.begin(), level_.end(), -1);
        std::fill(seen_.begin(), seen_.end(), char{0});
        choose([](std::size_t) { return true; });
        queue_ = sources_;
        for (const Index i : queue_) level_[static_cast<std::size_t>(i)] = 0;
        Index last = std::numeric_limits<Index>::max();
        for (std::size_t k = 0; k < queue_.size(); ++k) {
            const Index i = queue_[k], level = level_[static_cast<std::size_t>(i)];
            if (level > last) break;
            std::int64_t cursor = 0;
            for (Index j; (j = graph_.next(i, cursor, of_use_)) >= 0;) {
                const Index owner = col_to_row_[static_cast<std::size_t>(j)];
                if (owner < 0) {
                    last = level;
                    break;
                }
                of_use_.erase(j);
                seen_[static_cast<std::size_t>(j)] = 1;
                level_[static_cast<std::size_t>(owner)] = level + 1;
                queue_.push_back(owner);
            }
        }
        return last < std::numeric_limits<Index>::max();
    }
    // Along the layers from a free row to a free column; takes the path.
    bool descend(Index source) {
        rows_.assign(1, source);
        cols_.clear();
        while (!rows_.empty()) {
            const Index i = rows_.back();
            const Index j = graph_.next(i, cursor_[static_cast<std::size_t>(i)], of_use_);
            if (j < 0) {
                level_[static_cast<std::size_t>(i)] = -1;
                rows_.pop_back();
                if (!cols_.empty()) cols_.pop_back();
                continue;
            }
            const Index owner = col_to_row_[static_cast<std::size_t>(j)];
            if (owner >= 0) {
                if (level_[static_cast<std::size_t>(owner)] != level_[static_cast<std::size_t>(i)] + 1) continue;
                of_use_.erase(j);
                cols_.push_back(j);
                rows_.push_back(owner);
                continue;
            }
            cols_.push_back(j);
            if (!graph_.accepts(rows_, cols_)) {
                has_refused_ = true;
                cols_.pop_back();
                continue;
            }
            of_use_.erase(j);
            for (std::size_t k = 0; k < rows_.size(); ++k) {
                row_to_col_[static_cast<std::size_t>(rows_[k])] = cols_[k];
                col_to_row_[static_cast<std::size_t>(cols_[k])] = rows_[k];
                level_[static_cast<std::size_t>(rows_[k])] = -1;
            }
            return true;
        }
        return false;
    }

    Graph& graph_;
    std::vector<Index>&row_to_col_, &col_to_row_;
    std::vector<Index> sources_;
    std::vector<Index> level_;          // [rows] of the last search; -1: not reached, or done with
    std::vector<char> seen_;            // [cols]
    Columns of_use_;                    // not seen yet, or of layers and not tried yet; and free ones that may be taken
    std::vector<std::int64_t> cursor_;  // [rows] of the descents of a phase
    std::vector<Index> queue_, rows_, cols_;
    bool has_refused_ = false;
};

}  // namespace lapwing
