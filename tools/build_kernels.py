"""Compile the GPU programs for common costs and architectures, and put them into a wheel: lapwing-kernels.

    python tools/build_kernels.py WHEELHOUSE [--dtypes float32 ...] [--architectures 90 ...]

Needs cuda-core and NVRTC, but neither a GPU nor a driver. Code of an older compiler loads with any newer driver, so the
oldest compiler that drivers in use want is the one to take: `make kernel-wheel` takes NVRTC 12.9. The wheel has what
`lapwing warmup` compiles, the papers' methods excepted; with all defaults that takes half an hour of one processor.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from pathlib import Path

from lapwing.gpu.runtime.compile import compile_program
from lapwing.gpu.runtime.programs import ARCHITECTURES, HUNGARIAN_TREE, Build
from lapwing.gpu.runtime.shipped import COMPILER, PACKAGE, file_name
from lapwing.gpu.runtime.toolkit import nvrtc_version
from lapwing.gpu.runtime.warmup import builds_of_matrices

PROJECT = Path(__file__).resolve().parent.parent
_LEAST = 80  # architecture, by default
_DTYPES = ("float32", "float64", "int32", "int64")


def main() -> None:
    """Make the wheel; print its size."""
    parser = argparse.ArgumentParser(description="Make the wheel of compiled kernels.")
    parser.add_argument("wheelhouse", type=Path)
    parser.add_argument("--dtypes", nargs="+", default=list(_DTYPES))
    parser.add_argument("--architectures", nargs="+", type=int, default=[a for a in ARCHITECTURES if a >= _LEAST])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        project = Path(temporary)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(PROJECT / "packaging" / "kernels" / name, project)
        (project / "VERSION").write_text(metadata.version("lapwing"), encoding="ascii")
        count = fill(project / PACKAGE, options.architectures, options.dtypes, options.jobs)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", options.wheelhouse, project]
        subprocess.run(command, check=True)
    wheel = max(options.wheelhouse.glob("lapwing_kernels-*.whl"), key=lambda path: path.stat().st_mtime)
    print(f"{wheel}: {count} programs, {wheel.stat().st_size / 1e6:.1f} MB, in {time.monotonic() - began:.0f} s")


def fill(package: Path, architectures: list[int], dtypes: list[str], jobs: int | None) -> int:
    """Write the package; return how many programs it holds."""
    package.mkdir()
    (package / "__init__.py").write_text(f'"""Code for {PACKAGE}; lapwing.gpu.runtime.shipped reads it."""\n')
    (package / COMPILER).write_text(".".join(map(str, nvrtc_version())), encoding="ascii")
    wanted = [
        build
        for build in builds_of_matrices(architectures, dtypes)
        if build[0] is HUNGARIAN_TREE or not build[0].source.startswith("reference/")  # trees finish costs that tie
    ]
    with ProcessPoolExecutor(jobs) as pool:  # the compiler holds a lock, so threads would wait for each other
        for name, code in pool.map(_compiled, wanted):
            (package / name).write_bytes(code)
            print(".", end="", flush=True)
    print()
    return len(wanted)


def _compiled(build: Build) -> tuple[str, bytes]:
    return file_name(*build), zlib.compress(compile_program(*build), 9)


if __name__ == "__main__":
    main()
