"""The cost of staying free: what `unmatched_cost=` gives, as one checked price for each row, or row and column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._core import ABSENT
from lapwing.costs.base import CostArray
from lapwing.costs.dtypes import as_numbers
from lapwing.costs.sparse import exact_floats
from lapwing.errors import ArgumentError, DtypeError, RangeError


def is_pair(given: Any) -> bool:
    """Whether prices of rows and of columns are given: a tuple of two."""
    return isinstance(given, tuple) and len(given) == 2


def is_one_price(given: Any) -> bool:
    """Whether all rows may stay free at one price, which is finite."""
    if is_pair(given) or np.ma.is_masked(given):
        return False
    prices = np.asarray(given)
    if prices.dtype.kind not in "biuf" or prices.ndim > 1 or not prices.size or not np.isfinite(prices.flat[0]):
        return False
    return prices.size == 1 or bool((prices == prices[0]).all())


def of_rows_and_columns(given: Any) -> tuple[Any, Any]:
    """The given prices of rows and of columns; None for columns that stay free at no cost.

    Raises
    ------
    ArgumentError
    """
    if not is_pair(given):
        return given, None
    if given[0] is None or given[1] is None:
        raise ArgumentError(
            "unmatched_cost is a pair with None in it: pass prices of rows and of columns, 0 where staying free costs "
            "nothing, inf where it is forbidden (-inf when maximising)"
        )
    return given[0], given[1]


def as_prices(given: Any, rows: int, maximize: bool, of: str = "row") -> NDArray[Any]:
    """One int64 or float64 price a row, in the user's sense; never NaN, infinite only if that forbids staying free.

    `of`: "row" or "column", whose prices they are.
    """
    return np.array(_seen_as_prices(given, rows, maximize, of))


def _seen_as_prices(given: Any, rows: int, maximize: bool, of: str) -> NDArray[Any]:
    """The same; one price for all rows is a view of one number."""
    prices = without_masked_prices(given, maximize)
    if prices.dtype.kind not in "biuf" or (prices.dtype.kind == "f" and prices.dtype.itemsize > 8):
        raise DtypeError(f"unmatched_cost must be real numbers, got dtype {prices.dtype}; convert it with float()")
    if prices.ndim > 1 or (prices.ndim == 1 and prices.size != rows):
        raise ArgumentError(
            f"unmatched_cost must be a scalar or one value for each of the {rows} {of}s, got shape {prices.shape}"
        )
    if prices.dtype.kind == "u" and prices.size and prices.max() > np.iinfo(np.int64).max:
        raise RangeError(
            f"unmatched_cost {prices.max()} is above the largest int64; subtract a constant from all costs"
        )
    prices = np.atleast_1d(prices).astype(np.float64 if prices.dtype.kind == "f" else np.int64, copy=False)
    right = prices < math.inf if maximize else prices > -math.inf
    if not right.all():
        line = int(right.argmin())
        raise ArgumentError(
            f"unmatched_cost{'' if of == 'row' else '[1]'}[{line}] is {prices[line]}: use a finite number, or "
            f"{'-inf' if maximize else '+inf'} if the {of} must be matched"
        )
    return np.broadcast_to(prices, rows)


def without_masked_prices(given: Any, maximize: bool) -> NDArray[Any]:
    """An array of prices; a masked one is absent, as the price of a row that must be matched."""
    if not (isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given)) or given.dtype.kind not in "biuf":
        return as_numbers(given, "unmatched_cost")
    mask, data = np.ma.getmaskarray(given), np.asarray(given.data)
    shown = exact_floats(np.where(mask, data.dtype.type(0), data), np.dtype(np.float64))
    return np.where(mask, -math.inf if maximize else math.inf, shown)


def with_prices(costs: CostArray, *prices: NDArray[Any]) -> tuple[CostArray, list[NDArray[Any]]]:
    """Costs and prices in one arithmetic: integer if all are whole, else float64 if integer costs are exact there."""
    whole = [] if costs.dtype.kind == "f" else [_whole_prices(each) for each in prices]
    if whole and all(each is not None for each in whole):
        return costs, [each for each in whole if each is not None]
    floats = costs if costs.dtype.kind == "f" else exact_floats(costs, np.dtype(np.float64))
    return floats, [each.astype(np.float64, copy=False) for each in prices]


def without_zeros(prices: NDArray[Any]) -> NDArray[Any] | None:
    """Prices of columns; None if all are 0, as they are where none are given."""
    return prices if prices.any() else None


def _whole_prices(prices: NDArray[Any]) -> NDArray[Any] | None:
    """Prices as int64, +-`ABSENT` for infinities; None if there are fractions among them."""
    if prices.dtype.kind == "i":
        if prices.size and max(-int(prices.min()), int(prices.max())) >= ABSENT:
            worst = int(prices.flat[np.abs(prices // 2).argmax()])
            raise RangeError(
                f"unmatched_cost {worst} leaves no room for exact int64 sums; use +-inf to forbid staying free"
            )
        return prices
    finite = np.isfinite(prices)
    whole = finite & (prices == np.rint(prices)) & (np.abs(prices) < ABSENT)
    if not (whole | ~finite).all():
        return None
    absent = np.where(prices > 0, ABSENT, -ABSENT)
    return np.where(finite, np.where(finite, prices, 0).astype(np.int64), absent)


def prices_in_kind(given: Any, rows: int, maximize: bool, integer: bool, of: str = "row") -> NDArray[Any]:
    """One price a row for costs that cannot be converted: int64 for integers, which must be whole, else float64.

    Raises
    ------
    ArgumentError, DtypeError, RangeError
    """
    return np.array(_seen_in_kind(given, rows, maximize, integer, of))


def minimised_prices(given: Any, rows: int, maximize: bool, integer: bool) -> NDArray[Any]:
    """The same as minimised; one price for all rows is a view of one number."""
    prices = _seen_in_kind(given, rows, maximize, integer, "row")
    return np.broadcast_to(-shown_numbers(prices), rows) if maximize else prices


def _seen_in_kind(given: Any, rows: int, maximize: bool, integer: bool, of: str) -> NDArray[Any]:
    prices = shown_numbers(_seen_as_prices(given, rows, maximize, of))
    if not integer:
        return np.broadcast_to(prices.astype(np.float64, copy=False), rows)
    whole = _whole_prices(prices)
    if whole is None:
        raise DtypeError(
            f"unmatched_cost {prices[np.isfinite(prices) & (prices != np.rint(prices))][0]} is not whole, but costs "
            "are integers: pass costs as float64, or whole prices"
        )
    return np.broadcast_to(whole, rows)


def shown_numbers(prices: NDArray[Any]) -> NDArray[Any]:
    """The numbers that an array shows: one, if it is a view of that."""
    return prices[:1] if prices.strides == (0,) else prices


def priced(
    costs: CostArray, shape: tuple[int, ...], maximize: bool, unmatched_cost: Any
) -> tuple[CostArray, NDArray[Any] | None, NDArray[Any] | None]:
    """Costs of a problem of this shape, prices of its rows and of its columns, in one arithmetic."""
    if unmatched_cost is None:
        return costs, None, None
    for_rows, for_cols = of_rows_and_columns(unmatched_cost)
    given = [as_prices(for_rows, shape[0], maximize)]
    if for_cols is not None:
        given.append(as_prices(for_cols, shape[1], maximize, "column"))
    costs, (of_rows, *of_cols) = with_prices(costs, *given)
    return costs, of_rows, without_zeros(of_cols[0]) if of_cols else None


def stacked_prices(given: Any, shape: tuple[int, int], maximize: bool, of: str) -> NDArray[Any]:
    """One price for each row or column of each problem."""
    prices = without_masked_prices(given, maximize)
    if prices.shape not in ((), (shape[1],), shape):
        raise ArgumentError(
            f"unmatched_cost of {of}s must be a scalar, or of shape ({shape[1]},) or {shape}, got {prices.shape}"
        )
    return as_prices(np.broadcast_to(prices, shape).ravel(), shape[0] * shape[1], maximize, of).reshape(shape)
