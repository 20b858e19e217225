"""The codes with which `prism` ends."""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_CONFIG = 3
EXIT_SPENT = EXIT_THRESHOLD = 4
EXIT_ORACLE = 5
