"""Kernels that are loaded on a GPU, and how they are launched: plain, cooperative or in clusters.

A kernel's parameters are pointers, `long long` and `double`: an address or an int goes over as eight bytes, a float as
a double, and nothing is converted. Launches return at once; what they launch is in the order of the context's stream.
Call them inside ``with context:``.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.background_build import BackgroundBuild, start_build
from lapwing.gpu.runtime.device import Context, DeviceInfo, checked
from lapwing.gpu.runtime.programs import Program, Variant

_PORTABLE_CLUSTER = 8  # blocks; more must be opted in
_ALWAYS_SHARED = 48 * 1024  # bytes of dynamic shared memory; more must be opted in


class Kernel:
    """One kernel on one GPU."""

    def __init__(self, kernel: Any, info: DeviceInfo) -> None:
        core = toolkit.core()
        self._kernel = kernel
        self._info = info
        self._send = core.launch
        self._config = core.LaunchConfig
        self._allowed_shared = _ALWAYS_SHARED
        self._configs: dict[tuple[int, ...], Any] = {}
        self._resident: dict[tuple[int, ...], int] = {}

    def launch(self, context: Context, grid: int, block: int, *arguments: int | float, shared: int = 0) -> None:
        """Launch `grid` blocks of `block` threads, each with `shared` bytes of dynamic shared memory."""
        key = (grid, block, shared)
        config = self._configs.get(key)
        if config is None:
            config = self._remember(key, shared, grid=grid, block=block, shmem_size=shared)
        self._send(context.stream, config, self._kernel, *arguments)

    def launch_cooperative(
        self, context: Context, size: int, block: int, *arguments: int | float, shared: int = 0
    ) -> None:
        """As many blocks as the GPU holds at once, so that they may wait for each other (`grid_barrier`).

        Where the GPU has clusters, blocks come in clusters of `size`.
        """
        key = (size, block, shared, 0)
        config = self._configs.get(key)
        if config is None:
            clusters = self.resident_clusters(context, size, block, shared) if size > 1 else 0
            shape = {"grid": clusters, "cluster": size} if clusters else {"grid": self.resident_blocks(block, shared)}
            config = self._remember(key, shared, block=block, shmem_size=shared, is_cooperative=True, **shape)
        self._send(context.stream, config, self._kernel, *arguments)

    def launch_clusters(
        self, context: Context, clusters: int, size: int, block: int, *arguments: int | float, shared: int = 0
    ) -> None:
        """Launch `clusters` clusters of `size` blocks (at most 16; see `resident_clusters`)."""
        key = (clusters, block, shared, size)
        config = self._configs.get(key)
        if config is None:
            self._allow_cluster(size)
            config = self._remember(key, shared, grid=clusters, cluster=size, block=block, shmem_size=shared)
        self._send(context.stream, config, self._kernel, *arguments)

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        """How many blocks the GPU holds at once: the largest grid of a cooperative launch."""
        key = (block, shared)
        if key not in self._resident:
            self._allow_shared(shared)
            occupancy = self._kernel.occupancy
            each = occupancy.max_active_blocks_per_multiprocessor(block, shared)
            self._resident[key] = each * self._info.processors
        return self._resident[key]

    def resident_clusters(self, context: Context, size: int, block: int, shared: int = 0) -> int:
        """How many clusters of `size` blocks the GPU holds at once; 0 where it has no such clusters."""
        if not self._info.clusters:
            return 0
        key = (block, shared, size)
        if key not in self._resident:
            self._allow_shared(shared)
            self._allow_cluster(size)
            config = self._config(grid=1, cluster=size, block=block, shmem_size=shared)
            self._resident[key] = self._kernel.occupancy.max_active_clusters(config, stream=context.stream)
        return self._resident[key]

    def _remember(self, key: tuple[int, ...], shared: int, **options: int | bool) -> Any:
        """A launch configuration, kept; sizes differ from problem to problem, so not for ever."""
        self._allow_shared(shared)
        if len(self._configs) >= 256:
            self._configs.clear()
        config = self._configs[key] = self._config(**options)
        return config

    def _allow_shared(self, size: int) -> None:
        if size > self._allowed_shared:
            self._set("CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", size)
            self._allowed_shared = size

    def _allow_cluster(self, size: int) -> None:
        if size > _PORTABLE_CLUSTER:
            self._set("CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)

    def _set(self, name: str, value: int) -> None:
        driver = toolkit.driver()
        attribute = getattr(driver.CUfunction_attribute, name)
        checked(driver.cuKernelSetAttribute(attribute, value, self._kernel.handle, self._info.ordinal))


_Key = tuple[int, str, Variant]
_loaded: dict[_Key, dict[str, Kernel]] = {}
_loading: dict[_Key, threading.Lock] = {}
_background_builds: dict[_Key, BackgroundBuild] = {}  # of what is loaded as a quick build
_replaced: list[dict[str, Kernel]] = []  # quick builds; solves may still use them


def kernels(context: Context, program: Program, variant: Variant = ()) -> dict[str, Kernel]:
    """A program's kernels by name, loaded on the context's GPU: from memory, the cache on disk, or the compiler.

    Raises
    ------
    GpuError
        If the program does not compile or load.
    """
    key = (context.info.ordinal, program.name, variant)
    found = _loaded.get(key)
    if found is None or key in _background_builds:
        with _loading.setdefault(key, threading.Lock()):
            found = _newest(context.info, key, program)
    return found


def _newest(info: DeviceInfo, key: _Key, program: Program) -> dict[str, Kernel]:
    """The loaded program, a quick build in its place, or the full build if it is ready."""
    found, build = _loaded.get(key), _background_builds.get(key)
    if found is None:
        code, build = start_build(program, key[2], info.architecture)
        if build is not None:
            _background_builds[key] = build
    else:
        if build is None or not build.is_over():
            return found
        del _background_builds[key]
        made = build.result()
        if made is None:
            return found
        code = made
        _replaced.append(found)
    library = toolkit.core().ObjectCode.from_cubin(code, name=program.name)
    _loaded[key] = {name: Kernel(library.get_kernel(name), info) for name in program.kernels}
    return _loaded[key]


def finish_builds() -> bool:
    """Wait for all that is in the making; for who measures, after a first use. Whether there was any."""
    builds = list(_background_builds.values())
    for build in builds:
        build.wait()
    return bool(builds)


def preload(context: Context, programs: Sequence[tuple[Program, Variant]]) -> None:
    """Load several programs at once, a thread each: what a solve needs is compiled in the time of the longest.

    Raises
    ------
    GpuError
        As `kernels`.
    """

    def load(pair: tuple[Program, Variant]) -> None:
        with context:
            kernels(context, *pair)

    missing = [pair for pair in programs if (context.info.ordinal, pair[0].name, pair[1]) not in _loaded]
    if missing:
        with ThreadPoolExecutor(len(missing)) as pool:
            list(pool.map(load, missing))
