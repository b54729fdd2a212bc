"""Benchmarks: one file a question; README.md says which."""
