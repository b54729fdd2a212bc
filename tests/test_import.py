"""What `import lapwing` and a solve on a CPU load: no module of the GPU, of files or of the command line."""

from __future__ import annotations

import subprocess
import sys

import pytest

MOST_MODULES = 39  # of Lapwing's own
HEAVY = ("scipy", "pandas", "torch", "jax", "cupy", "cuda", "rich", "click", "matplotlib", "PIL", "numexpr")
LATER = ("gpu", "files", "cli", "papers", "checkpoint", "images", "instances")


def loaded(program):
    """The modules of Lapwing that a program leaves loaded; none of them may load a heavy package."""
    program += "\nimport sys; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = printed.stdout.split()
    assert not set(HEAVY).intersection(names)
    return [name for name in names if name.split(".")[0] == "lapwing"]


@pytest.mark.parametrize(
    "program",
    [
        "import lapwing",
        "import lapwing, numpy\nlapwing.solve(numpy.eye(9))\nlapwing.solve_batch(numpy.ones((2, 3, 3)))",
        "import lapwing, numpy\nx = numpy.ones((9, 2))\nlapwing.solve(lapwing.costs.squared_euclidean(x, x))",
    ],
)
def test_what_is_loaded(program):
    names = loaded(program)
    assert [name for name in names if name.split(".")[1:2] and name.split(".")[1] in LATER] == []
    assert len(names) <= MOST_MODULES


def test_the_rest_is_loaded_when_asked_for():
    names = loaded("import lapwing\nlapwing.files.read, lapwing.images, lapwing.instances, lapwing.Checkpoint")
    assert {"lapwing.files", "lapwing.images", "lapwing.instances", "lapwing.checkpoint"} <= set(names)
    loaded("from lapwing import *\nfrom lapwing import files, Checkpoint\nassert files.read and Checkpoint and solve")
