"""Programs of GPU kernels as shared libraries for the processor, against the CUDA emulator (cpp/tests/emulation)."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import threading
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from lapwing.gpu.runtime import compile as compiler

ROOT = Path(__file__).resolve().parents[2]
EMULATION = ROOT / "cpp" / "tests" / "emulation"
BUILD = ROOT / "build" / "emulated"
COMPILER = shutil.which("c++")
# Without the flag against unique symbols, programs would share the shared memory of the first that was loaded.
COMMON = [
    "-std=c++20",
    "-DLAPWING_CHECK_INVARIANTS",
    "-O1",
    "-fPIC",
    "-fno-gnu-unique",
    "-ffp-contract=off",
    "-w",
    "-pthread",
]

# Blocks of kernels that take more on a GPU: the emulator's time goes with their threads.
MOST_THREADS = 256

# The beginning of every program, compiled once; the compiler would spend half of its time on it.
_PRELUDE = """
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include "cuda_emulation.hpp"
"""

_GLUE = """
{defines}
{source}

template <class... A, std::size_t... k>
void call(void (*kernel)(A...), const std::uint64_t* words, std::index_sequence<k...>) {{
    static_assert(((sizeof(A) == 8) && ...), "kernels take 8-byte parameters only");
    kernel(lapwing::emulation::from_bits<A>(words[k])...);
}}
template <class... A>
void call(void (*kernel)(A...), const std::uint64_t* words, int count, std::string& error) {{
    if (count != sizeof...(A)) {{
        error = "got " + std::to_string(count) + " arguments for " + std::to_string(sizeof...(A));
        return;
    }}
    call(kernel, words, std::index_sequence_for<A...>());
}}
extern "C" const char* emulate(const char* name, unsigned grid, unsigned block, unsigned shared, unsigned cluster,
                               bool cooperative, const std::uint64_t* words, int count) {{
    static thread_local std::string error;
    error.clear();
    lapwing::emulation::Launch how;
    how.grid = {{grid, 1, 1}};
    how.block = {{block, 1, 1}};
    how.shared_bytes = shared;
    how.cooperative = cooperative;
    how.cluster_size = cluster;
    try {{
        lapwing::emulation::launch(how, [&] {{
{calls}
        }});
    }} catch (const std::exception& problem) {{
        error = problem.what();
    }}
    return error.empty() ? nullptr : error.c_str();
}}
"""


@cache
def library(program, variant):
    """The program as a shared library, kept in build/ from run to run."""
    macros = {**dict(variant), **program.constants}
    macros.pop("TEXT", None)
    if "THREADS" in macros:
        macros["THREADS"] = min(macros["THREADS"], MOST_THREADS)
    source = compiler.program_text(program, variant)
    text = _GLUE.format(
        defines="\n".join(f"#define {name} {value}" for name, value in macros.items()),
        source=source,
        calls="\n".join(
            f'            if (!std::strcmp(name, "{kernel}")) call({kernel}, words, count, error);'
            for kernel in program.kernels
        ),
    )
    options = ["-shared", "-include", prelude().with_suffix(""), "-Wl,--no-as-needed", emulator()]
    loaded = ctypes.CDLL(str(built(program.name, ".so", text, options)))
    loaded.emulate.restype = ctypes.c_char_p
    return loaded


@cache
def emulator():
    """The emulator itself, a library that all programs share, with the stacks of threads."""
    return built("emulator", ".so", (EMULATION / "cuda_emulation.cpp").read_text(), ["-shared", "-O2"])


@cache
def prelude():
    """The header that programs begin with, precompiled; beside it the header itself, for who cannot use that."""
    compiled = built("prelude", ".hpp.gch", _PRELUDE, ["-x", "c++-header"])
    header = compiled.with_suffix("")
    if not header.exists():
        unfinished = header.with_suffix(f".{by_whom()}.tmp")
        unfinished.write_text(_PRELUDE)
        unfinished.replace(header)
    return compiled


def by_whom():
    """A part of the names of unfinished files: programs are loaded by several threads of several processes."""
    return f"{os.getpid()}.{threading.get_ident()}"


def built(name, suffix, text, options):
    """The library that the C++ compiler makes of `text`, kept in build/ under a name that says of what it was made."""
    headers = [header.read_text() for header in sorted(EMULATION.glob("*.hpp"))]
    digest = hashlib.sha256("\0".join([text, *headers, *COMMON, *map(str, options)]).encode()).hexdigest()[:16]
    path = BUILD / f"{name}-{digest}{suffix}"
    BUILD.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(path):
        if path.exists():
            return path
        source = BUILD / f"{path.stem}.{by_whom()}.cpp"
        unfinished = source.with_suffix(".tmp")
        source.write_text(text)
        folders = [f"-I{EMULATION}", f"-I{compiler.KERNELS}"]
        subprocess.run([COMPILER, *COMMON, *folders, *options, source, "-o", unfinished], check=True)
        unfinished.replace(path)
        source.unlink()
        return path


@contextmanager
def one_at_a_time(path):
    """Of all processes of the tests, one compiles; those that want the same wait for it."""
    import fcntl  # which Windows has not; nor has it the emulator

    with open(path.with_suffix(".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
