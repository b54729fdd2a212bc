"""NumPy's files: mapped, unpacked, refused where they hold pickles."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing as lw
from lapwing import files
from support.refusal import fails
from support.sparse import written_out


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "i1", "u8", "?", "f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_is_mapped(tmp_path: Path, dtype: str, order: str) -> None:
    cost = np.asarray(np.arange(12).reshape(3, 4), dtype=dtype, order=order)
    np.save(tmp_path / "a.npy", cost)
    problem = files.read(tmp_path / "a.npy")
    assert isinstance(problem.cost, np.memmap)
    assert not problem.cost.flags.writeable
    assert problem.cost.dtype == cost.dtype
    assert problem.cost.flags.f_contiguous == (order == "F")
    assert np.array_equal(problem.cost, cost)


def test_empty_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.empty((0, 4), dtype=np.float32))
    assert files.read(tmp_path / "a.npy").cost.shape == (0, 4)


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npz(tmp_path: Path, write, order: str) -> None:
    cost = np.asarray(np.random.default_rng(0).random((30, 40)), order=order)
    write(tmp_path / "one.npz", anything=cost)
    write(tmp_path / "two.npz", other=cost[:3], cost=cost)
    for name in ("one.npz", "two.npz"):
        assert np.array_equal(files.read(tmp_path / name).cost, cost)
    write(tmp_path / "none.npz", other=cost[:3], costs=cost)
    fails(tmp_path / "none.npz", "named 'cost'", "other, costs")


def test_unfit_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for array, word in (
        (np.zeros(3), "shape (3,)"),
        (np.zeros((2, 2, 2)), "shape (2, 2, 2)"),
        (np.zeros((2, 2), dtype=complex), "complex128"),
        (np.zeros((2, 2), dtype="S3"), "|S3"),
        (np.zeros((2, 2), dtype=[("a", float)]), "not real numbers"),
    ):
        np.save(path, array)
        fails(path, word)


class Bomb:
    """Its pickle would make a file, were it loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


def test_pickles_are_refused_and_not_run(tmp_path: Path) -> None:
    made = tmp_path / "made"
    objects = np.array([[Bomb(made)]], dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "a.npz", cost=objects)
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(Bomb(made)))
    for name in ("a.npy", "a.npz", "a.pkl"):
        fails(tmp_path / name, "pickle", "refused")
    assert not made.exists()


def test_damaged_npy(tmp_path: Path, save) -> None:
    np.save(tmp_path / "a.npy", np.zeros((50, 50)))
    whole = (tmp_path / "a.npy").read_bytes()
    fails(save("b.npy", whole[:-1]), "truncated", "50 x 50", "20127")
    fails(save("b.npy", whole[:40]), "damaged .npy header")
    fails(save("b.npy", whole[:7]), "damaged .npy header")
    fails(save("b.npy", b"nonsense"), "damaged .npy header")
    fails(save("b.npy", whole.replace(b"(50, 50)", b"(50,-50)")), "shape (50, -50)")


def test_damaged_npz(tmp_path: Path, save) -> None:
    np.savez_compressed(tmp_path / "a.npz", np.random.default_rng(0).random((50, 50)))
    whole = (tmp_path / "a.npz").read_bytes()
    fails(save("b.npz", whole[:-30]), "cannot be read as .npz")
    middle = len(whole) // 2
    fails(save("b.npz", whole[:middle] + bytes(64) + whole[middle + 64 :]), "cannot be read as .npz")
    fails(save("b.npz", b"nonsense"), "cannot be read as .npz")
    with zipfile.ZipFile(tmp_path / "c.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("cost.npy", bytes(100))
    fails(tmp_path / "c.npz", "packed by method 14")


def sparse_matrix():
    rng = np.random.default_rng(2)
    matrix = sp.random_array((40, 50), density=0.2, rng=rng, dtype=np.float32) + sp.eye_array(40, 50, dtype=np.float32)
    return matrix.tocsr()


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [True, False])
def test_sparse_npz_as_scipy_writes_it(tmp_path: Path, form: str, compressed: bool) -> None:
    matrix = sparse_matrix()
    sp.save_npz(tmp_path / "a.npz", matrix.asformat(form), compressed)
    problem = files.read(tmp_path / "a.npz")
    assert (problem.format, problem.cost.dtype) == ("npz", np.float32)
    expected = np.full(matrix.shape, np.inf)
    expected[matrix.nonzero()] = matrix.data
    assert np.array_equal(written_out(problem.cost), expected)
    assert lw.solve(problem.cost).objective == lw.solve(matrix).objective


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format": np.array(b"bsr")}, "format 'bsr'"),
        ({"format": np.array(7)}, "'format' is () int64"),
        ({"shape": np.array([40])}, "shape [40]"),
        ({"shape": np.array([-1, 50])}, "damaged"),
        ({"shape": np.array([40, 2])}, "column"),
        ({"shape": np.array([41, 50])}, "41 rows"),
        ({"shape": np.array([2**31, 50])}, "at most"),
        ({"indptr": np.zeros((2, 2), np.int64)}, "'indptr' is (2, 2)"),
        ({"indptr": np.full(41, 2**60)}, "indptr"),
        ({"indices": np.zeros(3, np.int32)}, "length"),
        ({"data": np.zeros(3, complex)}, "complex"),
    ],
)
def test_damaged_sparse_npz(tmp_path: Path, changed: dict, words: str) -> None:
    sp.save_npz(tmp_path / "a.npz", sparse_matrix())
    with np.load(tmp_path / "a.npz") as whole:
        np.savez(tmp_path / "a.npz", **(dict(whole) | changed))
    fails(tmp_path / "a.npz", words)


@pytest.mark.parametrize("name", ["indptr", "indices"])
def test_sparse_npz_without_an_array(tmp_path: Path, name: str) -> None:
    sp.save_npz(tmp_path / "a.npz", sparse_matrix().tocsr())
    with np.load(tmp_path / "a.npz") as whole:
        np.savez(tmp_path / "b.npz", **{other: whole[other] for other in whole.files if other != name})
    with pytest.raises(files.FileFormatError, match=f"without its array '{name}'"):
        files.read(tmp_path / "b.npz")
