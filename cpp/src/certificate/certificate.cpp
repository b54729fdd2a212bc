#include "lapwing/certificate/certificate.hpp"

#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "lapwing/certificate/exact_sum.hpp"
#include "lapwing/certificate/pair.hpp"
#include "lapwing/certificate/point_boxes.hpp"
#include "lapwing/threads.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/certificate/certificate.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {
namespace {

using namespace proof;

constexpr Index kBlock = baseline::kCertificateBlock;
constexpr Index kBuffer = 1024;       // costs of a line copied at a time, or made by a source
constexpr Index kLinesTogether = 16;  // of a source

template <class D>
void report(Certificate<D>& result, Fault fault, Index row, Index col) {
    if (result.fault != Fault::none) return;
    result.fault = fault;
    result.fault_row = row;
    result.fault_col = col;
}

template <class D>
void violate(Certificate<D>& result, D amount, Index row, Index col) {
    if (!(amount > result.violation)) return;
    result.violation = amount;
    result.violation_row = row;
    result.violation_col = col;
}

// The worst violation of every line. A line is a row, or a column where columns are contiguous and rows are not.
template <class T>
class LineScan {
    using D = Dual<T>;

  public:
    struct Line {
        D violation = 0;
        Index position = -1;  // of the worst violation
        Index invalid = -1;   // position of a NaN or -inf
    };
    // `by_rows`: lines are rows wherever costs are contiguous.
    explicit LineScan(const CertificateInput<T>& in, bool by_rows = false)
        : by_columns_(in.sparse != nullptr ? in.sparse_by_columns
                                           : !by_rows && in.source == nullptr && lies_by_columns(in.cost)),
          lines_(by_columns_ ? in.cost.transposed() : in.cost), source_(in.source), sparse_(in.sparse),
          row_to_col_(in.row_to_col), maximize_(in.maximize), parts_(in.parts), line_duals_(by_columns_ ? in.v : in.u),
          cross_duals_(by_columns_ ? in.u : in.v), result_(static_cast<std::size_t>(lines_.rows)),
          matched_(source_ != nullptr || sparse_ != nullptr ? static_cast<std::size_t>(in.cost.rows) : 0),
          found_(sparse_ != nullptr ? matched_.size() : 0) {
        if (sparse_ != nullptr) begins_ = checked_begins(*sparse_);
        for (Index j = 0; j < lines_.cols; ++j) fast_ = fast_ && is_fast(cross_duals_[j]);
        if constexpr (std::is_floating_point_v<D>)
            if (sparse_ == nullptr) raise();
    }
    bool by_columns() const { return by_columns_; }
    const std::vector<Line>& lines() const { return result_; }
    // Whether the pair of row i and its column is given, after run(); dense costs all are.
    bool is_given(Index i) const { return sparse_ == nullptr || found_[static_cast<std::size_t>(i)] != 0; }
    // The cost of row i and its column, after run().
    T matched(Index i) const {
        return source_ != nullptr || sparse_ != nullptr
                   ? matched_[static_cast<std::size_t>(i)]
                   : (by_columns_ ? lines_.transposed() : lines_).at(i, static_cast<Index>(row_to_col_[i]));
    }
    void run(int threads, const KeepGoing& keep_going) {
        if constexpr (std::is_floating_point_v<T>)
            if (run_by_boxes(threads, keep_going)) return;
        if (source_ != nullptr) {
            const Index longest = std::max(kLinesTogether, source_->rows_at_once());
            return for_each_run(lines_, threads, keep_going, longest,
                                [this](Index begin, Index end) { scan_source(begin, end); });
        }
        for_each_run(lines_, threads, keep_going, [this](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) sparse_ != nullptr ? scan_sparse(i) : scan(i);
        });
    }

  private:
    bool by_columns_;  // lines are columns
    MatrixView<T> lines_;
    const CostSource<T>* source_;  // of the lines, where there is no matrix
    const SparseView<T>* sparse_;  // the lines, where pairs are missing
    const std::int64_t* row_to_col_;
    bool maximize_;
    int parts_;                   // of every dual
    const D* line_duals_;         // [parts, lines]
    const D* cross_duals_;        // [parts, positions]
    std::vector<D> lines_above_;  // [lines] at least the sums of parts, if there are several
    std::vector<D> raised_;       // [positions] of doubles: see certificate_raise
    bool fast_ = true;            // no cross dual can overflow the fast test
    std::vector<Line> result_;    // [lines]; each written by one thread
    std::vector<T> matched_;      // [rows] of a source or sparse costs: costs of matched pairs, picked up as they pass
    std::vector<char> found_;     // [rows] of sparse costs: whether that pair is given
    std::vector<std::int64_t> begins_;  // [lines + 1] of sparse costs: where lines begin

