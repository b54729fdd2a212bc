"""Lapwing on NVIDIA GPUs: kernels are text, compiled when first used; cuda.core is imported when first needed."""
