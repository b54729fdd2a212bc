"""The core method on one GPU: launches and starting prices; the algorithm itself is in kernels/core.

Read `solver` first, then `start` with `sorted_prices` and `stratified`, then `host_solver` for matrices that stay on
the host. `monitor` is the channel to a running kernel; `errors` explains why there is no assignment; `large_costs`
forbids big M.
"""
