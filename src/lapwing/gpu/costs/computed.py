"""Costs that a GPU computes whenever it reads them: the text compiled for a source, and its data in memory.

A source becomes a C++ text that defines a cost (kernels/costs/computed.cuh), and two blocks of words: the addresses of
its data, and the same with rows and columns exchanged, for the transposed problem. Points are stored by dimension, so
that neighbouring lanes read neighbouring numbers. They are stored once more, in bounding boxes
(spatial_order.py). Points whose matrix is held (points_matrix.py) have neither boxes nor coordinates in registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.base import CostSource, CudaFunction
from lapwing.costs.coordinates import Coordinates
from lapwing.costs.points import PointCost
from lapwing.errors import ArgumentError
from lapwing.gpu.costs import spatial_order
from lapwing.gpu.costs.upload import upload
from lapwing.gpu.runtime.arrays import GpuArray
from lapwing.gpu.runtime.compile import USER_FILE
from lapwing.gpu.runtime.copies import write
from lapwing.gpu.runtime.device import Context
from lapwing.gpu.runtime.launch import kernels
from lapwing.gpu.runtime.programs import CORE_START, points_text
from lapwing.gpu.runtime.tuning import LINES, MOST_HELD
from lapwing.gpu.runtime.workspace import Workspace, workspace_bytes

_GATHERING = CORE_START.constants["THREADS"]
_WORK_OF_A_FUNCTION = 64  # operations, or so
_BLOCK_LINES = 8 * LINES  # of a block of 256 threads
_BLOCKS_A_PROCESSOR = 8  # of grids that walk over tiles
_BUSY_LINES = 132 * _BLOCKS_A_PROCESSOR * _BLOCK_LINES  # which keep a large GPU busy
_BUSY_LINES_OF_TILES = 1024
_WORK_AT_ONCE = 1 << 41  # operations between looks at the host: some 0.1 s
_BLOCKS = ("block", "exchanged")
_TYPES = {"bool": "bool", "float32": "float", "float64": "double"}  # of elements; integers have NumPy's names


@dataclass(frozen=True)
class _Places:
    """Addresses of arrays: in a workspace, or `there`, where points already are."""

    memory: Workspace
    there: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        at = self.there.get(name)
        return self.memory[name] if at is None else at


Addresses = Workspace | _Places | Mapping[str, int]  # of arrays, by name


@dataclass(frozen=True)
class CostProgram:
    """How costs are computed, beside the address of their block.

    Attributes
    ----------
    text : str
        Of the programs' variants (`programs.TEXT`).
    exchanged : int
        The block with rows and columns exchanged.
    pair_work : int
        About how many operations a pair takes.
    in_order : bool
        Whether samples are stratified (spatial_order.py).
    """

    text: str
    exchanged: int
    pair_work: int
    in_order: bool = False

    def parts(self, lines: int, positions: int) -> Iterator[range]:
        """Lines of a pass over all pairs, a fraction of a second at once: who waits between them can be interrupted."""
        return self._parts(lines, positions, _BUSY_LINES)

    def parts_by_tiles(self, lines: int, positions: int) -> Iterator[range]:
        """The same of a pass by tiles, which keeps a GPU busy with fewer lines."""
        return self._parts(lines, positions, _BUSY_LINES_OF_TILES)

    def _parts(self, lines: int, positions: int, busy: int) -> Iterator[range]:
        step = max(_WORK_AT_ONCE // (self.pair_work * positions) // busy * busy, busy)
        for first in range(0, lines, step):
            yield range(first, min(first + step, lines))


def row_group_blocks(lines: int, processors: int) -> int:
    """Blocks of a launch over so many lines."""
    return min(-(-lines // _BLOCK_LINES), processors * _BLOCKS_A_PROCESSOR)


@dataclass(frozen=True, eq=False)
class ComputedCosts:
    """A source on a GPU.

    Attributes
    ----------
    shape : (m, n)
    dtype : str
    cost_program : CostProgram
    nbytes : int
        Of its memory.
    block : int
        An address; 0 before `upload_computed`, as in the recipe.
    held : tuple
        What keeps the memory alive.
    """

    shape: tuple[int, int]
    dtype: str
    cost_program: CostProgram
    nbytes: int
    block: int = 0
    held: tuple[Any, ...] = ()


def planned_computed(source: CostSource) -> ComputedCosts:
    """A source as it will be on a GPU, without memory yet."""
    if isinstance(source, PointCost):
        ordered = _is_ordered(source)
        cost_program = CostProgram(_points_text(source, _in_registers(source)), 0, _work(source), ordered)
    else:
        ordered = False
        cost_program = CostProgram(_function_text(_function(source)), 0, _WORK_OF_A_FUNCTION)
    return ComputedCosts(source.shape, source.dtype.name, cost_program, workspace_bytes(_sizes(source, ordered)))


def planned_by_tiles(source: PointCost, ordinal: int | None = None) -> ComputedCosts:
    """Points whose costs are computed by tiles, without memory yet; points that are on this GPU take none."""
    cost_program = CostProgram(_points_text(source, in_registers=False), 0, _work(source))
    nbytes = workspace_bytes(_sizes_by_tiles(source, ordinal))
    return ComputedCosts(source.shape, source.dtype.name, cost_program, nbytes)


def upload_computed(context: Context, source: CostSource, array_template: GpuArray | None) -> ComputedCosts:
    """Copy what is on the host to the GPU; it may be changed once this returns."""
    arrays, ordered = _arrays(source), False
    if isinstance(source, PointCost) and _is_ordered(source):
        arrays, ordered = arrays | spatial_order.arrays(source), True
    memory = Workspace(context, _sizes(source, ordered), array_template)
    for name, values in arrays.items():
        write(context, memory[name], np.ascontiguousarray(values))
    return _uploaded(context, source, planned_computed(source), memory)


def upload_by_tiles(context: Context, source: PointCost, array_template: GpuArray | None) -> ComputedCosts:
    """The same for `planned_by_tiles`; the GPU puts the coordinates in their order, which takes a host longer."""
    ordinal = context.info.ordinal
    memory = Workspace(context, _sizes_by_tiles(source, ordinal), array_template)
    gather = kernels(context, CORE_START, CORE_START.of_cost(source.dtype.name))["gather"]
    there: dict[str, int] = {}
    for name, points in _points(source):
        copy = points.on(ordinal)
        if copy is not None:
            there[name] = copy.pointer
            continue
        view, copier = upload(context, points.host)
        with copier:
            copier.finish()
        count, dims = points.shape
        across = (*view.strides[::-1], dims, count, 1, 0, 0)
        gather.launch(context, dims, _GATHERING, view.pointer, *across, memory[name])
    return _uploaded(context, source, planned_by_tiles(source, ordinal), _Places(memory, there))


def _uploaded(context: Context, source: CostSource, known: ComputedCosts, memory: Addresses) -> ComputedCosts:
    """With the blocks, when all arrays are there."""
    for name in _BLOCKS:
        write(context, memory[name], _block(source, memory, name == "exchanged", known.cost_program.in_order))
    cost_program = replace(known.cost_program, exchanged=memory["exchanged"])
    return replace(known, cost_program=cost_program, block=memory["block"], held=(memory, source))


def _function(source: CostSource) -> CudaFunction:
    function = source.cuda_function
    if function is None:
        raise ArgumentError(f"costs of {source!r} cannot be computed on a GPU: leave device= out")
    return function


# --- points ---


def _in_registers(source: PointCost) -> bool:
    return source.dims <= MOST_HELD


def _is_ordered(source: PointCost) -> bool:
    return _in_registers(source) and spatial_order.is_ordered(source)


def _work(source: PointCost) -> int:
    return sum(4 * term.x.dims + 4 for term in source.terms)


def _points_text(source: PointCost, in_registers: bool) -> str:
    dims = [term.x.dims for term in source.terms]
    terms = ", ".join(
        f"Term<Metric::{term.metric}, {count if in_registers else 0}, {'false' if term.weight == 1 else 'true'}"
        + (", true>" if term.is_gated else ">")
        for term, count in zip(source.terms, dims, strict=True)
    )
    return points_text(terms, in_registers and spatial_order.lie_apart(source))


def block_of_lines(
    cost: ComputedCosts, lines: Mapping[str, int], count: int, transposed: bool, first_position: int
) -> NDArray[np.int64]:
    """Source::Block for points uploaded for tiles, with lines that lie elsewhere and positions from some one on.

    Parameters
    ----------
    lines : of the name of every array of lines, its address
    count : int
        Of points there, from dimension to dimension.
    transposed : bool
        Whether lines are columns.
    """
    memory, source = cost.held
    ours, others = "yx" if transposed else "xy"
    skipped = first_position * source.dtype.itemsize
    addresses = dict(lines) | {f"{others}{k}": memory[f"{others}{k}"] + skipped for k in range(len(source.terms))}
    positions = cost.shape[0 if transposed else 1]
    return np.array([*_term_words(source, addresses, ours, others, positions, count), 0, 0, 0], np.int64)


def _point_words(source: PointCost, addresses: Addresses, exchanged: bool, ordered: bool) -> list[int]:
    """One Block of kernels/costs/points.cuh or, of positions in boxes, four (kernels/costs/boxes.cuh)."""
    lines, positions = "yx" if exchanged else "xy"
    count = len(getattr(source.terms[0], positions))
    words = _term_words(source, addresses, lines, positions, count)
    if not ordered:
        return [*words, 0, 0, 0]
    boxes, outer = spatial_order.boxes_of(count), spatial_order.outer_boxes_of(count)
    tail = [addresses[f"order_{lines}"], addresses[f"order_{positions}"], boxes]
    words += tail
    for name, stride in ("sorted", count), ("boxes", 2 * boxes), ("outer", 2 * outer):
        words += _term_words(source, addresses, lines, f"{name}_{positions}", stride) + tail
    return words


def _term_words(
    source: PointCost, addresses: Addresses, lines: str, positions: str, stride: int, of_lines: int = 0
) -> list[int]:
    """Structs TermData, or GatedTermData, of kernels/costs/points.cuh; lines and positions are names of arrays.

    `of_lines`: the stride of lines, if it is not their number.
    """
    words = []
    for k, term in enumerate(source.terms):
        line_stride = of_lines or len(getattr(term, lines))
        numbers = [term.weight, term.power]
        if source.is_gated:  # GatedTermData
            numbers += [term.limit_in(source.dtype), source.forbidden]
        words += [addresses[f"{lines}{k}"], addresses[f"{positions}{k}"], line_stride, stride]
        words += [term.x.dims, *map(_bits, numbers)]
    return words


# --- functions ---


def _function_text(function: CudaFunction) -> str:
    members = "".join(f"    {_type(value)} {name};\n" for name, value in function.arrays.items())
    return (
        f"namespace user {{\nstruct Arrays {{\n{members}}};\n"
        f'#line 1 "{USER_FILE}"\n{function.text}\n'
        '#line 1 "behind it"\n}\n#include "costs/function.cuh"\nusing Source = Function;'
    )


def _type(value: int | float | NDArray[Any] | GpuArray) -> str:
    if isinstance(value, (int, float)):
        return "long long" if isinstance(value, int) else "double"
    name = value.dtype if isinstance(value, GpuArray) else value.dtype.name
    return f"const {_TYPES.get(name, name)}*"


# --- both ---


def _arrays(source: CostSource) -> dict[str, NDArray[Any]]:
    """The arrays to copy, by name; points by dimension."""
    if isinstance(source, PointCost):
        return {name: points.host.T for name, points in _points(source)}
    return {name: value for name, value in _function(source).arrays.items() if isinstance(value, np.ndarray)}


def _sizes(source: CostSource, ordered: bool) -> dict[str, tuple[int, str]]:
    if isinstance(source, PointCost):
        sizes = _sizes_by_tiles(source, None)
        return sizes | {name: (size, "uint8") for name, size in spatial_order.sizes(source).items() if ordered}
    words = 1 + len(_function(source).arrays)
    sizes = {name: (values.nbytes, "uint8") for name, values in _arrays(source).items()}
    return sizes | dict.fromkeys(_BLOCKS, (words, "int64"))


def _sizes_by_tiles(source: PointCost, ordinal: int | None) -> dict[str, tuple[int, str]]:
    """Of points that are not on this GPU."""
    words = 4 * (9 * len(source.terms) + 3)
    sizes = {name: (points.nbytes, "uint8") for name, points in _points(source) if points.on(ordinal) is None}
    return sizes | dict.fromkeys(_BLOCKS, (words, "int64"))


def _points(source: PointCost) -> Iterator[tuple[str, Coordinates]]:
    """By the names of their arrays."""
    for k, term in enumerate(source.terms):
        yield f"x{k}", term.x
        yield f"y{k}", term.y


def _block(source: CostSource, addresses: Addresses, exchanged: bool, ordered: bool) -> NDArray[np.int64]:
    """Source::Block of the kernels."""
    if isinstance(source, PointCost):
        words = _point_words(source, addresses, exchanged, ordered)
    else:
        words = [int(exchanged)]
        for name, value in _function(source).arrays.items():
            if isinstance(value, GpuArray):
                words.append(value.pointer)
            elif isinstance(value, np.ndarray):
                words.append(addresses[name])
            else:
                words.append(value if isinstance(value, int) else _bits(value))
    return np.array(words, np.int64)


def _bits(value: float) -> int:
    return int(np.float64(value).view(np.int64))