    // Proves each line of points against whole boxes of columns, as far as that goes. False if there are no boxes. Runs
    // of lines to which these were of no use are the last ones that use them.
    bool run_by_boxes(int threads, const KeepGoing& keep_going) {
        constexpr double kUseless = 0.5;  // share of the columns in boxes that are not proven
        if (source_ == nullptr || parts_ > 1) return false;
        Watch watch(keep_going);
        const auto boxes = CertificatePointBoxes<T>::of(source_, lines_.rows, lines_.cols, maximize_, cross_duals_,
                                                        threads, [&watch] { watch.look(); });
        if (boxes == nullptr) return false;
        std::atomic<bool> useful = true;
        for_each_run(lines_, threads, keep_going, [&](Index begin, Index end) {
            std::int64_t looked_at = 0;
            const bool by_boxes = useful;
            for (Index k = begin; k < end; ++k) {
                const Index i = boxes->row_order()[static_cast<std::size_t>(k)];
                if (by_boxes)
                    looked_at += scan_boxes(i, *boxes);
                else
                    scan_source(i, i + 1);
            }
            if (looked_at > kUseless * (end - begin) * lines_.cols) useful = false;
        });
        return true;
    }
    Index scan_boxes(Index i, const CertificatePointBoxes<T>& boxes) {
        const D a = line_duals_[i];
        const std::int64_t wanted = row_to_col_[i];
        if (0 <= wanted && wanted < lines_.cols)
            source_->read(i, static_cast<Index>(wanted), 1, &matched_[static_cast<std::size_t>(i)]);
        return boxes.visit_doubtful(i, a, [&](const T* cost, const Index* columns, const D* b, Index n) {
            Index undecided[kCertificateBoxColumns];
            const Index left = LAPWING_DISPATCH(certificate_undecided, cost, n, maximize_, a, b, undecided);
            for (Index t = 0; t < left; ++t) {
                const Index k = undecided[t];
                examine(i, cost[k], a, b[k], columns[k]);
            }
        });
    }
    void raise() {
        std::vector<D> cross_above;
        if (parts_ > 1) {
            lines_above_ = sums_above(line_duals_, lines_.rows, parts_);
            cross_above = sums_above(cross_duals_, lines_.cols, parts_);
        }
        raised_.resize(static_cast<std::size_t>(lines_.cols));
        LAPWING_DISPATCH(certificate_raise, parts_ > 1 ? lines_above_.data() : line_duals_, lines_.rows,
                         parts_ > 1 ? cross_above.data() : cross_duals_, lines_.cols, raised_.data());
    }
    void scan(Index i) {
        if (lines_.col_stride == 1) return scan(i, lines_.row(i), 0, lines_.cols);
        T buffer[kBuffer];
        Index n = 0;
        for (Index first = 0; first < lines_.cols; first += n) {
            n = std::min(kBuffer, lines_.cols - first);
            for (Index k = 0; k < n; ++k) buffer[k] = lines_.at(i, first + k);
            scan(i, buffer, first, n);
        }
    }
    // Lines begin .. end - 1, as many at once as the source makes best.
    void scan_source(Index begin, Index end) {
        const Index at_once = std::min(source_->rows_at_once(), end - begin);
        const Index across = at_once < kLinesTogether ? kBuffer : kBuffer / 4;
        std::vector<T> buffer(static_cast<std::size_t>(at_once) * static_cast<std::size_t>(across));
        for (Index next; begin < end; begin = next) {
            next = std::min(begin + at_once, end);
            source_->fetch(begin, next);
            for (Index first = 0, n; first < lines_.cols; first += n) {
                n = std::min(across, lines_.cols - first);
                source_->read_block(begin, next, first, n, buffer.data(), n);
                const T* costs = buffer.data();
                for (Index i = begin; i < next; ++i, costs += n) {
                    const std::int64_t wanted = row_to_col_[i];
                    if (first <= wanted && wanted < first + n)
                        matched_[static_cast<std::size_t>(i)] = costs[static_cast<Index>(wanted) - first];
                    scan(i, costs, first, n);
                }
            }
        }
    }
    // The entries of a line are copied piece by piece beside the duals of their positions.
    void scan_sparse(Index i) {
        T cost[kBuffer];
        D dual[kBuffer];
        const D a = line_duals_[i];
        for (std::int64_t first = begins_[i]; first < begins_[i + 1]; first += kBuffer) {
            const auto n = static_cast<Index>(std::min<std::int64_t>(kBuffer, begins_[i + 1] - first));
            Index position[kBuffer];
            for (Index k = 0; k < n; ++k) {
                cost[k] = sparse_->data[first + k];
                position[k] = sparse_->indices[first + k];
                if (position[k] < 0 || position[k] >= lines_.cols) refuse_index(i, position[k], lines_.cols);
                dual[k] = cross_duals_[position[k]];
                pick_up(by_columns_ ? position[k] : i, by_columns_ ? i : position[k], cost[k]);
            }
            if (parts_ > 1) {
                for (Index k = 0; k < n; ++k) examine_parts(i, cost[k], position[k]);
                continue;
            }
            if (!(fast_ && is_fast(a))) {
                for (Index k = 0; k < n; ++k) examine(i, cost[k], a, dual[k], position[k]);
                continue;
            }
            Index undecided[kBuffer];
            const Index left = LAPWING_DISPATCH(certificate_undecided, cost, n, maximize_, a, dual, undecided);
            for (Index k = 0; k < left; ++k) {
                const Index at = undecided[k];
                examine(i, cost[at], a, dual[at], position[at]);
            }
        }
    }
    // The lesser cost of a pair that is given twice counts, as for a method. A row has one column, so one line writes
    // here.
    void pick_up(Index row, Index col, T cost) {
        const auto at = static_cast<std::size_t>(row);
        if (row_to_col_[at] != col) return;
        if (found_[at] == 0 || (maximize_ ? cost > matched_[at] : cost < matched_[at])) matched_[at] = cost;
        found_[at] = 1;
    }
    static std::vector<std::int64_t> checked_begins(const SparseView<T>& view) {
        std::vector<std::int64_t> begins(view.indptr, view.indptr + view.rows + 1);
        require_rising(begins.data(), view.rows, view.entries);
        return begins;
    }
    // n costs of line i, the first of them at position `first`.
    void scan(Index i, const T* cost, Index first, Index n) {
        const D a = line_duals_[i];
        const D* b = cross_duals_ + first;
        if constexpr (std::is_floating_point_v<D>)
            if (parts_ > 1) return scan_parts(i, cost, first, n);
        if (!fast_ || !is_fast(a)) {
            for (Index k = 0; k < n; ++k) examine(i, cost[k], a, b[k], first + k);
            return;
        }
        const D* const raised = raised_.empty() ? b : raised_.data() + first;
        for (Index block = 0; block < n; block += kBlock) {
            auto bits = LAPWING_DISPATCH(certificate_next_undecided, cost, block, n, maximize_, a, b, raised);
            for (; bits != 0; bits &= bits - 1) {
                const Index k = block + std::countr_zero(bits);
                examine(i, cost[k], a, b[k], first + k);
            }
        }
    }
    void scan_parts(Index i, const T* cost, Index first, Index n) {
        const D* const line = line_duals_ + i;
        const D* const cross = cross_duals_ + first;
        const double two[] = {line[0], line[lines_.rows]};
        for (Index block = 0; block < n; block += kBlock) {
            auto bits =
                LAPWING_DISPATCH(certificate_next_undecided_parts, cost, block, n, maximize_, lines_above_[i],
                                 raised_.data() + first, parts_ == 2 ? &two : nullptr, cross, cross + lines_.cols);
            for (; bits != 0; bits &= bits - 1) {
                const Index k = block + std::countr_zero(bits);
                examine_parts(i, cost[k], first + k);
            }
        }
    }
    void examine_parts(Index i, T cost, Index position) {
        const D c = minimised(cost, maximize_);
        if constexpr (std::is_floating_point_v<D>)
            note(i, c, position,
                 excess_of_parts(c, line_duals_ + i, static_cast<std::size_t>(lines_.rows), cross_duals_ + position,
                                 static_cast<std::size_t>(lines_.cols), parts_));
    }
    void examine(Index i, T cost, D a, D b, Index position) {
        const D c = minimised(cost, maximize_);
        if (is_certain(c, a, b)) return;
        if (!is_no_worse(c, a, b, result_[static_cast<std::size_t>(i)].violation))
            note(i, c, position, excess(c, a, b));
    }
    void note(Index i, D c, Index position, D amount) {
        Line& line = result_[static_cast<std::size_t>(i)];
        if (!is_valid_cost(c) && line.invalid < 0) line.invalid = position;
        if (amount > line.violation) {
            line.violation = amount;
            line.position = position;
        }
    }
};

