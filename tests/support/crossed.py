"""Cases of a test that are all combinations of a few choices."""

from __future__ import annotations

from itertools import product

import pytest


def half_of(**choices):
    """Parametrize by all combinations, every other one of which is slow.

    Those that are not slow have each value of every choice; of three choices or more, also each pair of values of two.
    A value that is itself marked slow stands last among its choices.
    """
    cases = []
    for numbered in product(*(enumerate(values) for values in choices.values())):
        places, values = zip(*numbered, strict=True)
        plain, marks = [], [pytest.mark.slow] if sum(places) % 2 else []
        for value in values:
            is_marked = isinstance(value, type(pytest.param()))
            plain.append(value.values[0] if is_marked else value)
            marks += value.marks if is_marked else ()
        cases.append(pytest.param(*plain, marks=marks))
    return pytest.mark.parametrize(tuple(choices), cases)
