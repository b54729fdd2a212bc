#include "lapwing/matching/ties.hpp"

#include <bit>
#include <utility>

#include "lapwing/costs/source.hpp"
#include "lapwing/exact/wide.hpp"
#include "lapwing/reductions/in_boxes.hpp"

namespace lapwing {
namespace {

// The tight pairs of a problem with unmatched costs, under optimal duals.
template <class T>
class TightPairs {
  public:
    using D = Dual<T>;

    // `v`: [cols] as minimised; `prices`: nullptr or [cols] of columns that stay free.
    TightPairs(const Problem<T>& problem, const std::vector<Index>& row_to_col, const D* v, const D* prices)
        : problem_(problem), row_to_col_(row_to_col), v_(v), prices_(prices),
          boxes_(problem.source != nullptr ? problem.source->boxes() : nullptr), reader_(problem.cost, problem.source),
          words_(Columns::words_for(problem.cost.cols)), bits_(words_), kept_(problem.cost.rows) {
        if (boxes_ != nullptr) boxes_->take_prices(v, box_prices_);
        for (Index j = 0; j < problem.cost.cols; ++j) largest_ = std::max(largest_, v[j] < 0 ? -v[j] : v[j]);
    }

    Index next(Index i, std::int64_t& cursor, const Columns& among) {
        return boxes_ != nullptr ? next_in_boxes(i, cursor, among) : among.next_of(bits_of(i), cursor);
    }
    // Puts rows with few tight pairs first, where they are known: they can choose least.
    void sort(std::vector<Index>& rows) {
        if (boxes_ != nullptr) return;
        std::vector<std::pair<int, Index>> counted;
        for (const Index i : rows) {
            const Columns::Word* words = bits_of(i);
            int count = 0;
            for (std::size_t w = 0; w < words_; ++w) count += std::popcount(words[w]);
            counted.emplace_back(count, i);
        }
        std::sort(counted.begin(), counted.end());
        std::ranges::transform(counted, rows.begin(), [](const auto& row) { return row.second; });
    }
    bool is_open(Index j) const { return is_nearly_tight(price(j), v_[j], D{0}, as_rounded_); }
    bool accepts(const std::vector<Index>& rows, const std::vector<Index>& cols) const {
        return pays<D>(
            rows, cols, row_to_col_,
            [this](Index i, Index j) { return j < 0 ? problem_.unmatched_cost[i] : at_pair(problem_, i, j); },
            [this](Index j) { return price(j); });
    }
    void follow_less() {
        as_rounded_ = true;
        std::fill(kept_.begin(), kept_.end(), std::vector<Columns::Word>());
        kept_bytes_ = 0;
        read_ = -1;
    }

  private:
    D price(Index j) const { return prices_ == nullptr ? D{0} : prices_[j]; }
    D dual_of(Index i) const {
        const Index j = row_to_col_[static_cast<std::size_t>(i)];
        if (j < 0) return problem_.unmatched_cost[i];
        return std::min(at_pair(problem_, i, j) - v_[j], problem_.unmatched_cost[i]);
    }
    // At least the c - v of all tight pairs of a row.
    D limit_of(D u) const {
        if constexpr (std::is_floating_point_v<D>)
            if (!as_rounded_) u += (std::fabs(u) + largest_) * 0x1p-47;
        return u;
    }
    Index next_in_boxes(Index i, std::int64_t& cursor, const Columns& among) {
        const D u = dual_of(i);
        if (i != read_) {
            read_ = i;
            D limit = limit_of(u);
            boxes_->nearest({i, problem_.maximize, v_, &box_prices_, problem_.cost.cols}, limit, near_);
        }
        for (; cursor < static_cast<std::int64_t>(near_.size()); ++cursor) {
            const NearColumn<T>& near = near_[static_cast<std::size_t>(cursor)];
            if (among.has(near.col) && is_nearly_tight(problem_.minimised(near.cost), u, v_[near.col], as_rounded_))
                return ++cursor, near.col;
        }
        return -1;
    }
    const Columns::Word* bits_of(Index i) {
        std::vector<Columns::Word>& kept = kept_[static_cast<std::size_t>(i)];
        if (!kept.empty()) return kept.data();
        if (i == read_) return bits_.data();
        const T* row = reader_.row(i);
        const D u = dual_of(i);
        for (std::size_t w = 0; w < words_; ++w) bits_[w] = word_of(row, static_cast<Index>(w * Columns::kBits), u);
        read_ = i;
        kept_bytes_ += words_ * sizeof(Columns::Word);
        if (kept_bytes_ <= kMostBytes) kept = bits_;
        return bits_.data();
    }

