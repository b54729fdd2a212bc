"""Which GPU, and in what order: the device's properties, and the context in which everything runs.

A `Context` is one GPU and one stream of the caller. It makes the GPU's primary context current, the one that PyTorch,
CuPy and JAX use, for as long as a ``with`` block lasts, and puts back what was current before; no other GPU is
touched. Asking for properties makes no context.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any

from lapwing.errors import GpuError
from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.programs import ARCHITECTURES, target_architecture

# The driver's names for the default streams of whatever context is current; libraries write the first as 0.
LEGACY_STREAM = 1
_PER_THREAD_STREAM = 2
_MOST_CONTEXTS = 256  # that are kept


@dataclass(frozen=True, eq=False)  # each GPU has one
class DeviceInfo:
    """The properties of a GPU that planning needs.

    Attributes
    ----------
    ordinal : int
    name : str
    capability : (major, minor)
    architecture : int
        What kernels are compiled for (`target_architecture`).
    processors : int
        Streaming multiprocessors.
    shared_bytes : int
        Largest shared memory of a block, dynamic and opted in.
    processor_shared_bytes : int
        Of a multiprocessor, shared by its blocks.
    processor_threads : int
        Resident threads of a multiprocessor, at most.
    l2_bytes, total_bytes : int
        Sizes of the L2 cache and of the GPU's memory.
    cooperative, clusters : bool
        Whether it launches cooperative grids, and thread-block clusters.
    """

    ordinal: int
    name: str
    capability: tuple[int, int]
    architecture: int
    processors: int
    shared_bytes: int
    processor_shared_bytes: int
    processor_threads: int
    l2_bytes: int
    total_bytes: int
    cooperative: bool
    clusters: bool


def device_count() -> int:
    """How many GPUs the driver shows; 0 without a driver.

    Raises
    ------
    GpuError
        If cuda-core is missing.
    """
    driver = toolkit.driver()
    try:
        status, *_ = driver.cuInit(0)
        if int(status) != 0:
            return 0
        return int(checked(driver.cuDeviceGetCount()))
    except RuntimeError:  # no driver library
        return 0


@cache
def device_info(ordinal: int) -> DeviceInfo:
    """Properties of GPU `ordinal`, as the driver counts.

    Raises
    ------
    GpuError
        If there is no such GPU, or it is too old.
    """
    count = device_count()
    if count == 0:
        raise GpuError(
            "no NVIDIA GPU is seen: check that the driver is installed (nvidia-smi) and that CUDA_VISIBLE_DEVICES does "
            "not hide the GPU, or solve on the CPU"
        )
    if not 0 <= ordinal < count:
        have = "is 1 GPU, number 0" if count == 1 else f"are {count} GPUs, 0 to {count - 1}"
        raise GpuError(f"there is no GPU {ordinal}: there {have}")
    device = toolkit.core().Device(ordinal)
    properties = device.properties
    capability = (int(device.compute_capability.major), int(device.compute_capability.minor))
    oldest = ARCHITECTURES[0]
    if 10 * capability[0] + capability[1] < oldest:
        raise GpuError(
            f"GPU {ordinal} ({device.name}) has compute capability {capability[0]}.{capability[1]}; Lapwing needs "
            f"{oldest // 10}.{oldest % 10} or later: solve on the CPU, or on another GPU"
        )
    return DeviceInfo(
        ordinal=ordinal,
        name=str(device.name),
        capability=capability,
        architecture=target_architecture(*capability),
        processors=properties.multiprocessor_count,
        shared_bytes=properties.max_shared_memory_per_block_optin,
        processor_shared_bytes=properties.max_shared_memory_per_multiprocessor,
        processor_threads=properties.max_threads_per_multiprocessor,
        l2_bytes=properties.l2_cache_size,
        total_bytes=int(checked(toolkit.driver().cuDeviceTotalMem(ordinal))),
        cooperative=bool(properties.cooperative_launch),
        clusters=bool(properties.cluster_launch),
    )


class Context:
    """One GPU and one stream, entered with ``with``; may be entered again, and by several threads.

    Parameters
    ----------
    ordinal : int
        The GPU, as the driver counts.
    stream : int
        Handle of a stream of that GPU's primary context; 0 for the default stream. It must outlive the context.

    Attributes
    ----------
    info : DeviceInfo
    primary : the driver's handle of the GPU's primary context
    stream : cuda.core Stream
    stream_handle : int
    """

    def __init__(self, ordinal: int = 0, stream: int = 0) -> None:
        self.info: DeviceInfo = device_info(ordinal)
        self.primary: Any = _primary_context(ordinal)
        self._primary_handle = int(self.primary)
        self._pushed = _Pushed()
        self.stream_handle: int = stream or LEGACY_STREAM
        self.stream: Any = _stream(self.stream_handle)

    def __enter__(self) -> Context:
        driver = toolkit.driver()
        status, current = driver.cuCtxGetCurrent()
        foreign = int(status) != 0 or int(current) != self._primary_handle
        if foreign:
            checked(driver.cuCtxPushCurrent(self.primary))
        self._pushed.entries.append(foreign)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pushed.entries.pop():
            checked(toolkit.driver().cuCtxPopCurrent())

    @property
    def pool(self) -> Any:
        """The driver's stream-ordered memory pool, which keeps what is freed for the next allocation."""
        return _memory_pool(self.info.ordinal)

    def synchronize(self) -> None:
        """Wait until everything launched on the stream is done."""
        self.stream.sync()

    def is_capturing(self) -> bool:
        """Whether work on the stream is captured in a graph, so that the host cannot wait for it."""
        status, capture = toolkit.driver().cuStreamIsCapturing(self.stream.handle)
        return int(status) != 0 or int(capture) != 0  # the default stream refuses to say while another one captures

    def order_before(self, stream: int) -> None:
        """Make the stream with this handle wait for what was launched so far; inside ``with`` only."""
        if stream != self.stream_handle:
            _stream(stream).wait(self.stream)

    def free_bytes(self) -> int:
        """Memory that is free now, what the driver's default pool holds unused included; inside ``with`` only."""
        free, _ = checked(toolkit.driver().cuMemGetInfo())
        pool = self.pool.attributes
        return int(free) + int(pool.reserved_mem_current) - int(pool.used_mem_current)


