"""The tables of runs: journals and what Python makes beside them as relations of DuckDB, and SQL views on them."""
