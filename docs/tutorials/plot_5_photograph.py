"""
A photograph, drawn with another's pixels
=========================================

A pixel is a point in five dimensions, its colour and its place. The best matching between the pixels of two pictures
moves every pixel of the one to a place of its own in the other, near in place and in colour. No matrix is made.
"""

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_images

import lapwing as lw

temple, flower = (
    np.asarray(Image.fromarray(image).resize((72, 48)), dtype=np.float64) / 255 for image in load_sample_images().images
)

# %%
# Colour counts, and a little place, so that pixels with the same colour do not wander about.


def points(picture):
    y, x = np.mgrid[: picture.shape[0], : picture.shape[1]] / picture.shape[1]
    return np.concatenate([picture.reshape(-1, 3), 0.3 * np.stack([x.ravel(), y.ravel()], axis=1)], axis=1)


result = lw.solve(lw.costs.squared_euclidean(points(flower), points(temple)))
print(result.certificate)

drawn = np.empty((48 * 72, 3))
drawn[result.row_to_col] = flower.reshape(-1, 3)

# %%

figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
titles = "the pixels", "the picture to draw", "drawn: each pixel moved once"
for ax, picture, title in zip(axes, (flower, temple, drawn.reshape(48, 72, 3)), titles, strict=True):
    ax.imshow(picture)
    ax.set_title(title)
    ax.axis("off")
plt.show()
