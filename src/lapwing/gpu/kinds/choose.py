"""Which kind the user's costs are, on the GPU that is named."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from lapwing import inputs
from lapwing.costs.base import CostSource
from lapwing.costs.dense import FilledCost
from lapwing.costs.points import PointCost
from lapwing.costs.shards import ShardedMatrix
from lapwing.costs.sparse import SparseCost, is_sparse
from lapwing.errors import ArgumentError, DtypeError
from lapwing.gpu.costs.host_rows import lines_of, lines_of_source
from lapwing.gpu.costs.points_matrix import is_read_sooner
from lapwing.gpu.costs.sparse import entries_on_gpu, viewed
from lapwing.gpu.kinds.base import CostKind
from lapwing.gpu.kinds.computed import ComputedCosts
from lapwing.gpu.kinds.held import HeldCosts
from lapwing.gpu.kinds.resident import ResidentMatrix
from lapwing.gpu.kinds.sharded import sharded_host_matrix, sharded_tensors
from lapwing.gpu.kinds.sharded_points import ShardedPoints
from lapwing.gpu.kinds.slab_points import SlabPoints
from lapwing.gpu.kinds.sparse import SparseCosts
from lapwing.gpu.kinds.streamed import StreamedCosts
from lapwing.gpu.kinds.uploaded import UploadedMatrix
from lapwing.gpu.plan import has_room, is_too_large
from lapwing.gpu.reference import REFERENCE_METHODS
from lapwing.gpu.runtime.arrays import GpuArray, view_if_on_gpu
from lapwing.gpu.runtime.device import Context, shared_context
from lapwing.gpu.runtime.programs import FLOATS, INTEGERS
from lapwing.gpu.runtime.tuning import MOST_SHARDS
from lapwing.options import Ssp
from lapwing.request import Request

#: Bytes of a matrix on the host from which several GPUs share it out: less is solved sooner by one.
LEAST_SHARDED_BYTES = 1 << 30


def choose_kind(cost: Any, device: str, request: Request) -> CostKind:
    """The costs, checked; see `lapwing.solve`.

    Parameters
    ----------
    cost : as the user gave them
    device : str
        "cuda" or "cuda:N".

    Raises
    ------
    ArgumentError, DtypeError
    """
    if isinstance(request.options, Ssp) and request.options.text:
        raise ArgumentError(f"{request.options} is solved on a CPU: use device='cpu', or leave text out")
    if isinstance(cost, ShardedMatrix):
        return sharded_tensors(cost, device, request)
    if is_sparse(cost) and request.method in ("auto", "core"):
        return _sparse(cost, device, request)
    pairs = inputs.filled_problem(cost, request.maximize, request.unmatched_cost)
    if pairs is not None:
        assert isinstance(pairs.cost, FilledCost)
        return _of_host(cost, pairs.cost.array, device, request, pairs.cost)
    if is_sparse(cost):  # which reference methods read as a matrix
        cost = inputs.as_matrix(cost, request.maximize)
    if isinstance(cost, CostSource):
        cost = cost.in_sense(request.maximize)
        if cost.is_computable_on_gpu:
            return _computed(_context_of(cost, device), cost, request)
        return StreamedCosts(Context(ordinal_of(device)), cost, *lines_of_source(cost, request.priced))
    view = view_if_on_gpu(cost)
    if view is not None:
        return _resident(view, device, request)
    host = inputs.as_matrix_of(cost, request.maximize, request.unmatched_cost, _dtypes(request))
    return _of_host(cost, host, device, request)


def choose_sharded(cost: Any, ordinals: list[int], request: Request) -> CostKind:
    """The same for several GPUs, which share out the rows of a matrix on the host.

    Raises
    ------
    ArgumentError, DtypeError
    """
    one = f"device='cuda:{ordinals[0]}'"
    if request.method not in ("auto", "core", "ssp"):
        raise ArgumentError(f"method {request.method!r} solves on one GPU: use method='core', or {one}")
    if isinstance(cost, PointCost) and cost.device_of is None:
        return _shared_points(cost, ordinals, request)
    if isinstance(cost, CostSource) or is_sparse(cost) or view_if_on_gpu(cost) is not None:
        raise ArgumentError(
            f"device=[...] shares out a matrix on the host, or the costs of points there, got {type(cost).__name__}: "
            f"pass {one}, or blocks of rows on the GPUs as costs.sharded"
        )
    if inputs.filled_problem(cost, request.maximize, request.unmatched_cost) is not None:
        return choose_kind(cost, f"cuda:{ordinals[0]}", request)
    host = inputs.as_matrix_of(cost, request.maximize, request.unmatched_cost, _dtypes(request))
    if len(ordinals) == 1 or 0 in host.shape or host.nbytes < LEAST_SHARDED_BYTES:
        kind = _of_host(cost, host, f"cuda:{ordinals[0]}", request)
        if isinstance(kind, UploadedMatrix):
            request.why = f"one GPU is faster for a matrix of {host.nbytes} bytes"
            return kind
    return sharded_host_matrix(cost, host, ordinals, request)


def _shared_points(cost: PointCost, ordinals: list[int], request: Request) -> CostKind:
    """Points, whose matrix several GPUs hold where it is read sooner than computed, and one has no room for it.

    Where all have no room for it, each computes its part whenever it is read.
    """
    kind = choose_kind(cost, f"cuda:{ordinals[0]}", request)
    source = cost.in_sense(request.maximize)
    assert isinstance(source, PointCost)
    if isinstance(kind, HeldCosts) or len(ordinals) == 1 or not is_read_sooner(source) or 0 in source.shape:
        request.why = "one GPU is faster where it has room"
        return kind
    contexts = [Context(ordinal) for ordinal in ordinals[:MOST_SHARDS]]
    held = ShardedPoints(source, contexts, request.fixes_rows)
    distinct = list({context.info.ordinal: context for context in contexts}.values())
    if held.has_room(request) or len(distinct) == 1 or min(source.shape) < len(distinct):
        return held
    return SlabPoints(source, distinct, request.priced)


def _of_host(
    cost: Any, host: NDArray[Any], device: str, request: Request, filled: FilledCost | None = None
) -> CostKind:
    """A matrix on the host, for the given costs: copied to the GPU, or streamed."""
    kind: CostKind
    kind = uploaded = UploadedMatrix(Context(ordinal_of(device)), cost, host)
    if request.method in ("auto", "core") and 0 not in host.shape:  # a reference method cannot do without a copy
        with uploaded:
            if is_too_large(uploaded.matrix, uploaded.memory, request):
                kind = StreamedCosts(uploaded.context, cost, *lines_of(host, request.priced))
    kind.filled = filled
    return kind


def _computed(context: Context, source: CostSource, request: Request) -> ComputedCosts:
    """Costs that the GPU computes: once, where there is room for them, if that is quicker."""
    if not (isinstance(source, PointCost) and is_read_sooner(source)) or 0 in source.shape:
        return ComputedCosts(context, source)
    held = HeldCosts(context, source)
    with held:
        if has_room(held.computed, held.memory, request):
            return held
    return ComputedCosts(context, source, "there is no room for one, or none is allowed; with it a solve is quicker")


def _sparse(cost: Any, device: str, request: Request) -> SparseCosts:
    entries = entries_on_gpu(cost)
    there = None if entries is None else viewed(entries)
    if there is None:
        pairs = inputs.make_problem(cost, request.maximize, request.unmatched_cost).cost
        assert isinstance(pairs, SparseCost)
        return SparseCosts(Context(ordinal_of(device)), cost, pairs, request)
    ordinal, stream = there.data.ordinal, there.data.stream
    if device not in ("cuda", f"cuda:{ordinal}"):
        raise ArgumentError(f"device={device!r}, but cost is on GPU {ordinal}: move it, or leave device out")
    return SparseCosts(shared_context(ordinal, stream), cost, there, request)


def _resident(view: GpuArray, device: str, request: Request) -> ResidentMatrix:
    if device not in ("cuda", f"cuda:{view.ordinal}"):
        raise ArgumentError(f"device={device!r}, but cost is on GPU {view.ordinal}: move it, or leave device out")
    if len(view.shape) != 2:
        raise ArgumentError(f"cost must be a matrix (2-D), got {len(view.shape)}-D of shape {view.shape}")
    dtypes = _dtypes(request)
    if view.dtype not in dtypes:
        raise DtypeError(
            f"method={request.method!r} takes costs of {', '.join(dtypes)} on a GPU, got {view.dtype}: convert them, "
            "or use method='core'"
        )
    return ResidentMatrix(shared_context(view.ordinal, view.stream), view)


def _dtypes(request: Request) -> tuple[str, ...]:
    """Of costs that the method takes."""
    reference = REFERENCE_METHODS.get(request.method)
    return FLOATS + INTEGERS if reference is None else reference.dtypes()


def _context_of(source: CostSource, device: str) -> Context:
    """The GPU that is to compute a source's costs."""
    ordinal, device_of = ordinal_of(device), source.device_of
    if device_of is None:
        return shared_context(ordinal, 0)
    if device not in ("cuda", f"cuda:{device_of.ordinal}"):
        raise ArgumentError(
            f"device={device!r}, but the points are on GPU {device_of.ordinal}: move them, or leave device out"
        )
    return shared_context(device_of.ordinal, device_of.stream)


def ordinal_of(device: str) -> int:
    """Which GPU is meant."""
    name, _, number = device.partition(":")
    if name != "cuda" or not (number or "0").isdigit():
        raise ArgumentError(f"device must be 'cpu', 'cuda', 'cuda:N' or 'auto', got {device!r}")
    return int(number or 0)
