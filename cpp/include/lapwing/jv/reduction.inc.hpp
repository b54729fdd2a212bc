// Steps 1 and 2 of jv/jv.inc.hpp: the prices and pairs from which searches start.
namespace lapwing {
namespace LAPWING_TARGET {

// Step 1, checking the costs on the way. Long columns are walked a few rows at a time, so that every row is one of
// few streams from memory.
template <class T, bool kNegated>
void Jv<T, kNegated>::reduce_columns() {
    constexpr Index kStreams = 8;
    std::int64_t* nearest = from_;
    Mask valid = costs_.is_usual(Vec<D>{});
    const unsigned all = bits(valid);
    std::fill_n(v_, padded_, kInfinity<D>);
    std::fill_n(nearest, padded_, std::int64_t{0});
    const Index step = rows_ <= kShortColumn ? rows_ : kStreams;
    for (Index begin = 0, end; begin < rows_; begin = end) {
        end = std::min(begin + step, rows_);
        for (Index j = 0; j < padded_; j += kLanes) {
            Vec<D> best = load<Vec<D>>(v_ + j);
            Lanes where = load<Lanes>(nearest + j);
            Lanes me = broadcast(static_cast<std::int64_t>(begin));
            for (Index i = begin; i < end; ++i) {
                const Vec<D> x = costs_[i].vector(j);
                if constexpr (!Rows<T, kNegated>::kAlwaysUsual) valid = static_cast<Mask>(valid & costs_.is_usual(x));
                where = select(less(x, best), me, where);
                best = lane_min(best, x);
                me += 1;
            }
            store(v_ + j, best);
            store(nearest + j, where);
        }
    }
    for (Index i = 0; i < rows_ && bits(valid) != all; ++i) costs_.check(i);
    close_padding();
    has_nearest_ = !fits_registers();  // where reading a row costs no more than keeping account of spares
    Index* taken = hall_rows_;         // columns that name this row as their nearest
    std::fill_n(taken, rows_, Index{0});
    for (Index j = 0; j < cols_; ++j) {  // upwards: the identity for equal costs, as SciPy
        if (infinite(v_[j])) {           // nobody can have it
            v_[j] = D{};
            nearest[j] = -1;
            continue;
        }
        const auto i = static_cast<Index>(nearest[j]);
        if (taken[i]++ == 0) matching_.take(j, i);
    }
    free_count_ = 0;
    for (Index i = 0; i < rows_; ++i) {
        if (taken[i] == 0) free_[free_count_++] = i;
    }
    for (Index i = 0; i < rows_ && free_count_ > 0; ++i) {
        if (taken[i] == 1) transfer(i);
    }
    scans_ += rows_;
    if (free_count_ > rows_ / 2) take_attained_minima();
}

// Under these prices no reduced cost is below 0, so one of 0 is its row's minimum. Rows for which there is none
// are read in vain: after a few of them the others are left to step 2.
template <class T, bool kNegated>
void Jv<T, kNegated>::take_attained_minima() {
    constexpr int kPatience = 8;                      // rows in vain, of which one that takes a column makes up for two
    constexpr Index kFewWithout = 24, kManyWith = 4;  // one of so many rows
    int patience = kPatience;
    Index left = 0, vectors = 0;
    for (Index k = 0; k < free_count_; ++k) {
        const Index i = free_[k];
        Index column = -1;
        if (patience > 0) {
            const auto reduced = [&](Index j) { return costs_[i].vector(j) - load<Vec<D>>(v_ + j); };
            column = matching_.find_free(D{0}, reduced, vectors);
            patience = column < 0 ? patience - 1 : std::min(patience + 2, kPatience);
        }
        if (column < 0) {
            free_[left++] = i;
        } else {
            matching_.take(column, i);
        }
    }
    scans_ += static_cast<double>(vectors) * kLanes / cols_;
    const Index waited = std::exchange(free_count_, left);
    if (waited - left > waited / kManyWith && left > waited / kFewWithout) take_rarest_minima(waited / kFewWithout);
}

// The same once more, where the first free column was a poor choice: of the free columns whose minimum it attains, a
// row takes the one whose minimum the fewest rows attain. But not if at most `few` of the rows without a column attain
// any minimum.
template <class T, bool kNegated>
void Jv<T, kNegated>::take_rarest_minima(Index few) {
    D* attained_by = distance_;  // so many rows, which wait; infinite where the column is taken
    std::fill_n(attained_by, padded_, D{});
    const auto waits = [&](Index i) { return hall_rows_[i] == 0; };  // it is no column's nearest
    const auto attained = [&](Vec<D> cost, Index j) { return equal(cost - load<Vec<D>>(v_ + j), broadcast(D{})); };
    Index waiting = 0, hopeful = 0;
    for (Index i = 0; i < rows_; ++i) {
        if (!waits(i)) continue;
        if (expired()) return;
        unsigned any = 0;
        costs_[i].for_each([&](Vec<D> cost, Index j) __attribute__((always_inline)) {
            const Vec<D> count = load<Vec<D>>(attained_by + j);
            const auto is_attained = attained(cost, j);
            any |= bits(is_attained);
            store(attained_by + j, select(is_attained, count + broadcast(D{1}), count));
        });
        ++waiting;
        hopeful += any != 0 && matching_.row_to_col[i] < 0;
    }
    scans_ += waiting;
    if (hopeful <= few) return;
    Index left = 0;
    for (Index i = 0; i < rows_; ++i)
        if (waits(i) && matching_.row_to_col[i] >= 0) matching_.release(i);
    for (Index j = 0; j < padded_; ++j)
        if (j >= cols_ || matching_.col_to_row[j] >= 0) attained_by[j] = kInfinity<D>;
    for (Index i = 0; i < rows_; ++i) {
        if (!waits(i)) continue;
        if (expired()) {
            free_[left++] = i;
            continue;
        }
        Vec<D> fewest = broadcast(kInfinity<D>);
        Lanes where{};
        costs_[i].for_each([&](Vec<D> cost, Index j) __attribute__((always_inline)) {
            const Vec<D> count = select(attained(cost, j), load<Vec<D>>(attained_by + j), broadcast(kInfinity<D>));
            where = select(less(count, fewest), lane_numbers() + static_cast<std::int64_t>(j), where);
            fewest = lane_min(fewest, count);
        });
        const Vec<D> least = min_of_lanes(fewest);
        if (infinite(least[0])) {
            free_[left++] = i;
            continue;
        }
        std::int64_t columns[kLanes];
        store(columns, where);
        const auto column = static_cast<Index>(columns[__builtin_ctz(bits(equal(fewest, least)))]);
        matching_.take(column, i);
        attained_by[column] = kInfinity<D>;
    }
    free_count_ = left;
    scans_ += waiting;
}

// The row's own column is at 0 after column reduction: its price may fall by the row's second minimum.
template <class T, bool kNegated>
void Jv<T, kNegated>::transfer(Index i) {
    const auto two = two_smallest(costs_[i], v_, fetched_during(i, std::min(i + 1, rows_ - 1)));
    ++scans_;
    const Index j = matching_.row_to_col[i];
    if (!infinite(two.second)) put(v_, j, v_[j] - two.second);
}

// All rows wait, and every price is zero: no column's minimum any more.
template <class T, bool kNegated>
void Jv<T, kNegated>::start_at_zero() {
    std::fill_n(v_, cols_, D{});
    close_padding();
    has_nearest_ = false;
    std::iota(free_, free_ + rows_, Index{0});
    free_count_ = rows_;
    done_ = 0;
    recent_ = 0;
}

// Instead of both steps.
template <class T, bool kNegated>
void Jv<T, kNegated>::go_on() {
    start_at_zero();
    std::copy_n(state_->v.data(), cols_, v_);
    free_count_ = 0;
    for (Index i = 0; i < rows_; ++i) {
        const Index j = state_->row_to_col[i];
        if (j >= 0)
            matching_.take(j, i);
        else
            free_[free_count_++] = i;
    }
    start_bound();
}

// Step 2, in which rows that are not yet checked are checked as they are first read: so many reads for each row of the
// matrix, and then as long as a match takes few. True when the time is up.
template <class T, bool kNegated>
bool Jv<T, kNegated>::reduce_rows(Index reads_each) {
    constexpr Index kFewReads = 16, kWindow = 4;  // judged after as many reads as a quarter of the rows
    const Index window = fits_registers() ? 0 : std::max(rows_ / kWindow, Index{1});
    Index budget = reads_each * rows_ - window, waited = free_count_;
    for (int pass = 0; pass < kRowReductionPasses; ++pass) {
        const Index todo = free_count_;
        free_count_ = 0;
        for (Index next = 0; next < todo;) {
            Index i = free_[next++];
            for (bool is_new = unchecked_; i >= 0; is_new = false) {
                if (budget-- == 0) {
                    const Index wait = free_count_ + 1 + todo - next, matches = std::exchange(waited, wait) - wait;
                    if (window == 0 || matches * kFewReads < window) {
                        if (is_new) costs_.check(i);
                        for (Index k = next; k < todo && unchecked_; ++k) costs_.check(free_[k]);
                        // Rows already seen come first: there is room, as each free row was counted once.
                        free_[free_count_++] = i;
                        free_count_ =
                            static_cast<Index>(std::copy(free_ + next, free_ + todo, free_ + free_count_) - free_);
                        return expired();
                    }
                    budget = window - 1;
                }
                i = reduce_row(i, next < todo ? free_[next] : i, is_new);
            }
        }
        unchecked_ = false;
        if (expired()) return true;
    }
    return false;
}

template <class T, bool kNegated>
TwoSmallest<Dual<T>> Jv<T, kNegated>::checked_two_smallest(Index i, Index ahead) {
    TwoSmallest<D> two;
    costs_.check_on_the_way([&](auto&& see) __attribute__((always_inline)) {
        two = two_smallest(costs_[i], v_, fetched_during(i, ahead), see);
    });
    return two;
}

// Gives row i a column if it can; returns the row that goes on at once, or -1. Row `ahead` is likely to be read
// next. A row that is new is checked.
template <class T, bool kNegated>
Index Jv<T, kNegated>::reduce_row(Index i, Index ahead, bool is_new) {
    auto [first, second, column] =
        is_new ? checked_two_smallest(i, ahead) : two_smallest(costs_[i], v_, fetched_during(i, ahead));
    ++scans_;
    if (unmatched_cost_ != nullptr) {
        if (unmatched_cost_[i] <= first && !infinite(unmatched_cost_[i])) return -1;  // it stays free
        second = std::min(second, unmatched_cost_[i]);
    }
    if (infinite(first)) {
        free_[free_count_++] = i;
        return -1;
    }
    const D price = v_[column];
    const D lowered = infinite(second) ? price : price - (second - first);
    Index holder = matching_.col_to_row[column];
    if (!(lowered < price) && holder >= 0) {
        if (has_nearest_ && !matching_.keeps_spares()) matching_.keep_spares(from_);
        const auto distances = [&](Index j) { return costs_[i].vector(j) - load<Vec<D>>(v_ + j); };
        const Index other = matching_.claim(first, distances);
        if (other >= 0) {
            column = other;
            holder = -1;
        }
    } else {
        put(v_, column, lowered);
    }
    matching_.take(column, i);
    if (holder < 0) return -1;
    matching_.row_to_col[holder] = -1;
    if (lowered < price) return holder;
    free_[free_count_++] = holder;
    return -1;
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
