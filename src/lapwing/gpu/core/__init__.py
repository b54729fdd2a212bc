"""The core method on one GPU: launches and starting prices; the algorithm itself is in kernels/core.

Read `solver` first, then `start` with `sorted_prices` and `stratified`, then `host_solver` for matrices that stay on
the host, `sparse_solver` for sparse costs. `monitor` is the channel to a running kernel; `errors` explains why there is
no assignment. `glance` looks at a few costs before a solve: `large_costs` forbids big M, `capped` leaves out pairs at
a cap.
"""
