"""Pictures as problems: the pixels of one to the places of another.

A pixel is a point in five dimensions, its colour and its position (Rubner, Tomasi, Guibas: "The Earth Mover's Distance
as a Metric for Image Retrieval", IJCV 2000; the "images" class of Guthe and Thuerck, "Algorithm 1015", ACM TOMS 2021);
the cost of a pair of pixels is the squared distance of their points.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.atomic import atomic_writer
from lapwing.costs import PointCost, squared_euclidean
from lapwing.errors import ArgumentError, DtypeError, MissingPackageError

# Colours lie in [0, 1]; a picture's width is 1 long. At 0.35 a pixel crosses the whole picture for the price of about a
# third of the way from black to white in one channel: colours decide, position orders what is alike.
POSITION_WEIGHT = 0.35

Picture = NDArray[np.float64]  # (height, width, 3), colours in [0, 1]


def read_pair(first: str | os.PathLike[str], second: str | os.PathLike[str], size: int) -> tuple[Picture, Picture]:
    """Read two pictures at one size, that of the first.

    Parameters
    ----------
    first, second : path
        In any format of Pillow. The second is cut to the proportions of the first.
    size : int
        Of the longer side of the first, in pixels, to which it is reduced; it is never enlarged.

    Raises
    ------
    ArgumentError
        If a file is no picture.
    MissingPackageError
        If Pillow is not installed.
    OSError
        If a file cannot be read.
    """
    if not isinstance(size, (int, np.integer)):
        raise DtypeError(f"size must be a whole number of pixels, got {size!r}")
    if size < 1:
        raise ArgumentError(f"size must be at least 1 pixel, got {size}")
    pictures = [_read(path) for path in (first, second)]
    ops = _pillow("ImageOps")
    scale = min(1.0, size / max(pictures[0].size))
    fitted = tuple(max(1, round(side * scale)) for side in pictures[0].size)
    source, target = (np.asarray(ops.fit(picture, fitted), np.float64) / 255 for picture in pictures)
    return source, target


def pixels(picture: Picture, colour: float = 1.0, position: float = POSITION_WEIGHT) -> NDArray[np.float32]:
    """A picture's pixels as points, (height * width, 5): colours and places, each times its weight.

    Places are the pixels' centres (x, y), row by row of the picture, with the picture's width as the unit.

    Raises
    ------
    ArgumentError
        If it is no array of shape (height, width, 3).
    """
    height, width = _check_picture(picture).shape[:2]
    return np.hstack([colour * picture.reshape(-1, 3), position * places(height, width)]).astype(np.float32)


def places(height: int, width: int) -> NDArray[np.float64]:
    """The centres (x, y) of a picture's pixels, row by row, with its width as the unit."""
    y, x = np.mgrid[:height, :width] + 0.5
    return np.stack([x.ravel(), y.ravel()], axis=1) / width


def pixel_costs(source: Picture, target: Picture, colour: float = 1.0, position: float = POSITION_WEIGHT) -> PointCost:
    """The cost of moving each pixel of the source to the place of each pixel of the target."""
    return squared_euclidean(pixels(source, colour, position), pixels(target, colour, position))


def rearranged(source: Picture, row_to_col: NDArray[np.int64]) -> Picture:
    """The source's pixels, each moved to its place: a picture of the same size.

    Raises
    ------
    ArgumentError
        If the places are not those of all pixels, each once.
    """
    moved = np.empty_like(_check_picture(source).reshape(-1, 3))
    if not np.array_equal(np.sort(row_to_col), np.arange(len(moved))):
        raise ArgumentError(f"row_to_col must have each of the places 0 to {len(moved) - 1} once: solve without gaps")
    moved[row_to_col] = source.reshape(-1, 3)
    return moved.reshape(source.shape)


def write(picture: Picture, path: str | os.PathLike[str]) -> None:
    """Write a picture, in the format that the path's ending names.

    Raises
    ------
    ArgumentError
        If there is no such format.
    """
    form = check_name(path)
    pixels = _pillow("Image").fromarray(np.rint(picture.clip(0, 1) * 255).astype(np.uint8))
    with atomic_writer(path) as stream:
        try:
            pixels.save(stream, format=form)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ArgumentError(f"{path} cannot be written as a picture: {error}; name it .png") from error


def check_name(path: str | os.PathLike[str]) -> str:
    """Pillow's name for the format of a picture that `write` would write.

    Raises
    ------
    ArgumentError
        If there is no such format.
    """
    image = _pillow("Image")
    image.init()
    if "\0" in os.fspath(path):
        raise ArgumentError(f"{path!r} is no path: it has null characters")
    form = image.EXTENSION.get(os.path.splitext(os.fspath(path))[1].lower())
    if form is None or form not in image.SAVE:
        raise ArgumentError(f"{path} cannot be written as a picture: its ending names no format; name it .png")
    return str(form)


def _check_picture(picture: Any) -> Picture:
    if getattr(picture, "ndim", None) != 3 or picture.shape[2] != 3:
        raise ArgumentError(f"a picture must have shape (height, width, 3), got {np.shape(picture)}")
    checked: Picture = picture
    return checked


def _read(path: str | os.PathLike[str]) -> Any:
    if not isinstance(path, (str, os.PathLike)):
        raise DtypeError(f"a picture must be the path of a file, got {type(path).__name__}")
    image, ops = _pillow("Image"), _pillow("ImageOps")
    try:
        with warnings.catch_warnings(action="ignore"), image.open(path) as picture:
            return ops.exif_transpose(picture).convert("RGB")
    except (image.UnidentifiedImageError, image.DecompressionBombError, SyntaxError, ValueError) as error:
        raise ArgumentError(f"{path} is no picture that can be read ({error})") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise ArgumentError(f"{path} is no whole picture ({error}); copy it again") from error


def _pillow(module: str) -> Any:
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError as error:
        raise MissingPackageError(
            "pictures are read by Pillow, which is not installed: pip install 'lapwing[images]'"
        ) from error
    return getattr(PIL, module)
