"""PRISM and its peers, side by side in one run: `make bench-peers`; the page made of it is docs/benchmarks.md."""
