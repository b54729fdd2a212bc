"""Compile every GPU program, in every variant, for every architecture, and hold its kernels to recorded limits.

Needs cuda-core and NVRTC, but neither a GPU nor a driver. The assembler reports each kernel's registers, bytes of
spills (stores and loads) and static shared memory; more of any than tests/gpu/limits.json says is an error. Such
numbers change with the compiler, so they are compared only under the version that they were recorded with; under any
other it is enough that everything compiles. Limits are those of a sample of the builds; for the others, too, it is
enough that they compile.

    python tools/check_kernels.py --sample core          # the builds of a sample, of program "core" alone
    python tools/check_kernels.py --quick                # of these, few builds of what is slow to compile
    python tools/check_kernels.py --record core          # records what these builds use
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from lapwing.errors import GpuError
from lapwing.gpu.runtime.compile import can_be_quick, compile_program
from lapwing.gpu.runtime.programs import ARCHITECTURES, CORE, Build, builds
from lapwing.gpu.runtime.toolkit import nvrtc_version

LIMITS = Path(__file__).resolve().parent.parent / "tests" / "gpu" / "limits.json"

_SAMPLED_MOST = 90
_SAMPLED_OF_CORE = {75: "float16", 89: "int32", 90: "float64", 100: "uint32", 120: "bfloat16"}  # every stored type

# With --quick programs are compiled for the oldest architecture, the newest, and the one that most limits are of. Of
# programs that are slow to compile one build is full: what takes the most registers. The others are compiled as for
# a first use (gpu/runtime/background_build.py).
_QUICK_ARCHITECTURES = (ARCHITECTURES[0], _SAMPLED_MOST, ARCHITECTURES[-1])
_FULL_OF_SLOW = CORE, _SAMPLED_MOST

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


class Use(NamedTuple):
    """Resources of a kernel: registers of a thread, bytes of its spills, bytes of a block's static shared memory."""

    registers: int
    spill_bytes: int
    shared_bytes: int


Uses = dict[str, dict[str, Use]]  # "program kernel variant" -> architecture -> use


def parse(log: str) -> dict[str, Use]:
    """The assembler's report as uses by kernel; functions that a kernel calls count as part of it."""
    uses = {}
    _, *parts = _ENTRY.split(log)
    for kernel, part in zip(parts[::2], parts[1::2], strict=True):
        registers = max(map(int, _REGISTERS.findall(part)))
        spills = sum(int(stores) + int(loads) for stores, loads in _SPILLS.findall(part))
        uses[kernel] = Use(registers, spills, sum(map(int, _SHARED.findall(part))))
    return uses


def sampled(work: list[Build]) -> list[Build]:
    """Every variant for one architecture, and for every architecture one variant.

    Of the examples of programs for any text, which take long: few, each for one architecture. Of a program that is
    thinly sampled one variant, for the first architecture. Of the core method, half a minute each, and where variants
    differ in two macros: half as many.
    """
    kept = []
    for program, variant, architecture in work:
        variants = program.variants()
        turn, mine = ARCHITECTURES.index(architecture), variants.index(variant)
        if program.any_text:
            if mine % 3 == 0 and turn == (ARCHITECTURES.index(_SAMPLED_MOST) + 2 * mine) % len(ARCHITECTURES):
                kept.append((program, variant, architecture))
            continue
        if program.thinly_sampled:
            if architecture == _SAMPLED_MOST and mine == 0:
                kept.append((program, variant, architecture))
            continue
        if program is CORE:
            wanted = dict(variant)["COST"] == _SAMPLED_OF_CORE.get(architecture)
        elif architecture == _SAMPLED_MOST:
            elsewhere = {2 * k % len(variants) for k, other in enumerate(ARCHITECTURES) if other != architecture}
            wanted = mine % (3 if len(program.choices) > 1 else 1) == 0 and (mine == 0 or mine not in elsewhere)
        else:
            wanted = mine == 2 * turn % len(variants)
        if wanted:
            kept.append((program, variant, architecture))
    return kept


def first_of_each(work: list[Build]) -> list[Build]:
    """One build of every program."""
    return list({build[0].name: build for build in reversed(work)}.values())


def is_quick(build: Build) -> bool:
    """Whether --quick compiles this build in a third of the time, to code that has no limits."""
    program, _, architecture = build
    return program.is_slow_to_compile and (program, architecture) != _FULL_OF_SLOW


