"""Lapwing on NVIDIA GPUs: kernels are text, compiled when first used; cuda.core is imported when first needed.

The flow calls `backend.py`. It is one solve, whatever kind its costs are of; `kinds/` holds a class for each kind, and
says what a new one supplies. `plan.py` tells how much memory a solve takes. `core/` searches, `costs/` brings the costs
to where kernels read them, `certificate/` proves; `reference/` holds the methods of the papers, `batch/` many small
problems, `runtime/` what all of them stand on.
"""
