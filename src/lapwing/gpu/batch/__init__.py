"""Many small problems in a launch or two, without a host in the loop.

In the order of a call: `api` (what users call), `inputs` (checks), `plan` (which engine), `launch`, `solve`. Then
`check` solves on the CPU what the kernels left open. `single` solves few large problems; `host` brings
costs from the host and the answer back.
"""
