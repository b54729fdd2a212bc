"""The kind of a problem's costs, decided once: one class a kind, behind one contract.

`base.py` holds the contract that a new kind has to meet. `resident.py` is a matrix in the GPU's memory,
`uploaded.py` one that comes from the host, `computed.py` costs that the GPU computes, `held.py` those of which it
holds the matrix, `streamed.py` costs that stay on the host, `sparse.py` sparse costs in either's memory, `capped.py`
the costs of a matrix below its cap. `choose.py` detects the kind of the user's costs. `lapwing.gpu.backend` and
`lapwing.gpu.batch.single` call these classes, and do not depend on the kind otherwise.
"""
