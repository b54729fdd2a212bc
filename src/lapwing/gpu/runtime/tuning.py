"""Numbers that Python shares with the kernels, read from the files of kernels/ in which they stand."""

from __future__ import annotations

import re
from functools import cache

from lapwing.gpu.runtime.compile import KERNELS


@cache
def _text(file: str) -> str:
    return (KERNELS / file).read_text(encoding="utf-8")


def number(file: str, name: str) -> int:
    """The integer that a file of kernels/ gives to a name."""
    found = re.search(rf"\b{name}\s*=\s*(\d+)[,;]", _text(file))
    assert found is not None, f"{name} is no number of {file}"
    return int(found[1])


def arrays(file: str) -> list[tuple[str, int, str]]:
    """The arrays in a list of kernels/: the type of their items, and their number as a factor and a name (or "1")."""
    found = []
    for kind, count in re.findall(r"^ +USE\([\w\[\]]+, (\w+), ([^)]+)\)", _text(file), re.MULTILINE):
        factor, name = 1, "1"
        for part in count.split(" * "):
            if part.isdigit():
                factor *= int(part)
            elif part.startswith("Tuning::"):
                factor *= number(_CORE, part.removeprefix("Tuning::"))
            else:
                name = part
        found.append((kind, factor, name))
    return found


_CORE, _COSTS = "core/tuning.cuh", "costs/tuning.cuh"
LIST_SIZE = number(_CORE, "list_size")
CLUSTER_BLOCKS = number(_CORE, "cluster_blocks")
LINES = number(_COSTS, "lines")
BOX_POINTS = 32 * number(_COSTS, "positions_ahead")  # kPiece of kernels/costs/computed.cuh, where programs are short
FAN, MOST_HELD = (number(_COSTS, name) for name in ("fan", "most_held"))
TILE_SIDE, OWN_LINES, OWN_POSITIONS = (number(_COSTS, f) for f in ("tile_side", "own_lines", "own_positions"))
MOST_ROWS = 1 << number(_CORE, "row_bits")
MOST_SHARDS = number("costs/sharded.cuh", "most_shards")
SAMPLE_STEP = number(_CORE, "sample_step")
BOUND_ROWS, BOUND_COLS = (number(_CORE, name) for name in ("bound_rows", "bound_cols"))
ROW_SALT, COL_SALT = (number("costs/sample.cuh", name) for name in ("kRowSalt", "kColSalt"))
