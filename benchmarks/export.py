"""The time and memory of an export: `python -m benchmarks.export [--updates 10000000] [--to parquet]`.

The journal is synthetic and valid: people who go through the default chart, with posts, likes, replies, reshares and
questions about as often as in the default configuration. Each export is a process of its own, as `prism export` is.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import msgspec

from actors.core.frames import RunningDigest
from actors.factory.domains import build_domain
from actors.persistence.journal import JOURNAL
from actors.results.export import FORMATS
from actors.runs.directory import RunDirectory
from actors.runs.execute import create_run
from benchmarks.checkpoint import config_of
from prism.agents import Question, Update
from prism.events import PostEvent
from prism.social.posts.post import NUMBER_BITS, PostView

TICKS_PER_ROUND = 24
STATES = ("idle", "scrolling", "evaluating", "engaging_like")
STEPS = (
    ("feed_ready", "idle", "scrolling"),
    ("sees_post", "scrolling", "evaluating"),
    ("decides", "evaluating", "engaging_like"),
    ("action_done", "engaging_like", "idle"),
)
OPTIONS = ("scrolling", "engaging_like", "engaging_reshare", "composing")
POSTS_EVERY, LIKES_EVERY, REPLIES_EVERY, QUESTIONS_EVERY = 101, 23, 97, 43
"""One of so many turns makes a post, a like, a reply or reshare, a question."""
_encode = msgspec.msgpack.Encoder().encode


def write_run(path: Path, updates: int, people: int) -> int:
    """Write a run of at least this many updates, and return how many."""
    ticks = -(-updates // people)
    config = config_of(
        simulation={"rounds": 1, "ticks": ticks, "ticks_per_round": TICKS_PER_ROUND},
        population={"size": people},
        run={"sync": False},
    )
    create_run(RunDirectory(path), config, build_domain(config))
    digest = RunningDigest()
    with (path / JOURNAL).open("ab") as journal:
        for tick, answers in enumerate(_ticks(ticks, people)):
            journal.write(digest.add(tick, answers))
    return ticks * people


def _ticks(ticks: int, people: int) -> Iterator[list[bytes]]:
    made, posts = [0] * people, [0]
    asked: list[int] = []
    for tick in range(ticks):
        answers, events, waiting = [], [], asked
        asked = []
        busy = set(waiting)
        for agent in range(people):
            if agent in busy:  # deliberating
                continue
            turn = tick * people + agent
            trigger, before, after = STEPS[(tick + agent) % len(STEPS)]
            if turn % QUESTIONS_EVERY == 0:
                view = _view(posts[turn % len(posts)], agent)
                answers.append(_encode(Question(tick, agent, "decides", "evaluating", OPTIONS, view)))
                asked.append(agent)
                continue
            answers.append(_encode(Update(tick, agent, trigger, before, after, "rule", None)))
            if turn % LIKES_EVERY == 0:
                events.append(_encode(PostEvent(tick, agent, "like", posts[turn % len(posts)])))
            kind = "publish" if turn % POSTS_EVERY == 0 else "reply" if turn % REPLIES_EVERY == 0 else ""
            if kind:
                new, made[agent] = agent << NUMBER_BITS | made[agent], made[agent] + 1
                parent = None if kind == "publish" else posts[turn % len(posts)]
                events.append(_encode(PostEvent(tick, agent, kind, new, parent, () if parent else ("tea",))))
                posts = [*posts[-1000:], new] if len(posts) > 2000 else [*posts, new]
        decided = [
            _encode(Update(tick, agent, "decides", "evaluating", "scrolling", "oracle", None)) for agent in waiting
        ]
        yield [*answers, *decided, *events]


def _view(post: int, agent: int) -> PostView:
    text = "Something about tea surprised me today."
    return PostView(post, post >> 24, f"Ada {agent}", text, ("tea",), 3, 1, 0, 0, 0.5, 0.2, True, 1.0, 0.5, 0.1)


class Cost(NamedTuple):
    """The seconds of one export, those of a processor, and its largest resident megabytes."""

    seconds: float
    cpu_s: float
    megabytes: float


def measure(run: Path, form: str, parent: Path) -> Cost:
    """Return the cost of one export of a run."""
    with tempfile.TemporaryDirectory(dir=parent) as directory:
        command = [sys.executable, "-m", "actors.cli", "export", str(run), "--to", form, "--out", f"{directory}/out"]
        begun = perf_counter()
        told = subprocess.run([*command, "--quiet"], check=True, capture_output=True, text=True).stdout
        seconds = perf_counter() - begun
    print(told.splitlines()[-1].partition(": ")[2])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    """Write the run, and measure its export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=10_000_000, help="updates of the journal")
    parser.add_argument("--people", type=int, default=10_000, help="people, who all move in each tick")
    parser.add_argument("--to", choices=FORMATS, default="parquet", help="format")
    parser.add_argument("--directory", type=Path, default=Path(), help="where files are written, and removed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        run = Path(directory) / "run"
        run.mkdir()
        updates = write_run(run, options.updates, options.people)
        size = (run / JOURNAL).stat().st_size
        cost = measure(run, options.to, Path(directory))
        print(f"{updates:,} updates, {size / 1e6:,.0f} MB of journal, to {options.to}: {cost.seconds:.1f} s, ", end="")
        print(f"{cost.cpu_s:.1f} s of a processor, {cost.megabytes:,.0f} MB resident at most")


if __name__ == "__main__":
    main()