// The findings of other processes for the rows, in the form of a finished LineScan.
template <class T>
class FoundRows {
  public:
    explicit FoundRows(std::span<const RowProof<T>> rows) : rows_(rows) {
        for (const RowProof<T>& row : rows) lines_.push_back({row.violation, row.col, row.invalid});
    }
    bool by_columns() const { return false; }
    const std::vector<typename LineScan<T>::Line>& lines() const { return lines_; }
    bool is_given(Index) const { return true; }
    T matched(Index i) const { return rows_[static_cast<std::size_t>(i)].matched; }

  private:
    std::span<const RowProof<T>> rows_;
    std::vector<typename LineScan<T>::Line> lines_;
};

// Faults of the matching, what it costs, and whether it is complete.
template <class T, class Scan>
void check_matching(const CertificateInput<T>& in, const Scan& scan, Certificate<Dual<T>>& result,
                    ExactSum<Dual<T>>& primal) {
    using D = Dual<T>;
    std::vector<bool> taken(static_cast<std::size_t>(in.cost.cols));
    Run<D> costs(primal);
    result.complete = true;
    for (Index i = 0; i < in.cost.rows; ++i) {
        const std::int64_t j = in.row_to_col[i];
        if (j == -1) {
            const bool priced = in.unmatched_cost != nullptr && in.unmatched_cost[i] < kInfinity<D>;
            if (priced && is_valid_cost(in.unmatched_cost[i])) costs.add(in.unmatched_cost[i]);
            result.complete = result.complete && priced;
            continue;
        }
        if (j < 0 || j >= in.cost.cols) {
            report(result, Fault::column_range, i, -1);
            continue;
        }
        const auto col = static_cast<Index>(j);
        if (taken[static_cast<std::size_t>(j)]) report(result, Fault::column_twice, i, col);
        taken[static_cast<std::size_t>(j)] = true;
        const D c = minimised(scan.matched(i), in.maximize);
        if (!scan.is_given(i) || (std::is_floating_point_v<D> && c == kInfinity<D>)) {
            report(result, Fault::forbidden_pair, i, col);
        } else if (is_valid_cost(c)) {
            costs.add(c);
            ++result.matched;
        }
    }
    for (Index j = 0; j < in.cost.cols && in.unmatched_cols != nullptr; ++j) {
        if (taken[static_cast<std::size_t>(j)]) continue;
        const D price = in.unmatched_cols[j];
        result.complete = result.complete && price < kInfinity<D>;
        if (price < kInfinity<D> && is_valid_cost(price)) costs.add(price);
    }
}

