// The direct path: Jonker-Volgenant on the rows as they lie in memory, in one block of workspace and nothing else.
//
// solve_jv (methods.hpp) answers through this for any size; batches and the native linear_sum_assignment call
// it themselves and keep the workspace from one problem to the next. The algorithm is explained in jv/jv.inc.hpp.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/huge_pages.hpp"
#include "lapwing/solution.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Problems whose smaller side is at most this long are solved directly by "auto" and by batches, others by the core:
// below it, building candidate lists costs more than the dense scans that they save. Where both are equally fast
// depends on the costs: structured ones favour the core from about 300 on, unstructured and rectangular ones the direct
// path to 1000.
inline constexpr Index kDirectMaxRows = 384;

// The result of the direct path, in the workspace; valid until the workspace is used again.
template <class D>
struct DirectAnswer {
    Status status = Status::optimal;
    const Index* row_to_col = nullptr;  // [rows], -1 where the row stays free
    const D* u = nullptr;               // [rows], only if asked for
    const D* v = nullptr;               // [cols]
    const Index* hall_rows = nullptr;   // [hall_size + 1], if infeasible
    const Index* hall_cols = nullptr;   // [hall_size]
    Index hall_size = 0;
    double rows_read = 0;  // rows of the matrix that were scanned, with repetitions
    bool gave_up = false;  // then nothing else is set
};

// The prices from which square problems start: those of column reduction, or zero where that promises more
// (jv.inc.hpp); or zero in any case.
enum class JvStart { fitting, zero };

// Prices and pairs from which a solve goes on: every pair attains its row's minimum of cost - v, no price is above zero
// where columns outnumber rows, and those of free columns are zero there. All costs are known to be valid.
template <class D>
struct JvState {
    std::vector<D> v;               // [cols]
    std::vector<Index> row_to_col;  // [rows], -1 where a row is free
};

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// How many rows may be read, with repetitions. jv gives up as soon as it expects to read more. It expects each search
// that is left to read as many rows as the latest. If searches `grow`, it takes the mean of this and of a second guess:
// to match half of the waiting rows takes as many reads as to match half of those that are left then, and so on.
struct JvLimit {
    double rows_read;
    bool grow;

    JvLimit(double rows_read = kNoLimit, bool grow = false) : rows_read(rows_read), grow(grow) {}
};

// Whether the matrix is copied: small ones that are maximised, and those whose rows are not contiguous.
template <class T>
bool copies_for_direct(const Problem<T>& problem) {
    return problem.cost.col_stride != 1 || (problem.maximize && problem.cost.rows <= kDirectMaxRows);
}

// The workspace in bytes; it must be aligned to kDirectAlignment.
template <class T>
std::size_t direct_workspace_bytes(const Problem<T>& problem);
inline constexpr std::size_t kDirectAlignment = 64;

struct WorkspaceDelete {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{kDirectAlignment}); }
};
using Workspace = std::unique_ptr<std::byte, WorkspaceDelete>;
inline Workspace make_workspace(std::size_t bytes) {
    Workspace memory(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{kDirectAlignment})));
    ask_for_huge_pages(memory.get(), bytes);
    return memory;
}

// Solves the problem (rows <= cols or unmatched_cost given, rows and cols > 0). Throws InvalidCost and CostTooLarge.
// `control` may be null: then the clock is never looked at. u is computed only `with_u`. Goes on from `state`, if there
// is one.
template <class T>
DirectAnswer<Dual<T>> solve_direct(const Problem<T>& problem, std::byte* workspace, bool with_u, Control* control,
                                   JvLimit limit = {}, JvStart start = JvStart::fitting,
                                   const JvState<Dual<T>>* state = nullptr);

}  // namespace lapwing
