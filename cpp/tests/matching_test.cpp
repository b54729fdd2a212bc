// Largest matchings by layers, against augmenting paths one by one; and shortages of columns.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "lapwing/matching/layers.hpp"
#include "lapwing/matching/shortage.hpp"

namespace lapwing::test {
namespace {

struct Pairs {
    std::vector<std::vector<Index>> cols_of;

    Index next(Index i, std::int64_t& cursor, const Columns& among) const {
        const auto& cols = cols_of[static_cast<std::size_t>(i)];
        while (cursor < static_cast<std::int64_t>(cols.size()))
            if (const Index j = cols[static_cast<std::size_t>(cursor++)]; among.has(j)) return j;
        return -1;
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

// A matrix with up to 150 columns: bits in several words. Some rows need not be matched.
void find_shortages(std::mt19937& random) {
    const Index m = static_cast<Index>(random() % 30), n = static_cast<Index>(random() % 150);
    const auto rows = static_cast<std::size_t>(m), cols = static_cast<std::size_t>(n);
    std::vector<float> costs(rows * cols, 1.0f);
    Pairs pairs{std::vector<std::vector<Index>>(rows)};
    std::vector<Index> wanted;
    for (Index i = 0; i < m; ++i) {
        if (random() % 5 != 0) wanted.push_back(i);
        for (Index j = 0; j < n; ++j) {
            if (random() % 50 < 49)
                costs[static_cast<std::size_t>(i) * cols + j] = std::numeric_limits<float>::infinity();
            else
                pairs.cols_of[static_cast<std::size_t>(i)].push_back(j);
        }
    }
    std::vector<Index> col_to_row(cols, -1);
    Index most = 0;
    for (const Index i : wanted) {
        std::vector<char> seen(cols, 0);
        most += augment(pairs, i, col_to_row, seen);
    }
    Control control;
    AllowedBits<float> allowed(Problem<float>{{costs.data(), m, n, n, 1}}, wanted, control);
    const Shortage found = find_shortage(allowed, m, n, wanted, false);
    CHECK(found.rows.size() - found.cols.size() == wanted.size() - static_cast<std::size_t>(most));
    for (const Index i : found.rows)
        for (const Index j : pairs.cols_of[static_cast<std::size_t>(i)])
            CHECK(std::find(found.cols.begin(), found.cols.end(), j) != found.cols.end());
    const Shortage minimal = find_shortage(allowed, m, n, wanted, true);
    CHECK(minimal.rows.empty() == found.rows.empty() && minimal.rows.size() <= found.rows.size());
    CHECK(minimal.rows.empty() ? minimal.cols.empty() : minimal.rows.size() == minimal.cols.size() + 1);
    for (const Index left_out : minimal.rows) {
        std::vector<Index> others;
        for (const Index i : minimal.rows)
            if (i != left_out) others.push_back(i);
        CHECK(find_shortage(allowed, m, n, others, false).rows.empty());
    }
}

}  // namespace
}  // namespace lapwing::test

int main() {
    std::mt19937 random(1);
    for (int t = 0; t < 5000; ++t) lapwing::test::compare(random);
    for (int t = 0; t < 300; ++t) lapwing::test::find_shortages(random);
    return lapwing::test::report();
}
