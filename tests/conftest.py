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


def pytest_collection_modifyitems(config, items):
    """With --fast, keep the first, the middle and the last case of every test, but none on the emulated GPU."""
    if not config.getoption("fast"):
        return
    cases = {}
    for item in items:
        if not {"gpu", "emulated_gpu"}.intersection(item.fixturenames) and not item.get_closest_marker("gpu"):
            cases.setdefault((item.path, item.originalname), []).append(item)
    kept = {case for group in cases.values() for case in (group[0], group[len(group) // 2], group[-1])}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_runtest_setup(item):
    """A test marked `gpu` is skipped where there is no GPU, and for no other reason."""
    if item.get_closest_marker("gpu") is not None and why_no_gpu() is not None:
        pytest.skip(why_no_gpu())


@pytest.fixture(autouse=True)
def kernels_for_few_pairs(request, monkeypatch):
    """Tests of kernels use small matrices, which are solved on the host otherwise."""
    if "emulated_gpu" in request.fixturenames or request.node.get_closest_marker("gpu") is not None:
        monkeypatch.setattr("lapwing.gpu.plan.HOST_PAIRS", 0)
        monkeypatch.setattr("lapwing.gpu.plan.HOST_ENTRIES", 0)


@functools.cache
def why_no_gpu():
    """Why no GPU can be used, or None."""
    from lapwing.errors import GpuError
    from lapwing.gpu.runtime.device import device_count

    try:
        return None if device_count() > 0 else "no NVIDIA GPU is seen"
    except GpuError as error:
        return str(error)
