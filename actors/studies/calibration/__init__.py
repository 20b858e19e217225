"""Calibration of a configuration: its plan, its runs as cells of an experiment, and the files of its result."""
