// A search closes one column after another. These classes know which boxes (costs/boxes.hpp) have open columns, and how
// far they are. Deep in the region that a search has walked through, all columns near a row are closed, and it looks
// into no box; nor does it look into a box whose columns a row brings no nearer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

// Each box counts what is open in it: a box of the lowest level its columns, any other box those of its boxes that have
// an open column. O(1) a column on average, O(levels) at most.
//
// The boxes of a level are numbered from `first` on; each has `fan` of the level below, or `each` columns.
class OpenBoxes {
  public:
    struct Level {
        std::ptrdiff_t first;  // of its boxes among all
        Index size;
    };
    OpenBoxes(std::vector<Level> levels, Index columns, Index each, Index fan)
        : levels_(std::move(levels)), each_(each), fan_(fan),
          open_(static_cast<std::size_t>(levels_.back().first + levels_.back().size), 0) {
        for (Index j = 0; j < columns; ++j) reopen(j);
    }
    const std::vector<Level>& levels() const { return levels_; }
    Index columns_in_box() const { return each_; }
    Index boxes_in_box() const { return fan_; }
    const Index* open() const { return open_.data(); }
    void close(Index j) {
        Index box = j / each_;
        for (std::size_t l = 0; l < levels_.size() && --open_[levels_[l].first + box] == 0; ++l) box /= fan_;
    }
    void reopen(Index j) {
        Index box = j / each_;
        for (std::size_t l = 0; l < levels_.size() && ++open_[levels_[l].first + box] == 1; ++l) box /= fan_;
    }

  private:
    std::vector<Level> levels_;
    Index each_, fan_;
    std::vector<Index> open_;  // of the lowest level: columns; of the others: boxes that have an open column
};

// How far every open column is in a search, and, for each box, what none of its open columns is farther than: whoever
// is no nearer to a box than that need not look into it. Columns come nearer as a search goes on, so what was the
// largest distance once is never too small.
class BoxReach {
  public:
    explicit BoxReach(const OpenBoxes& boxes)
        : levels_(boxes.levels()), each_(boxes.columns_in_box()), fan_(boxes.boxes_in_box()),
          columns_(static_cast<std::size_t>(levels_[0].size) * static_cast<std::size_t>(each_)) {
        boxes_.resize(static_cast<std::size_t>(levels_.back().first + fan_));
    }
    // distance(j): -infinity if column j is closed.
    template <class Distance>
    void start(Index columns, const Distance& distance) {
        std::fill(columns_.begin(), columns_.end(), -kInfinity<double>);
        for (Index j = 0; j < columns; ++j) columns_[j] = distance(j);
        std::fill(boxes_.begin(), boxes_.end(), -kInfinity<double>);
        for (const Level& level : levels_) std::fill_n(boxes_.begin() + level.first, level.size, kInfinity<double>);
    }
    void close(Index j) { columns_[j] = -kInfinity<double>; }
    double of_box(std::ptrdiff_t number) const { return boxes_[number]; }
    // Of the columns of a box of the lowest level, to be lowered.
    double* columns(Index box) { return &columns_[static_cast<std::ptrdiff_t>(box) * each_]; }
    // The largest distance of that box is known.
    void set(Index box, double farthest) {
        boxes_[levels_[0].first + box] = farthest;
        for (std::size_t l = 1; l < levels_.size(); ++l) {
            const std::ptrdiff_t first = levels_[l - 1].first + std::ptrdiff_t{box / fan_} * fan_;
            const double most = *std::max_element(&boxes_[first], &boxes_[first] + fan_);
            double& known = boxes_[levels_[l].first + (box /= fan_)];
            if (!(most < known)) return;
            known = most;
        }
    }

  private:
    using Level = OpenBoxes::Level;
    std::vector<Level> levels_;
    Index each_, fan_;
    std::vector<double> columns_, boxes_;  // with room at their ends, where nothing is ever reached
};

}  // namespace lapwing
