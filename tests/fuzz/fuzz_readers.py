"""Fuzz the file readers: whatever a file holds, `read` gives a matrix or a LapwingError, soon and in little memory.

    pip install atheris
    python tests/fuzz/fuzz_readers.py -max_total_time=60        (libFuzzer's options; a folder is taken as corpus)

The first byte of an input chooses the format (or none, to be found out) and the name's ending; the rest is the file.
The seeds below, small files of every format, are added to the corpus at the start.
"""

from __future__ import annotations

import gc
import io
import sys
import tempfile
from pathlib import Path
from types import FunctionType

import numpy as np

from lapwing import files
from lapwing.costs.sparse import SparseCost
from lapwing.errors import LapwingError

MEMORY_LIMIT = 1 << 20
CHOICES = [(None, ""), (None, ".csv"), (None, ".npz"), *((name, "") for name in files.FORMATS)]


def read_bytes(data: bytes, folder: Path) -> np.ndarray | None:
    """Read one fuzz input as a file; its matrix, or None if it is refused."""
    format, suffix = CHOICES[data[0] % len(CHOICES)] if data else CHOICES[0]
    path = folder / f"input{suffix}"
    path.write_bytes(data[1:])
    try:
        cost = files.read(path, format=format, memory_limit=MEMORY_LIMIT).cost
    except LapwingError as error:
        assert str(path) in str(error) and len(str(error)) < 1000, str(error)[:3000]
        return None
    if isinstance(cost, SparseCost):
        arrays = (cost.indptr, cost.indices, cost.data)
        assert len(cost.indices) == len(cost.data) == cost.indptr[-1]
        assert sum(array.nbytes for array in arrays) <= max(MEMORY_LIMIT, 1100 * len(data)) + MEMORY_LIMIT
        return cost.read(slice(0, 8))
    assert cost.ndim == 2 and cost.dtype.kind in "biuf"
    assert cost.nbytes <= max(MEMORY_LIMIT, 16 * len(data), 1100 * len(data))
    return np.array(cost)


def seeds() -> list[bytes]:
    """Small valid files of every format, each with the byte that leaves the format open and the one that names it."""
    npy, npz, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, np.arange(6, dtype=np.float32).reshape(2, 3))
    np.savez(npz, cost=np.eye(3, dtype=np.int16))
    np.savez_compressed(packed, np.eye(4), np.ones(3))
    sparse = io.BytesIO()
    np.savez(sparse, format=b"csr", shape=[2, 3], data=np.ones(3), indices=np.array([0, 2, 1]), indptr=[0, 2, 3])
    by_format = {
        "npy": [npy.getvalue()],
        "npz": [npz.getvalue(), packed.getvalue(), sparse.getvalue()],
        "csv": [b"1,2\n3,4\n", b"# c\n1.5; -2e3\ninf;+4\n", b"1\t2\r\n3\t9223372036854775807\r\n", b"\xef\xbb\xbf1 2"],
        "mtx": [
            b"%%MatrixMarket matrix coordinate real general\n% c\n2 3 2\n1 3 1.5\n2 1 -4\n",
            b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n",
            b"%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n",
            b"%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
        ],
        "dimacs": [b"c x\np asn 4 2\nn 1\nn 2\na 1 3 5\na 2 4 -6\n", b"p asn 3 1\na 1 2 3\n"],
        "orlib": [b" 2\n 1 2 3\n 4\n"],
        "orlib-sparse": [b" 2 \n 1 2 7 \n 2 1 8 \n"],
    }
    first = [name for name, _ in CHOICES]
    return [
        bytes([at]) + content
        for name, contents in by_format.items()
        for content in contents
        for at in (0, first.index(name))
    ]


def instrument() -> None:
    """Instrument what is loaded but for the instrumentation, which would slow itself down tenfold."""
    import atheris

    for function in [thing for thing in gc.get_objects() if isinstance(thing, FunctionType)]:
        if str(function.__module__).partition(".")[0] not in ("atheris", "dis"):
            atheris.instrument_func(function)


def main() -> None:
    import atheris

    memory = "/dev/shm"  # where the inputs need not reach a disk
    with tempfile.TemporaryDirectory(dir=memory if Path(memory).is_dir() else None) as name:
        folder, corpus = Path(name), Path(name, "seeds")
        corpus.mkdir()
        for number, seed in enumerate(seeds()):
            (corpus / f"{number:03}").write_bytes(seed)
        instrument()
        arguments = [*sys.argv, "-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", str(corpus)]
        atheris.Setup(arguments, lambda data: read_bytes(data, folder))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
