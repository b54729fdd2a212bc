"""A look at a few costs of a matrix on the GPU: whether some are far above all others, or most are capped.

One block reads 256 columns of each of 16 rows (kernels/core/start/glance.cuh) before all other kernels of a solve; the
host reads the report before it launches the solver.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapwing.gpu.runtime.copies import Mail
from lapwing.gpu.runtime.tuning import LIST_SIZE

if TYPE_CHECKING:
    from lapwing.gpu.core.solver import CoreSolve

_EXPONENTS = 2048  # of doubles
_OVER, _SEEN, _CAPPED, _READ, _GREATEST = 0, 1, 65, 66, 68  # enum GlanceWord of kernels/core/start/glance.cuh
_ROWS = 16  # of a matrix on the host
_CAPPED_SHARE = 3 / 4  # at least, of the costs that are read


class Glance:
    """The kernel that looks, and its report.

    Parameters
    ----------
    solve : CoreSolve
        Of a matrix on the GPU.
    mail : Mail
        Memory for the kernel's report.
    """

    def __init__(self, solve: CoreSolve, mail: Mail) -> None:
        self._pairs: int = solve.matrix.rows
        self._cols: int = solve.matrix.real_cols
        self._dual: str = solve.matrix.dual_dtype
        self._words: NDArray[np.uint32] = mail.memory.view(np.uint32)
        self._words[_OVER] = 0
        solve.begin_glance(mail)

    @property
    def is_over(self) -> bool:
        """Whether the kernel has run."""
        return bool(self._words[_OVER])

    def shows_gap(self, prices: NDArray[Any] | None) -> bool:
        """Whether no cost or price has any of the exponents between those of two others, far apart; called at its end.

        So it is wherever costs are far above all others that were seen.
        """
        seen = int.from_bytes(self._words[_SEEN:_CAPPED].tobytes(), sys.byteorder)
        if prices is not None:
            exponents = np.abs(np.asarray(prices, np.float64)).view(np.uint64) >> 52
            seen |= sum(1 << int(e) for e in np.unique(exponents))
        seen &= (1 << (_EXPONENTS - 1)) - 2  # zeros, and numbers next to them, cost no digits
        wanted = int(math.log2(4.0 * self._pairs)) - 1
        above, width = seen << 1, 1  # exponents at most so far above one that was seen
        while width < wanted:
            more = min(width, wanted - width)
            above, width = above | above << more, width + more
        alone = seen & ~above
        return alone & (alone - 1) != 0  # another than the least

    def cap(self) -> int | float | None:
        """The greatest cost, as minimised, if nearly all costs that were read equal it; None if not."""
        greatest: int | float = self._words[_GREATEST : _GREATEST + 2].view(self._dual).item()
        return _cap(greatest, int(self._words[_CAPPED]), int(self._words[_READ]), self._cols)


def cap_in_rows(matrix: NDArray[Any], maximize: bool) -> int | float | None:
    """The same for a matrix on the host, by a look at some rows."""
    step = max(1, len(matrix) // _ROWS)
    some = matrix[: step * _ROWS : step]
    greatest = some.min() if maximize else some.max()
    value: int | float = greatest.item() if isinstance(greatest, np.integer) else float(greatest)
    return _cap(-value if maximize else value, int((some == greatest).sum()), some.size, matrix.shape[1])


def most_below(cols: int) -> float:
    """Costs below a cap in a row up to which a solve below the cap is the faster one.

    With more of them lists are hardly better than in the matrix. Both solves take as long for clipped distances with
    about 170 such costs in a row of 2000, 380 of 4096 and over 600 of 8000; for overlaps, with 210, 300 and 500.
    """
    return max(2.0 * LIST_SIZE, 4 * math.sqrt(cols))


def _cap(greatest: int | float, equal: int, count: int, cols: int) -> int | float | None:
    is_capped = equal >= _CAPPED_SHARE * count and (count - equal) * cols <= most_below(cols) * count
    return greatest if is_capped and math.isfinite(greatest) else None
