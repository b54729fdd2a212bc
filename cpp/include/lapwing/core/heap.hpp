// A 4-ary min-heap of (key, id) that knows where each id is, so that a key can be lowered in place.
//
// Shortest-path searches lower the key of the same few columns again and again (on chains of near-ties dozens of
// times); with lazy duplicates the heap would grow by as much.
#pragma once

#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

template <class D>
class IndexedHeap {
  public:
    explicit IndexedHeap(Index ids) : place_(static_cast<std::size_t>(ids), kAbsent) {}

    bool empty() const { return entries_.empty(); }
    Index top() const { return entries_.front().id; }
    D top_key() const { return entries_.front().key; }
    bool contains(Index id) const { return place_[id] != kAbsent; }

    // Adds the id, or lowers its key.
    void lower(Index id, D key) {
        Index at = place_[id];
        if (at == kAbsent) {
            at = static_cast<Index>(entries_.size());
            entries_.push_back({key, id});
        }
        while (at > 0) {
            const Index parent = (at - 1) / 4;
            if (!(key < entries_[parent].key)) break;
            put(at, entries_[parent]);
            at = parent;
        }
        put(at, {key, id});
    }

    Index pop() {
        const Index id = entries_.front().id;
        place_[id] = kAbsent;
        const Entry last = entries_.back();
        entries_.pop_back();
        if (!entries_.empty()) sink(last);
        return id;
    }

    void clear() {
        for (const Entry& entry : entries_) place_[entry.id] = kAbsent;
        entries_.clear();
    }

  private:
    struct Entry {
        D key;
        Index id;
    };
    static constexpr Index kAbsent = -1;

    void put(Index at, Entry entry) {
        entries_[at] = entry;
        place_[entry.id] = at;
    }
    // Places `entry`, starting from a hole at the root.
    void sink(Entry entry) {
        const Index size = static_cast<Index>(entries_.size());
        Index at = 0;
        for (;;) {
            const Index first = 4 * at + 1;
            if (first >= size) break;
            Index least = first;
            const Index end = first + 4 < size ? first + 4 : size;
            for (Index child = first + 1; child < end; ++child)
                if (entries_[child].key < entries_[least].key) least = child;
            if (!(entries_[least].key < entry.key)) break;
            put(at, entries_[least]);
            at = least;
        }
        put(at, entry);
    }

    std::vector<Entry> entries_;
    std::vector<Index> place_;  // of each id in entries_
};

}  // namespace lapwing
