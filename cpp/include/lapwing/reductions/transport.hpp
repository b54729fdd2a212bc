// A transportation problem: units from sources to sinks, at the least cost (reductions/equal_lines.hpp).
//
// Shortest augmenting paths, each of which carries as many units as it can (J. Edmonds, R. M. Karp, Journal of the ACM
// 19, 1972; Dijkstra, dense, under reduced costs). O(cols) a source that a search visits or a sink that it scans.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Invariants between searches: costs - v >= the row's least, with equality where units go; v <= 0, and 0 for sinks with
// room, unless all sinks are full at the end.
template <class D>
class Transport {
  public:
    std::vector<D> v;
    std::vector<Index> units;  // [rows, cols]

    Transport(const std::vector<D>& costs, Index rows, Index cols, std::vector<Index> supply, std::vector<Index> room,
              bool all_full)
        : v(cols), units(static_cast<std::size_t>(rows) * cols), costs_(costs), rows_(rows), cols_(cols),
          supply_(std::move(supply)), room_(std::move(room)), sources_of_(cols), distance_(cols), parent_(cols),
          entered_by_(rows), is_scanned_(cols), is_visited_(rows) {
        if (all_full) {
            std::fill(v.begin(), v.end(), kInfinity<D>);
            for (Index r = 0; r < rows; ++r)
                for (Index c = 0; c < cols; ++c) v[c] = std::min(v[c], cost(r, c));
            for (D& price : v) price = price == kInfinity<D> ? 0 : price;
        }
    }

    // False if a unit finds no sink, the searches scan more than `most_scans` costs, or the time is up.
    bool run(double most_scans, Control& control) {
        for (Index r = 0; r < rows_; ++r)
            while (supply_[r] > 0) {
                if (control.poll({"search"}) || !search(r) || scans_ > most_scans) return false;
                augment(r);
            }
        return true;
    }

    // cost - v where a row's units go; of floats the least of several that are equal but for rounding.
    std::vector<D> least_of_rows() const {
        std::vector<D> least(rows_, kInfinity<D>);
        for (Index r = 0; r < rows_; ++r)
            for (Index c = 0; c < cols_; ++c)
                if (units[static_cast<std::size_t>(r) * cols_ + c] > 0)
                    least[r] = std::min(least[r], cost(r, c) - v[c]);
        return least;
    }

  private:
    D cost(Index r, Index c) const { return costs_[static_cast<std::size_t>(r) * cols_ + c]; }

    Index& units_of(Index r, Index c) { return units[static_cast<std::size_t>(r) * cols_ + c]; }

    // A shortest path from source r to a sink with room, and prices under which it is tight.
    bool search(Index source) {
        std::fill(distance_.begin(), distance_.end(), kInfinity<D>);
        std::fill(is_scanned_.begin(), is_scanned_.end(), char{0});
        std::fill(is_visited_.begin(), is_visited_.end(), char{0});
        scanned_.clear();
        visit(source, D{0});
        for (;;) {
            Index nearest = -1;
            D least = kInfinity<D>;
            scans_ += cols_;
            for (Index c = 0; c < cols_; ++c)
                if (!is_scanned_[c] &&
                    (distance_[c] < least || (distance_[c] == least && nearest >= 0 && room_[c] > 0))) {
                    least = distance_[c];
                    nearest = c;
                }
            if (nearest < 0) return false;
            if (room_[nearest] > 0) {
                sink_ = nearest;
                for (const Index c : scanned_) v[c] += distance_[c] - least;
                return true;
            }
            is_scanned_[nearest] = 1;
            scanned_.push_back(nearest);
            for (const Index r : sources_of_[nearest]) {
                if (is_visited_[r]) continue;
                entered_by_[r] = nearest;
                visit(r, least - (cost(r, nearest) - v[nearest]));
            }
        }
    }

    // Relaxes all pairs of source r, where cost - v less the source's least is added to the way there: `offset`.
    void visit(Index r, D offset) {
        is_visited_[r] = 1;
        scans_ += cols_;
        const D* row = costs_.data() + static_cast<std::size_t>(r) * cols_;
        for (Index c = 0; c < cols_; ++c) {
            if (is_scanned_[c] || !(row[c] < kInfinity<D>)) continue;
            const D reached = row[c] - v[c] + offset;
            if (reached < distance_[c]) {
                distance_[c] = reached;
                parent_[c] = r;
            }
        }
    }

    // As many units as the path can carry, from the source to the sink that the search has found.
    void augment(Index source) {
        Index most = std::min(supply_[source], room_[sink_]);
        for (Index c = sink_; parent_[c] != source;) {
            const Index r = parent_[c], back = entered_by_[r];
            most = std::min(most, units_of(r, back));
            c = back;
        }
        supply_[source] -= most;
        room_[sink_] -= most;
        for (Index c = sink_;;) {
            const Index r = parent_[c];
            if (units_of(r, c) == 0) sources_of_[c].push_back(r);
            units_of(r, c) += most;
            if (r == source) return;
            c = entered_by_[r];
            if ((units_of(r, c) -= most) == 0) std::erase(sources_of_[c], r);
        }
    }

    const std::vector<D>& costs_;  // [rows, cols]
    const Index rows_, cols_;
    std::vector<Index> supply_, room_;            // units that are left, of sources and sinks
    std::vector<std::vector<Index>> sources_of_;  // of a sink's units
    std::vector<D> distance_;
    std::vector<Index> parent_, entered_by_;  // the source before a sink, and the sink before a source
    std::vector<char> is_scanned_, is_visited_;
    std::vector<Index> scanned_;
    Index sink_ = -1;
    double scans_ = 0;
};

}  // namespace lapwing
