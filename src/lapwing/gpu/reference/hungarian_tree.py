"""Method "hungarian-tree" on a GPU (kernels/reference/hungarian_tree.cu)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from lapwing.gpu.reference.hungarian import START, HungarianSolve
from lapwing.gpu.runtime.programs import HUNGARIAN_TREE

PATIENT = math.inf  # levels for each row


class HungarianTreeSolve(HungarianSolve):
    """The variant with alternating trees: slacks of columns are kept while the forest grows.

    A dual update changes one number, which the forward pass finds on its way; its time is there.
    """

    method = "hungarian-tree"
    program = HUNGARIAN_TREE
    steps: ClassVar[Mapping[str, str]] = START | {
        "list": "reduction",
        "gather": "forward",
        "grow": "forward",
        "flip": "augmentation",
    }

    def _search(self) -> None:
        self._launch_grid("solve_hungarian_tree", 0, PATIENT, 0)
        self._follow()
