// Sets of columns, a bit each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

class Columns {
  public:
    using Word = std::uint64_t;
    static constexpr std::size_t kBits = 64;

    static std::size_t words_for(Index count) { return (static_cast<std::size_t>(count) + kBits - 1) / kBits; }
    static std::size_t word_of(Index j) { return static_cast<std::size_t>(j) / kBits; }
    static Word bit(Index j) { return Word{1} << (static_cast<std::size_t>(j) % kBits); }
    static bool has(const Word* words, Index j) { return (words[word_of(j)] & bit(j)) != 0; }
    static void insert(Word* words, Index j) { words[word_of(j)] |= bit(j); }
    static void erase(Word* words, Index j) { words[word_of(j)] &= ~bit(j); }

    // A bit for each of kBits bytes that are 0 or 1.
    static Word packed(const unsigned char* bytes) {
        constexpr std::size_t kBytes = sizeof(Word);
        Word word = 0;
        for (std::size_t k = 0; k < kBits; k += kBytes) {
            Word eight = 0;
            std::memcpy(&eight, bytes + k, kBytes);
            if constexpr (std::endian::native == std::endian::little)
                word |= (eight * 0x0102040810204080u >> 56) << k;  // byte t to bit 56 + t
            else
                for (std::size_t t = 0; t < kBytes; ++t) word |= static_cast<Word>(bytes[k + t]) << (k + t);
        }
        return word;
    }

    explicit Columns(Index count) : words_(words_for(count), Word{0}) {}
    bool has(Index j) const { return has(words_.data(), j); }
    void insert(Index j) { insert(words_.data(), j); }
    void erase(Index j) { erase(words_.data(), j); }
    void clear() { std::fill(words_.begin(), words_.end(), Word{0}); }

    // The first column from `cursor` on that another set has, too; the cursor moves beyond it. -1: none.
    Index next_of(const Word* others, std::int64_t& cursor) const {
        const auto at = static_cast<std::size_t>(cursor);
        Word mask = ~Word{0} << (at % kBits);
        for (std::size_t w = at / kBits; w < words_.size(); ++w, mask = ~Word{0}) {
            const Word both = words_[w] & others[w] & mask;
            if (both == 0) continue;
            const auto j = static_cast<std::int64_t>(w * kBits) + std::countr_zero(both);
            cursor = j + 1;
            return static_cast<Index>(j);
        }
        cursor = static_cast<std::int64_t>(words_.size() * kBits);
        return -1;
    }

  private:
    std::vector<Word> words_;
};

}  // namespace lapwing
