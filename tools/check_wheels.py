"""Check the wheels and the sdist of a folder: their contents, tags, ABI, size and description.

Needs abi3audit, check-wheel-contents and twine beside this interpreter. Linux wheels are already repaired by
auditwheel, whose tag they carry.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

MOST_BYTES = 3_000_000  # of a wheel
# A checker's complaint that is meant: the kernels are files without Python in a package.
CONTENTS = ("--ignore", "W002")  # equal files: empty __init__.py


def program(name: str, *arguments: str | Path) -> bool:
    """Run a program that is installed beside this interpreter; whether it was content."""
    command = [str(Path(sysconfig.get_path("scripts")) / name), *map(str, arguments)]
    return subprocess.run(command, check=False).returncode == 0


def check_wheel(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel."""
    problems = []
    if wheel.stat().st_size > MOST_BYTES:
        problems.append(f"{wheel.name} has {wheel.stat().st_size} bytes, more than {MOST_BYTES}")
    if "-linux_" in wheel.name:
        problems.append(f"{wheel.name} is for one machine: repair it with auditwheel")
    if "-abi3-" in wheel.name and not program("abi3audit", "--strict", "--summary", wheel):
        problems.append(f"{wheel.name} uses more than the stable ABI")
    if not program("check-wheel-contents", *CONTENTS, wheel):
        problems.append(f"{wheel.name} has files that it should not have")
    return problems


def main() -> int:
    """Check a folder; return the exit code."""
    folder = Path(sys.argv[1])
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    problems = [problem for wheel in wheels for problem in check_wheel(wheel)]
    if not wheels:
        problems.append(f"there is no wheel in {folder}")
    if not program("twine", "check", "--strict", *wheels, *sdists):
        problems.append("twine refuses a description")
    print("\n".join(problems) or f"{len(wheels)} wheels, {len(sdists)} sdists: nothing to complain about")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
