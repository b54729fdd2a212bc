// Rows that have too few columns between them: of all such sets the one that most rows of must stay free in.
//
// Problem. Some rows must be matched. As many of them as possible are to be; which ones compete for too few columns?
// Method. A largest matching of their allowed pairs (layers.hpp). Alternating paths from its free rows reach rows R and
// columns C: all pairs of R lie in C, and C is matched into R. So |R| - |C| rows stay free in every matching, and no
// more do: R is a Hall violator of the greatest deficiency, and in every largest matching C is matched to rows of R,
// and all other rows to other columns. O(sqrt(rows) pairs) time. Memory: a bit for each pair of a matrix, or a column
// for each pair of sparse costs.
// Reference. Dulmage and Mendelsohn, "Coverings of bipartite graphs", Canadian Journal of Mathematics 10, 1958.
#pragma once

#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/matching/layers.hpp"
#include "lapwing/sparse/matrix.hpp"

namespace lapwing {

struct Shortage {
    std::vector<Index> rows, cols;  // ascending; both empty if all wanted rows can be matched
};

// Allowed pairs, a bit each, read once.
template <class T>
class AllowedBits {
  public:
    // Throws InvalidCost for NaN, and for infinities of the wrong sign.
    AllowedBits(const Problem<T>& problem, const std::vector<Index>& rows, Control& control)
        : words_(Columns::words_for(problem.cost.cols)), control_(control),
          bits_(words_ * static_cast<std::size_t>(problem.cost.rows)) {
        RowReader<T> reader(problem.cost, problem.source);
        for (const Index i : rows) {
            control_.poll({"check"});
            const T* row = reader.row(i);
            Columns::Word* bits = bits_.data() + words_ * static_cast<std::size_t>(i);
            for (Index j = 0; j < problem.cost.cols; ++j) {
                const Dual<T> c = problem.minimised(row[j]);
                if constexpr (std::is_floating_point_v<T>) {
                    if (!(c > -kInfinity<Dual<T>>)) throw InvalidCost{i, j};
                    if (c == kInfinity<Dual<T>>) continue;
                }
                Columns::insert(bits, j);
            }
        }
    }
    Index next(Index i, std::int64_t& cursor, const Columns& among) {
        control_.poll({"check"});
        return among.next_of(bits_.data() + words_ * static_cast<std::size_t>(i), cursor);
    }
    bool is_open(Index) const { return true; }
    bool accepts(const std::vector<Index>&, const std::vector<Index>&) const { return true; }

  private:
    std::size_t words_;  // of a row
    Control& control_;
    std::vector<Columns::Word> bits_;
};

// The pairs of a checked copy of sparse costs.
template <class T>
class AllowedEntries {
  public:
    AllowedEntries(const Adjacency<T>& pairs, Control& control) : pairs_(pairs), control_(control) {}
    Index next(Index i, std::int64_t& cursor, const Columns& among) {
        control_.poll({"check"});
        const auto& row = pairs_.rows[static_cast<std::size_t>(i)];
        while (cursor < row.count) {
            const Index j = pairs_.entries[static_cast<std::size_t>(row.begin + cursor++)].col;
            if (among.has(j)) return j;
        }
        return -1;
    }
    bool is_open(Index) const { return true; }
    bool accepts(const std::vector<Index>&, const std::vector<Index>&) const { return true; }

  private:
    const Adjacency<T>& pairs_;
    Control& control_;
};

// `wanted`: the rows that must be matched, ascending. With `minimal`, what one of the free rows alone reaches: a Hall
// violator that contains no smaller one, as all of its rows but any one can be matched.
template <class Graph>
Shortage find_shortage(Graph& pairs, Index rows, Index cols, const std::vector<Index>& wanted, bool minimal) {
    std::vector<Index> row_to_col(static_cast<std::size_t>(rows), -1), col_to_row(static_cast<std::size_t>(cols), -1);
    LayeredMatching(pairs, row_to_col, col_to_row, wanted).run();
    std::vector<Index> free;
    for (const Index i : wanted)
        if (row_to_col[static_cast<std::size_t>(i)] < 0) free.push_back(i);
    if (minimal && free.size() > 1) free.resize(1);
    LayeredMatching layers(pairs, row_to_col, col_to_row, std::move(free));
    layers.run();  // which finds no path, but what is reached
    Shortage found;
    for (const Index i : wanted)
        if (layers.reached_row(i)) found.rows.push_back(i);
    for (Index j = 0; j < cols; ++j)
        if (layers.reached_col(j)) found.cols.push_back(j);
    return found;
}

}  // namespace lapwing
