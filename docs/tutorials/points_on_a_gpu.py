"""
A million points on a GPU, and on two
=====================================

A matrix of a million rows and columns of float32 takes 4 TB. Points need no matrix: a GPU computes their costs whenever
it reads them.

.. include:: ../gallery_gpu.inc

.. image:: ../images/gpu_sources.png
   :alt: Seconds against n for points on a GPU
"""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import lapwing as lw

# %%
# One GPU
# -------
# The points go to the GPU, the answer comes back. The certificate looks at all 10\ :sup:`12` pairs.


def match(seed):
    x, y = np.random.default_rng(seed).random((2, 1_000_000, 2), dtype=np.float32)
    result = lw.solve(lw.costs.squared_euclidean(x, y), device="cuda")
    print(result.certificate)
    return result.row_to_col


# %%
# Two GPUs
# --------
# A solve of points uses one GPU. Two problems take two, in a process each that sees one of them.


def match_on(gpu, seed):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)  # before anything uses CUDA
    return match(seed)


if __name__ == "__main__":
    match(seed=1)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        answers = list(pool.map(match_on, (0, 1), (1, 2)))

# sphinx_gallery_thumbnail_path = 'images/gpu_sources.png'
