"""Recipes of docs/howto/recipes.md that need more than `make docs` has, run as they are printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw

RECIPES = Path(__file__).parent.parent / "docs" / "howto" / "recipes.md"

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray and JAX warn of themselves


def recipe(heading: str) -> str:
    """The program under a heading."""
    text = RECIPES.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.search(r"^```py\n(.*?)^```$", text, re.M | re.S)
    assert found is not None
    return found[1]


def test_ray() -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        run: dict[str, np.ndarray] = {}
        exec(recipe("Ray"), run)
    finally:
        ray.shutdown()
    again = lw.solve_batch(run["costs"], certify=True)
    assert np.array_equal(run["row_to_col"], again.row_to_col)
    assert all(certificate is not None and certificate.exact for certificate in again.certificates)


def test_jax() -> None:
    pytest.importorskip("jax")
    predictions, targets = np.random.default_rng(0).random((2, 9, 3), np.float32)
    run = {"predictions": predictions, "targets": targets}
    exec(recipe("JAX"), run)
    expected = lw.solve(np.abs(predictions[:, None] - targets).sum(axis=2))
    assert float(run["loss"](predictions, targets)) == pytest.approx(expected.objective / 9, rel=1e-5)


def test_two_processes(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "two_gpus.py"
    text = recipe("Several GPUs")
    assert "n = 20_000" in text
    program.write_text(text.replace("n = 20_000", "n = 200").replace("torch.cuda.is_available()", "False"))
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run([*launch, str(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "objective" in done.stdout and "over all pairs" in done.stdout
