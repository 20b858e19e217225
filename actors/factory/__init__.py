"""The factory of what a configuration names: domains with their input files, and oracles."""
