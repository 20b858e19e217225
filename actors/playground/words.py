"""What a move changed, and what a fan of seeds says, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec

from actors.playground.world import Measured, Played
from prism.answers import words_of
from prism.wording import counted


def changed_in_words(before: Played | None, now: Played) -> list[str]:
    """Return the difference of a run from the one before, as a sentence; nothing for the first run."""
    if before is None:
        return []
    if before.digest == now.digest:
        return ["This run is the run before, to the byte."]
    others = {each.place: each.value for each in before.measures}
    changed, same = list[str](), list[str]()
    for each in now.measures:
        if each.place in others:
            said = words_of(each.name, each.place).change(each.value, others[each.place])
            if said == "the same":
                same.append(each.label)
            else:
                changed.append(f"{each.label} {said} ({_amount(each, others[each.place])} → {each.said})")
    told = [f"Beside the run before: {', '.join(changed)}."] if changed else []
    return [*told, *([f"The same: {', '.join(same)}."] if same else [])]


def fan_in_words(now: Mapping[int, Played], before: Mapping[int, Played]) -> list[str]:
    """Return the mean of each measure over seeds with its interval, and the changes that seeds do not explain.

    Args:
        now, before: `{seed: run}`; the same seed has the same draws in both.
    """
    runs = list(now.values())
    told = []
    for place, each in enumerate(runs[0].measures):
        values = [run.measures[place].value for run in runs if len(run.measures) > place]
        told.append(f"{each.label} {_interval(each, values)}")
    sentences = [f"Mean over {counted(len(runs), 'seed')}, with its 95% interval: {', '.join(told)}."]
    paired = sorted(now.keys() & before.keys())
    if len(paired) == len(runs):
        sentences += _differences([now[seed] for seed in paired], [before[seed] for seed in paired])
    return sentences


def _differences(now: Sequence[Played], before: Sequence[Played]) -> Iterator[str]:
    clear, unclear = list[str](), list[str]()
    for place, each in enumerate(now[0].measures):
        pairs = [
            (one.measures[place].value, other.measures[place].value)
            for one, other in zip(now, before, strict=True)
            if min(len(one.measures), len(other.measures)) > place
        ]
        differences = [one - other for one, other in pairs]
        if not any(differences):
            continue
        low, high = _ends(differences)
        if len(set(differences)) > 1 and (low is None or high is None or low <= 0 <= high):
            unclear.append(each.label)
            continue
        first, second = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
        clear.append(f"{each.label} {words_of(each.name, each.place).change(first, second)}")
    if clear:
        yield f"Changed beyond chance, over the same {len(now)} seeds: {', '.join(clear)}."
    if unclear:
        yield f"Within chance: {', '.join(unclear)}."


def _interval(each: Measured, values: Sequence[float]) -> str:
    low, high = _ends(values)
    mean = sum(values) / len(values)
    said = words_of(each.name, each.place).amount(mean, bare=True)
    return said if low is None or high is None else f"{said} ({_amount(each, low)} to {_amount(each, high)})"


def _amount(each: Measured, value: float) -> str:
    return words_of(each.name, each.place).amount(value, bare=True)


def _ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the ends of the 95% interval of a mean; none for few values, or without scipy."""
    if find_spec("scipy") is None:
        return None, None
    from prism.experiment import described  # noqa: PLC0415  # scipy takes half a second to import

    found = described(values)
    return found.low, found.high
