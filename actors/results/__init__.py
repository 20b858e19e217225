"""The tables of runs, worked out from their files, and questionnaires put to their people."""
