"""Tuning numbers that Python shares with the core's kernels, read from struct Tuning of kernels/core/tuning.cuh."""

from __future__ import annotations

import re

from lapwing.gpu.runtime.compile import KERNELS

_TEXT = (KERNELS / "core" / "tuning.cuh").read_text(encoding="utf-8")


def _number(name: str) -> int:
    found = re.search(rf"\b{name}\s*=\s*(\d+);", _TEXT)
    assert found is not None, f"{name} is no number of struct Tuning"
    return int(found[1])


LIST_SIZE = _number("list_size")
CLUSTER_BLOCKS = _number("cluster_blocks")
LINES = _number("lines")
BOX_POINTS = 32 * _number("positions_ahead")  # kPiece of kernels/costs/computed.cuh, where programs are short
SAMPLE_STEP = _number("sample_step")
