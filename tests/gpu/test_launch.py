"""Loading and launching kernels, on the CUDA emulator: plain, cooperative, in clusters."""

from __future__ import annotations

from types import SimpleNamespace

import emulated_toolkit
import numpy as np
import pytest

from lapwing.gpu import compile as compiler
from lapwing.gpu import launch
from lapwing.gpu.launch import kernels, preload
from lapwing.gpu.programs import Program

SOURCE = """
#include "common.cuh"
extern "C" __global__ void fill(double* x, int64 count, double value, int64 scale) {
    const int64 i = blockIdx.x * int64{blockDim.x} + threadIdx.x;
    if (i < count) x[i] = value * scale;
}
extern "C" __global__ void rounds(uint64* x, uint32* barrier, int64 count) {  // x[k]: all blocks' sum of x[k - 1] + 1
    for (int64 k = 1; k < count; ++k) {
        if (threadIdx.x == 0) atomicAdd(x + k, __ldcg(x + k - 1) + 1);
        grid_barrier(barrier);
    }
}
extern "C" __global__ void swap(int64* x) {  // each block of a cluster of two writes its neighbour's rank
    LAPWING_DYNAMIC_SHARED(memory);
    int64* mine = reinterpret_cast<int64*>(memory);
    if (threadIdx.x == 0) *mine = cluster_rank();
    cluster_barrier();
    if (threadIdx.x == 0) x[blockIdx.x] = *in_block(mine, cluster_rank() ^ 1);
    cluster_barrier();
}
extern "C" __global__ void order(double* x, uint64* keys, int64 count) {
    for (int64 i = threadIdx.x; i < count; i += blockDim.x) {
        keys[i] = ordered(x[i]);
        x[i] = from_ordered(keys[i]);
    }
}
"""
PROGRAM = Program("launching", "launching.cu", ("fill", "rounds", "swap", "order"))


@pytest.fixture
def loaded(emulated_gpu, monkeypatch, tmp_path):
    (tmp_path / "launching.cu").write_text(SOURCE)
    (tmp_path / "common.cuh").write_text((compiler.KERNELS / "common.cuh").read_text())
    monkeypatch.setattr(compiler, "KERNELS", tmp_path)
    monkeypatch.setattr(emulated_toolkit, "PROGRAMS", (PROGRAM,))
    return kernels(emulated_gpu, PROGRAM)


def test_plain(loaded, emulated_gpu):
    x = np.zeros(1000)
    loaded["fill"].launch(emulated_gpu, 4, 256, x.ctypes.data, 1000, 0.5, -6)
    assert (x == -3).all()


def test_cooperative(loaded, emulated_gpu):
    x, barrier = np.zeros(6, np.int64), np.zeros(1, np.uint32)
    for _ in range(2):  # the barrier's word needs no reset
        x[:] = 0
        loaded["rounds"].launch_cooperative(emulated_gpu, 5, 32, x.ctypes.data, barrier.ctypes.data, 6)
        assert x.tolist() == [0, 5, 30, 155, 780, 3905]


def test_clusters(loaded, emulated_gpu):
    x = np.full(6, -1, np.int64)
    loaded["swap"].launch_clusters(emulated_gpu, 3, 2, 64, x.ctypes.data, shared=64)
    assert x.tolist() == [1, 0] * 3


def test_ordered_keys(loaded, emulated_gpu):
    x = np.array([-np.inf, -1e300, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1e300, np.inf])
    given, keys = x.copy(), np.zeros(len(x), np.uint64)
    loaded["order"].launch(emulated_gpu, 1, 32, x.ctypes.data, keys.ctypes.data, len(x))
    assert (np.diff(keys.astype(object)) > 0).all()
    assert np.array_equal(x.view(np.int64), given.view(np.int64))


def test_loaded_once(loaded, emulated_gpu):
    assert kernels(emulated_gpu, PROGRAM) is loaded
    preload(emulated_gpu, [(PROGRAM, ())])
    assert kernels(emulated_gpu, PROGRAM) is loaded


def test_configurations_are_kept_but_not_for_ever(loaded, emulated_gpu):
    kernel, x = loaded["fill"], np.zeros(8)
    for grid in range(1, 600):
        kernel.launch(emulated_gpu, grid, 1, x.ctypes.data, 0, 0.0, 0)
    assert len(kernel._configs) <= 256


def test_opting_in(loaded, emulated_gpu, monkeypatch):
    asked = []
    monkeypatch.setattr(
        emulated_toolkit.DRIVER, "cuKernelSetAttribute", lambda *asks: asked.append(asks[:2]) or (0,), raising=False
    )
    kernel, x = loaded["swap"], np.zeros(64, np.int64)
    for shared in (1024, 60_000, 50_000, 70_000):
        kernel.launch_clusters(emulated_gpu, 1, 2, 32, x.ctypes.data, shared=shared)
    assert asked == [(8, 60_000), (8, 70_000)]
    kernel.launch_clusters(emulated_gpu, 1, 16, 32, x.ctypes.data, shared=64)
    assert asked[2:] == [(14, 1)]


def test_occupancy(loaded, emulated_gpu):
    kernel = loaded["fill"]
    assert kernel.resident_blocks(256) == 2 * emulated_toolkit.PROCESSORS
    assert kernel.resident_clusters(emulated_gpu, 2, 64) == 2
    without = SimpleNamespace(**{**vars(emulated_gpu.info), "clusters": False})
    assert launch.Kernel(kernel._kernel, without).resident_clusters(emulated_gpu, 2, 64) == 0
