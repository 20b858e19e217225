"""The schedules of the test suite in any number: `python -m tests.sharing --schedules 600`."""

from __future__ import annotations

import argparse
import logging
import sys

import structlog

from tests.sharing.test_shared_runs import BUDGETED, SHARED, SURROGATE, outcome, shared_run


def main() -> None:
    """Run each configuration under so many schedules; end with 1 if one of them has another result."""
    arguments = argparse.ArgumentParser(description="Run shared judgements under random schedules and speeds.")
    arguments.add_argument("--schedules", type=int, default=600, help="of each configuration")
    asked = arguments.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    differ = False
    for name, config in (("archetypes", SHARED), ("surrogate", SURROGATE), ("budget", BUDGETED)):
        first = outcome(shared_run(config, 0))
        others = [schedule for schedule in range(1, asked.schedules) if outcome(shared_run(config, schedule)) != first]
        told = f"the schedules {others} have another result" if others else "one result"
        sys.stdout.write(f"{name:10} {asked.schedules:6,} schedules: {told}\n")
        sys.stdout.flush()
        differ = differ or bool(others)
    sys.exit(differ)


if __name__ == "__main__":
    main()
