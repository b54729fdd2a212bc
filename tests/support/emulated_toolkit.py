"""A stand-in for NVIDIA's packages on a machine without a GPU: memory is the process's, kernels run on the processor.

It answers what `lapwing.gpu` asks of `cuda.core` and of the driver, and no more. A program is compiled by the C++
compiler against the CUDA emulator (cpp/tests/emulation), which finds deadlocks; its arguments go over as on a GPU, as
8-byte words. So the Python around the kernels is tested together with them. It is slow: small problems only.

`COUNTS` counts what takes time on a real one, whatever the problem: launches, allocations, waits and so on.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from types import SimpleNamespace

import numpy as np

from lapwing.gpu.core import monitor
from lapwing.gpu.runtime import device, launch, toolkit
from lapwing.gpu.runtime.programs import PROGRAMS
from support.emulated_programs import MOST_THREADS, library

# The size of the emulated GPU: small, so that grids have more than one wave.
PROCESSORS = 4
SHARED_BYTES = 96 * 1024
TOTAL_BYTES = 2**30


def coded(program, variant):
    """A stand-in for a program's code: its name."""
    return repr((program.name, variant)).encode()


def install(monkeypatch):
    """Put the stand-in in place of the toolkit, for one test."""
    monkeypatch.setattr(toolkit, "core", lambda: CORE)
    monkeypatch.setattr(toolkit, "driver", lambda: DRIVER)
    for kept in (device.device_info, device._primary_context, device._memory_pool):
        kept.cache_clear()
        monkeypatch.setattr(sys.modules[kept.__module__], kept.__name__, cache(kept.__wrapped__))
    monkeypatch.setattr(device, "_contexts", {})
    monkeypatch.setattr(monitor, "_idle", defaultdict(list))  # memory of one kind of GPU is not for the other
    monkeypatch.setattr(launch, "_loaded", {})
    monkeypatch.setattr(launch, "_background_builds", {})  # of a real GPU, which would replace the emulated kernels
    monkeypatch.setattr(launch, "start_build", lambda program, variant, _: (coded(program, variant), None))