template <class D>
D part_of(const D* duals, Index count, Index i, int part) {
    return duals[static_cast<std::size_t>(part) * static_cast<std::size_t>(count) + static_cast<std::size_t>(i)];
}

// The amount by which dual i, the sum of its parts, exceeds c.
template <class D>
D excess_of_dual(D c, const D* duals, Index count, Index i, int parts) {
    if constexpr (std::is_floating_point_v<D>) {
        static constexpr double kZero[kMostDualParts] = {};
        if (parts > 1) return excess_of_parts(c, duals + i, static_cast<std::size_t>(count), kZero, 1, parts);
    }
    if (duals[i] <= c) return D{0};
    return excess(c, duals[i], D{0});
}

// Duals that are no numbers, their sum, and the constraints on single duals. Adds to `excesses` what these can cost.
template <class T>
void check_duals(const CertificateInput<T>& in, Certificate<Dual<T>>& result, ExactSum<Dual<T>>& dual,
                 ExactSum<Dual<T>>& excesses) {
    using D = Dual<T>;
    const bool v_is_signed = in.unmatched_cost != nullptr || in.cost.rows != in.cost.cols;
    Run<D> duals(dual);
    // Adds a dual to the sum; false if a part is no number.
    const auto add = [&](const D* parts, Index count, Index i) {
        if (in.parts == 1) {
            const bool valid = is_valid_dual(parts[i]);
            if (valid) duals.add(parts[i]);
            return valid;
        }
        bool valid = true;
        for (int k = 0; k < in.parts; ++k) valid = valid && is_valid_dual(part_of(parts, count, i, k));
        for (int k = 0; k < in.parts && valid; ++k) duals.add(part_of(parts, count, i, k));
        return valid;
    };
    for (Index i = 0; i < in.cost.rows; ++i) {
        if (!add(in.u, in.cost.rows, i)) {
            report(result, Fault::invalid_dual, i, -1);
            continue;
        }
        if (in.unmatched_cost == nullptr || in.unmatched_cost[i] == kInfinity<D>) continue;
        if (!is_valid_cost(in.unmatched_cost[i])) {
            report(result, Fault::invalid_cost, i, -1);
            continue;
        }
        const D amount = excess_of_dual(in.unmatched_cost[i], in.u, in.cost.rows, i, in.parts);
        if (amount > 0) excesses.add(amount);
        violate(result, amount, i, Index{-1});
    }
    for (Index j = 0; j < in.cost.cols; ++j) {
        if (!add(in.v, in.cost.cols, j)) {
            report(result, Fault::invalid_dual, -1, j);
            continue;
        }
        const D price = in.unmatched_cols != nullptr ? in.unmatched_cols[j] : D{0};
        if (!v_is_signed || price == kInfinity<D>) continue;
        if (!is_valid_cost(price)) {
            report(result, Fault::invalid_cost, -1, j);
            continue;
        }
        const D amount = excess_of_dual(price, in.v, in.cost.cols, j, in.parts);
        if (amount > 0) excesses.add(amount);
        violate(result, amount, Index{-1}, j);
    }
}

