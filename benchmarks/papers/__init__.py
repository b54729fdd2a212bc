"""The tables of the papers: `python -m benchmarks.papers`."""
