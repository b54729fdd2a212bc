"""The CPU: the compiled methods behind the contract of `lapwing.backend`.

`backend.py` is what the flow calls. `exact.py` holds every answer to one bound: it runs a method, proves the answer,
and solves without rounding where the proof leaves a doubt; a GPU brings its doubtful answers here, too. `solve.py` is
one call of a compiled method, `small.py` all of it for small matrices, `large_costs.py` the one of costs with numbers
in place of infinity, `batch.py` many problems in one call. `held.py` computes the matrix of points in many dimensions.
"""
