// The answer of every method: an assignment, duals that are feasible for the whole problem, and counters.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

enum class Status { optimal, time_limit, infeasible };

// Named counters and stage times in seconds, in the order in which they were added.
struct Statistics {
    std::vector<std::pair<std::string, double>> values;
    void set(std::string name, double value) { values.emplace_back(std::move(name), value); }
    void add(const std::string& name, double value) {
        for (auto& entry : values)
            if (entry.first == name) {
                entry.second += value;
                return;
            }
        set(name, value);
    }
};

// Invariants on return, for the problem as it is minimised (Problem<T>):
//   optimal     row_to_col is a perfect matching of the rows (of the rows that do not stay free at their unmatched
//               cost); cost(i,j) - u[i] - v[j] >= 0 on all pairs that are not forbidden, with equality on matched ones.
//               Rectangular or with unmatched costs: v <= 0, and v[j] == 0 for free columns.
//               With unmatched costs: u[i] <= unmatched_cost[i], with equality for rows that stay free.
//   time_limit  row_to_col is the best assignment found, -1 where a row has none; u and v are feasible (same signs), so
//               sum(u) + sum(v) is a lower bound.
//   infeasible  hall_rows have only hall_cols as columns that are not forbidden, and |hall_rows| > |hall_cols|.
template <class D>
struct Solution {
    Status status = Status::optimal;
    std::vector<Index> row_to_col;  // [rows]
    std::vector<D> u;               // [rows]
    std::vector<D> v;               // [cols]
    double shift = 0;               // by which prices were moved at the end: their errors are ulps of it, too
    std::vector<Index> hall_rows;
    std::vector<Index> hall_cols;
    Statistics statistics;
};

// Called now and then with the method's current state, from which another solve can start: duals as under time_limit,
// and an assignment, -1 where a row has no column yet. May throw.
template <class D>
using Keep = std::function<void(std::vector<D>&& u, std::vector<D>&& v, std::vector<Index>&& row_to_col)>;

}  // namespace lapwing
