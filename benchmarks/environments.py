"""The environments in which solvers are timed: ours, and those of peers (lap and lapx both install a module `lap`)."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "peers"

PEERS = {
    "peers": ("scipy", "lap", "lapjv", "POT", "ortools"),
    "lapx": ("scipy", "lapx"),
    "sparse": ("scipy", "ortools", "lapx"),
}


def python_of(solver: str) -> Path:
    """Return the interpreter that has the solver, after installing the newest releases where that was not yet done."""
    package = solver.partition(":")[0]
    if package == "lapwing":
        return Path(sys.executable)
    name = package if package in PEERS else "peers"
    folder = FOLDER / name
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"installing {', '.join(PEERS[name])} in {folder.relative_to(ROOT)}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run(
            [*pip, "numpy", "setuptools", "wheel"], check=True
        )  # lapjv is built from source on most machines
        subprocess.run([*pip, *PEERS[name]], check=True)
        (folder / "complete").touch()
    return python