def compile_all(work: list[Build], jobs: int, quick: bool = False) -> tuple[Uses, list[str]]:
    """Uses of the kernels of those builds that have limits, and what went wrong; quick builds have none."""
    uses: Uses = {}
    problems = []
    limited = set() if quick else set(sampled(builds()))

    def compile_one(build: Build) -> dict[str, Use] | str:
        program, variant, architecture = build
        log = io.StringIO()
        try:
            compile_program(program, variant, architecture, log, quick=quick)
        except GpuError as error:
            return str(error)
        found = parse(log.getvalue())
        missing = set(program.kernels).symmetric_difference(found)
        return found if not missing else f"{program.source} and the table of programs disagree on {sorted(missing)}"

    with ThreadPoolExecutor(jobs) as pool:
        for (program, variant, architecture), found in zip(work, pool.map(compile_one, work), strict=True):
            if isinstance(found, str):
                problems.append(found)
                continue
            if (program, variant, architecture) not in limited:
                continue
            for kernel, use in found.items():
                name = " ".join([program.name, kernel, *(f"{macro}={value}" for macro, value in variant)])
                uses.setdefault(name, {})[str(architecture)] = use
    return uses, problems


def compare(uses: Uses, limits: dict[str, dict[str, list[int]]]) -> list[str]:
    """Kernels that exceed their limits, or have none."""
    problems = []
    for name, by_architecture in uses.items():
        for architecture, use in by_architecture.items():
            limit = limits.get(name, {}).get(architecture)
            if limit is None:
                problems.append(f"{name}, sm_{architecture}: no limit is recorded")
                continue
            problems += [
                f"{name}, sm_{architecture}: {value} {field.replace('_', ' ')}, recorded {most}"
                for field, value, most in zip(Use._fields, use, limit, strict=True)
                if value > most
            ]
    return problems


def write_limits(limits: dict[str, Any], compiler: str) -> None:
    """One line a kernel and variant."""
    lines = [f"  {json.dumps(name)}: {json.dumps(use)}" for name, use in sorted(limits.items())]
    LIMITS.write_text(f'{{"nvrtc": "{compiler}", "limits": {{\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")


def main() -> int:
    """Compile, compare or record; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="names from the table of programs; all of them by default")
    parser.add_argument("--record", action="store_true", help="a sample: write its limits, not compare with them")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--sample", action="store_true", help="every kernel for every architecture, but few variants")
    what.add_argument("--quick", action="store_true", help="part of the sample; most slow builds without limits")
    what.add_argument("--first", action="store_true", help="one build of each program, for another compiler")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    began = time.perf_counter()
    work = builds()
    if arguments.sample or arguments.quick or arguments.record:
        work = [build for build in sampled(work) if not arguments.quick or build[2] in _QUICK_ARCHITECTURES]
    elif arguments.first:
        work = first_of_each(work)
    if unknown := set(arguments.programs).difference(build[0].name for build in work):
        parser.error(f"no program is named {', '.join(sorted(unknown))}")
    if arguments.programs:
        work = [build for build in work if build[0].name in arguments.programs]
    quick = [build for build in work if is_quick(build)] if arguments.quick and can_be_quick() else []
    if arguments.record and quick:
        parser.error("--quick compiles too few builds in full for --record")
    uses, problems = compile_all([build for build in work if build not in quick], arguments.jobs)
    # Last: beside a quick build the compiler makes others that use more registers.
    problems += compile_all(quick, arguments.jobs, quick=True)[1]
    compiler = ".".join(map(str, nvrtc_version()))
    print(f"{len(work)} builds, {len(quick)} of them quick, NVRTC {compiler}, {time.perf_counter() - began:.0f} s")
    recorded = json.loads(LIMITS.read_text(encoding="utf-8"))
    if arguments.record and not problems:
        kept = recorded["limits"] if arguments.programs and recorded["nvrtc"] == compiler else {}
        write_limits({name: kept.get(name, {}) | uses.get(name, {}) for name in {**kept, **uses}}, compiler)
        return 0
    if recorded["nvrtc"] == compiler:
        over = compare(uses, recorded["limits"])
        problems += over
        if over:
            problems.append("if that is meant, record it: python tools/check_kernels.py --record PROGRAM")
    else:
        print(f"limits are of NVRTC {recorded['nvrtc']}: not compared")
    print("\n".join(problems) or "kernels: within their limits")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
