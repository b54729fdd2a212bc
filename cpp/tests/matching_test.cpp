// Largest matchings by layers, against augmenting paths one by one.
#include <random>
#include <vector>

#include "check.hpp"
#include "lapwing/matching/layers.hpp"

namespace lapwing::test {
namespace {

struct Pairs {
    std::vector<std::vector<Index>> cols_of;

    Index next(Index i, std::int64_t& cursor) const {
        const auto& cols = cols_of[static_cast<std::size_t>(i)];
        return cursor < static_cast<std::int64_t>(cols.size()) ? cols[static_cast<std::size_t>(cursor++)] : -1;
    }
    bool is_open(Index) const { return true; }
    bool accepts(const std::vector<Index>&, const std::vector<Index>&) const { return true; }
};

bool augment(const Pairs& pairs, Index i, std::vector<Index>& col_to_row, std::vector<char>& seen) {
    for (const Index j : pairs.cols_of[static_cast<std::size_t>(i)]) {
        if (seen[static_cast<std::size_t>(j)]++) continue;
        Index& owner = col_to_row[static_cast<std::size_t>(j)];
        if (owner >= 0 && !augment(pairs, owner, col_to_row, seen)) continue;
        owner = i;
        return true;
    }
    return false;
}

void compare(std::mt19937& random) {
    const Index m = static_cast<Index>(random() % 12), n = static_cast<Index>(random() % 12);
    const auto rows = static_cast<std::size_t>(m), cols = static_cast<std::size_t>(n);
    const unsigned share = random() % 5 + 1;
    Pairs pairs{std::vector<std::vector<Index>>(rows)};
    for (auto& row : pairs.cols_of)
        for (Index j = 0; j < n; ++j)
            if (random() % 6 < share) row.push_back(j);
    std::vector<Index> one_by_one(cols, -1);
    Index most = 0;
    for (Index i = 0; i < m; ++i) {
        std::vector<char> seen(cols, 0);
        most += augment(pairs, i, one_by_one, seen);
    }
    std::vector<Index> row_to_col(rows, -1), col_to_row(cols, -1), sources;
    for (Index i = 0; i < m; ++i) sources.push_back(i);
    LayeredMatching layers(pairs, row_to_col, col_to_row, std::move(sources));
    CHECK(layers.run() == most);
    Index matched = 0, cover = 0;
    for (Index i = 0; i < m; ++i) {
        const Index j = row_to_col[static_cast<std::size_t>(i)];
        CHECK(j < 0 || col_to_row[static_cast<std::size_t>(j)] == i);
        matched += j >= 0;
        cover += !layers.reached_row(i);
        for (const Index k : pairs.cols_of[static_cast<std::size_t>(i)])
            CHECK(!layers.reached_row(i) || layers.reached_col(k));
    }
    for (Index j = 0; j < n; ++j) cover += layers.reached_col(j);
    CHECK(matched == most && cover == most);  // Koenig: so no matching is larger
}

}  // namespace
}  // namespace lapwing::test

int main() {
    std::mt19937 random(1);
    for (int t = 0; t < 5000; ++t) lapwing::test::compare(random);
    return lapwing::test::report();
}
