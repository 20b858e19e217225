"""Experiments: their files, the conditions of a design, and the comparison of conditions over seeds."""
