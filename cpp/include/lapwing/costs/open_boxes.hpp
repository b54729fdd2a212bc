// The boxes (costs/boxes.hpp) that have open columns, in a search that closes one column after another. Deep in the
// region that a search has walked through, all columns near a row are closed, and no box need be looked at.
//
// Each box counts what is open in it: a box of the lowest level its columns, any other box those of its boxes that have
// an open column. O(1) a column on average, O(levels) at most.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

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

}  // namespace lapwing
