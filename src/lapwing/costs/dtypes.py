"""The dtypes of costs: which the core reads, and which of these holds the numbers of any other exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.costs.base import CostArray
from lapwing.costs.dense import CORE_DTYPES, converted
from lapwing.costs.mapped import check_mapped
from lapwing.errors import ArgumentError, DtypeError, LapwingError, RangeError
from lapwing.tensors import is_host_tensor, is_tensor, read_tensor

EXACT_FLOAT64 = 1 << 53  # integers up to here are float64 numbers

# Dtypes that the core does not read, and the one that holds each of them exactly.
_WIDENED = {
    "b1": np.int32, "i1": np.int32, "i2": np.int32, "u1": np.int32, "u2": np.int32,
    "u4": np.int64, "u8": np.int64, "f2": np.float32,
}  # fmt: skip


def core_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The core's dtype, in native order, that holds all numbers of `dtype`; of uint64 those that int64 holds.

    Raises
    ------
    DtypeError
        If there is none.
    """
    check_kind(dtype)
    if dtype.name == "bfloat16":
        return np.dtype(np.float32)
    native = dtype.newbyteorder("=")
    return native if native in CORE_DTYPES else np.dtype(_WIDENED[f"{dtype.kind}{dtype.itemsize}"])


def with_core_dtype(array: CostArray) -> CostArray:
    """Convert to the core's dtypes, exactly or not at all; the byte order may still be foreign."""
    target = core_dtype(array.dtype)
    if array.dtype.newbyteorder("=") == target:
        return array
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size and array.max() > np.iinfo(np.int64).max:
        at = np.unravel_index(int(array.argmax()), array.shape)
        raise RangeError(
            f"cost[{', '.join(map(str, at))}] is {array[at]}, above the largest int64 ({np.iinfo(np.int64).max}); "
            "subtract a constant from all costs or divide them"
        )
    return converted(array, target)


def as_array(given: Any, name: str) -> CostArray:
    """`np.asarray` without its rounding: it makes float64 of integers beyond int64, and of uint64 beside int64.

    Raises
    ------
    ArgumentError
        If it is in a mapped file that was truncated.
    RangeError
        If there is an integer that no dtype of all these numbers holds.
    """
    array = read_tensor(given, name) if is_host_tensor(given) else np.asarray(given)
    if array.base is not None:
        check_mapped(array)
    if is_nullable(given, array) and not np.asarray(given.isna()).any():
        return nullable_values(given, name)
    if isinstance(given, np.ndarray) or hasattr(given, "dtype") or array.dtype != np.float64 or not array.size:
        return array
    magnitudes = np.abs(array)
    doubtful = (magnitudes >= EXACT_FLOAT64) & (magnitudes < np.inf)
    if not doubtful.any():
        return array
    # A pandas frame asked by NumPy makes float64 first.
    exact = given.to_numpy(dtype=object) if hasattr(given, "dtypes") else np.asarray(given, dtype=object)
    whole = [value for value in exact[doubtful] if isinstance(value, (int, np.integer))]
    rounded = next((value for value in whole if int(float(value)) != value), None)
    if rounded is None:
        return array
    if all(isinstance(value, (int, np.integer)) for value in exact.flat):
        try:
            return exact.astype(np.int64)
        except OverflowError:
            raise RangeError(
                f"{name} has integers up to {max(whole)}, and one dtype must hold all: int64 goes up to "
                f"{np.iinfo(np.int64).max}; subtract a constant from all, or divide them"
            ) from None
    raise RangeError(
        f"{name} has the integer {rounded} beside floats: it is not exact in float64 (beyond 2^53); pass integers "
        "alone, or divide them into range"
    )


def is_nullable(given: Any, array: CostArray) -> bool:
    """Whether these are pandas' numbers among which some may be missing, which NumPy sees as objects."""
    if array.dtype != object or not hasattr(given, "isna"):
        return False
    kinds = given.dtypes if hasattr(given, "dtypes") else [given.dtype]
    return all(getattr(kind, "na_value", None) is not None and kind.kind in "biuf" for kind in kinds)


def nullable_values(given: Any, name: str) -> CostArray:
    """Pandas' numbers: integers as int64, masked where they are missing; floats with NaN there.

    Raises
    ------
    RangeError
    """
    exact, missing = given.to_numpy(dtype=object), np.asarray(given.isna())
    if all(isinstance(value, (int, np.integer)) for value in exact[~missing]):
        try:
            values = np.where(missing, 0, exact).astype(np.int64)
        except OverflowError:
            raise RangeError(
                f"{name} has integers beyond int64; subtract a constant from all, or divide them"
            ) from None
        return np.ma.MaskedArray(values, missing) if missing.any() else values
    floats: CostArray = given.to_numpy(dtype=np.float64, na_value=np.nan)
    return floats


def as_numbers(given: Any, name: str) -> CostArray:
    """`as_array` of an argument beside the costs.

    Raises
    ------
    ArgumentError
        If it is no array of one shape, has masked entries, or is not in the host's memory.
    RangeError
        If there is an integer that no dtype of all these numbers holds.
    """
    try:
        return as_array(without_mask(given, name), name)
    except LapwingError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors without numbers
        raise ArgumentError(f"{name} is no array of numbers in the host's memory: {error}") from None


def without_mask(given: Any, name: str) -> Any:
    """`given`, unless some of its entries are masked: what lies below a mask is no number.

    Raises
    ------
    ArgumentError
    """
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        at = tuple(int(index) for index in np.argwhere(np.ma.getmaskarray(given))[0])
        raise ArgumentError(f"{name} is masked at {at}: leave masked entries out, or fill them with {name}.filled(...)")
    return given


def in_native_order(array: CostArray) -> CostArray:
    """A compact copy in native byte order."""
    return converted(array, array.dtype.newbyteorder("="))


def check_kind(dtype: np.dtype[Any]) -> None:
    """Refuse what are no real numbers, or too wide for the core.

    Raises
    ------
    DtypeError
    """
    if dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize <= 8) or dtype.name == "bfloat16":
        return
    raise DtypeError(f"cost has dtype {dtype}, which cannot be solved exactly: {_remedy(dtype)}")


def _remedy(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "f":
        return "round it yourself with cost.astype(np.float64)"
    if dtype.kind == "c":
        return "pass real numbers, for instance cost.real or abs(cost)"
    if dtype.kind in "Mm":
        return "pass numbers, for instance cost / np.timedelta64(1, 's')"
    if dtype.kind == "O":
        return "convert it with cost.astype(float); missing values become NaN, and forbidden pairs are +inf"
    return "convert it to real numbers with cost.astype(float)"


def as_scipy_converts(cost_matrix: Any, error: LapwingError) -> NDArray[np.float64]:
    """Convert objects that NumPy has no number type for to float64: decimals, fractions, texts, integers of any size.

    Raises
    ------
    TypeError, ValueError
        As NumPy words them.
    """
    if isinstance(cost_matrix, np.ndarray):
        if isinstance(error, RangeError):
            raise error
        text = f"Cannot cast array data from {cost_matrix.dtype!r} to dtype('float64') according to the rule 'safe'"
        raise TypeError(text) from error
    if is_tensor(cost_matrix):  # NumPy would drop the imaginary part of a complex one
        raise TypeError(str(error)) from error
    return np.asarray(cost_matrix, dtype=np.float64)
