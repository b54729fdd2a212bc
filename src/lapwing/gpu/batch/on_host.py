"""Batches on a GPU that only a CPU can solve as asked: copied to the host, solved there, and answered on the GPU.

So are prices of columns. The host waits for the GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing import inputs
from lapwing.arrays import read_view, to_host
from lapwing.certificate import Certificate
from lapwing.cpu.backend import solve_batch
from lapwing.gpu.batch.inputs import BatchOptions, check_stack, form_of
from lapwing.gpu.batch.launch import BatchArrays, outputs_of
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.copies import write
from lapwing.gpu.runtime.device import Context


def solve_on_host(context: Context, stack: GpuArray, options: BatchOptions) -> BatchArrays:
    """`gpu.batch.solve.solve_stack`, with its options and errors, by the CPU; waits for the GPU."""
    check_stack(stack)
    options.check_flags()
    prices = tuple(map(_read, options.unmatched_cost))
    problems = inputs.make_stack(
        read_view(stack), options.maximize, prices, _read(options.row_counts), _read(options.col_counts)
    )
    asked: Any = {"duals": options.duals, "certify": options.certify, "check": options.check}
    found, proofs = solve_batch(problems, inputs.processors(), **asked, partial=options.is_partial)
    form = form_of(stack, problems.costs.dtype.name, options.maximize, priced=True, ragged=False)
    answer = BatchArrays(context, stack, outputs_of(form)[options.duals, options.certify])
    parts = [found.row_to_col, found.objective, found.status, found.u, found.v]
    if proofs is not None:
        parts += _proof_arrays(proofs, form.dual_dtype)
    for pointer, part in zip(answer.pointers, parts, strict=True):
        if pointer:
            write(context, pointer, np.ascontiguousarray(part))
    return answer


def _read(values: Any) -> Any:
    """NumPy's of a view of what is on a GPU, too."""
    return read_view(values) if isinstance(values, GpuArray) else to_host(values)


def _proof_arrays(proofs: list[Certificate | None], dtype: str) -> list[Any]:
    """Violation, gap and fault of each problem, as a kernel gives them."""
    nothing = np.nan if dtype == "float64" else 0
    columns = [
        [nothing if proof is None else getattr(proof, name) for proof in proofs] for name in ("violation", "gap")
    ]
    return [*(np.array(column, dtype) for column in columns), np.array([proof is None for proof in proofs], np.int32)]
