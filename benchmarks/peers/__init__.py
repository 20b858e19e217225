"""PRISM and its peers, side by side in one run: `make bench-peers`; it makes a section of docs/scale.md."""
