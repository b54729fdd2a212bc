"""Files of problems and answers.

`read` reads costs from .npy, .npz (also of a SciPy sparse matrix), text tables, Parquet, Matrix Market, DIMACS
``p asn`` and OR-Library files; `read_points` reads points in named columns of a table; `write` writes an answer to
.npz, .json or .csv; `write_cost` writes a cost matrix. Writing is atomic: a reader sees the old file or the whole new
one.
"""

from lapwing.files.base import DEFAULT_LIMIT, FileFormatError, FileProblem
from lapwing.files.read import FORMATS, read
from lapwing.files.table import PointTable, read_points
from lapwing.files.write import write
from lapwing.files.write_cost import write_cost

__all__ = [
    "DEFAULT_LIMIT",
    "FORMATS",
    "FileFormatError",
    "FileProblem",
    "PointTable",
    "read",
    "read_points",
    "write",
    "write_cost",
]
