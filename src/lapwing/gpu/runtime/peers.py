"""Several GPUs of one host: what one launches after another's work, and access to each other's memory."""

from __future__ import annotations

from collections.abc import Sequence

from lapwing.errors import GpuError
from lapwing.gpu.runtime import toolkit
from lapwing.gpu.runtime.device import Context, checked

_NO_TIMING = 2  # CU_EVENT_DISABLE_TIMING
_ALREADY_ENABLED = 704  # CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED


def order(first: Context, then: Context) -> None:
    """Make what is launched on `then`'s stream from now on wait for all that was launched on `first`'s."""
    if (first.info.ordinal, first.stream_handle) == (then.info.ordinal, then.stream_handle):
        return
    driver = toolkit.driver()
    with first:
        event = checked(driver.cuEventCreate(_NO_TIMING))
        try:
            checked(driver.cuEventRecord(event, first.stream.handle))
            with then:
                checked(driver.cuStreamWaitEvent(then.stream.handle, event, 0))
        finally:
            checked(driver.cuEventDestroy(event))  # when it has passed


def copy_between(context: Context, to: int, source: int, size: int) -> None:
    """Copy from any GPU's memory to any other's, in the order of the context's stream."""
    if size:
        checked(toolkit.driver().cuMemcpyAsync(to, source, size, context.stream.handle))


def connect(contexts: Sequence[Context], allocated: Sequence[int] = ()) -> None:
    """Let kernels of each GPU read and write the memory of the others.

    Parameters
    ----------
    contexts : one of each GPU
    allocated : sequence of int
        Addresses of memory of other libraries, which may come from a pool of their own.

    Raises
    ------
    GpuError
        If two GPUs have no such access.
    """
    driver = toolkit.driver()
    pools = [[context.pool.handle, *_pools_of(context, allocated)] for context in contexts]
    for reader in contexts:
        for owner, of_owner in zip(contexts, pools, strict=True):
            ordinals = reader.info.ordinal, owner.info.ordinal
            if ordinals[0] == ordinals[1]:
                continue
            if not int(checked(driver.cuDeviceCanAccessPeer(*ordinals))):
                raise GpuError(
                    f"GPU {ordinals[0]} cannot read the memory of GPU {ordinals[1]}: solve on one of them, or with "
                    "lapwing.distributed, a process for each"
                )
            with reader:
                status, *_ = driver.cuCtxEnablePeerAccess(owner.primary, 0)
                if int(status) != _ALREADY_ENABLED:
                    checked((status,))
            for pool in of_owner:
                access = driver.CUmemAccessDesc()
                access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
                access.location.id = ordinals[0]
                access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                checked(driver.cuMemPoolSetAccess(pool, [access], 1))


def _pools_of(context: Context, allocated: Sequence[int]) -> list[int]:
    """The pools of this GPU from which that memory comes."""
    driver = toolkit.driver()
    attribute = driver.CUpointer_attribute
    found = []
    for address in allocated:
        where = int(checked(driver.cuPointerGetAttribute(attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address)))
        status, pool = driver.cuPointerGetAttribute(attribute.CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address)
        if where == context.info.ordinal and int(status) == 0 and int(pool):
            found.append(pool)
    return found
