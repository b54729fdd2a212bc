"""The table of GPU programs: every kernel that Lapwing ships, in every variant, so that tools can compile them all.

A program is one file of kernels/, compiled once for each combination of its macros (a variant) and for each
architecture. Programs for computed costs are compiled for a text, too (gpu/costs/computed.py). Kernels are
`extern "C"` and take pointers, `long long` and `double` only (see `launch`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

# Compute capabilities, ten times: of these every program is compiled in CI.
ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)

# Names of NumPy, and of kernels/common.cuh.
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")

# For each the one of four types that holds every cost and its negation.
STORED = {
    "float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64",
    "int8": "int32", "int16": "int32", "int32": "int32", "uint8": "int32", "uint16": "int32",
    "uint32": "int64", "int64": "int64",
}  # fmt: skip

Variant = tuple[tuple[str, str], ...]  # macros and their values, sorted by name; and perhaps TEXT
TEXT = "TEXT"  # no macro: what stands for `#include "source"`


@dataclass(frozen=True, eq=False)
class Program:
    """One file of kernels.

    Attributes
    ----------
    name : str
    source : str
        File under kernels/.
    kernels : tuple of str
    choices : macro -> the values it takes, one variant for each combination
    constants : macro -> value, the same in all variants; for numbers that Python and the kernels share
    least_architecture : int
        For programs that need newer hardware, such as clusters (90).
    any_text : bool
        Whether there is a variant for every text, and all dtypes that suit it; the choices are examples.
    thinly_sampled : bool
        Whether a sample of all builds (tools/check_kernels.py) takes few of it: references, which change seldom.
    is_slow_to_compile : bool
        Whether its first use begins with a quick build (gpu/runtime/background_build.py).
    """

    name: str
    source: str
    kernels: tuple[str, ...]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)
    least_architecture: int = ARCHITECTURES[0]
    any_text: bool = False
    thinly_sampled: bool = False
    is_slow_to_compile: bool = False
    _of_cost: dict[str, Variant] = field(default_factory=dict, repr=False, compare=False)

    def variant(self, **choice: str) -> Variant:
        """One combination, such as ``variant(COST="float32")``."""
        unknown = [] if self.any_text else [k for k, v in choice.items() if v not in self.choices.get(k, ())]
        if choice.keys() != self.choices.keys() or unknown:
            raise ValueError(f"program {self.name} has no variant {choice}; its choices are {dict(self.choices)}")
        return tuple(sorted(choice.items()))

    def of_cost(self, dtype: str) -> Variant:
        """The variant for costs of one type, where nothing else is to be chosen; every solve asks for it."""
        found = self._of_cost.get(dtype)
        if found is None:
            found = self._of_cost[dtype] = self.variant(COST=dtype)
        return found

    def variants(self) -> list[Variant]:
        """All combinations."""
        names = sorted(self.choices)
        return [tuple(zip(names, values, strict=True)) for values in product(*(self.choices[n] for n in names))]


_EVERY_COST = {"COST": FLOATS + INTEGERS}

CERTIFICATE = Program(
    "certificate",
    "certificate/certificate.cu",
    ("certify_packed", "certify_strided", "certify_vectors", "certify_place", "certify_pick"),
    _EVERY_COST,
    {"THREADS": 256},
)

CORE = Program(
    "core",
    "core/core.cu",
    (
        "glance",
        "prepare",
        "column_minima",
        "lower_prices",
        "list_rows",
        "solve",
        "complete_most",
        "complete",
        "match_ties",
        "deliver",
        "violator",
        "check_violator",
    ),
    _EVERY_COST,
    {"THREADS": 512},
    is_slow_to_compile=True,
)

# The same for a matrix that stays on the host.
HOST_CORE = Program(
    "host_core",
    "core/host_core.cu",
    (
        "prepare",
        "cache_rows",
        "cache_own_rows",
        "list_rows",
        "lower_bounds",
        "column_minima",
        "gather_cols",
        "solve",
        "deliver",
        "violator",
        "check_violator",
    ),
    _EVERY_COST,
    CORE.constants,
    thinly_sampled=True,
    is_slow_to_compile=True,
)

# Beside HOST_CORE, for points whose rows several GPUs compute when they are requested.
SLAB_CORE = Program(
    "slab_core", "core/slab_core.cu", ("cache_parts",), {"COST": ("float32", "float64")}, CORE.constants
)

CORE_START = Program(
    "core_start",
    "core/start/start.cu",
    (
        "gather",
        "forbid_large",
        "count_below",
        "keep_below",
        "row_bounds",
        "column_bounds",
        "take_prices",
        "limit_bounds",
        "sorting_keys",
        "price_rises",
    ),
    _EVERY_COST,
    {"THREADS": 256},
)


# The same for a matrix in shards on several GPUs.
SHARDED_CORE = Program(
    "sharded_core",
    "core/sharded_core.cu",
    (*(name for name in CORE.kernels if name != "glance"), "join_reports", "serve"),
    _EVERY_COST,
    CORE.constants,
    thinly_sampled=True,
    is_slow_to_compile=True,
)

SHARDED_START = Program(
    "sharded_start",
    "core/start/sharded_start.cu",
    ("gather", "row_bounds", "column_bounds", "sorting_keys", "price_rises", "join_minima"),
    _EVERY_COST,
    CORE_START.constants,
    thinly_sampled=True,
)


def points_text(terms: str, tilted: bool = False) -> str:
    """The text for points, with the terms of kernels/costs/points.cuh."""
    return f'#include "costs/points.cuh"\nusing Source = {"TiltedPoints" if tilted else "Points"}<{terms}>;'


# The same for computed costs. Examples: what is held in registers, and what is not.
_COMPUTED = {
    "COST": ("float32", "float64"),
    TEXT: (
        points_text("Term<Metric::squared_euclidean, 2, false>"),
        points_text("Term<Metric::cosine, 0, true>, Term<Metric::manhattan, 0, true>"),
    ),
}

_OF_MATRIX_ALONE = ("glance", "column_minima", "lower_prices")

COMPUTED_CORE = Program(
    "computed_core",
    "core/computed_core.cu",
    (*(name for name in CORE.kernels if name not in _OF_MATRIX_ALONE), "price_boxes"),
    _COMPUTED,
    CORE.constants,
    any_text=True,
    is_slow_to_compile=True,
)

# Sparse arrays of any library as the lines that a solve reads.
SPARSE_LINES = Program(
    "sparse_lines",
    "costs/sparse_lines.cu",
    (
        "copy_ends",
        "copy_indices",
        "find_disorder",
        "find_duplicates",
        "count_entries",
        "add_up_counts",
        "sort_entries",
        "find_longest",
    ),
    constants={"THREADS": 256},
)

SPARSE_CORE = Program(
    "sparse_core",
    "core/sparse_core.cu",
    (
        "prepare",
        "column_minima",
        "take_minima",
        "list_rows",
        "list_long_rows",
        "solve",
        "complete_most",
        "complete",
        "match_ties",
        "deliver",
        "pair_free",
        "violator",
        "check_violator",
    ),
    _EVERY_COST,
    CORE.constants,
    thinly_sampled=True,
    is_slow_to_compile=True,
)

SPARSE_CERTIFICATE = Program(
    "sparse_certificate",
    "certificate/sparse_certificate.cu",
    ("certify_lines", "certify_vectors", "certify_place", "read_cost"),
    _EVERY_COST,
    CERTIFICATE.constants,
    thinly_sampled=True,
)

COMPUTED_START = Program(
    "computed_start",
    "core/start/computed_start.cu",
    ("gather", "price_boxes", "line_bounds", "take_prices", "limit_bounds", "sorting_keys", "price_rises"),
    _COMPUTED,
    CORE_START.constants,
    any_text=True,
)

# Examples of points with many dimensions, whose matrix is held. Sums of terms take more registers than one.
_TILED = {
    "COST": ("float32", "float64"),
    TEXT: (
        points_text("Term<Metric::squared_euclidean, 0, false>"),
        points_text("Term<Metric::cosine, 0, true>, Term<Metric::manhattan, 0, true, true>"),
    ),
}

POINTS_MATRIX = Program(
    "points_matrix", "costs/points_matrix.cu", ("write_matrix",), _TILED, {"THREADS": 256}, any_text=True
)

# Points that are on a GPU, copied there. POINTS, DIMS: of a block.
COORDINATES = Program(
    "coordinates",
    "costs/coordinates.cu",
    ("take_points",),
    {"COST": ("float16", "bfloat16", "float32", "float64")},
    {"THREADS": 256, "POINTS": 256, "DIMS": 32},
)

POINTS_CERTIFICATE = Program(
    "points_certificate",
    "certificate/points_certificate.cu",
    ("certify_tiles", "certify_vectors", "certify_place", "read_cost"),
    _TILED,
    CERTIFICATE.constants,
    any_text=True,
)

COMPUTED_CERTIFICATE = Program(
    "computed_certificate",
    "certificate/computed_certificate.cu",
    ("certify_lines", "check_boxes", "certify_boxes", "certify_vectors", "certify_place", "read_cost"),
    _COMPUTED,
    CERTIFICATE.constants,
    any_text=True,
)

BATCH_LANES = Program(
    "batch_lanes",
    "batch/lanes.cu",
    ("solve_in_8_lanes", "solve_in_16_lanes", "solve_in_32_lanes"),
    _EVERY_COST,
    {"WARPS": 2},
)

# COLUMNS: the most that a problem has as solved.
BATCH_SHARED = Program(
    "batch_shared",
    "batch/shared.cu",
    ("solve_in_shared",),
    {"COST": FLOATS + INTEGERS, "COLUMNS": ("128", "256")},
    {"COLUMNS_A_THREAD": 2, "RECTANGULAR": 0},
)
# The same for problems with far more columns than rows.
BATCH_THIN = Program(
    "batch_thin",
    "batch/shared.cu",
    ("solve_in_shared",),
    {"COST": FLOATS + INTEGERS, "COLUMNS": ("128",)},
    {"COLUMNS_A_THREAD": 2, "RECTANGULAR": 1},
)

BATCH_MEMORY = Program(
    "batch_memory",
    "batch/memory.cu",
    ("solve_in_memory",),
    {"COST": ("float32", "float64", "int32", "int64"), "COLUMNS": ("128", "256", "512", "1024", "2048", "4096")},
    {"COLUMNS_A_THREAD": 1, "RECTANGULAR": 0},
)

BATCH_STAGE = Program("batch_stage", "batch/stage.cu", ("stage",), _EVERY_COST, {"THREADS": 256})

BATCH_TIES = Program("batch_ties", "batch/ties.cu", ("match_ties",), _EVERY_COST, {"THREADS": 128})

BATCH_CERTIFY = Program("batch_certify", "batch/certify.cu", ("certify_batch",), _EVERY_COST, {"THREADS": 128})

# The reference methods (kernels/reference), with the numbers that gpu/reference shares with them.
REFERENCE_THREADS = 512
_REFERENCE_COSTS = {"COST": ("int32", "float32", "float64", "int64")}
_REFERENCE = {
    "THREADS": REFERENCE_THREADS,
    "CHUNK_BYTES": 8 * 32 * 16,  # of costs of a row that a warp walks through at once
    "BOARD_BYTES": 4608,  # at least those of the words that all blocks share
}

_TIGHT = 32
_HUNGARIAN = {
    **_REFERENCE,
    "TIGHT": _TIGHT,  # columns in a row's list of tight pairs
    "FOREST_ROW_BYTES": 4 * _TIGHT + 2 * 8 + 6 * 4,  # of struct Forest
    "FOREST_COL_BYTES": 2 * 8 + 3 * 4,
    "TASK_BEGIN": 0,  # the first and the last of enum ForestTask
    "TASK_DONE": 19,
}

HUNGARIAN_BFS = Program(
    "hungarian_bfs",
    "reference/hungarian_bfs.cu",
    ("solve_hungarian_bfs",),
    _REFERENCE_COSTS,
    _HUNGARIAN,
    thinly_sampled=True,
)

HUNGARIAN_TREE = Program(
    "hungarian_tree",
    "reference/hungarian_tree.cu",
    ("solve_hungarian_tree",),
    _REFERENCE_COSTS,
    _HUNGARIAN,
    thinly_sampled=True,
)

MUNKRES = Program(
    "munkres",
    "reference/munkres.cu",
    ("solve_munkres", "munkres_next"),
    {**_REFERENCE_COSTS, "WIDE": ("0", "1")},
    {
        **_HUNGARIAN,
        "STAGE_REDUCTIONS": 1,
        "STAGE_FUSED": 2,
        "STAGE_ONE_LAUNCH": 4,
        "STAGE_REGISTERS": 8,
        "STAGE_BARRIER": 16,
        "START_BY_REGRET": 32,
    },
    thinly_sampled=True,
)

_SSP = {
    **_REFERENCE,
    "SEARCH_BLOCKS": 8,  # of the cluster that searches
    "SEARCH_THREADS": 256,
    "NEAR_STEPS": 1024,  # of a search, recorded in shared memory
    "NEAR_BYTES": 20480,  # of struct Near
    "STATIC_BYTES": 2048,  # at least those of shared memory that is not dynamic
    "SSP_ROW_BYTES": 3 * 8 + 2 * 4,  # of struct Ssp
    "SSP_COL_BYTES": 16,
    "COLUMN_BYTES": 2 * 8 + 3 * 4,  # of struct Columns, beside two costs
    "PRICES_ZERO": 0,  # enum Prices
    "PRICES_ESTIMATED": 1,
    "PRICES_GIVEN": 2,
}

SSP = Program("ssp", "reference/ssp.cu", ("survey_ssp", "solve_ssp"), _REFERENCE_COSTS, _SSP, thinly_sampled=True)

# The same for one matrix on several GPUs.
_MOST_GPUS = 8
SHARDED_SSP = Program(
    "sharded_ssp",
    "reference/sharded_ssp.cu",
    ("survey_ssp", "solve_ssp"),
    _REFERENCE_COSTS,
    {**_SSP, "MOST_GPUS": _MOST_GPUS, "LETTER_BYTES": 2 * _MOST_GPUS * 64},
    thinly_sampled=True,
)

# Between the two kernels of SSP.
AUCTION = Program("auction", "reference/auction.cu", ("bid_auction",), _REFERENCE_COSTS, _SSP, thinly_sampled=True)

PROGRAMS = (
    CORE,
    HOST_CORE,
    SLAB_CORE,
    CORE_START,
    SHARDED_CORE,
    SHARDED_START,
    CERTIFICATE,
    COMPUTED_CORE,
    COMPUTED_START,
    COMPUTED_CERTIFICATE,
    POINTS_MATRIX,
    POINTS_CERTIFICATE,
    COORDINATES,
    SPARSE_LINES,
    SPARSE_CORE,
    SPARSE_CERTIFICATE,
    BATCH_LANES,
    BATCH_SHARED,
    BATCH_THIN,
    BATCH_MEMORY,
    BATCH_STAGE,
    BATCH_TIES,
    BATCH_CERTIFY,
    HUNGARIAN_BFS,
    HUNGARIAN_TREE,
    MUNKRES,
    SSP,
    SHARDED_SSP,
    AUCTION,
)


def target_architecture(major: int, minor: int) -> int:
    """The architecture to compile for: the tested one whose code a GPU runs, or its own if it is of a newer family."""
    own = 10 * major + minor
    tested = [arch for arch in ARCHITECTURES if arch // 10 == major and arch <= own]
    return max(tested, default=own)


Build = tuple[Program, Variant, int]  # the last: an architecture


def builds(architectures: Iterable[int] = ARCHITECTURES) -> list[Build]:
    """Everything that there is to compile."""
    return [
        (program, variant, architecture)
        for program in PROGRAMS
        for variant in program.variants()
        for architecture in architectures
        if architecture >= program.least_architecture
    ]