    // The tight pairs of a row in up to kBits columns from `first` on. Without branches, but for pairs that rounding
    // leaves in doubt.
    Columns::Word word_of(const T* row, Index first, D u) const {
        constexpr auto kBits = static_cast<Index>(Columns::kBits);
        const Index count = std::min(kBits, problem_.cost.cols - first);
        const D limit = limit_of(u), sign = problem_.maximize ? D{-1} : D{1};
        const T* const costs = row + first;
        const D* const v = v_ + first;
        unsigned char is_tight[kBits] = {}, may_be[kBits] = {};
        for (Index k = 0; k < count; ++k) {
            const D value = sign * static_cast<D>(costs[k]) - v[k];
            is_tight[k] = value <= u;
            may_be[k] = value <= limit;
        }
        Columns::Word tight = Columns::packed(is_tight);
        for (Columns::Word doubt = Columns::packed(may_be) & ~tight; doubt != 0; doubt &= doubt - 1) {
            const Index j = first + std::countr_zero(doubt);
            if (is_nearly_tight(problem_.minimised(row[j]), u, v_[j])) tight |= Columns::bit(j);
        }
        return tight;
    }

    static constexpr std::size_t kMostBytes = std::size_t{1} << 26;
    const Problem<T>& problem_;
    const std::vector<Index>& row_to_col_;
    const D *v_, *prices_;
    const ColumnBoxes<T>* boxes_;  // null: rows are read whole
    bool as_rounded_ = false;      // only pairs whose rounded cost - v - u is 0 or less
    BoxPrices<T> box_prices_;
    D largest_ = 0;                    // magnitude of v
    std::vector<NearColumn<T>> near_;  // of row read_, columns that may be tight
    RowReader<T> reader_;
    std::size_t words_, kept_bytes_ = 0;            // of bits: of a row, and of all
    std::vector<Columns::Word> bits_;               // of row read_, its tight pairs
    std::vector<std::vector<Columns::Word>> kept_;  // [rows] the same of others; empty where not kept
    Index read_ = -1;
};

// Matches these free rows, as far as that costs nothing. Returns how many.
template <class T>
Index match_tied_rows(const Problem<T>& problem, std::vector<Index>& row_to_col, const Dual<T>* v,
                      const Dual<T>* prices) {
    std::vector<Index> free, col_to_row(static_cast<std::size_t>(problem.cost.cols), -1);
    for (Index i = 0; i < problem.cost.rows; ++i) {
        const Index j = row_to_col[static_cast<std::size_t>(i)];
        if (j < 0)
            free.push_back(i);
        else
            col_to_row[static_cast<std::size_t>(j)] = i;
    }
    TightPairs<T> pairs(problem, row_to_col, v, prices);
    pairs.sort(free);
    return match_along(pairs, row_to_col, col_to_row, free);
}

}  // namespace

template <class T>
Index match_ties(const Problem<T>& problem, std::vector<Index>& row_to_col, const Dual<T>* v, const Dual<T>* prices) {
    using D = Dual<T>;
    const auto free =
        static_cast<Index>(std::count_if(row_to_col.begin(), row_to_col.end(), [](Index j) { return j < 0; }));
    if (free == 0 || free + problem.cost.cols == problem.cost.rows) return 0;
    Control control;
    const auto boxed = InBoxes<T>::of(problem, 1, control);
    if (!boxed) return match_tied_rows(problem, row_to_col, v, prices);
    std::vector<D> of_cols = boxed->of_cols(v), of_rows(row_to_col.size()), given;
    if (prices != nullptr) given = boxed->of_cols(prices);
    std::vector<Index> assignment = boxed->assignment(row_to_col.data());
    const Index gained =
        match_tied_rows(boxed->problem(), assignment, of_cols.data(), prices != nullptr ? given.data() : nullptr);
    if (gained == 0) return 0;
    boxed->give_back(of_rows, of_cols, assignment);
    row_to_col = std::move(assignment);
    return gained;
}

#define LAPWING_TIES(T) \
    template Index match_ties(const Problem<T>&, std::vector<Index>&, const Dual<T>*, const Dual<T>*);
LAPWING_TIES(float)
LAPWING_TIES(double)
LAPWING_TIES(std::int32_t)
LAPWING_TIES(std::int64_t)
LAPWING_TIES(Int128)
LAPWING_TIES(Wide)
#undef LAPWING_TIES

}  // namespace lapwing
