"""The assignment problems of the OR-Library, read and solved by the command line: known optima, exact certificates.

The environment variable LAPWING_ORLIB names the folder with the files assign100.txt ... assignp5000.txt.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

OPTIMA = {
    "assign100": 305,
    "assign200": 475,
    "assign300": 626,
    "assign400": 804,
    "assign500": 991,
    "assign600": 1176,
    "assign700": 1362,
    "assign800": 1552,
    "assignp800": 2239,
    "assignp1500": 5839,
    "assignp3000": 18696,
    "assignp5000": 48533,
}

pytestmark = pytest.mark.skipif(
    "LAPWING_ORLIB" not in os.environ, reason="LAPWING_ORLIB does not name the folder with the OR-Library's files"
)


@pytest.mark.parametrize("name", OPTIMA)
def test_known_optimum(invoke, name: str) -> None:
    path = Path(os.environ["LAPWING_ORLIB"], f"{name}.txt").resolve()
    result = invoke("solve", path, "--json")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    n = int(name.removeprefix("assign").removeprefix("p"))
    assert answer["format"] == ("orlib-sparse" if name.startswith("assignp") else "orlib")
    assert answer["objective"] == OPTIMA[name]
    assert answer["certificate"]["exact"] and answer["certificate"]["gap"] == 0
    assert answer["certificate"]["violation"] == 0
    assert np.array_equal(np.sort(answer["row_to_col"]), np.arange(n))
