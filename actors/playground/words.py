"""Sentences on the change that a move made, and on a fan of seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec

from actors.playground.world import Measured, Played
from prism.answers import words_of
from prism.wording import counted


def changed_in_words(before: Played | None, now: Played) -> list[str]:
    """Return the difference of a run from the one before, as sentences; none for the first run."""
    if before is None:
        return []
    if before.digest == now.digest:
        return ["This run is the run before, to the byte."]
    changed, same = list[str](), list[str]()
    others = {each.place: each for each in before.measures}
    for each in now.measures:
        if (other := others.get(each.place)) is not None:
            said = words_of(each.place, each.place).change(each.value, other.value)
            is_same = said == "the same"
            (same if is_same else changed).append(
                f"{each.label}{'' if is_same else f' {said} ({other.said} → {each.said})'}"
            )
    return [*_listed("Beside the run before: ", changed), *_listed("The same: ", same)]


def fan_in_words(now: Mapping[int, Played], before: Mapping[int, Played]) -> list[str]:
    """Return the mean of each measure over seeds with its interval, and the changes that seeds do not explain.

    Args:
        now, before: `{seed: run}`; the same seed has the same draws in both.
    """
    columns = [*_columns(now.values())]
    told = [f"{each.label} {_interval(each, values)}" for each, values in columns]
    sentences = _listed(f"Mean over {counted(len(now), 'seed')}, with its 95% interval: ", told)
    if not now.keys() <= before.keys():
        return sentences
    clear, unclear = list[str](), list[str]()
    columns_before = {each.place: others for each, others in _columns([before[seed] for seed in now])}
    for each, values in columns:
        if (others := columns_before.get(each.place)) is None:
            continue
        differences = [one - other for one, other in zip(values, others, strict=True)]
        low, high = _ends(differences)
        if not any(differences):
            continue
        if len(set(differences)) > 1 and (low is None or high is None):
            continue  # without scipy nothing tells a change from chance
        if low is not None and high is not None and low <= 0 <= high:
            unclear.append(each.label)
        else:
            change = words_of(each.place, each.place).change(sum(values) / len(values), sum(others) / len(others))
            clear.append(f"{each.label} {change}")
    beyond = f"Changed beyond chance, over the same {len(now)} seeds: "
    return [*sentences, *_listed(beyond, clear), *_listed("Within chance: ", unclear)]


def _listed(about: str, told: Sequence[str]) -> list[str]:
    return [f"{about}{', '.join(told)}."] if told else []


def _columns(runs: Iterable[Played]) -> Iterator[tuple[Measured, list[float]]]:
    """Yield each measure that all runs have, with its value in each."""
    first, *others = ({each.place: each for each in run.measures} for run in runs)
    for place, each in first.items():
        if all(place in other for other in others):
            yield each, [each.value, *(other[place].value for other in others)]


def _interval(each: Measured, values: Sequence[float]) -> str:
    ends, words = _ends(values), words_of(each.place, each.place)
    mean, *rest = (words.amount(value, bare=True) for value in (sum(values) / len(values), *ends) if value is not None)
    return f"{mean} ({' to '.join(rest)})" if rest else mean


def _ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the ends of the 95% interval of a mean; none for few or equal values, or without scipy."""
    if find_spec("scipy") is None:
        return None, None
    from prism.experiment import described  # noqa: PLC0415  # scipy takes half a second to import

    found = described(values)
    return found.low, found.high
