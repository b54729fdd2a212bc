"""The fuzz target's seeds are all readable, and every damage of one byte or one cut is answered as it should be."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("fuzz_readers", Path(__file__).with_name("fuzz_readers.py"))
assert _spec is not None and _spec.loader is not None
fuzz_readers = importlib.util.module_from_spec(_spec)
sys.modules["fuzz_readers"] = fuzz_readers
_spec.loader.exec_module(fuzz_readers)


@pytest.mark.parametrize("seed", fuzz_readers.seeds())
def test_seeds(tmp_path: Path, seed: bytes) -> None:
    readable = fuzz_readers.read_bytes(seed, tmp_path)
    assert readable is not None or b"arr_1" in seed  # two arrays, none of them named cost
    random_numbers = random.Random(seed)
    for _ in range(40):
        damaged = bytearray(seed[: random_numbers.randint(1, len(seed))])
        damaged[random_numbers.randrange(len(damaged))] = random_numbers.choice(b"\0\n ,;.-+e9ain%\xff")
        fuzz_readers.read_bytes(bytes(damaged), tmp_path)
