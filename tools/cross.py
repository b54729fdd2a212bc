"""Build for other systems with Zig's Clang and run what was built under an emulator.

For each target, in `build/cross/TARGET`: the C++ library and its tests, run by qemu-user, Wine or this machine. Nothing
on Linux runs programs for macOS; they are built and linked.

Needs the package ziglang (`make cross` installs it), and Debian's packages qemu-user-static, libc6-arm64-cross and
wine64. By hand, before a release: each target takes two to five minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "cross"
# The C++ tests that compare every method and every cost source with references. Emulators take 10 to 50 times the time:
# --all runs the others, too.
SAMPLE = ("certificate", "exact", "hall_range", "points", "rows", "sparse", "methods_core", "methods_jv")


@dataclass(frozen=True)
class Target:
    """A platform to build for."""

    zig: str  # Zig's name of the target
    emulator: tuple[str, ...] | None = ()  # the command before a program's name; None: nothing can run it here
    link: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where all of it is built."""
        return BUILD / self.zig

    @property
    def is_windows(self) -> bool:
        return "windows" in self.zig

    def missing(self) -> list[str]:
        """Return what this machine lacks of the emulator: its program, or the folder of its C library."""
        words = self.emulator or ()
        folders = [word for word in words if word.startswith("/") and not Path(word).is_dir()]
        return [word for word in words[:1] if not shutil.which(word)] + folders


TARGETS = {
    target.zig: target
    for target in (
        Target("aarch64-linux-gnu.2.28", ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu")),
        Target("aarch64-linux-musl", ("qemu-aarch64-static",), ("-static",)),
        Target("x86_64-linux-musl", (), ("-static",)),
        Target("x86_64-windows-gnu", ("wine",)),
        Target("x86_64-macos.11.0", None),
        Target("aarch64-macos.11.0", None),
    )
}


def run(command: list[str | Path], **environment: str) -> None:
    """Run a command and show it."""
    print("+", shlex.join(map(str, command)), flush=True)
    subprocess.run([str(word) for word in command], check=True, cwd=ROOT, env=os.environ | environment)


def configure(target: Target, name: str, *options: str) -> Path:
    """Configure a build of this tree for a target, and build it; return its folder."""
    folder = target.folder / name
    zig = {"LAPWING_ZIG_TARGET": target.zig, "LAPWING_ZIG_PYTHON": sys.executable}
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'tools' / 'zig.cmake'}"
    run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", toolchain, *options], **zig)
    run(["cmake", "--build", folder], **zig)
    return folder


def build_core(target: Target) -> Path:
    """Build the C++ library and its tests; return the folder."""
    return configure(target, "cpp", "-DLAPWING_BUILD_TESTS=ON", f"-DCMAKE_EXE_LINKER_FLAGS={' '.join(target.link)}")


def run_core_tests(target: Target, folder: Path, every: bool) -> None:
    """Run the C++ tests that were built, where something can run them."""
    if target.emulator is None:
        print(f"{target.zig}: built and linked; nothing here can run it")
        return
    suffix = "_test.exe" if target.is_windows else "_test"
    programs = sorted(path for path in (folder / "cpp" / "tests").iterdir() if path.name.endswith(suffix))
    for program in programs:
        subject = program.name.removesuffix(suffix)
        methods = ("jv", "ssp", "auction", "core", "munkres") if subject in ("methods", "limits") else ("",)
        for method in methods:
            label = f"{subject}_{method}" if method else subject
            if every or label in SAMPLE:
                run([*target.emulator, program, *([method] if method else [])], WINEDEBUG="-all")


def main() -> None:
    """Build for the targets asked for, and run what can be run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"some of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--all", action="store_true", help="every C++ test")
    options = parser.parse_args()
    targets = [TARGETS[name] for name in options.targets or TARGETS]
    if missing := [word for target in targets for word in target.missing()]:
        sys.exit(f"{', '.join(missing)}: not found; Debian has it in qemu-user-static, libc6-arm64-cross or wine64")
    for target in targets:
        run_core_tests(target, build_core(target), options.all)


if __name__ == "__main__":
    main()
