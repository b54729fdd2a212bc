"""The memory of a sparse solve beside its input, measured in a process of its own, against the plan."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing as lw

PROGRAM = """
import json, sys
from pathlib import Path
import numpy as np, scipy.sparse as sp, lapwing as lw

def resident(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))

with np.load(sys.argv[1]) as file:
    parts = [file[name] for name in ("data", "indices", "indptr")]
    shape, price = tuple(file["shape"].tolist()), file["price"].item()
matrix = sp.csr_array(tuple(parts), shape=shape)
lw.solve(sp.csr_array(np.eye(3)))
Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
result = lw.solve(matrix, unmatched_cost=None if np.isnan(price) else price, threads=1)
assert result.certificate.complete
print(json.dumps([resident("VmHWM") - before, result.plan.memory_bytes]))
"""


def circulant(rows, cols, k, dtype):
    """Row i may take the columns i to i + k - 1, counted round: feasible, and quick to make."""
    data = np.random.default_rng(1).random(rows * k, np.float32 if dtype == "float32" else np.float64)
    data = data if dtype.startswith("float") else (1e6 * data).astype(dtype)
    indices = (np.arange(rows, dtype=np.int32)[:, None] + np.arange(k, dtype=np.int32)) % np.int32(cols)
    indptr = np.arange(0, rows * k + 1, k, dtype=np.int32)
    return sp.csr_array((data, indices.ravel(), indptr), shape=(rows, cols))


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="measures as Linux does")
@pytest.mark.parametrize(
    ("rows", "cols", "k", "dtype", "price"),
    [
        (150_000, 150_000, 4, "float64", np.nan),
        (80_000, 80_000, 20, "float32", np.nan),
        (80_000, 80_000, 20, "int64", np.nan),
        (80_000, 240_000, 12, "float64", np.nan),
        (240_000, 80_000, 6, "float64", 0.4),
    ],
)
def test_memory_is_what_the_plan_says(tmp_path, rows, cols, k, dtype, price):
    matrix = circulant(rows, cols, k, dtype)
    np.savez(
        tmp_path / "costs.npz", data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape,
        price=price,
    )  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "costs.npz")], capture_output=True, text=True, check=True
    )
    taken, planned = json.loads(ran.stdout)
    assert taken <= 40 * matrix.nnz
    assert planned == pytest.approx(taken, rel=0.2)


@pytest.mark.heavy
@pytest.mark.timeout(900)
@pytest.mark.parametrize("unmatched", [None, 0.03])
def test_a_hundred_million_pairs(unmatched):
    matrix = circulant(10_000_000, 10_000_000, 10, "float32")
    matrix.data[::10] *= np.float32(0.1)
    result = lw.solve(matrix, unmatched_cost=unmatched)
    assert result.certificate.complete and result.certificate.bound <= 1e-9 * result.objective
