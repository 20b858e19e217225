"""The crashes of the test suite in any number: `python -m tests.crash --trials 10000`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter

import structlog

from tests.crash.scenes import (
    EMBEDDED,
    FAILING,
    INTERVENED,
    LIVE,
    REAL_TIME,
    SEALED,
    SHARED,
    SHARED_LIVE,
)
from tests.crash.trial import CrashTrial, trials

SCENES = {
    "embedded": EMBEDDED,
    "live": LIVE,
    "intervened": INTERVENED,
    "sealed": SEALED,
    "shared": SHARED,
    "shared-live": SHARED_LIVE,
    "failing": FAILING,
    "real-time": REAL_TIME,
}


def main() -> None:
    arguments = argparse.ArgumentParser(description="Crash small runs at every operation of their disk.")
    arguments.add_argument("--trials", type=int, default=10_000, help="of each kind")
    arguments.add_argument("--scenes", nargs="+", choices=SCENES, default=["embedded", "live"], help="that crash")
    arguments.add_argument("--seed", type=int, default=100_000, help="of the first trial")
    asked = arguments.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for name, scene in ((name, SCENES[name]) for name in asked.scenes):
        for faults in (1, 2, 3, 5):
            crashes, failures, first = 0, Counter[str](), ""
            for trial in trials(scene, asked.trials, faults=faults, first_seed=asked.seed):
                crash_trial = CrashTrial(scene, trial)
                try:
                    crash_trial.run()
                except Exception as error:  # noqa: BLE001  # whatever it is, it is what this looks for
                    failures[type(error).__name__] += 1
                    first = first or f"{error}, in {trial}"
                crashes += crash_trial.crashes
            told = f"{dict(failures)}, first {first}" if failures else "no failure"
            sys.stdout.write(f"{name:11} {asked.trials:7,} runs of {faults} faults: {crashes:7,} crashes, {told}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
