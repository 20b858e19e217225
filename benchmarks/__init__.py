"""Benchmarks: ratios measured side by side in one process, medians of several runs: `python -m benchmarks.NAME`."""
