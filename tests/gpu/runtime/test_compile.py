"""Compiling without a GPU or a driver, and what `kernels/common.cuh` gives to kernels."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace

import numpy as np
import pytest

from lapwing.costs.base import CudaFunction
from lapwing.errors import ArgumentError, GpuError
from lapwing.gpu.costs.computed import _function_text
from lapwing.gpu.runtime import compile as compiler
from lapwing.gpu.runtime.compile import compile_program, source_text
from lapwing.gpu.runtime.programs import (
    ARCHITECTURES,
    CERTIFICATE,
    COMPUTED_CERTIFICATE,
    COMPUTED_START,
    PROGRAMS,
    Program,
    points_text,
    target_architecture,
)

needs_compiler = pytest.mark.usefixtures("compiler")


@pytest.fixture
def compiler_folder(tmp_path, monkeypatch):
    """A folder of kernels of the test's own, with the shared header."""
    shutil.copytree(compiler.KERNELS / "common", tmp_path / "common")
    monkeypatch.setattr(compiler, "KERNELS", tmp_path)
    source_text.cache_clear()
    yield tmp_path
    source_text.cache_clear()


@needs_compiler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture(architecture):
    log = io.StringIO()
    code = compile_program(CERTIFICATE, CERTIFICATE.variant(COST="float32"), architecture, log)
    assert code.startswith(b"\x7fELF")
    assert all(f"'{kernel}' for 'sm_{architecture}'" in log.getvalue() for kernel in CERTIFICATE.kernels)


@needs_compiler
def test_faults_of_a_users_function_are_shown_with_its_lines():
    source = "__device__ float cost(const Arrays& in, long long i, long long j) {\n    return in.x[i] * oops;\n}"
    function = CudaFunction(source, {"x": np.zeros(3, np.float32), "w": 1.0})
    text = _function_text(function)
    with pytest.raises(ArgumentError, match=r'cuda_source\(2\): error: identifier "oops" is undefined'):
        compile_program(COMPUTED_START, COMPUTED_START.variant(COST="float32", TEXT=text), 90)
    text = _function_text(replace(function, text=source.replace("oops", "in.w")))
    assert compile_program(COMPUTED_START, COMPUTED_START.variant(COST="int64", TEXT=text), 75)


@needs_compiler
@pytest.mark.parametrize("program", [COMPUTED_START, COMPUTED_CERTIFICATE])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_functions_of_every_dtype_compile(program, dtype):
    source = "__device__ auto cost(const Arrays& in, long long i, long long j) { return in.x[i * in.w + j]; }"
    text = _function_text(CudaFunction(source, {"x": np.zeros(3, dtype), "w": 2}))
    assert compile_program(program, program.variant(COST=dtype, TEXT=text), 90)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_that_lie_apart_compile(dtype):
    text = points_text("Term<Metric::cosine, 2, true>, Term<Metric::squared_euclidean, 3, true>", tilted=True)
    assert compile_program(COMPUTED_START, COMPUTED_START.variant(COST=dtype, TEXT=text), 90)


@needs_compiler
@pytest.mark.parametrize("architecture", [75, 90])
def test_the_shared_header(compiler_folder, architecture):
    (compiler_folder / "all.cu").write_text("""
        #include "common/common.cuh"
        extern "C" __global__ void everything(uint32* word, double* x, uint64* y, const Cost* cost) {
            LAPWING_DYNAMIC_SHARED(memory);
            memory[threadIdx.x] = 0;
            grid_barrier(word, gridDim.x);
            x[0] = infinity<double>() + widened(load_pack(cost).values[1]);
            y[0] = infinity<int64>() + ordered(x[1]) + lane_index();
            x[2] = from_order<double>(y[2]) + warp_reduce(x[1], [](double a, double b) { return a < b ? a : b; });
        #if __CUDA_ARCH__ >= 900
            cluster_barrier();
            x[3] = *in_block(reinterpret_cast<double*>(memory), cluster_rank() ^ 1);
        #endif
        }
    """)
    for cost in ("float16", "bfloat16", "uint8", "int64", "float64"):
        program = Program("all", "all.cu", ("everything",), {"COST": (cost,)})
        assert compile_program(program, program.variant(COST=cost), architecture)


@needs_compiler
def test_no_fused_multiply_add():
    """One expression, one result, whatever is around it."""
    options = compiler.program_options(CERTIFICATE, CERTIFICATE.variant(COST="float32"), 90)
    assert b"--fmad=false" in options.as_bytes("nvrtc") and b"--use_fast_math" not in options.as_bytes("nvrtc")


@needs_compiler
def test_the_log_is_in_the_error_and_names_the_file(compiler_folder):
    (compiler_folder / "part.cuh").write_text("#pragma once\n\n__device__ int part() { return missing; }\n")
    (compiler_folder / "wrong.cu").write_text('#include "common/common.cuh"\n#include "part.cuh"\n\nint alsoWrong(;\n')
    with pytest.raises(GpuError) as caught:
        compile_program(Program("wrong", "wrong.cu", ()), (), 90)
    text = str(caught.value)
    assert "kernels/wrong.cu" in text and "sm_90" in text and "NVRTC" in text
    assert "part.cuh(3): error" in text and "missing" in text and "wrong.cu(4): error" in text


def test_headers_go_in_once(compiler_folder):
    (compiler_folder / "a.cuh").write_text('#pragma once\n#include "common/common.cuh"\nint a;\n')
    (compiler_folder / "b.cu").write_text('#include "a.cuh"\n#include "common/common.cuh"\n#include "a.cuh"\nint b;\n')
    text = source_text("b.cu")
    assert (
        text.count("using int8 ") == text.count("int a;") == 1 and "#include" not in text and "#pragma once" not in text
    )


def test_the_table_names_files_that_exist():
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    for program in PROGRAMS:
        text = source_text(program.source)
        assert program.kernels and all(kernel in text for kernel in program.kernels)
        assert program.variants() and program.least_architecture in ARCHITECTURES


def test_variants():
    program = Program("p", "p.cu", (), {"B": ("1", "2"), "A": ("x", "y", "z")})
    assert len(program.variants()) == 6 and (("A", "x"), ("B", "2")) in program.variants()
    assert program.variant(B="2", A="x") == (("A", "x"), ("B", "2"))
    assert Program("q", "q.cu", ()).variants() == [()]
    for wrong in ({}, {"A": "x"}, {"A": "x", "B": "3"}, {"A": "x", "B": "1", "C": "1"}):
        with pytest.raises(ValueError, match="no variant"):
            program.variant(**wrong)


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ((7, 5), 75),
        ((8, 0), 80),
        ((8, 7), 86),
        ((8, 9), 89),
        ((9, 0), 90),
        ((10, 3), 100),
        ((12, 1), 120),
        ((11, 0), 110),
    ],
)
def test_target_architecture(capability, expected):
    assert target_architecture(*capability) == expected
