"""The interventions that a run has carried out, in words, and the reactions to their posts."""

from __future__ import annotations

import msgspec

from actors.runtime.simulation import Simulation
from prism.config import InterventionConfig
from prism.config.interventions import planned
from prism.quoting import as_text
from prism.wording import counted

TEXT_MAX = 60
"""The most characters of a post's text."""
NAMED_MAX = 4
"""The most people, settings or indicators that are named."""


class DoneIntervention(msgspec.Struct, frozen=True, kw_only=True):
    """An intervention that was carried out.

    Args:
        tick: the tick at whose beginning it happened; `round`: its round, from 1 on.
        index: its place in the configuration's list, from 0 on.
        kind: the kind of intervention, such as `publish`; `what`: its object, in words.
        reactions: likes of a published post, and replies to it and reshares of it; None for another intervention.
    """

    tick: int
    round: int
    index: int
    kind: str
    what: str
    reactions: int | None = None


def interventions_done(simulation: Simulation) -> list[DoneIntervention]:
    """Return the interventions of a run so far, in the order in which they happened."""
    config, engine = simulation.config, simulation.engine
    places = {id(each): index for index, each in enumerate(config.interventions)}
    length = config.simulation.ticks_per_round
    return [
        DoneIntervention(
            tick=tick,
            round=tick // length + 1,
            index=places[id(each)],
            kind=each.kind,
            what=what(each),
            reactions=engine.reactions.of(number) if each.publish is not None else None,
        )
        for number, (tick, each) in enumerate(planned(config.interventions, length))
        if tick < engine.tick
    ]


def what(each: InterventionConfig) -> str:
    """Return the object of an intervention, without its kind, in one line."""
    if each.publish is not None:
        text = " ".join((each.publish.text or f"post {each.publish.post} of the file").split())
        return f'by {each.publish.author}: "{text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 3] + "..."}"'
    if each.set is not None:
        return _some([f"{path}={as_text(value)}" for path, value in each.set.items()])
    if each.shock is not None:
        return _some([f"{name} {points:+g}" for name, points in each.shock.items()])
    if each.silence is not None:
        until = "" if each.until_round is None else f" until round {each.until_round:,}"
        return _some([str(agent) for agent in each.silence]) + until
    ties = each.follow or each.unfollow or ()
    return counted(len(ties), "tie") if len(ties) > NAMED_MAX else _some([f"{one} to {other}" for one, other in ties])


def _some(texts: list[str]) -> str:
    more = len(texts) - NAMED_MAX
    return ", ".join(texts[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")
