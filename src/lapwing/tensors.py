"""Arrays of PyTorch and others on the host: read as NumPy's, tensors answered as tensors; nothing is imported."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, DtypeError

_torch: Any = None
_DLPACK_HOST = (1, 3, 11)  # kDLCPU, kDLCUDAHost, kDLROCMHost


def loaded_torch() -> Any:
    """PyTorch, or None as long as it is not imported.

    It is kept here, since PyTorch's compiler would guard every module that is loaded where it traces `sys.modules`.
    """
    global _torch
    if _torch is None:
        _torch = sys.modules.get("torch")
    return _torch


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor of PyTorch, wherever it is."""
    torch = loaded_torch()
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def is_host_tensor(value: Any) -> bool:
    """Whether `value` is a tensor of PyTorch in the host's memory."""
    return is_tensor(value) and value.device.type == "cpu"


def is_dtensor(value: Any) -> bool:
    """Whether `value` is a DTensor of PyTorch: one of several processes' parts of a tensor."""
    kind = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    return kind is not None and isinstance(value, kind)


def is_tracing() -> bool:
    """Whether PyTorch's compiler is looking at this call; costs nothing where PyTorch is not loaded."""
    asked = getattr(getattr(loaded_torch(), "compiler", None), "is_compiling", None)  # not in old ones
    return asked is not None and bool(asked())


def read_tensor(tensor: Any, name: str) -> NDArray[Any]:
    """The values of a strided tensor on the host, without a copy where NumPy has the dtype; of bfloat16 as float32.

    Gradients do not come into it.

    Raises
    ------
    DtypeError
        If the tensor has no values, or NumPy cannot view them.
    """
    torch = sys.modules["torch"]
    if tensor.device.type == "meta":
        raise DtypeError(
            f"{name} is a meta tensor, which has a shape and no values: pass one on a device that holds them"
        )
    if tensor.is_nested:
        raise DtypeError(f"{name} is a nested tensor: pass {name}.to_padded_tensor(...), or a list of its matrices")
    if tensor.layout is not torch.strided:
        raise DtypeError(f"{name} is a {tensor.layout} tensor: pass {name}.to_dense()")
    values = tensor.detach().resolve_conj().resolve_neg()
    if values.dtype == torch.bfloat16:
        values = values.float()
    try:
        array: NDArray[Any] = values.numpy()
    except (RuntimeError, TypeError) as error:
        raise DtypeError(
            f"{name} of dtype {tensor.dtype} cannot be viewed by NumPy ({error}): pass {name}.float()"
        ) from error
    return array


def like(values: Any, template: Any) -> Any:
    """NumPy's values as a tensor where `template` is one on the host, else as they are; of a list each."""
    if not is_host_tensor(template):
        return values
    from_numpy = sys.modules["torch"].from_numpy
    if isinstance(values, list):
        return [like(part, template) for part in values]
    return from_numpy(np.ascontiguousarray(values)) if isinstance(values, np.ndarray) else values


def read_dlpack(cost: Any) -> NDArray[Any]:
    """A host's array of another library, viewed.

    Raises
    ------
    ArgumentError, DtypeError
    """
    try:
        device = int(cost.__dlpack_device__()[0])
    except (BufferError, IndexError, RuntimeError, TypeError, ValueError) as error:
        raise DtypeError(f"cost of type {type(cost).__name__} does not say where its memory is: {error}") from error
    if device not in _DLPACK_HOST:
        where = getattr(cost, "device", f"DLPack device type {device}")
        raise ArgumentError(f"cost lives on {where}; copy it to the host first, for instance with cost.cpu()")
    try:
        return np.from_dlpack(cost)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        remedy = "cost.detach().float()" if hasattr(cost, "detach") else "cost.astype('float32')"
        raise DtypeError(
            f"cost of dtype {getattr(cost, 'dtype', 'unknown')} cannot be viewed by NumPy ({error}); convert it, for "
            f"instance with {remedy}"
        ) from error
