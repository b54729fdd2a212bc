// The arrays of the core's workspace after its head, in order: USE(name, type, number of items). Each number of items
// is rows, cols, their sum, or a multiple of one of these. State::carve divides the workspace by this list, and
// gpu/core/memory.py computes its size from the same list (gpu/runtime/tuning.py).
#pragma once

// clang-format off
#define FOR_EACH_CORE_ARRAY(USE)                       \
    USE(list_col, int32, rows * Tuning::list_size)     \
    USE(list_cost, ListCost, rows * Tuning::list_size) \
    USE(tau, Dual, rows)                               \
    USE(row_distance, Dual, rows)                      \
    USE(full_distance, Dual, rows)                     \
    USE(full_search, uint32, rows)                     \
    USE(rows_at_work[0], int32, rows)                  \
    USE(rows_at_work[1], int32, rows)                  \
    USE(frontier[0], Edge, 2 * rows)                   \
    USE(frontier[1], Edge, 2 * rows)                   \
    USE(refresh_rows, int32, rows)                     \
    USE(free_rows, int32, rows)                        \
    USE(full_rows, int32, rows)                        \
    USE(target[0], int32, rows)                        \
    USE(target[1], int32, rows)                        \
    USE(claim, int32, rows)                            \
    USE(col_to_row, int32, cols)                       \
    USE(best_bid[0], uint64, cols)                     \
    USE(best_bid[1], uint64, cols)                     \
    USE(distance, uint64, cols)                        \
    USE(stamp, uint32, cols)                           \
    USE(parent_row, int32, cols)                       \
    USE(parent_edge, Edge, cols)                       \
    USE(backward_distance, uint64, rows + cols)        \
    USE(successor, int32, rows)                        \
    USE(free_cols, int32, cols)                        \
    USE(met_cols, int32, cols)                         \
    USE(roots, int32, cols)                            \
    USE(listing_price, ListingPrice, 2 * cols)
// clang-format on
