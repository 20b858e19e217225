"""The content of recorded runs, as a scorecard needs it: cascades, posts and hours, or the columns of an economy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from actors.core.errors import JournalError, RunDirectoryError
from actors.core.state import RoundsTable
from actors.factory.domains import show_of
from actors.factory.input_files import fitting_memory, read_input
from actors.store.course import Course, Posts, read_course
from actors.store.manifest import read_summary
from actors.store.rounds import ROUNDS, read_rounds
from actors.store.run import Recorded
from prism.config import Config
from prism.economy.moments import COLUMNS, QUARTERS_MIN
from prism.economy.series import EXPECTED, YEAR_QUARTERS, Figures, is_series, parse_series
from prism.errors import InputError
from prism.quarter import Quarter
from prism.scorecard.cascades import CASCADE_COLUMNS, Shapes, columns_in, parse_cascades, shapes_in, shapes_of
from prism.scorecard.facts import Feed
from prism.social.people.population import HOUR_COLUMNS, parse_hours

SECONDS_A_MINUTE = 60.0
COMPARED = tuple(name for name in Config.__struct_fields__ if name not in ("run", "metrics"))
"""The sections in which runs that are judged together are equal."""


def observed_configs(paths: Sequence[Path]) -> dict[Path, Config]:
    configs, first, seeds = dict[Path, Config](), paths[0], dict[int, Path]()
    for path in paths:
        run = Recorded(path)
        if not {"cascades", "quarters"} & {*run.show.pictures}:
            problem = f"has the domain {run.domain_name}; only social runs and economies have stylised facts"
            raise RunDirectoryError(f"{path}: {problem}")
        if not run.summary_fields:
            raise RunDirectoryError(f"{path}: has not ended; `prism resume {path}` goes on with it")
        config = configs[path] = run.config
        different = [name for name in COMPARED if _settings(config, name) != _settings(configs[first], name)]
        if different:
            raise RunDirectoryError(
                f"{path}: expected runs of one configuration with different seeds; "
                f"{different[0]} is not that of {first}"
            )
        same = seeds.setdefault(config.simulation.seed, path)
        if same is not path:
            raise RunDirectoryError(f"{path}: has the seed of {same}: the same run twice tells no more than once")
    return configs


def _settings(config: Config, section: str) -> Any:
    settings = msgspec.to_builtins(getattr(config, section))
    if section == "simulation":
        del settings["seed"]
    return settings


def observed_feed(path: Path, config: Config) -> Feed:
    """Return the cascades, posts and hours of a social run, from its journal.

    Originals of the last `feed.horizon_rounds`, or of the second half of a short run, are left out: their cascades may
    still grow.
    """
    course = read_course(path, "posts", "likes")
    summary = read_summary(path)
    if course.ticks != summary.get("ticks"):
        problem = f"{course.ticks:,} ticks can be read, and the run has {summary.get('ticks', 0):,}"
        raise JournalError(f"{path}: its journal is damaged: {problem}; `prism verify {path}` says where")
    return feed_of(course, engagement_in(summary), config)


def feed_of(course: Course, engagement_per_post_seen: float | None, config: Config) -> Feed:
    """Return the cascades, posts and hours of a social run, without its youngest originals, as in `observed_feed`."""
    rounds = config.feed.horizon_rounds * config.simulation.ticks_per_round
    last = course.ticks - min(rounds, course.ticks // 2)
    posts = course.posts
    originals = np.flatnonzero(posts.above < 0)
    is_old = posts.ticks[originals] < last
    return Feed(
        shapes=shapes_of_posts(posts, config.simulation.tick_seconds / SECONDS_A_MINUTE).where(is_old),
        authors=posts.authors[originals[is_old]],
        posts_by_person=np.bincount(posts.authors, minlength=course.header.agents),
        ticks=course.activity_ticks,
        epoch=config.simulation.epoch,
        tick_seconds=config.simulation.tick_seconds,
        length=course.ticks,
        engagement_per_post_seen=engagement_per_post_seen,
        left_out=int((~is_old).sum()),
    )


def shapes_of_posts(posts: Posts, tick_minutes: float = 1.0) -> Shapes:
    """Return the shapes of the cascades of posts, in the order of their originals."""
    minutes = np.asarray((posts.ticks - posts.ticks[posts.roots]) * tick_minutes, np.float64)
    return shapes_in(posts.above, minutes)


def engagement_in(summary: Mapping[str, Any]) -> float | None:
    """Return the engagement per post seen in a summary; None if nobody has seen a post."""
    behaviour = summary.get("behaviour")
    ratio = behaviour.get("engagement_per_post_seen") if isinstance(behaviour, dict) else None
    return ratio if summary.get("posts_seen") and isinstance(ratio, float) else None


def start_quarter(config: Config) -> Quarter | None:
    """Return the quarter from whose figures an economy starts, if it starts in a real one that is named."""
    named = config.economy.initial.quarter
    try:
        return None if named is None else Quarter.parse(named)
    except ValueError:
        return None


def observed_economy(path: Path) -> RoundsTable:
    rounds = read_rounds(path)
    if not rounds:
        raise JournalError(f"{path / ROUNDS}: there is none; `prism resume` writes it again")
    missing = [name for name in COLUMNS if name not in rounds]
    if missing:
        raise JournalError(f"{path / ROUNDS}: expected the columns of an economy, missing: {', '.join(missing)}")
    quarters = len(next(iter(rounds.values())))
    if quarters < QUARTERS_MIN:
        raise RunDirectoryError(f"{path}: expected an economy of at least {QUARTERS_MIN} quarters, got {quarters}")
    return rounds


KINDS = (
    f"cascades ({','.join(CASCADE_COLUMNS)}), hours ({HOUR_COLUMNS[0]} to {HOUR_COLUMNS[-1]}) or quarters ({EXPECTED})"
)


class Real(NamedTuple):
    cascades: Shapes | None = None
    hours: Sequence[Sequence[float]] = ()
    quarters: tuple[Figures, ...] = ()
    source: str = ""


def read_real(files: Sequence[str], config: Config) -> Real:
    """Return the real figures of files, recognised by their columns; no figures without a file."""
    real, pictures = Real(), show_of(config).pictures
    for file in files:
        with fitting_memory(file):
            source = read_input(file)
            columns = columns_in(source.data, source.name)
            if set(CASCADE_COLUMNS) <= {*columns}:
                kind, real = "cascades", real._replace(cascades=shapes_of(parse_cascades(source.data, source.name)))
            elif set(HOUR_COLUMNS) <= {*columns}:
                kind, real = "cascades", real._replace(hours=parse_hours(source.data, source.name).counts.tolist())
            elif is_series(columns):
                quarters = parse_series(source.data, source.name).quarters
                least = YEAR_QUARTERS + QUARTERS_MIN  # moments begin after the first year
                if len(quarters) < least:
                    raise InputError(source.name, f"expected at least {least} quarters, got {len(quarters)}")
                kind, real = "quarters", real._replace(quarters=quarters, source=Path(source.name).name)
            else:
                raise InputError(source.name, f"expected the columns of {KINDS}, got {','.join(columns[:6])}", line=1)
        if kind not in pictures:
            problem = f"has figures for runs with {kind}, and these are {config.simulation.domain} runs"
            raise InputError(source.name, problem)
    return real
