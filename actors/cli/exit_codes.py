"""The exit codes of `prism`."""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_CONFIG = 3
EXIT_SPENT = EXIT_THRESHOLD = 4
EXIT_ORACLE = 5

EXIT_CODES = {
    "0": "done",
    "1": "the run failed, or what was checked is not as it should be",
    "2": "wrong usage, or a directory, a file or an address that cannot be used; cells of an experiment have no result",
    "3": "a configuration or input file that cannot be run",
    "4": "stopped at the spend cap, or because too many choices are fallbacks; an experiment misses a threshold, or a "
    "calibration reports no fit",
    "5": "the oracle's backend cannot be used, or stayed away",
    "130": "stopped by SIGINT, 143 by SIGTERM, 129 by SIGHUP, after a whole tick",
}
