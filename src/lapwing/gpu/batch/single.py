"""Batches of few large problems, or of such as are too large for a block: one after the other by `solve`'s method.

Each has the whole GPU. The answer has the form that every batch on a GPU has. The host waits for each problem, and
refuses each on its own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from lapwing.answer import Answer
from lapwing.certificate import Certificate
from lapwing.errors import InfeasibleError, InvalidCostError, RangeError
from lapwing.gpu.backend import Solve
from lapwing.gpu.batch.check import (
    BAD_COUNTS,
    INFEASIBLE,
    INVALID_COST,
    SOLVED,
    TOO_LARGE,
    host_prices,
    settle,
)
from lapwing.gpu.batch.inputs import BatchOptions, BatchRequest, check_stack, make_request
from lapwing.gpu.batch.launch import BatchArrays, outputs_of
from lapwing.gpu.given_back import gpu_array
from lapwing.gpu.kinds.resident import ResidentMatrix
from lapwing.gpu.runtime.arrays import ITEM_BYTES, GpuArray
from lapwing.gpu.runtime.copies import copy_bytes, fill_bytes, read, write
from lapwing.gpu.runtime.device import Context
from lapwing.request import Request

_STATUS = {InfeasibleError: INFEASIBLE, InvalidCostError: INVALID_COST, RangeError: TOO_LARGE}


def solve_singly(context: Context, stack: GpuArray, options: BatchOptions) -> BatchArrays:
    """`gpu.batch.solve.solve_stack` for large problems: with its options and errors."""
    check_stack(stack)
    options.check_flags()
    request = make_request(context, stack, options)
    answer = BatchArrays(context, stack, outputs_of(request.form)[options.duals, options.certify])
    _Singly(context, request, answer, options.certify).run()
    if options.check or options.is_partial:
        settle(context, request, answer, options)
    return answer


class _Singly:
    """The problems of one batch in turn."""

    def __init__(self, context: Context, request: BatchRequest, answer: BatchArrays, certify: bool) -> None:
        self._context, self._request, self._answer = context, request, answer
        self._count, self._rows, self._cols = request.costs.shape
        self._dual = np.dtype(request.form.dual_dtype)
        self._certify = certify

    def run(self) -> None:
        context, (row_to_col, objective, status, u, v, *proof) = self._context, self._answer.pointers
        by_problem = [(row_to_col, 0xFF, self._rows), (u, 0, self._rows), (v, 0, self._cols)]
        for pointer, byte, length in by_problem:
            if pointer:
                fill_bytes(context, pointer, byte, 8 * self._count * length)
        objectives: list[Any] = [None] * self._count
        proofs: list[Certificate | None] = [None] * self._count
        statuses = np.zeros(self._count, np.int32)
        rows = self._sizes(self._request.row_counts, self._rows)
        cols = self._sizes(self._request.col_counts, self._cols)
        for b in range(self._count):
            answer, proofs[b], statuses[b] = self._solve(b, rows[b], cols[b])
            if answer is None:
                continue
            objectives[b] = answer.objective
            parts: tuple[Any, ...] = (answer.row_to_col, answer.u, answer.v)
            for (pointer, _, length), part in zip(by_problem, parts, strict=True):
                if pointer:
                    copy_bytes(context, pointer + 8 * b * length, part.pointer, part.nbytes)
        write(context, status, statuses)
        self._write(objective, objectives)
        if proof:
            self._write(proof[0], [None if c is None else c.violation for c in proofs])
            self._write(proof[1], [None if c is None else c.gap for c in proofs])
            write(context, proof[2], np.array([c is None for c in proofs], np.int32))

    def _solve(self, b: int, rows: int, cols: int) -> tuple[Answer | None, Certificate | None, int]:
        """The answer to problem b, its arrays in GPU memory; its certificate; its status."""
        costs, prices = self._request.costs, self._request.prices
        if not (0 <= rows <= self._rows and 0 <= cols <= self._cols):
            return None, None, BAD_COUNTS
        item = costs.strides[0] * ITEM_BYTES[costs.dtype]
        matrix = replace(costs, pointer=costs.pointer + b * item, shape=(rows, cols), strides=costs.strides[1:])
        price = None if prices is None else host_prices(self._context, prices, b, rows)
        try:
            kind = ResidentMatrix(self._context, matrix)
            asked = Request(self._request.maximize, price, certify=self._certify)
            answer, certificate = Solve(kind, kind.plan(asked), asked).run()
        except (InfeasibleError, InvalidCostError, RangeError) as error:
            return None, None, _STATUS[type(error)]
        answer.row_to_col, answer.u, answer.v = (
            gpu_array(self._context, array, kind.array_template) for array in (answer.row_to_col, answer.u, answer.v)
        )
        return answer, certificate, SOLVED

    def _sizes(self, counts: GpuArray | None, otherwise: int) -> list[int]:
        if counts is None:
            return [otherwise] * self._count
        sizes: list[int] = read(self._context, counts.pointer, self._count, counts.dtype).tolist()
        return sizes

    def _write(self, pointer: int, values: list[Any]) -> None:
        nothing = math.nan if self._dual.kind == "f" else 0
        write(self._context, pointer, np.array([nothing if x is None else x for x in values], self._dual))
