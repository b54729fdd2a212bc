"""Where a problem's costs are, decided once: one class a kind, behind one contract.

`base.py` holds the contract, and says what a new kind has to supply. `resident.py` is a matrix in the GPU's memory,
`uploaded.py` one that comes from the host, `computed.py` costs that the GPU computes, `held.py` those of which it
holds the matrix, `streamed.py` costs that stay on the host, `sparse.py` sparse costs in either's memory. `choose.py`
tells which kind the user's costs are. `lapwing.gpu.backend` and `lapwing.gpu.batch.single` call them, and ask nowhere
else what kind of costs they have.
"""
