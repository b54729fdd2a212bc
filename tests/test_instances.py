"""The instance classes keep their bits: other implementations and stored optima rely on them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from lapwing import instances
from lapwing.errors import ArgumentError

# SHA-256 (first 16 digits) of the 61 x 61 float64 matrix with seed 7, and its entry (3, 5).
PINNED = (
    ("uniform", "57c9f11b4ffe1b0d", 0.5556742201011962),
    ("int:0.1", "b648bf9a419161df", 3.0),
    ("int:1", "fc1486849f229371", 34.0),
    ("int:10", "c7f98323e2d158ca", 339.0),
    ("int:100", "783c919c807e0458", 3390.0),
    ("geometric", "ae98916d8af8e9e4", 0.433931194022244),
    ("disjoint", "ca629c74bf8f4184", 0.5209402939704293),
    ("lowrank:1", "c2cf54ef5f7a85e3", 0.2830384534593635),
    ("lowrank:2", "6b9be4d212c80bb1", 0.5578923031744586),
    ("lowrank:8", "a29cd611e7f41593", 2.333595934238816),
    ("sanity", "c9482a747ffb36c5", 0.7176607367437361),
)
CLASSES = [name for name, _, _ in PINNED]


def digest(matrix: np.ndarray) -> str:
    return hashlib.sha256(matrix.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("cls", "expected", "entry"), PINNED)
def test_bits_are_pinned(cls: str, expected: str, entry: float) -> None:
    cost = instances.generate(cls, 61, 7)
    assert cost.dtype == np.float64
    assert cost[3, 5] == entry
    assert digest(cost) == expected


def test_rectangular_bits_are_pinned() -> None:
    assert digest(instances.generate("uniform", 61, 7, cols=122)) == "ae7002a7873f98f7"


@pytest.mark.parametrize("cls", CLASSES)
def test_a_block_equals_that_part_of_the_matrix(cls: str) -> None:
    whole = instances.generate(cls, 300, 3, cols=310)
    rows, cols = [5, 299, 0], np.array([309, 1, 1, 150])
    assert np.array_equal(instances.block(cls, 300, 3, rows, cols, cols=310), whole[np.ix_(rows, cols)])


@pytest.mark.parametrize("cls", ["uniform", "int:1", "geometric", "lowrank:2", "sanity"])
def test_a_matrix_of_several_tiles_has_the_same_bits(cls: str) -> None:
    wide = instances.generate(cls, 3, 1, cols=70_000)
    assert np.array_equal(
        wide[:, 65_530:65_540], instances.block(cls, 3, 1, range(3), range(65_530, 65_540), cols=70_000)
    )


def test_points_are_the_geometry_behind_the_costs() -> None:
    x, y = instances.points("disjoint", 40, 3)
    difference = x[:, None, :] - y[None, :, :]
    assert np.array_equal(instances.generate("disjoint", 40, 3), (difference**2).sum(axis=2))
    assert x[20:].min() >= 1.0 > x[:20].max()
    assert instances.points("disjoint", 5, 3)[0][4].tolist() == [1.4019709053656435, 1.3684180555436602]


def test_the_diagonal_of_sanity_is_optimal() -> None:
    cost = instances.generate("sanity", 30, 2)
    swapped = cost + cost.T - cost.diagonal()[:, None] - cost.diagonal()
    assert np.allclose(swapped, np.where(np.eye(30), 0.0, 0.2), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.uint8])
def test_other_dtypes_are_conversions(dtype: type) -> None:
    assert np.array_equal(
        instances.generate("int:1", 50, 1, dtype=dtype), instances.generate("int:1", 50, 1).astype(dtype)
    )


def test_empty_and_single() -> None:
    assert instances.generate("uniform", 0, 1).shape == (0, 0)
    assert instances.generate("geometric", 1, 1).shape == (1, 1)
    assert instances.generate("uniform", 3, 1, cols=0).shape == (3, 0)


@pytest.mark.parametrize(
    "cls", ["", "unknown", "uniform:2", "int:x", "int:-1", "int:1e9", "int:inf", "lowrank:0", "lowrank:1.5"]
)
def test_unknown_classes_are_refused(cls: str) -> None:
    with pytest.raises(ArgumentError, match="unknown instance class.*uniform, int:R"):
        instances.generate(cls, 10, 1)


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(ArgumentError, match="seed -1 is out of range"):
        instances.generate("uniform", 3, -1)
    with pytest.raises(ArgumentError, match="seed 'a' is out of range"):
        instances.generate("uniform", 3, "a")
    with pytest.raises(ArgumentError, match=r"n must be an integer, got 3\.5"):
        instances.generate("uniform", 3.5)
    with pytest.raises(ArgumentError, match="unknown instance class 3"):
        instances.generate(3, 3)
    with pytest.raises(ArgumentError, match="-3 x 5"):
        instances.generate("uniform", -3, 1, cols=5)
    with pytest.raises(ArgumentError, match="not integers.*int32"):
        instances.generate("uniform", 3, 1, dtype=np.int32)
    with pytest.raises(ArgumentError, match="up to 300; uint8 holds less"):
        instances.generate("int:100", 3, 1, dtype=np.uint8)
    with pytest.raises(ArgumentError, match="complex128"):
        instances.generate("uniform", 3, 1, dtype=complex)
    with pytest.raises(ArgumentError, match="'uniform' has no points"):
        instances.points("uniform", 3, 1)


@pytest.mark.skipif("LAPWING_REFERENCE" not in os.environ, reason="LAPWING_REFERENCE names no reference generator")
@pytest.mark.parametrize("cls", CLASSES)
def test_equal_to_the_reference_generator(cls: str) -> None:
    path = Path(os.environ["LAPWING_REFERENCE"]) / "instances.py"
    spec = importlib.util.spec_from_file_location("reference_instances", path)
    assert spec is not None and spec.loader is not None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    for n, seed in ((1, 0), (2, 5), (97, 2**40), (300, 1)):
        assert reference.matrix(cls, n, seed).tobytes() == instances.generate(cls, n, seed).tobytes()
