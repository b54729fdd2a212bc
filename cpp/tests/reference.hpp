// A reference to compare with: the textbook Hungarian method with long double or 128-bit potentials, O(rows^2 cols),
// as short as it can be. Unmatched costs are more columns; forbidden pairs are skipped.
#pragma once

#include <optional>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing::test {

__extension__ typedef __int128 Int128;
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, long double, Int128>;

// The optimum as minimised; nothing if the problem is infeasible.
template <class T>
std::optional<Wide<T>> reference_optimum(const Problem<T>& problem) {
    using W = Wide<T>;
    const Index m = problem.cost.rows, n = problem.cost.cols;
    const Index total = problem.unmatched_cost != nullptr ? n + m : n;
    if (m > total) return std::nullopt;
    const auto at = [&](Index i, Index j) -> std::optional<W> {
        if (j >= n && j != n + i) return std::nullopt;
        const Dual<T> c = j < n ? problem.at(i, j) : problem.unmatched_cost[i];
        const bool absent = j < n && !std::is_floating_point_v<T> ? false : c == kInfinity<Dual<T>>;
        return absent ? std::nullopt : std::optional<W>(c);
    };
    const auto size = static_cast<std::size_t>(total);
    std::vector<W> u(static_cast<std::size_t>(m)), v(size);
    std::vector<Index> owner(size, -1);
    for (Index f = 0; f < m; ++f) {
        std::vector<std::optional<W>> distance(size);
        std::vector<Index> previous(size, -1);  // the column before on the path
        std::vector<char> done(size);           // bits would take most of the time in a sanitized tree
        std::vector<Index> order;
        Index i = f, last = -1;
        W reached = 0;
        for (;;) {
            for (Index j = 0; j < total; ++j) {
                const auto c = at(i, j);
                const auto k = static_cast<std::size_t>(j);
                if (done[k] || !c) continue;
                const W d = reached + (*c - u[static_cast<std::size_t>(i)] - v[k]);
                if (!distance[k] || d < *distance[k]) {
                    distance[k] = d;
                    previous[k] = last;
                }
            }
            Index nearest = -1;
            for (Index j = 0; j < total; ++j) {
                const auto k = static_cast<std::size_t>(j);
                if (done[k] || !distance[k]) continue;
                if (nearest < 0 || *distance[k] < *distance[static_cast<std::size_t>(nearest)]) nearest = j;
            }
            if (nearest < 0) return std::nullopt;
            last = nearest;
            reached = *distance[static_cast<std::size_t>(last)];
            done[static_cast<std::size_t>(last)] = true;
            order.push_back(last);
            if (owner[static_cast<std::size_t>(last)] < 0) break;
            i = owner[static_cast<std::size_t>(last)];
        }
        u[static_cast<std::size_t>(f)] += reached;
        for (const Index j : order) {
            const W fall = reached - *distance[static_cast<std::size_t>(j)];
            v[static_cast<std::size_t>(j)] -= fall;
            const Index row = owner[static_cast<std::size_t>(j)];
            if (row >= 0) u[static_cast<std::size_t>(row)] += fall;
        }
        for (Index j = last; j >= 0;) {
            const Index before = previous[static_cast<std::size_t>(j)];
            owner[static_cast<std::size_t>(j)] = before >= 0 ? owner[static_cast<std::size_t>(before)] : f;
            j = before;
        }
    }
    W sum = 0;
    for (Index j = 0; j < total; ++j) {
        if (owner[static_cast<std::size_t>(j)] >= 0) sum += *at(owner[static_cast<std::size_t>(j)], j);
    }
    return sum;
}

}  // namespace lapwing::test
