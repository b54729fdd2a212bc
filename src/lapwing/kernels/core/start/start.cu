// Prices to start from: a sample's duals carried over to all rows and columns (column minima: core/start/minima.cuh).
//
//   u[i] = min over sampled j (c[i,j] - v[j]),   v[j] = min over all i (c[i,j] - u[i])
//
// These are feasible for any v, and good if the sample was solved. Cost: one read of the sampled columns (32 bytes for
// each cost), one of the matrix. All arithmetic is as in the method itself. For costs explained by two orders,
// gpu/core/sorted_prices.py finds prices from differences of costs.
//
// For a matrix: gather, row_bounds, column_bounds (core/start/matrix.cuh), forbid_large (core/start/large.cuh),
// count_below, keep_below (core/start/capped.cuh). For computed costs, whose program is core/start/computed_start.cu:
// gather, line_bounds (core/start/computed.cuh). For both: sorting_keys, price_rises (core/start/sorted.cuh),
// take_prices, limit_bounds (core/start/unmatched.cuh).
#include "costs/matrix.cuh"

#include "core/start/capped.cuh"
#include "core/start/large.cuh"
#include "core/start/matrix.cuh"
#include "core/start/unmatched.cuh"
