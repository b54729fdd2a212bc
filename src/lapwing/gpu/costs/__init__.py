"""The costs of a solve on a GPU, one module a kind: resident, uploaded, computed, streamed from the host.

`canonical` brings a matrix into the form that solvers read; `upload` copies one from the host; `computed` makes a
program of points or a function, `spatial_order` puts its points in order; `host_rows` streams what does not fit;
`unmatched` adds the columns of rows that may stay free. Called by the flow and by `core`.
"""
