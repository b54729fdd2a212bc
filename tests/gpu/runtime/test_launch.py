"""Loading and launching kernels: plain, cooperative, in clusters; and the primitives of `kernels/common.cuh`."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from lapwing.gpu.runtime import compile as compiler
from lapwing.gpu.runtime import launch
from lapwing.gpu.runtime.launch import kernels, preload
from lapwing.gpu.runtime.programs import Program
from support import emulated_toolkit

SOURCE = """
#include "common/common.cuh"
extern "C" __global__ void fill(double* x, int64 count, double value, int64 scale) {
    const int64 i = blockIdx.x * int64{blockDim.x} + threadIdx.x;
    if (i < count) x[i] = value * scale;
}
extern "C" __global__ void rounds(uint64* x, uint32* barrier, int64 count) {  // x[k]: all blocks' sum of x[k - 1] + 1
    for (int64 k = 1; k < count; ++k) {
        if (threadIdx.x == 0) atomicAdd(x + k, __ldcg(x + k - 1) + 1);
        grid_barrier(barrier, gridDim.x);
    }
}
extern "C" __global__ void order(double* x, uint64* keys, int64 count) {
    for (int64 i = threadIdx.x; i < count; i += blockDim.x) {
        keys[i] = ordered(x[i]);
        x[i] = from_order<double>(keys[i]);
    }
}
extern "C" __global__ void widen(const uint16* halves, const float16* same, double* x, int64 count) {
    for (int64 i = threadIdx.x; i < count; i += blockDim.x) {
        x[i] = widened(same[i]);
        x[count + i] = widened(bfloat16{halves[i]});
    }
}
"""
CLUSTER_SOURCE = """
#include "common/common.cuh"
extern "C" __global__ void rotate(int64* x, int64 size) {  // each block gets the next one's rank, by its shared memory
    LAPWING_DYNAMIC_SHARED(memory);
    int64* mine = reinterpret_cast<int64*>(memory);
    if (threadIdx.x == 0) *mine = cluster_rank();
    cluster_barrier();
    if (threadIdx.x == 0) x[blockIdx.x] = *in_block(mine, (cluster_rank() + 1) % static_cast<uint32>(size));
    cluster_barrier();
}
"""
PROGRAM = Program("launching", "launching.cu", ("fill", "rounds", "order", "widen"))
CLUSTERS = Program("clusters", "clusters.cu", ("rotate",), least_architecture=90)


@pytest.fixture(autouse=True)
def sources(monkeypatch, tmp_path):
    (tmp_path / "launching.cu").write_text(SOURCE)
    (tmp_path / "clusters.cu").write_text(CLUSTER_SOURCE)
    shutil.copytree(compiler.KERNELS / "common", tmp_path / "common")
    monkeypatch.setattr(compiler, "KERNELS", tmp_path)
    monkeypatch.setattr(emulated_toolkit, "PROGRAMS", (PROGRAM, CLUSTERS))
    monkeypatch.setattr(launch, "_loaded", {})


@pytest.fixture
def loaded(gpu):
    return kernels(gpu.context, PROGRAM)


def test_plain(loaded, gpu):
    x = gpu.put(np.zeros(1000))
    loaded["fill"].launch(gpu.context, 4, 256, x.pointer, 1000, 0.5, -6)
    assert (gpu.get(x) == -3).all()


def test_cooperative(loaded, gpu):
    kernel = loaded["rounds"]
    blocks = kernel.resident_blocks(32)
    barrier = gpu.address(np.zeros(1, np.uint32))
    expected = [0]
    for _ in range(5):
        expected.append(blocks * (expected[-1] + 1))
    for _ in range(3):  # the barrier's word needs no reset
        x = gpu.put(np.zeros(6, np.int64))
        kernel.launch_cooperative(gpu.context, 1, 32, x.pointer, barrier, 6)
        assert gpu.get(x).tolist() == expected


@pytest.mark.parametrize("size", [2, 8, 16])
def test_clusters(gpu, size):
    if not gpu.context.info.clusters:
        pytest.skip("this GPU has no clusters")
    kernel = kernels(gpu.context, CLUSTERS)["rotate"]
    assert kernel.resident_clusters(gpu.context, size, 64, 1024) > 0
    x = gpu.put(np.full(3 * size, -1))
    kernel.launch_clusters(gpu.context, 3, size, 64, x.pointer, size, shared=1024)
    assert gpu.get(x).tolist() == [(k + 1) % size for k in range(size)] * 3


def test_much_shared_memory(loaded, gpu):
    kernel, x = loaded["fill"], gpu.put(np.zeros(8))
    for shared in (gpu.context.info.shared_bytes, 50_000, gpu.context.info.shared_bytes):
        kernel.launch(gpu.context, 1, 32, x.pointer, 8, float(shared), 1, shared=shared)
        assert (gpu.get(x) == shared).all()
    assert 0 < kernel.resident_blocks(32, gpu.context.info.shared_bytes) <= kernel.resident_blocks(32)


def test_ordered_keys(loaded, gpu):
    given = np.array([-np.inf, -1e300, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1e300, np.inf])
    x, keys = gpu.put(given), gpu.put(np.zeros(len(given), np.int64))
    loaded["order"].launch(gpu.context, 1, 32, x.pointer, keys.pointer, len(given))
    assert (np.diff(gpu.get(keys).view(np.uint64).astype(object)) > 0).all()
    assert np.array_equal(gpu.get(x).view(np.int64), given.view(np.int64))


def test_every_16_bit_float(loaded, gpu):
    bits = np.arange(2**16, dtype=np.uint32)
    x = gpu.put(np.zeros(2 * len(bits)))
    halves = gpu.address(bits.astype(np.uint16))
    loaded["widen"].launch(gpu.context, 1, 32, halves, halves, x.pointer, len(bits))
    with np.errstate(invalid="ignore"):  # of signalling NaNs
        expected = bits.astype(np.uint16).view(np.float16).astype(float), (bits << 16).view(np.float32).astype(float)
    np.testing.assert_array_equal(gpu.get(x), np.concatenate(expected))


def test_loaded_once(loaded, gpu):
    preload(gpu.context, [(PROGRAM, ())])
    assert kernels(gpu.context, PROGRAM) is loaded


def test_loaded_in_threads(gpu):
    preload(gpu.context, [(PROGRAM, ()), (CLUSTERS, ())] if gpu.context.info.clusters else [(PROGRAM, ())])
    assert launch._loaded.keys() >= {(0, "launching", ())}
    test_plain(kernels(gpu.context, PROGRAM), gpu)


# --- on the emulator alone --------------------------------------------------------------------------------------------


def test_configurations_are_kept_but_not_for_ever(emulated_gpu):
    kernel, x = kernels(emulated_gpu, PROGRAM)["fill"], np.zeros(8)
    for grid in range(1, 600):
        kernel.launch(emulated_gpu, grid, 1, x.ctypes.data, 0, 0.0, 0)
    assert len(kernel._configs) <= 256


def test_opting_in(emulated_gpu, monkeypatch):
    asked = []
    monkeypatch.setattr(
        emulated_toolkit.DRIVER, "cuKernelSetAttribute", lambda *asks: asked.append(asks[:2]) or (0,), raising=False
    )
    kernel, x = kernels(emulated_gpu, CLUSTERS)["rotate"], np.zeros(64, np.int64)
    for shared in (1024, 60_000, 50_000, 70_000):
        kernel.launch_clusters(emulated_gpu, 1, 2, 32, x.ctypes.data, 2, shared=shared)
    assert asked == [(8, 60_000), (8, 70_000)]
    kernel.launch_clusters(emulated_gpu, 1, 16, 32, x.ctypes.data, 16, shared=64)
    assert asked[2:] == [(14, 1)]


def test_occupancy(emulated_gpu):
    kernel = kernels(emulated_gpu, PROGRAM)["fill"]
    assert kernel.resident_blocks(256) == 2 * emulated_toolkit.PROCESSORS
    assert kernel.resident_clusters(emulated_gpu, 2, 64) == 2
    without = SimpleNamespace(**{**vars(emulated_gpu.info), "clusters": False})
    assert launch.Kernel(kernel._kernel, without).resident_clusters(emulated_gpu, 2, 64) == 0
