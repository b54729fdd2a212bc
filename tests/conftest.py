"""Settings that all tests share."""

import functools

import hypothesis
import pytest

pytest.register_assert_rewrite("support")

# The same examples in every run; no deadline, since machines differ.
hypothesis.settings.register_profile("lapwing", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("lapwing")


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help="a few cases of every test, none on a GPU")


@pytest.hookimpl(tryfirst=True)  # before cases that are slow are left out
def pytest_collection_modifyitems(config, items):
    """With --fast keep three cases of every test, but none on the emulated GPU; otherwise two are enough there.

    An emulated program takes seconds to compile, and another type of costs is another program. On a GPU all cases run.
    """
    if config.getoption("fast"):
        kept = cases_at((0, 0.5, 1), (item for item in items if not uses_gpu(item)))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    else:
        emulated = [item for item in items if is_emulated(item)]
        for item in set(emulated) - cases_at((0, 1), emulated):
            item.add_marker("slow")


def cases_at(places, items):
    """Of every test the cases at these places, of which 0 is the first and 1 the last."""
    cases = {}
    for item in items:
        cases.setdefault((item.path, item.originalname), []).append(item)
    return {group[round(place * (len(group) - 1))] for group in cases.values() for place in places}


def uses_gpu(item):
    return item.get_closest_marker("gpu") is not None or is_emulated(item)


def is_emulated(item):
    return not {"gpu", "emulated_gpu"}.isdisjoint(item.fixturenames) and item.get_closest_marker("gpu") is None


def pytest_runtest_setup(item):
    """A test marked `gpu` is skipped where there is no GPU, and for no other reason."""
    if item.get_closest_marker("gpu") is not None and why_no_gpu() is not None:
        pytest.skip(why_no_gpu())


@pytest.fixture(autouse=True)
def kernels_for_few_pairs(request, monkeypatch):
    """Tests of kernels use small problems, which are solved on the host otherwise, or whose matrix is held."""
    if "emulated_gpu" in request.fixturenames or request.node.get_closest_marker("gpu") is not None:
        monkeypatch.setattr("lapwing.gpu.plan.HOST_PAIRS", 0)
        monkeypatch.setattr("lapwing.gpu.plan.HOST_ENTRIES", 0)
        monkeypatch.setattr("lapwing.gpu.costs.points_matrix.LEAST_COMPUTED", 0)


@functools.cache
def why_no_gpu():
    """Why no GPU can be used, or None."""
    from lapwing.errors import GpuError
    from lapwing.gpu.runtime.device import device_count

    try:
        return None if device_count() > 0 else "no NVIDIA GPU is seen"
    except GpuError as error:
        return str(error)
