"""Sentences on the change that a move made, and on a fan of seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actors.playground.world import Measures, Played
from prism.answers import words_of
from prism.wording import counted

SEEDS_LEAST = 5
"""The fewest seeds from which a change is said to be beyond chance, or within it."""


def changed_in_words(before: Measures | None, now: Played, *, is_same: bool) -> list[str]:
    """Return the difference of a run from the one before, as sentences; none for the first run."""
    if before is None:
        return []
    if is_same:
        return ["This run is the run before, to the byte."]
    changed, same = list[str](), list[str]()
    for each in now.measures:
        if (value := before.get(each.place)) is not None:
            words = words_of(each.place, each.place)
            said = words.change(each.value, value)
            if said == "the same":
                same.append(each.label)
            else:
                changed.append(f"{each.label} {said} ({words.amount(value, bare=True)} → {each.said})")
    return [*_listed("Beside the run before: ", changed), *_listed("The same: ", same)]


def fan_in_words(now: Mapping[str, Measures], before: Mapping[str, Measures], shown: Played) -> list[str]:
    """Return the mean of each measure over seeds with its interval, and the changes that seeds do not explain.

    Args:
        now, before: `{seed: measures}`; the same seed has the same draws in both.
        shown: one of the runs, whose measures are told.
    """
    told, clear, unclear, same = (list[str]() for _ in range(4))
    both = [seed for seed in now if seed in before]
    for each in shown.measures:
        words, place = words_of(each.place, each.place), each.place
        if not all(place in run for run in now.values()):
            continue
        values = [run[place] for run in now.values()]
        ends = (value for value in (sum(values) / len(values), *_ends(values)) if value is not None)
        mean, *rest = (words.amount(value, bare=True) for value in ends)
        told.append(f"{each.label} {mean}" + (f" ({' to '.join(rest)})" if rest else ""))
        if len(both) < SEEDS_LEAST or not all(place in before[seed] for seed in both):
            continue
        one, other = ([runs[seed][place] for seed in both] for runs in (now, before))
        differences = [after - then for after, then in zip(one, other, strict=True)]
        low, high = _ends(differences)
        if not any(differences):
            same.append(each.label)
        elif low is not None and high is not None and low <= 0 <= high:
            unclear.append(each.label)
        else:
            clear.append(f"{each.label} {words.change(sum(one) / len(one), sum(other) / len(other))}")
    return [
        *_listed(f"Mean over {counted(len(now), 'seed')}, with its 95% interval: ", told),
        *_listed(f"Changed beyond chance, over the same {len(both)} seeds: ", clear),
        *_listed("Within chance: ", unclear),
        *_listed("The same under each of these seeds: ", same),
    ]


def _listed(about: str, told: Sequence[str]) -> list[str]:
    return [f"{about}{', '.join(told)}."] if told else []


def _ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the ends of the 95% interval of a mean; None for few or equal values."""
    from prism.experiment.hypothesis_tests import described  # noqa: PLC0415  # scipy takes half a second to import

    found = described(values)
    return found.low, found.high
