// The other start of jv/jv.inc.hpp, where searches after column reduction prove long: prices of zero, on trial.
//
// Which start is better is seen at once only where it matters most (steep_rows.hpp). Else searches tell: if those
// that are left will read several times as many rows as all steps so far, judged by the latest, prices and pairs are
// set aside, and rows bid from prices of zero. That start is taken if it comes to as few waiting rows for six tenths of
// the reads; judged by the halvings of the rows that wait, each of which takes as many reads as the one before, or
// more. If it falls behind, the searches go on where they had stopped. Most trials that fail end with row reduction, at
// about two reads a row.
//
// Rows read for each row of the matrix with the rule, and without: n = 1000, overlaps of discs 6.4 and 99, |x - y| 44
// and 44, all classes of benchmarks/everyday.py 0.78 times as many in the mean, at most 1.14.
namespace lapwing {
namespace LAPWING_TARGET {

template <class T, bool kNegated>
bool Jv<T, kNegated>::is_worth_a_trial(double begun) const {
    constexpr double kRowsEach = 2, kRatio = 2, kPerRoot = 0.35;
    if (!may_try_ || done_ < kRecent || scans_ - begun < kRowsEach * rows_) return false;
    const double left = recent_ * (free_count_ - done_);
    return left > kRatio * scans_ && left > kPerRoot * std::sqrt(rows_) * rows_;
}

// Optimal: the searches go on, from one start or the other.
template <class T, bool kNegated>
Status Jv<T, kNegated>::try_from_zero() {
    constexpr double kShare = 0.6;
    constexpr Index kSome = 8;  // an eighth of the rows that wait, before it is judged
    const Index target = free_count_ - done_;
    const double before = scans_, most = before + kShare * before;
    set_aside();
    start_at_zero();
    const bool is_up = reduce_rows(kReadsFromZero);
    const double begun = scans_;
    const Index waiting = free_count_;
    const auto is_behind = [&] {
        const Index left = free_count_ - done_;
        if (scans_ > most) return true;
        if (done_ < kRecent || done_ < waiting / kSome) return false;
        const double each = (scans_ - begun) / std::log(static_cast<double>(waiting) / left);  // of e of them, one
        return scans_ + each * std::log(static_cast<double>(left) / target) > most;
    };
    const Status status =
        is_up ? Status::time_limit : search_all([&] { return free_count_ - done_ <= target || is_behind(); });
    if (status == Status::infeasible) return status;
    if (free_count_ - done_ > target) {
        go_back();
    } else {
        start_bound();
    }
    return status;
}

template <class T, bool kNegated>
void Jv<T, kNegated>::set_aside() {
    aside_ = {free_count_, done_, recent_, bound_, matching_.keeps_spares()};
    std::copy_n(v_, padded_, aside_v_);
    std::copy_n(free_, free_count_, aside_free_);
    std::copy_n(matching_.row_to_col, rows_, aside_row_to_col_);
    bound_ = -kInfinity<double>;
    matching_.clear();
}
template <class T, bool kNegated>
void Jv<T, kNegated>::go_back() {
    free_count_ = aside_.free_count;
    done_ = aside_.done;
    recent_ = aside_.recent;
    bound_ = aside_.bound;
    std::copy_n(aside_v_, padded_, v_);
    std::copy_n(aside_free_, free_count_, free_);
    matching_.put_back(aside_row_to_col_, aside_.keeps_spares);
}

}  // namespace LAPWING_TARGET
}  // namespace lapwing
