"""Lapwing on NVIDIA GPUs: kernels as text, compiled when first used; cuda.core is imported no sooner than it is needed."""
