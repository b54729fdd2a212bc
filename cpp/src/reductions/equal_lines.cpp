#include "lapwing/reductions/equal_lines.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lapwing/costs/source.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/reductions/transport.hpp"
#include "lapwing/reductions/turned.hpp"
#include "lapwing/spread.hpp"

namespace lapwing {
namespace {

constexpr Index kSampled = 128;         // lines
constexpr Index kMostLength = 8;        // successive costs of a piece
constexpr std::size_t kConfirmed = 32;  // pairs of them, all of whose costs are read
constexpr Index kFewer = 4;             // distinct pairs of lines, of so many of the matrix, are worth a transport
constexpr double kMostReads = 6;        // of the matrix, that a transport may be worth
// Costs of a source need not be read all, so that a transport is to be shorter: of so many distinct lines, as a part of
// all, and of so many pairs of them, at most. A search for each of the sources scans the costs of about as many.
constexpr Index kFewerOfSource = 4, kFewerPairsOfSource = 64;
constexpr double kMostPairsOfSource = 0x1p26, kMostScansALine = 0x1p18;

// The bits of a cost: equal bits are equal costs.
template <class T>
std::uint64_t bits_of(T cost) {
    if constexpr (sizeof(T) == 8)
        return std::bit_cast<std::uint64_t>(cost);
    else
        return std::bit_cast<std::uint32_t>(cost);
}

inline std::uint64_t mixed(std::uint64_t hash, std::uint64_t bits) {
    hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

// How many distinct lines there are, from some of them: those seen, and as many unseen ones as the lines seen once and
// twice tell (A. Chao, "Nonparametric estimation of the number of classes in a population", Scandinavian Journal of
// Statistics 11, 1984).
double distinct_of(std::vector<std::uint64_t> hashes) {
    std::sort(hashes.begin(), hashes.end());
    double distinct = 0, once = 0, twice = 0;
    for (auto first = hashes.begin(); first != hashes.end();) {
        const auto next = std::upper_bound(first, hashes.end(), *first);
        distinct += 1;
        once += next - first == 1;
        twice += next - first == 2;
        first = next;
    }
    return distinct + once * (once - 1) / (2 * (twice + 1));
}

// Hashes of some rows, or columns of a transposed view: of `pieces` pieces of `length` successive costs, evenly spread.
// A sum of products, each with a multiplier of its own, so that no product waits for another; the upper half of a
// cost's bits is folded into the lower half, as the lower bits of few-digit floats are zeros, which products keep.
template <class T>
std::vector<std::uint64_t> hashes_of(const MatrixView<T>& cost, const std::vector<Index>& lines, Index pieces,
                                     Index length) {
    std::vector<std::uint64_t> hashes(lines.size());
    std::uint64_t multipliers[kMostLength];
    for (Index p = 0; p < pieces; ++p) {  // before lines: columns are looked at row by row
        const Index first = spread(p, pieces, cost.cols - length);
        for (Index k = 0; k < length; ++k) multipliers[k] = mixed(0, mixed(0, std::uint64_t{1} + first + k)) | 1;
        for (std::size_t t = 0; t < lines.size(); ++t) {
            std::uint64_t sum = hashes[t];
            for (Index k = 0; k < length; ++k) {
                const std::uint64_t bits = bits_of(cost.at(lines[t], first + k));
                sum += (bits ^ bits >> 32) * multipliers[k];
            }
            hashes[t] = sum;
        }
    }
    return hashes;
}

// Whether rows of equal hashes are equal throughout, as far as some of them tell. By blocks of a few costs of each
// pair, since lines that are not contiguous share pages, and those that differ do so soon.
template <class T>
bool are_equal_throughout(const MatrixView<T>& cost, const std::vector<Index>& lines,
                          const std::vector<std::uint64_t>& hashes) {
    constexpr Index kBlock = 64;
    std::unordered_map<std::uint64_t, Index> seen;
    std::vector<std::pair<Index, Index>> pairs;
    for (std::size_t t = 0; t < lines.size() && pairs.size() < kConfirmed; ++t) {
        const auto [at, is_new] = seen.try_emplace(hashes[t], lines[t]);
        if (!is_new) pairs.emplace_back(at->second, lines[t]);
    }
    for (Index first = 0; first < cost.cols; first += kBlock)
        for (const auto& [one, other] : pairs)
            for (Index j = first; j < std::min(first + kBlock, cost.cols); ++j)
                if (bits_of(cost.at(one, j)) != bits_of(cost.at(other, j))) return false;
    return true;
}

// As few costs as tell, mostly: more only if those are equal in many lines. At the end all of them of some pairs of
// equal ones.
template <class T>
double distinct_rows(const MatrixView<T>& cost, bool contiguous) {
    constexpr Index kContiguous[] = {1, 4, 32}, kOthers[] = {4, 32, 256};
    const Index length = contiguous ? std::min(kMostLength, cost.cols) : 1;
    std::vector<Index> lines(std::min(cost.rows, kSampled));
    for (std::size_t t = 0; t < lines.size(); ++t)
        lines[t] = static_cast<Index>(static_cast<std::int64_t>(t) * cost.rows / static_cast<Index>(lines.size()));
    std::vector<std::uint64_t> hashes;
    double distinct = 0;
    for (const Index pieces : contiguous ? kContiguous : kOthers) {
        hashes = hashes_of(cost, lines, std::min(pieces, cost.cols / length), length);
        distinct = distinct_of(hashes);
        if (!(distinct < cost.rows)) return kInfinity<double>;
    }
    return are_equal_throughout(cost, lines, hashes) ? distinct : kInfinity<double>;
}

// Sets of equal lines.
struct Sets {
    std::vector<Index> of_line;         // [lines]
    std::vector<Index> representative;  // [sets] a line

    Index count() const { return static_cast<Index>(representative.size()); }
};

template <class T>
class EqualLines {
  public:
    using D = Dual<T>;

    explicit EqualLines(const Problem<T>& problem)
        : problem_(problem), m_(problem.cost.rows), n_(problem.cost.cols), reader_(problem.cost, nullptr) {}

    // False if there are too many distinct lines, or a cost is out of range.
    bool find() {
        if (problem_.source != nullptr)
            return take(true, rows_) && take(false, cols_) && !too_many(rows_.count(), cols_.count()) &&
                   prices_are_equal() && gather();
        find_rows();
        if (too_many(rows_.count(), 1)) return false;
        return find_cols() && !too_many(rows_.count(), cols_.count()) && gather();
    }

    // Rows are columns from now on, and columns rows; without prices.
    void exchange() {
        std::vector<D> transposed(costs.size());
        for (Index r = 0; r < rows_.count(); ++r)
            for (Index c = 0; c < width; ++c)
                transposed[static_cast<std::size_t>(c) * rows_.count() + r] =
                    costs[static_cast<std::size_t>(r) * width + c];
        costs = std::move(transposed);
        width = rows_.count();
        std::swap(rows_, cols_);
    }
    const Sets& rows() const { return rows_; }
    const Sets& cols() const { return cols_; }
    // The costs of distinct rows and columns; if there are prices, these are the last column.
    std::vector<D> costs;
    Index width = 0;

  private:
    bool too_many(double rows, double cols) const {
        const double pairs = rows * cols, all = static_cast<double>(m_) * n_;
        if (problem_.source == nullptr) return pairs * kFewer > all;
        return pairs * kFewerPairsOfSource > all || pairs > kMostPairsOfSource ||
               pairs * std::max(rows, cols) > kMostScansALine * std::max(m_, n_);
    }

    // The sets that the source knows, if they are few.
    bool take(bool of_rows, Sets& sets) {
        sets.of_line = problem_.source->equal_lines(of_rows, (of_rows ? m_ : n_) / kFewerOfSource);
        for (std::size_t line = 0; line < sets.of_line.size(); ++line)
            if (sets.of_line[line] == sets.count()) sets.representative.push_back(static_cast<Index>(line));
        return !sets.of_line.empty();
    }
    bool prices_are_equal() const {
        for (Index i = 0; problem_.unmatched_cost != nullptr && i < m_; ++i)
            if (problem_.unmatched_cost[i] != problem_.unmatched_cost[rows_.representative[rows_.of_line[i]]])
                return false;
        return true;
    }

    void find_rows() {
        rows_.of_line.resize(m_);
        std::unordered_map<std::uint64_t, Index> seen;
        reader_.expect(0, m_);
        for (Index i = 0; i < m_; ++i) {
            const T* row = reader_.row(i);
            std::uint64_t hash = problem_.unmatched_cost == nullptr ? 0 : bits_of(problem_.unmatched_cost[i]);
            std::uint64_t lanes[4] = {hash, 1, 2, 3};
            Index j = 0;
            for (; j + 4 <= n_; j += 4)
                for (Index k = 0; k < 4; ++k) lanes[k] = mixed(lanes[k], bits_of(row[j + k]));
            for (; j < n_; ++j) lanes[0] = mixed(lanes[0], bits_of(row[j]));
            for (Index k = 1; k < 4; ++k) lanes[0] = mixed(lanes[0], lanes[k]);
            const auto [at, is_new] = seen.try_emplace(lanes[0], rows_.count());
            if (!is_new && is_equal(i, row, at->second)) {
                rows_.of_line[i] = at->second;
                continue;
            }
            rows_.of_line[i] = rows_.count();
            rows_.representative.push_back(i);
            if (!in_place_) distinct_.insert(distinct_.end(), row, row + n_);
            if (too_many(rows_.count(), 1)) return;
        }
    }

    bool is_equal(Index i, const T* row, Index set) const {
        const Index other = rows_.representative[set];
        return std::memcmp(row, distinct_row(set), sizeof(T) * n_) == 0 &&
               (problem_.unmatched_cost == nullptr || problem_.unmatched_cost[i] == problem_.unmatched_cost[other]);
    }

    const T* distinct_row(Index set) const {
        if (in_place_) return problem_.cost.row(rows_.representative[set]);
        return distinct_.data() + static_cast<std::size_t>(set) * n_;
    }

    // False if two sets of columns have the same hash.
    bool find_cols() {
        std::vector<std::uint64_t> hashes(n_);
        for (Index r = 0; r < rows_.count(); ++r) {
            const T* row = distinct_row(r);
            for (Index j = 0; j < n_; ++j) hashes[j] = mixed(hashes[j], bits_of(row[j]));
        }
        cols_.of_line.resize(n_);
        std::unordered_map<std::uint64_t, Index> seen;
        for (Index j = 0; j < n_; ++j) {
            const auto [at, is_new] = seen.try_emplace(hashes[j], cols_.count());
            cols_.of_line[j] = at->second;
            if (is_new) cols_.representative.push_back(j);
        }
        for (Index r = 0; r < rows_.count(); ++r) {
            const T* row = distinct_row(r);
            for (Index j = 0; j < n_; ++j)
                if (bits_of(row[j]) != bits_of(row[cols_.representative[cols_.of_line[j]]])) return false;
        }
        return true;
    }

    // The costs of a distinct row and all distinct columns.
    void read_distinct(Index r, std::vector<T>& row) const {
        if (problem_.source != nullptr) {
            const std::vector<Index> same(row.size(), rows_.representative[r]);
            return problem_.source->read_pairs(same, cols_.representative, row.data());
        }
        for (Index c = 0; c < cols_.count(); ++c) row[c] = distinct_row(r)[cols_.representative[c]];
    }

    bool gather() {
        const bool priced = problem_.unmatched_cost != nullptr;
        width = cols_.count() + static_cast<Index>(priced);
        costs.reserve(static_cast<std::size_t>(rows_.count()) * width);
        const D most = cost_limit<D>(priced ? m_ : std::min(m_, n_));
        std::vector<T> row(cols_.representative.size());
        for (Index r = 0; r < rows_.count(); ++r) {
            read_distinct(r, row);
            for (const T given : row) {
                const bool fits = given <= most && given >= -most;  // before the least integer is negated
                if (!fits && (std::is_integral_v<D> || problem_.minimised(given) != kInfinity<D>)) return false;
                costs.push_back(problem_.minimised(given));
            }
            if (!priced) continue;
            const D price = problem_.unmatched_cost[rows_.representative[r]];
            if (price != kInfinity<D> && !(price <= most && price >= -most)) return false;
            costs.push_back(price);
        }
        return true;
    }

    const Problem<T>& problem_;
    const Index m_, n_;
    RowReader<T> reader_;
    Sets rows_, cols_;
    const bool in_place_ = problem_.cost.col_stride == 1;
    std::vector<T> distinct_;  // the distinct rows, unless they are read in place
};

std::vector<Index> sizes(const Sets& sets) {
    std::vector<Index> count(sets.representative.size());
    for (const Index set : sets.of_line) ++count[set];
    return count;
}

// About so many distinct rows and columns, by a look at some.
struct DistinctLines {
    double rows, cols;
};
template <class T>
DistinctLines look_for_distinct_lines(const MatrixView<T>& cost) {
    const bool by_rows = cost.col_stride == 1 || cost.col_stride == -1;
    return {std::min<double>(distinct_rows(cost, by_rows), cost.rows),
            std::min<double>(distinct_rows(cost.transposed(), !by_rows), cost.cols)};
}

// Whether rows and columns are to be exchanged first, where one price allows it: a search costs as much as the sinks.
template <class T>
bool is_worth_turning(const Problem<T>& problem) {
    if (problem.source != nullptr || !has_one_price(problem)) return false;
    const auto [rows, cols] = look_for_distinct_lines(problem.cost);
    return rows < cols;
}

template <class T>
bool solve_as_given(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution) {
    using D = Dual<T>;
    const Index m = problem.cost.rows, n = problem.cost.cols;
    const bool priced = problem.unmatched_cost != nullptr, all_full = !priced && m == n;
    EqualLines<T> lines(problem);
    if (!lines.find()) return false;
    // A search costs as much as the sinks: of two sides that are all matched, those are the one with fewer sets.
    const bool exchanged = all_full && lines.rows().count() < lines.cols().count();
    if (exchanged) lines.exchange();
    const Sets &sources = lines.rows(), &sinks = lines.cols();
    std::vector<Index> room = sizes(sinks);
    if (priced) room.push_back(m);
    Transport<D> transport(lines.costs, sources.count(), lines.width, sizes(sources), std::move(room), all_full);
    const double most_scans = problem.source != nullptr ? 2 * kMostScansALine * std::max(m, n) : kMostReads * m * n;
    if (!transport.run(most_scans, control)) return false;
    solution = {};
    solution.row_to_col.assign(m, -1);
    solution.u.resize(m);
    solution.v.resize(n);
    std::vector<D>&of_sources = exchanged ? solution.v : solution.u, &of_sinks = exchanged ? solution.u : solution.v;
    for (Index j = 0; j < n; ++j) of_sinks[j] = transport.v[sinks.of_line[j]];
    std::vector<std::vector<Index>> members(sinks.count());
    for (Index j = n; j-- > 0;) members[sinks.of_line[j]].push_back(j);
    const std::vector<D> least = transport.least_of_rows();
    std::vector<Index> next(sources.count());  // the sink of the next unit of a set
    for (Index i = 0; i < m; ++i) {
        const Index r = sources.of_line[i];
        Index& c = next[r];
        Index* const units = transport.units.data() + static_cast<std::size_t>(r) * lines.width;
        while (units[c] == 0) ++c;
        --units[c];
        of_sources[i] = least[r];
        if (priced && c == sinks.count()) continue;
        const Index j = members[c].back();
        members[c].pop_back();
        solution.row_to_col[exchanged ? j : i] = exchanged ? i : j;
    }
    solution.statistics.set("distinct_rows", (exchanged ? sinks : sources).count());
    solution.statistics.set("distinct_cols", (exchanged ? sources : sinks).count());
    return true;
}

}  // namespace

template <class T>
bool has_equal_lines(const Problem<T>& problem, double fewer) {
    constexpr Index kFewRows = 64;
    const MatrixView<T>& cost = problem.cost;
    if (problem.source != nullptr || std::min(cost.rows, cost.cols) < kFewRows) return false;
    const auto [rows, cols] = look_for_distinct_lines(cost);
    return rows * cols * fewer < static_cast<double>(cost.rows) * cost.cols;
}

template <class T>
bool solve_equal_lines(const Problem<T>& problem, Control& control, Solution<Dual<T>>& solution) {
    if (!is_worth_turning(problem)) return solve_as_given(problem, control, solution);
    const Turned<T> turned(problem);
    Solution<Dual<T>> solved;
    if (!solve_as_given(turned.problem(), control, solved)) return false;
    auto& counts = solved.statistics.values;  // of distinct rows and columns
    std::swap(counts[0].second, counts[1].second);
    solution = turn_back(problem, std::move(solved));
    return true;
}

#define LAPWING_EQUAL_LINES(T)                                \
    template bool has_equal_lines(const Problem<T>&, double); \
    template bool solve_equal_lines(const Problem<T>&, Control&, Solution<Dual<T>>&);
LAPWING_EQUAL_LINES(float)
LAPWING_EQUAL_LINES(double)
LAPWING_EQUAL_LINES(std::int32_t)
LAPWING_EQUAL_LINES(std::int64_t)
#undef LAPWING_EQUAL_LINES

}  // namespace lapwing
