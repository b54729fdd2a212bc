"""Many small problems in a launch or two, without a host in the loop.

In the order of a call: `api` (what users call), `inputs` (checks), `plan` (which engine), `launch`, `solve`; `gather`
and `check` finish what the kernels left; `single` solves problems too large for a block; `torch_operator` is what
PyTorch's compiler sees.
"""
