"""The papers' methods on one GPU, as references for tables and tests; their kernels are in kernels/reference."""
