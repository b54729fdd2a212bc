"""The environments in which solvers are timed: ours, and those of peers (lap and lapx both install a module `lap`).

pip installs the newest releases; its variable PIP_CONSTRAINT can choose, say, a PyTorch without CUDA.
"""

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
    "torch-linear-assignment": ("torch-linear-assignment",),
    "sparse": ("scipy", "ortools", "lapx"),
}


def python_of(solver: str) -> Path:
    """Return the interpreter that has the solver, after installing the newest releases where that was not yet done.

    A package that does not install is left out with a message: its solvers then fail.
    """
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
        # lapjv is built from source on most machines
        subprocess.run([*pip, "numpy", "setuptools", "wheel"], check=True)
        failed = [peer for peer in PEERS[name] if subprocess.run([*pip, peer], check=False).returncode]
        print("".join(f"{peer} does not install here\n" for peer in failed), end="", file=sys.stderr)
        (folder / "complete").touch()
    return python