class _Pushed(threading.local):
    """Of a thread: whether each entry into a context pushed it."""

    def __init__(self) -> None:
        self.entries: list[bool] = []


_contexts: dict[tuple[int, int], Context] = {}


def shared_context(ordinal: int, stream: int) -> Context:
    """The context of a GPU and a stream, kept from call to call."""
    found = _contexts.get((ordinal, stream))
    if found is None:
        if len(_contexts) >= _MOST_CONTEXTS:
            _contexts.clear()
        found = _contexts[ordinal, stream] = Context(ordinal, stream)
    return found


@cache
def _primary_context(ordinal: int) -> Any:
    """The GPU's primary context, kept until the process ends."""
    return checked(toolkit.driver().cuDevicePrimaryCtxRetain(ordinal))


@cache
def _memory_pool(ordinal: int) -> Any:
    return toolkit.core().DeviceMemoryResource(ordinal)


def _stream(handle: int) -> Any:
    core = toolkit.core()
    if handle == LEGACY_STREAM:
        return core.LEGACY_DEFAULT_STREAM
    return core.PER_THREAD_DEFAULT_STREAM if handle == _PER_THREAD_STREAM else core.Stream.from_handle(handle)


def checked(answer: tuple[Any, ...]) -> Any:
    """The result of a call of the driver: nothing, a value or a tuple, without its status.

    Raises
    ------
    GpuError
        If the status is an error.
    """
    status, *values = answer
    if int(status) != 0:
        raise GpuError(f"the CUDA driver reports {getattr(status, 'name', status)}{_explained(status)}")
    return values[0] if len(values) == 1 else tuple(values)


def _explained(status: Any) -> str:
    code, text = toolkit.driver().cuGetErrorString(status)
    return f": {text.decode()}" if int(code) == 0 and text else ""
