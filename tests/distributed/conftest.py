"""Four ranks of a gloo group, kept for all tests; skipped where PyTorch is not installed."""

from __future__ import annotations

import pytest

from support.ranks import Ranks, require_ranks


@pytest.fixture(scope="session")
def ranks(tmp_path_factory):
    """Four ranks, each of which has solved nothing that another test may notice."""
    require_ranks()
    with Ranks(4, tmp_path_factory.mktemp("ranks")) as four:
        yield four
