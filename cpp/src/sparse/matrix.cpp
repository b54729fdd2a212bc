#include "lapwing/sparse/matrix.hpp"

#include <limits>
#include <string>

namespace lapwing {

void require_rising(const std::int64_t* indptr, Index rows, std::int64_t entries) {
    const auto refuse = [entries](const std::string& why) {
        throw Refused("the sparse matrix has a damaged indptr: it must rise from 0 to the number of entries, " +
                      std::to_string(entries) + ", and " + why + "; build the matrix anew");
    };
    if (indptr[0] != 0) refuse("indptr[0] is " + std::to_string(indptr[0]));
    for (Index i = 0; i < rows; ++i)
        if (indptr[i + 1] < indptr[i])
            refuse("indptr[" + std::to_string(i + 1) + "] is " + std::to_string(indptr[i + 1]) + ", below " +
                   std::to_string(indptr[i]) + " before it");
    if (indptr[rows] > entries)
        refuse("indptr[" + std::to_string(rows) + "] is " + std::to_string(indptr[rows]) + ", but there are " +
               std::to_string(entries) + " entries");
}

void refuse_index(std::int64_t line, std::int64_t at, Index size, bool by_columns) {
    const std::string across = by_columns ? "row " : "column ", along = by_columns ? "column " : "row ";
    throw Refused("the sparse matrix has an entry in " + across + std::to_string(at) + " of " + std::to_string(size) +
                  ", in " + along + std::to_string(line) + "; build the matrix anew");
}

namespace {

// Calls take(row, col, cost as minimised) for all allowed pairs, in order.
template <class T, class Take>
void for_each_pair(const SparseView<T>& view, const std::vector<std::int64_t>& begin, bool maximize, bool transposed,
                   const Take& take) {
    constexpr bool kFloats = std::is_floating_point_v<T>;
    constexpr T kMost = std::numeric_limits<T>::max();
    for (Index i = 0; i < view.rows; ++i)
        for (std::int64_t e = begin[i]; e < begin[i + 1]; ++e) {
            const Index j = view.indices[e];
            if (static_cast<std::uint32_t>(j) >= static_cast<std::uint32_t>(view.cols)) refuse_index(i, j, view.cols);
            T c = view.data[e];
            if (maximize) {
                if constexpr (!kFloats)
                    if (c == std::numeric_limits<T>::min()) throw transposed ? CostTooLarge{j, i} : CostTooLarge{i, j};
                c = -c;
            }
            if constexpr (kFloats) {
                if (!(c >= -kMost)) throw transposed ? InvalidCost{j, i} : InvalidCost{i, j};
                if (c > kMost) continue;  // forbidden
            }
            take(i, j, c);
        }
}

// Places rows one after the other; returns the number of entries.
template <class T>
std::int64_t lay_out(Adjacency<T>& made) {
    std::int64_t end = 0;
    for (auto& row : made.rows) {
        row.begin = end;
        row.listed = row.count;
        end += row.count;
    }
    return end;
}

}  // namespace

template <class U, class T>
Adjacency<U> make_adjacency(const SparseView<T>& view, bool maximize, bool transposed) {
    // A private copy: no other thread can change it after the check.
    const std::vector<std::int64_t> given(view.indptr, view.indptr + view.rows + 1);
    require_rising(given.data(), view.rows, view.entries);
    Adjacency<U> made;
    made.rows.resize(static_cast<std::size_t>(transposed ? view.cols : view.rows));
    if (!transposed) {
        made.entries.resize(static_cast<std::size_t>(given.back()));
        std::int64_t size = 0;
        for_each_pair(view, given, maximize, transposed, [&](Index i, Index j, T c) {
            made.entries[static_cast<std::size_t>(size++)] = {static_cast<U>(c), j};
            ++made.rows[i].count;
        });
        made.entries.resize(static_cast<std::size_t>(size));
        lay_out(made);
        return made;
    }
    // Counting sort by columns. Indices may change between the passes: places are checked, not trusted.
    for_each_pair(view, given, maximize, transposed, [&](Index, Index j, T) { ++made.rows[j].count; });
    made.entries.resize(static_cast<std::size_t>(lay_out(made)), SparseEntry<U>{U{0}, -1});
    std::vector<Index> placed(made.rows.size(), 0);
    for_each_pair(view, given, maximize, transposed, [&](Index i, Index j, T c) {
        if (placed[j] == made.rows[j].count) refuse_changed_costs();
        made.entries[static_cast<std::size_t>(made.rows[j].begin + placed[j]++)] = {static_cast<U>(c), i};
    });
    for (std::size_t j = 0; j < placed.size(); ++j)
        if (placed[j] != made.rows[j].count) refuse_changed_costs();
    return made;
}

template <class T>
bool has_duplicates(const SparseView<T>& view, bool by_columns) {
    const std::vector<std::int64_t> begin(view.indptr, view.indptr + view.rows + 1);
    require_rising(begin.data(), view.rows, view.entries);
    std::vector<Index> seen_in;  // the last row with an entry in this column, where rows are not sorted
    bool found = false;
    for (Index i = 0; i < view.rows; ++i) {
        Index before = -1;
        bool sorted = true;
        for (std::int64_t e = begin[i]; e < begin[i + 1]; ++e) {
            const Index j = view.indices[e];
            if (static_cast<std::uint32_t>(j) >= static_cast<std::uint32_t>(view.cols))
                refuse_index(i, j, view.cols, by_columns);
            sorted = sorted && j > before;
            before = j;
        }
        if (sorted) continue;
        seen_in.resize(static_cast<std::size_t>(view.cols), -1);
        for (std::int64_t e = begin[i]; e < begin[i + 1]; ++e) {
            const Index j = view.indices[e];
            if (static_cast<std::uint32_t>(j) >= static_cast<std::uint32_t>(view.cols)) refuse_changed_costs();
            found = found || seen_in[j] == i;
            seen_in[j] = i;
        }
    }
    return found;
}

template bool has_duplicates(const SparseView<float>&, bool);
template bool has_duplicates(const SparseView<double>&, bool);
template bool has_duplicates(const SparseView<std::int32_t>&, bool);
template bool has_duplicates(const SparseView<std::int64_t>&, bool);

template Adjacency<float> make_adjacency(const SparseView<float>&, bool, bool);
template Adjacency<double> make_adjacency(const SparseView<double>&, bool, bool);
template Adjacency<double> make_adjacency(const SparseView<std::int32_t>&, bool, bool);
template Adjacency<std::int32_t> make_adjacency(const SparseView<std::int32_t>&, bool, bool);
template Adjacency<double> make_adjacency(const SparseView<std::int64_t>&, bool, bool);
template Adjacency<std::int64_t> make_adjacency(const SparseView<std::int64_t>&, bool, bool);

}  // namespace lapwing
