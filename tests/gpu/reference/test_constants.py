"""The C++ tests of kernels/reference take the numbers that gpu/runtime/programs.py passes to the kernels."""

from __future__ import annotations

import re
from pathlib import Path

from lapwing.gpu.runtime.programs import PROGRAMS

HEADER = Path(__file__).parents[3] / "cpp" / "tests" / "emulation" / "reference_constants.hpp"
OTHERS = {"NEAR_STEPS": 8}  # so few that a small problem takes more


def test_the_header_repeats_the_constants_of_the_programs():
    given = dict(re.findall(r"^#define (\w+) (.+)$", HEADER.read_text(), re.MULTILINE))
    assert given["FOREST_ROW_BYTES"] == "(4 * TIGHT + 40)"
    given["FOREST_ROW_BYTES"] = str(4 * int(given["TIGHT"]) + 40)
    for name, text in given.items():
        passed = {program.constants[name] for program in PROGRAMS if name in program.constants}
        assert {int(text)} == ({OTHERS[name]} if name in OTHERS else passed), name
