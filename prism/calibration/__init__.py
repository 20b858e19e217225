"""Calibration: its file, the design, the comparison of runs with data, the posterior, and the tests of a fit."""
