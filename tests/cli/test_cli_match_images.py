"""`lapwing.images` and `lapwing match-images`."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import lapwing as lw
from lapwing import images
from support.checks import assert_optimal

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def files(invoke, tmp_path):
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)).save("a.png")
    Image.fromarray(rng.integers(0, 256, (50, 50), dtype=np.uint8)).save("b.jpg")
    return tmp_path


def test_match_images(invoke, files):
    done = invoke("match-images", "a.png", "b.jpg", "--size", 20, "-o", "c.png", "--progress")
    assert done.exit_code == 0, done.stderr
    assert "20 x 15 = 300 pixels" in done.stdout and "optimal, proven exactly" in done.stdout
    source, target = images.read_pair("a.png", "b.jpg", 20)
    drawn = np.asarray(Image.open("c.png"))
    assert drawn.shape == (15, 20, 3)
    pixels = np.rint(source * 255).astype(np.uint8)
    assert sorted(map(tuple, drawn.reshape(-1, 3).tolist())) == sorted(map(tuple, pixels.reshape(-1, 3).tolist()))
    cost = images.pixel_costs(source, target)
    result = lw.solve(cost)
    assert_optimal(result, cost.read(slice(None)))
    assert np.array_equal(np.rint(images.rearranged(source, result.row_to_col) * 255), drawn)


def test_full_size_and_weights(invoke, files):
    source, target = images.read_pair("a.png", "b.jpg", 9999)
    assert source.shape == target.shape == (30, 40, 3)
    assert np.array_equal(source, np.asarray(Image.open("a.png")) / 255)
    points = images.pixels(source, 2.0, 0.5)
    assert points.shape == (1200, 5) and points.dtype == np.float32
    np.testing.assert_allclose(points[41], [*2 * source[1, 1], 0.5 * 1.5 / 40, 0.5 * 1.5 / 40], rtol=1e-6)
    done = invoke("match-images", "a.png", "a.png", "--position", 0, "--size", 9999)
    assert done.exit_code == 0 and "objective 0," in done.stdout
    assert np.array_equal(np.asarray(Image.open("matched.png")), np.asarray(Image.open("a.png")))


def test_what_is_no_picture(invoke, files):
    (files / "text.png").write_text("hello")
    (files / "cut.png").write_bytes((files / "a.png").read_bytes()[:900])
    for first, words in (
        ("none.png", "none.png: No such file"),
        ("text.png", "text.png is no picture that can be read"),
        ("cut.png", "cut.png is no whole picture"),
    ):
        done = invoke("match-images", first, "b.jpg")
        assert done.exit_code == 1 and words in done.stderr
    done = invoke("match-images", "a.png", "b.jpg", "--size", 5, "-o", "c.what")
    assert done.exit_code == 1 and "name it .png" in done.stderr
    with pytest.raises(lw.ArgumentError, match="size must be at least 1 pixel, got 0"):
        images.read_pair("a.png", "b.jpg", 0)


def test_pillow_is_missing(invoke, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    done = invoke("match-images", "a.png", "b.jpg")
    assert done.exit_code == 1 and "pip install 'lapwing[images]'" in done.stderr
