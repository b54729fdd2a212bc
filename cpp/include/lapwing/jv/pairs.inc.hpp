// The pairs of jv/jv.inc.hpp's partial matching, and its queries for a column that is free, or can be made free at no
// cost.
//
// A column can be made free if its row has a spare. Column reduction puts every column's price at the column's minimum
// and matches a row with one of the columns whose minimum it is; the row's others are its spares. The price of a free
// column does not change, and a row with a spare has u = 0, so the pair stays tight until the spare is taken: the row
// may always move there. A search that reaches such a row's column has found an alternating path to a free column and
// does not read the row. Where many costs are equal, that ends a search as soon as such a column is seen, long before
// the row would be read.
namespace lapwing {
namespace LAPWING_TARGET {

// A bit for each column. A byte holds those of one vector: column j is bit j % kLanes of byte j / kLanes.
// Other bits have no meaning.
class ColumnSet {
  public:
    using Word = std::uint64_t;
    static constexpr Index kVectors = sizeof(Word);  // of columns in a word

    ColumnSet(Carver& memory, Index padded)
        : size((padded / kLanes + kVectors - 1) / kVectors), words_(memory.take<Word>(static_cast<std::size_t>(size))) {
    }

    const Index size;  // in words

    Word& word(Index w) { return words_[w]; }
    Word word(Index w) const { return words_[w]; }
    void insert(Index j) { words_[j / kLanes / kVectors] |= bit(j); }
    void erase(Index j) { words_[j / kLanes / kVectors] &= ~bit(j); }

    static Word bit(Index j) { return Word{1} << (j / kLanes % kVectors * 8 + j % kLanes); }
    // The first column that has a bit in `bits`, which are not 0, of word w.
    static Index first(Index w, Word bits) {
        const int k = __builtin_ctzll(bits);
        return (w * kVectors + k / 8) * kLanes + k % 8;
    }

  private:
    Word* words_;
};

class Matching {
  public:
    ColumnSet free;
    Index* const row_to_col;  // [rows], -1 where a row is free
    Index* const col_to_row;  // [cols]

    Matching(Carver& memory, Index rows, Index cols, Index padded)
        : free(memory, padded), row_to_col(memory.take<Index>(static_cast<std::size_t>(rows))),
          col_to_row(memory.take<Index>(static_cast<std::size_t>(padded))), rows_(rows), cols_(cols),
          vectors_(padded / kLanes), spared_(memory, padded),
          spare_(memory.take<Index>(static_cast<std::size_t>(rows))),
          next_spare_(memory.take<Index>(static_cast<std::size_t>(cols))),
          spare_of_(memory.take<Index>(static_cast<std::size_t>(cols))) {}

    // Nobody is matched, and nobody has a spare.
    void clear() {
        std::fill_n(row_to_col, rows_, Index{-1});
        std::fill_n(col_to_row, cols_, Index{-1});
        for (Index w = 0; w < free.size; ++w) free.word(w) = ~ColumnSet::Word{0};
        keeps_spares_ = false;
    }

    // These pairs again, after others; spares are as they were left, if they were used.
    void put_back(const Index* pairs, bool with_spares) {
        clear();
        for (Index i = 0; i < rows_; ++i)
            if (pairs[i] >= 0) take(pairs[i], i);
        keeps_spares_ = with_spares;
    }

    // From now on spares are used. nearest[j] is the row where free column j has its minimum, which is its price; or
    // -1.
    void keep_spares(const std::int64_t* nearest) {
        keeps_spares_ = true;
        for (Index w = 0; w < spared_.size; ++w) spared_.word(w) = 0;
        std::fill_n(spare_, rows_, Index{-1});
        for (Index j = 0; j < cols_; ++j) {
            spare_of_[j] = -1;
            const auto i = static_cast<Index>(nearest[j]);
            if (i < 0 || col_to_row[j] >= 0) continue;
            next_spare_[j] = spare_[i];
            spare_[i] = j;
            spare_of_[j] = i;
            if (row_to_col[i] >= 0) spared_.insert(row_to_col[i]);
        }
    }
    bool keeps_spares() const { return keeps_spares_; }

    // Column j is row i's. The row that had it, and the column that i had, are for the caller to settle.
    void take(Index j, Index i) {
        const bool was_free = col_to_row[j] < 0;
        col_to_row[j] = i;
        row_to_col[i] = j;
        free.erase(j);
        if (!keeps_spares_) return;
        if (was_free && spare_of_[j] >= 0) forget_spare(spare_of_[j]);
        if (spare_[i] >= 0) {
            spared_.insert(j);
        } else {
            spared_.erase(j);
        }
    }
    // Row i has no column any more; spares are not yet used.
    void release(Index i) {
        const Index j = row_to_col[i];
        col_to_row[j] = row_to_col[i] = -1;
        free.insert(j);
    }
    // The first free column with exactly this value, -1 if there is none; `read` is increased by the vectors looked at.
    // See claim.
    template <class D, class F>
    LAPWING_INLINE Index find_free(D value, F&& values_from, Index& read) const {
        const Vec<D> wanted = broadcast(value);
        for (Index w = 0; w < free.size; ++w) {
            if (free.word(w) == 0) continue;
            const Index begin = w * ColumnSet::kVectors, end = std::min(begin + ColumnSet::kVectors, vectors_);
            ColumnSet::Word hits = 0;
            for (Index b = begin; b < end; ++b)
                hits |= ColumnSet::Word{bits(equal(values_from(b * kLanes), wanted))} << (b - begin) * 8;
            read += end - begin;
            if ((hits & free.word(w)) != 0) return ColumnSet::first(w, hits & free.word(w));
        }
        return -1;
    }
    // The first column with exactly this value that is free, or else one that is made free by moving its row to a
    // spare; -1 if there is none. The caller takes it. values_from(j) is the vector of values that begins with column
    // j.
    template <class D, class F>
    LAPWING_INLINE Index claim(D value, F&& values_from) {
        const Vec<D> wanted = broadcast(value);
        Index held = -1;
        for (Index w = 0, b = 0; w < free.size; ++w) {
            const Index end = std::min(b + ColumnSet::kVectors, vectors_);
            ColumnSet::Word hits = 0;
#pragma GCC unroll 8
            for (int shift = 0; b < end; ++b, shift += 8)
                hits |= ColumnSet::Word{bits(equal(values_from(b * kLanes), wanted))} << shift;
            if ((hits & free.word(w)) != 0) return ColumnSet::first(w, hits & free.word(w));
            if (!keeps_spares_ || held >= 0 || (hits & spared_.word(w)) == 0) continue;
            held = ColumnSet::first(w, hits & spared_.word(w));
        }
        if (held >= 0) take(spare_[col_to_row[held]], col_to_row[held]);
        return held;
    }

  private:
    // One of row i's spares was taken.
    void forget_spare(Index i) {
        Index& first = spare_[i];
        while (first >= 0 && col_to_row[first] >= 0) first = next_spare_[first];
        if (first < 0 && row_to_col[i] >= 0) spared_.erase(row_to_col[i]);
    }

    const Index rows_, cols_, vectors_;
    bool keeps_spares_ = false;
    ColumnSet spared_;  // the columns whose rows have a spare
    // A row's spares are a list; those that were taken are dropped when they come first.
    Index* const spare_;       // [rows], the first of the row's list, -1 if it is empty
    Index* const next_spare_;  // [cols]
    Index* const spare_of_;    // [cols], the row in whose list the column is or was, -1 for none
};

}  // namespace LAPWING_TARGET
}  // namespace lapwing
