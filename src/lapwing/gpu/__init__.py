"""Lapwing on NVIDIA GPUs: kernels are text, compiled when first used; cuda.core is imported when first needed.

The flow calls `backend.py`. It is one solve for all kinds of costs; `kinds/` holds a class for each kind, and the
contract for a new one. `early_end.py` says when less than the whole is solved, `plan.py` computes the memory of a
solve; `given_back.py` makes the arrays of an answer the user's. `core/` is the core method, `costs/` makes the costs
readable for kernels, `certificate/` proves answers, `reference/` holds the methods of the papers, `batch/` solves many
small problems, and `runtime/` is the base of all of them.
"""
