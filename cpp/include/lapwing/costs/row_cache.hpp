// The replacement policy of a cache of rows, for a source whose rows are expensive: the two policies of Guthe and
// Thuerck (Algorithm 1015, ACM TOMS 47, 2021), on numbered slots.
//
// Least frequently used where at least a quarter of the rows fit: uses are counted from the beginning, evictions
// included, and ties go to the row that was used longest ago. Segmented LRU (Karedla, Love, Wherry, "Caching strategies
// to improve disk system performance", IEEE Computer 27, 1994) below: a row that is used again moves to the protected
// segment, so one pass over all rows does not drive out those that are needed again and again.
//
// A row that was placed and not yet found is *fresh*: rows are placed by the block and must not drive each other out.
// O(1) a call for segmented LRU, O(log slots) for LFU, nothing where all rows fit.
#pragma once

#include <cstdint>
#include <list>
#include <set>
#include <tuple>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

class RowCache {
  public:
    // 1 <= slots <= rows.
    RowCache(Index rows, Index slots)
        : holds_all_(slots == rows), is_lfu_(std::int64_t{4} * slots >= rows), protected_limit_(slots - slots / 5 - 1),
          slot_of_(rows, -1), uses_(rows, 0), entries_(slots) {}

    // The slot of a row, which is used now; -1 if it is not held.
    Index find(Index row) {
        const Index slot = slot_of_[row];
        if (slot >= 0) use(slot);
        return slot;
    }
    bool holds(Index row) const { return slot_of_[row] >= 0; }
    bool is_fresh(Index row) const { return entries_[slot_of_[row]].segment == Segment::fresh; }

    // A slot for a row that is not held.
    Index place(Index row) {
        Index slot;
        if (!vacant_.empty()) {
            slot = vacant_.back();
            vacant_.pop_back();
        } else {
            slot = used_slots_ < static_cast<Index>(entries_.size()) ? used_slots_++ : evict();
        }
        slot_of_[row] = slot;
        entries_[slot].row = row;
        put(slot, Segment::fresh);
        return slot;
    }
    // Gives up a row that is held.
    void drop(Index row) {
        const Index slot = slot_of_[row];
        leave(slot);
        slot_of_[row] = -1;
        vacant_.push_back(slot);
    }

  private:
    enum class Segment { none, fresh, probation, protection, counted };
    using Rank = std::tuple<std::uint32_t, std::uint64_t, Index>;  // uses, time of the last use, slot
    struct Entry {
        Index row = -1;
        Segment segment = Segment::none;
        std::list<Index>::iterator place;  // in its segment's list
        Rank rank;                         // in counted_
    };

    std::list<Index>& list(Segment segment) {
        return segment == Segment::fresh ? fresh_ : segment == Segment::probation ? probation_ : protection_;
    }
    void put(Index slot, Segment segment) {
        Entry& entry = entries_[slot];
        entry.segment = segment;
        if (segment == Segment::counted) {
            entry.rank = {uses_[entry.row], ++clock_, slot};
            counted_.insert(entry.rank);
        } else {
            entry.place = list(segment).insert(list(segment).begin(), slot);
        }
    }
    void leave(Index slot) {
        Entry& entry = entries_[slot];
        if (entry.segment == Segment::counted)
            counted_.erase(entry.rank);
        else if (entry.segment != Segment::none)
            list(entry.segment).erase(entry.place);
        entry.segment = Segment::none;
    }
    void use(Index slot) {
        const Segment from = entries_[slot].segment;
        if (holds_all_ && from != Segment::fresh) return;
        ++uses_[entries_[slot].row];
        leave(slot);
        if (is_lfu_) {
            if (!holds_all_) put(slot, Segment::counted);
        } else if (from == Segment::fresh) {
            put(slot, Segment::probation);
        } else {
            put(slot, Segment::protection);
            if (static_cast<Index>(protection_.size()) > protected_limit_) {
                const Index oldest = protection_.back();
                leave(oldest);
                put(oldest, Segment::probation);
            }
        }
    }
    // Evicts the row with the least value; returns its slot.
    Index evict() {
        const Index slot = !counted_.empty()      ? std::get<2>(*counted_.begin())
                           : !probation_.empty()  ? probation_.back()
                           : !protection_.empty() ? protection_.back()
                                                  : fresh_.back();
        leave(slot);
        slot_of_[entries_[slot].row] = -1;
        return slot;
    }

    bool holds_all_, is_lfu_;
    Index protected_limit_;                            // four fifths of the slots
    std::vector<Index> slot_of_;                       // [rows], -1 where not held
    std::vector<std::uint32_t> uses_;                  // [rows]
    std::vector<Entry> entries_;                       // [slots]
    Index used_slots_ = 0;                             // slots that ever held a row
    std::vector<Index> vacant_;                        // and hold none now
    std::list<Index> fresh_, probation_, protection_;  // the latest first
    std::set<Rank> counted_;
    std::uint64_t clock_ = 0;
};

}  // namespace lapwing
