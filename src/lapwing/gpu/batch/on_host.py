"""Batches on a GPU that only a CPU can solve as asked: copied to the host, solved there, and answered on the GPU.

So are prices of columns. The host waits for the GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing import inputs
from lapwing.arrays import to_host
from lapwing.certificate import Certificate
from lapwing.cpu.backend import solve_batch
from lapwing.gpu.batch.inputs import BatchOptions, check_stack, form_of
from lapwing.gpu.batch.launch import BatchArrays, outputs_of
from lapwing.gpu.batch.solve import BatchOnGpu, handed_over, viewed
from lapwing.gpu.runtime.copies import read_array, write
from lapwing.gpu.runtime.device import shared_context


def solve_batch_on_host(costs: Any, options: BatchOptions, device: str) -> BatchOnGpu:
    """`gpu.batch.solve_batch`, with its options and errors, by the CPU; waits for the GPU."""
    stack = viewed(costs, device)
    check_stack(stack)
    options.check_flags()
    prices = tuple(map(to_host, options.unmatched_cost))
    counts = to_host(options.row_counts), to_host(options.col_counts)
    with shared_context(stack.ordinal, stack.stream) as context:
        problems = inputs.make_stack(read_array(stack), options.maximize, prices, *counts)
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
        return handed_over(context, answer, stack.shape[2])


def _proof_arrays(proofs: list[Certificate | None], dtype: str) -> list[Any]:
    """Violation, gap and fault of each problem, as a kernel gives them."""
    nothing = np.nan if dtype == "float64" else 0
    columns = [
        [nothing if proof is None else getattr(proof, name) for proof in proofs] for name in ("violation", "gap")
    ]
    return [*(np.array(column, dtype) for column in columns), np.array([proof is None for proof in proofs], np.int32)]
