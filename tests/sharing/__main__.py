"""The schedules of shared judgements in any number: `python -m tests.sharing --schedules 600`."""

from __future__ import annotations

import argparse
import logging
import sys

import structlog

from tests.sharing.test_shared_runs import SHARED, outcome, shared_run


def main() -> None:
    """Run under so many schedules; end with 1 if one of them has another result."""
    arguments = argparse.ArgumentParser(description="Run shared judgements under random schedules and speeds.")
    arguments.add_argument("--schedules", type=int, default=600, help="of the run")
    asked = arguments.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    first = outcome(shared_run(SHARED, 0))
    others = [schedule for schedule in range(1, asked.schedules) if outcome(shared_run(SHARED, schedule)) != first]
    told = f"the schedules {others} have another result" if others else "one result"
    sys.stdout.write(f"{asked.schedules:6,} schedules: {told}\n")
    sys.exit(bool(others))


if __name__ == "__main__":
    main()
