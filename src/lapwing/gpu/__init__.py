"""Lapwing on NVIDIA GPUs: kernels as text, compiled when first used. Nothing here imports cuda.core before it is needed."""
