// The arrays of a block's state in shared memory, in order: USE(name, type, number of items). Each number of items is a
// constant, rows, cols, ring (the least power of two that is at least rows and 2) or words (one bit per row).
// BlockState::carve divides shared memory by this list, and gpu/batch/plan.py computes its size from the same list
// (gpu/runtime/tuning.py).
#pragma once

// clang-format off
#define FOR_EACH_BLOCK_ARRAY(USE)       \
    USE(frontier, FrontierRow, 64)      \
    USE(parts, Dual, 32)                \
    USE(reached_by, int32, 2)           \
    USE(keys, uint32, 64)               \
    USE(waiting, int32, 4)              \
    USE(price, Dual, cols)              \
    USE(row_dual, Dual, rows)           \
    USE(unmatched_price, Dual, rows)    \
    USE(row_of, int32, cols)            \
    USE(column_of, int32, rows)         \
    USE(from, int32, cols)              \
    USE(queue, int32, ring)             \
    USE(ends, int32, rows)              \
    USE(reached, uint32, words)
// clang-format on