class Kernel:
    def __init__(self, program, variant, name):
        self.library, self.name, self.handle = library(program, variant), name, 1
        self.most_threads = MOST_THREADS if "THREADS" in program.constants else 1024
        self.occupancy = SimpleNamespace(
            max_active_blocks_per_multiprocessor=lambda block, shared: max(1, 512 // block),
            max_active_clusters=lambda config, stream: 2,
        )


class ObjectCode:
    def __init__(self, name, variant):
        self.program = next(program for program in PROGRAMS if program.name == name)
        self.variant = variant

    @classmethod
    def from_cubin(cls, code, name):
        return cls(*eval(code.decode()))  # what install() put there

    def get_kernel(self, name):
        return Kernel(self.program, self.variant, name)


class Background:
    """Work that streams have yet to do, where kernels run beside the host as on a GPU (`meanwhile`); else none.

    Each GPU does its own, in order.
    """

    def __init__(self):
        self.meanwhile = False
        self._pools = defaultdict(partial(ThreadPoolExecutor, 1))  # by the context that is current
        self._last, self._kept = {}, []

    def launch(self, work, stream=0):
        if not self.meanwhile or stream == WATCHING_STREAM:
            return work()
        where = self.current()
        self._last[where] = last = self._pools[where].submit(work)
        return last

    def is_done(self):
        last = self._last.get(self.current())
        return last is None or last.done()

    def wait(self, stream=0):
        """For all but the stream on which the host watches kernels."""
        last = self._last.get(self.current())
        if last is not None and stream != WATCHING_STREAM:
            last.result()

    def wait_for_all(self):
        """For every GPU."""
        for last in self._last.values():
            last.result()

    def keep(self, where, memory):
        """Memory, until all work there is done."""
        self._kept = [kept for kept in self._kept if not kept[0].done()]
        last = self._last.get(where)
        if last is not None:
            self._kept.append((last, memory))

    def current(self):
        """The GPU's context."""
        return DRIVER.contexts[-1] if DRIVER.contexts else 1000


BACKGROUND = Background()
WATCHING_STREAM = 7
COUNTS = Counter()


def run_kernel(stream, config, kernel, *arguments):
    COUNTS["launches"] += 1
    words = (ctypes.c_uint64 * max(len(arguments), 1))()
    for k, argument in enumerate(arguments):
        assert type(argument) in (int, float), f"argument {k} is a {type(argument).__name__}"
        words[k] = struct.unpack("Q", struct.pack("d" if type(argument) is float else "q", argument))[0]

    def work():
        problem = kernel.library.emulate(
            kernel.name.encode(),
            config.grid * (config.cluster or 1),
            min(config.block, kernel.most_threads),
            config.shmem_size,
            config.cluster or 1,
            config.is_cooperative,
            words,
            len(arguments),
        )
        if problem is not None:
            raise RuntimeError(f"{kernel.name}: {problem.decode()}")

    BACKGROUND.launch(work)


POISON = 0xA5  # what memory holds that nobody has written yet: negative numbers, or others that a test puts here
GUARD = 4096  # bytes behind a block of memory
OVERRUNS = []  # where blocks ended behind which somebody wrote


class Buffer:
    def __init__(self, size):
        self._poison = POISON
        self.memory = np.full(size + 256 + GUARD, POISON, np.uint8)
        self.handle = -(-self.memory.ctypes.data // 256) * 256
        self._end = self.handle - self.memory.ctypes.data + size

    def note_overrun(self):
        """If somebody wrote behind the end."""
        if (self.memory[self._end :] != self._poison).any():
            OVERRUNS.append(self._end)


class PoolBuffer(Buffer):
    """Free again in the order of its GPU's work."""

    def __init__(self, size):
        super().__init__(size)
        self._where = BACKGROUND.current()

    def __del__(self):
        if hasattr(self, "_where"):  # Ctrl-C may come while it is made
            self.note_overrun()
            BACKGROUND.keep(self._where, self.memory)


class Pool:
    attributes = SimpleNamespace(reserved_mem_current=0, used_mem_current=0)

    handle = 1

    def __init__(self, ordinal):
        pass

    def allocate(self, size, *, stream):
        COUNTS["allocations"] += 1
        return PoolBuffer(size)


class Stream:
    def __init__(self, handle):
        self.handle = handle

    def sync(self):
        COUNTS["waits"] += 1
        BACKGROUND.wait(self.handle)

    def wait(self, other):
        pass


class StridedMemoryView:
    def __init__(self, pointer, shape, dtype):
        self.ptr, self.shape, self.strides, self.dtype, self.device_id = pointer, shape, None, dtype, 0

    @classmethod
    def from_any_interface(cls, array, *, stream_ptr):
        if hasattr(array, "__dlpack__"):
            return array.__dlpack__(stream=-1)
        interface = array.__cuda_array_interface__
        view = cls(interface["data"][0], interface["shape"], np.dtype(interface["typestr"]))
        if interface.get("strides") is not None:
            view.strides = tuple(stride // view.dtype.itemsize for stride in interface["strides"])
        return view

    @classmethod
    def from_buffer(cls, owner, shape, *, dtype):
        view = cls(owner.handle, shape, dtype)
        view.owner = owner  # as long as there is a view of it
        return view

    def __dlpack_device__(self):
        return 2, self.device_id

    def __dlpack__(self, *, stream=None, **options):
        return self


def launch_config(*, grid, block, shmem_size, cluster=None, is_cooperative=False):
    assert 0 < grid < 2**31 and 0 < block <= 1024 and shmem_size <= SHARED_BYTES
    return SimpleNamespace(
        grid=grid, block=block, shmem_size=shmem_size, cluster=cluster, is_cooperative=is_cooperative
    )


CORE = SimpleNamespace(
    launch=run_kernel,
    LaunchConfig=launch_config,
    ObjectCode=ObjectCode,
    DeviceMemoryResource=Pool,
    Stream=SimpleNamespace(from_handle=Stream),
    utils=SimpleNamespace(StridedMemoryView=StridedMemoryView),
    LEGACY_DEFAULT_STREAM=Stream(1),
    PER_THREAD_DEFAULT_STREAM=Stream(2),
    Device=lambda ordinal: SimpleNamespace(
        name="Emulated GPU",
        compute_capability=SimpleNamespace(major=9, minor=0),
        properties=SimpleNamespace(
            multiprocessor_count=PROCESSORS,
            max_shared_memory_per_block_optin=SHARED_BYTES,
            max_shared_memory_per_multiprocessor=SHARED_BYTES,
            max_threads_per_multiprocessor=512,
            l2_cache_size=2**20,
            cooperative_launch=True,
            cluster_launch=True,
        ),
    ),
)


class IpcHandle:
    def __init__(self):
        self.words = (ctypes.c_uint64 * 8)()

    def getPtr(self):  # noqa: N802
        return ctypes.addressof(self.words)


class Driver:
    CUipcMemHandle = IpcHandle
    CUDA_MEMCPY2D = SimpleNamespace
    CUmemorytype = int
    CUfunction_attribute = SimpleNamespace(
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED=14
    )

    CUmemAccessDesc = staticmethod(lambda: SimpleNamespace(location=SimpleNamespace()))
    CUmemLocationType = SimpleNamespace(CU_MEM_LOCATION_TYPE_DEVICE=1)
    CUmemAccess_flags = SimpleNamespace(CU_MEM_ACCESS_FLAGS_PROT_READWRITE=3)
    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE=17)
    # GPUs, whether they read each other's memory, and whether other processes may
    count, peers, exports = 1, True, True
    strangers = frozenset()  # pairs of GPUs without access to each other

    def __init__(self):
        self.contexts = []  # the stack of current contexts
        self.blocks, self.pinned = [], []  # never freed

    def cuInit(self, flags):  # noqa: N802
        return (0,)

    def cuDeviceGetCount(self):  # noqa: N802
        return 0, self.count

    def cuDeviceCanAccessPeer(self, reader, owner):  # noqa: N802
        assert reader != owner
        return 0, int(self.peers and (reader, owner) not in self.strangers)

    def cuCtxEnablePeerAccess(self, context, flags):  # noqa: N802
        assert self.contexts[-1] != context
        COUNTS["peers"] += 1
        return (704 if COUNTS["peers"] > 1 else 0,)

    def cuDeviceGetUuid(self, ordinal):  # noqa: N802
        return 0, SimpleNamespace(bytes=bytes([ordinal] * 16))

    def cuMemGetAddressRange(self, address):  # noqa: N802
        return (0, address - 64, 0) if self.exports else (1, 0, 0)

    def cuIpcGetMemHandle(self, base):  # noqa: N802
        handle = self.CUipcMemHandle()
        handle.words[0] = base
        return 0, handle

    def cuIpcOpenMemHandle(self, handle, flags):  # noqa: N802
        COUNTS["opened"] += 1
        return 0, handle.words[0]

    def cuIpcCloseMemHandle(self, base):  # noqa: N802
        COUNTS["opened"] -= 1
        return (0,)

    def cuGetErrorString(self, status):  # noqa: N802
        return 0, b"as emulated"

    def cuPointerGetAttribute(self, attribute, address):  # noqa: N802
        return 0, 0

    def cuMemPoolSetAccess(self, pool, access, count):  # noqa: N802
        assert len(access) == count
        return (0,)

    def cuMemPoolTrimTo(self, pool, kept):  # noqa: N802
        COUNTS["trimmed"] += 1
        return (0,)

    def cuDeviceTotalMem(self, ordinal):  # noqa: N802
        return 0, TOTAL_BYTES

    def cuDevicePrimaryCtxRetain(self, ordinal):  # noqa: N802
        return 0, 1000 + ordinal

    def cuCtxGetCurrent(self):  # noqa: N802
        return 0, self.contexts[-1] if self.contexts else 0

    def cuCtxPushCurrent(self, context):  # noqa: N802
        self.contexts.append(context)
        return (0,)

    def cuCtxPopCurrent(self):  # noqa: N802
        return 0, self.contexts.pop()

    def cuMemGetInfo(self):  # noqa: N802
        COUNTS["memory queries"] += 1
        return 0, TOTAL_BYTES // 2, TOTAL_BYTES

    def cuKernelSetAttribute(self, attribute, value, kernel, ordinal):  # noqa: N802
        return (0,)

    def cuMemAlloc(self, size):  # noqa: N802
        self.blocks.append(Buffer(size))
        return 0, self.blocks[-1].handle

    def cuMemHostAlloc(self, size, flags):  # noqa: N802
        self.pinned.append(Buffer(size))
        return 0, self.pinned[-1].handle

    def cuStreamCreate(self, flags):  # noqa: N802
        return 0, WATCHING_STREAM

    def cuStreamSynchronize(self, stream):  # noqa: N802
        BACKGROUND.wait(stream)
        return (0,)

    def cuStreamIsCapturing(self, stream):  # noqa: N802
        return 0, 0

    def cuStreamQuery(self, stream):  # noqa: N802
        return (0 if BACKGROUND.is_done() else 600,)

    def cuEventCreate(self, flags):  # noqa: N802
        return 0, SimpleNamespace(reached=True, work=None)

    def cuEventRecord(self, event, stream):  # noqa: N802
        event.reached, event.record = False, (record := object())  # which takes the place of an earlier one

        def reach():
            event.reached = event.reached or event.record is record

        event.work = BACKGROUND.launch(reach, stream)
        return (0,)

    def cuEventDestroy(self, event):  # noqa: N802
        return (0,)

    def cuStreamWaitEvent(self, stream, event, flags):  # noqa: N802
        if event.work is not None:
            BACKGROUND.launch(event.work.result, stream)
        return (0,)

    def cuEventQuery(self, event):  # noqa: N802
        return (0 if event.reached else 600,)

    def cuMemsetD8Async(self, pointer, value, size, stream):  # noqa: N802
        COUNTS["fills"] += 1
        BACKGROUND.launch(lambda: ctypes.memset(pointer, value, size), stream)
        return (0,)

    def cuMemcpyDtoDAsync(self, a, b, size, stream):  # noqa: N802
        BACKGROUND.launch(lambda: ctypes.memmove(a, b, size), stream)
        return (0,)

    def cuMemcpyAsync(self, a, b, size, stream):  # noqa: N802
        COUNTS["bytes between"] += size
        return self.cuMemcpyDtoDAsync(a, b, size, stream)

    def cuMemcpyDtoHAsync(self, host, pointer, size, stream):  # noqa: N802
        COUNTS["bytes back"] += size
        BACKGROUND.launch(lambda: ctypes.memmove(host, pointer, size), stream)
        if not any(0 <= host - block.handle < block.memory.nbytes for block in self.pinned):
            COUNTS["waits"] += 1
            BACKGROUND.wait(stream)
        return (0,)

    def cuMemcpy2DAsync(self, copy, stream):  # noqa: N802
        assert stream == WATCHING_STREAM and copy.WidthInBytes <= min(copy.srcPitch, copy.dstPitch)
        assert max(copy.srcPitch, copy.dstPitch) < 2**31
        COUNTS["bytes aside"] += copy.Height * copy.WidthInBytes
        of_host, of_gpu = 1, 2
        source = copy.srcHost if copy.srcMemoryType == of_host else copy.srcDevice
        target = copy.dstDevice if copy.dstMemoryType == of_gpu else copy.dstHost
        for row in range(copy.Height):
            ctypes.memmove(target + row * copy.dstPitch, source + row * copy.srcPitch, copy.WidthInBytes)
        return (0,)

    def cuMemcpyHtoDAsync(self, pointer, host, size, stream):  # noqa: N802
        COUNTS["copies there"] += 1
        BACKGROUND.wait(stream)
        ctypes.memmove(pointer, host, size)
        return (0,)


DRIVER = Driver()
