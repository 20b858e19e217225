"""The gateway of an experiment: one place that asks the servers of models for all cells."""
