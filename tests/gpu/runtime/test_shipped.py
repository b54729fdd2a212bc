"""Programs out of the package of compiled kernels: taken before the cache and the compiler, never in the way."""

from __future__ import annotations

import sys
import zlib
from types import SimpleNamespace

import pytest

from lapwing.gpu.runtime import cache, shipped
from lapwing.gpu.runtime.programs import CERTIFICATE, CORE
from lapwing.gpu.runtime.shipped import file_name, shipped_program

FLOAT32 = CERTIFICATE.variant(COST="float32")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one program, for drivers of CUDA 12 and later."""
    folder = tmp_path / "lapwing_kernels"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "nvrtc.txt").write_text("12.9")
    (folder / file_name(CERTIFICATE, FLOAT32, 90)).write_bytes(zlib.compress(b"code"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("LAPWING_CACHE_DIR", str(tmp_path / "cache"))
    driver_of(monkeypatch, 13000)
    yield folder
    sys.modules.pop("lapwing_kernels", None)
    shipped._folder.cache_clear()


def driver_of(monkeypatch, version):
    shipped._folder.cache_clear()
    driver = SimpleNamespace(cuDriverGetVersion=lambda: (0, version))
    monkeypatch.setattr(shipped.toolkit, "driver", lambda: driver)


def test_taken_before_the_cache_and_the_compiler(package, monkeypatch):
    for name in ("compile_program", "_open_store", "_key"):
        monkeypatch.setattr(cache, name, lambda *_, name=name, **__: pytest.fail(name))
    assert cache.cached_program(CERTIFICATE, FLOAT32, 90) == b"code"
    assert cache.cached_program(CERTIFICATE, FLOAT32, 90, quick=True) == b"code"
    assert cache.find_program(CERTIFICATE, FLOAT32, 90) == b"code"


def test_only_what_is_whole_and_the_same(package, monkeypatch):
    for other in ((CERTIFICATE, FLOAT32, 80), (CERTIFICATE, CERTIFICATE.variant(COST="float64"), 90)):
        assert shipped_program(*other) is None
    assert shipped_program(CORE, CORE.variant(COST="float32"), 90) is None
    monkeypatch.setattr(shipped, "program_text", lambda *_: "of another version")
    assert shipped_program(CERTIFICATE, FLOAT32, 90) is None
    monkeypatch.undo()
    (package / file_name(CERTIFICATE, FLOAT32, 90)).write_bytes(b"damaged")
    assert shipped_program(CERTIFICATE, FLOAT32, 90) is None


@pytest.mark.parametrize(("version", "expected"), [(13000, b"code"), (12040, b"code"), (11080, None)])
def test_drivers_that_can_load_it(package, monkeypatch, version, expected):
    driver_of(monkeypatch, version)
    assert shipped_program(CERTIFICATE, FLOAT32, 90) == expected


@pytest.mark.parametrize("version", [None, "", "none"])
def test_a_package_that_does_not_say_its_compiler(package, version):
    (package / "nvrtc.txt").unlink() if version is None else (package / "nvrtc.txt").write_text(version)
    assert shipped_program(CERTIFICATE, FLOAT32, 90) is None


def test_without_the_package():
    shipped._folder.cache_clear()
    assert shipped_program(CERTIFICATE, FLOAT32, 90) is None
