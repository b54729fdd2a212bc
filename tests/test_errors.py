"""Errors survive pickling (worker processes send them) and say what they should."""

import copy
import pickle

import numpy as np
import pytest

import lapwing as lw

ERRORS = [
    lw.InvalidCostError(1, 2, float("nan")),
    lw.InvalidCostError(1, 2, float("inf"), True),
    lw.InfeasibleError(np.array([0, 4, 7]), np.array([2, 3])),
    lw.InfeasibleError(np.array([2]), np.array([0, 4]), by_cols=True),
    lw.InternalError("the gap is 3"),
    lw.RangeError("too large"),
    lw.ArgumentError("wrong"),
    lw.DtypeError("complex"),
    lw.GpuError("no GPU"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_pickle_and_copy(error):
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is type(error) and str(other) == str(error)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_all_are_lapwing_errors(error):
    assert isinstance(error, lw.LapwingError)


def test_builtin_bases():
    assert issubclass(lw.InfeasibleError, ValueError)
    assert issubclass(lw.InvalidCostError, ValueError)
    assert issubclass(lw.DtypeError, TypeError)
    assert issubclass(lw.RangeError, OverflowError)
    assert issubclass(lw.InternalError, RuntimeError)


def test_infeasible_counts_in_words():
    text = str(lw.InfeasibleError(np.array([0, 4, 7]), np.array([2, 3])))
    assert "these 3 rows (0, 4, 7) have only these 2 columns (2, 3) that are not forbidden" in text
    assert "this 1 row (5) has no column that is not forbidden" in str(
        lw.InfeasibleError(np.array([5]), np.array([], int))
    )
    assert "these 9 rows (0, 1, 2, 3, 4, ...)" in str(lw.InfeasibleError(np.arange(9), np.arange(8)))
    tall = str(lw.InfeasibleError(np.array([2]), np.array([0, 4]), by_cols=True))
    assert "these 2 columns (0, 4) have only this 1 row (2) that is not forbidden" in tall


def test_invalid_costs_name_the_remedy():
    assert "replace it, for instance by +inf" in str(lw.InvalidCostError(0, 0, float("nan")))
    assert "replace it, for instance by -inf" in str(lw.InvalidCostError(0, 0, float("nan"), True))
    assert "when maximising, only -inf is allowed" in str(lw.InvalidCostError(0, 0, float("inf"), True))


def test_internal_errors_ask_for_a_report():
    assert "please report it" in str(lw.InternalError("the gap is 3"))