template <class D, class Scan>
void check_pairs(const Scan& scan, Certificate<D>& result, ExactSum<D>& excesses) {
    const bool by_columns = scan.by_columns();
    Run<D> amounts(excesses);
    Index i = 0;
    for (const auto& line : scan.lines()) {
        if (line.invalid >= 0) {
            report(result, Fault::invalid_cost, by_columns ? line.invalid : i, by_columns ? i : line.invalid);
        }
        violate(result, line.violation, by_columns ? line.position : i, by_columns ? i : line.position);
        if (line.violation > 0) amounts.add(line.violation);
        ++i;
    }
}

// The proof from a pass that is done.
template <class T, class Scan>
Certificate<Dual<T>> proven(const CertificateInput<T>& input, const Scan& scan) {
    using D = Dual<T>;
    Certificate<D> result;
    ExactSum<D> primal, dual, gap, bound;
    check_matching(input, scan, result, primal);
    check_duals(input, result, dual, bound);
    check_pairs(scan, result, bound);

    gap.add(primal, 1);
    gap.add(dual, -1);
    bound.add(gap, 1);
    result.primal = primal.nearest();
    result.dual = dual.nearest();
    result.dual_below = dual.downward();
    result.gap = gap.nearest();
    constexpr D limit = kInfinity<D>;
    const bool is_in_range = std::is_integral_v<D> || (-limit < result.primal && result.primal < limit);
    const bool is_usable = result.fault == Fault::none && result.complete && is_in_range;
    result.exact = is_usable && result.gap == 0 && result.violation == 0;
    const SumOf<D> upper = bound.upward();
    // Not below 0 for a complete valid matching; NaN (an overflow) proves nothing.
    if (is_usable && result.violation < limit && upper >= 0 && upper < limit) result.bound = static_cast<D>(upper);
    return result;
}

}  // namespace

template <class T>
Certificate<Dual<T>> certify(const CertificateInput<T>& input, int threads, const KeepGoing& keep_going) {
    LineScan<T> scan(input);
    scan.run(threads, keep_going);
    return proven(input, scan);
}

template <class T>
std::vector<RowProof<T>> certify_rows(const CertificateInput<T>& input, int threads, const KeepGoing& keep_going) {
    LineScan<T> scan(input, true);
    scan.run(threads, keep_going);
    std::vector<RowProof<T>> rows(static_cast<std::size_t>(input.cost.rows));
    for (Index i = 0; i < input.cost.rows; ++i) {
        const auto& line = scan.lines()[static_cast<std::size_t>(i)];
        const std::int64_t j = input.row_to_col[i];
        const bool paired = 0 <= j && j < input.cost.cols && scan.is_given(i);
        rows[static_cast<std::size_t>(i)] = {line.violation, line.position, line.invalid,
                                             paired ? scan.matched(i) : T{0}};
    }
    return rows;
}

template <class T>
Certificate<Dual<T>> certify(const CertificateInput<T>& input, std::span<const RowProof<T>> rows) {
    return proven(input, FoundRows<T>(rows));
}

#define LAPWING_INSTANTIATE(T)                                                                       \
    template Certificate<Dual<T>> certify(const CertificateInput<T>&, int, const KeepGoing&);        \
    template Certificate<Dual<T>> certify(const CertificateInput<T>&, std::span<const RowProof<T>>); \
    template std::vector<RowProof<T>> certify_rows(const CertificateInput<T>&, int, const KeepGoing&);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

}  // namespace lapwing
