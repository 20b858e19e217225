"""Tables, names and panels of an economy: its nations, its indicators, and the reasoning behind each step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice
from typing import Any, Final

import msgspec

from prism.agents.turn import Question, Update
from prism.answers import INDICATORS, RATES, named
from prism.economy.nation import PolicyStep, Proposed, Reviewed, Situation, clock_of
from prism.models import LLMReasoningChain
from prism.quarter import Quarter
from prism.show import Message, Number, Show
from prism.tables import AGENT, AT, BOOLEAN, INTEGER, NAME, NUMBER, RUN, TEXT, TICK, Table, Value, column

_STEPS: Final = """
WITH steps AS (
    SELECT
        u.run, u.tick, u.agent, u.rowid AS place, kind_trigger(u.kind) AS trigger, kind_to_state(u.kind) AS state,
        e.value ->> '$.type' AS type, e.value -> '$.decision' AS decision, e.value -> '$.chain' AS chain,
        (e.value ->> '$.indicators.interest_rate')::DOUBLE AS rate
    FROM journal.updates AS u
    JOIN journal.effects AS e USING (run, tick, wave, agent)
    WHERE kind_moves(u.kind)
)
"""
"""The steps of proposals: the start of a query."""
CHAINS: Final = Table(
    name="chains",
    about="the reasoning behind a step of a nation's proposal",
    columns=(
        RUN,
        TICK,
        AT,
        AGENT,
        column("nation", TEXT, "name of the nation"),
        column("component", NAME, "who reasoned: agent, validator or engine"),
        column("trigger", NAME, "step of the quarter: turn_begins, review or apply"),
        column("chain", TEXT, "id of the chain, as the log has it"),
        column("action", TEXT, "action proposed, judged or applied"),
        column("is_valid", BOOLEAN, "what the validator found"),
        column("new_interest_rate", NUMBER, "rate that the engine set", "percent a year"),
        column("reasoning", TEXT, "reasoning in words"),
        column("confidence", NUMBER, "confidence of the component, 0 to 1"),
        column("model", TEXT, "model that answered"),
        column("prompt", TEXT, "question; empty for the embedded oracle"),
        column("response", TEXT, "answer, unchanged"),
    ),
    query=_STEPS
    + """
SELECT
    s.run, s.tick, moment(s.run, s.tick) AS time, s.agent, a.name AS nation, s.chain ->> '$.component' AS component,
    s.trigger, chain_id(s.chain::VARCHAR) AS chain,
    last_value(CASE s.type WHEN 'proposed' THEN s.decision ->> '$.action' END IGNORE NULLS) OVER of_quarter AS action,
    CASE s.type WHEN 'reviewed' THEN (s.decision ->> '$.is_valid')::BOOLEAN END AS is_valid,
    CASE s.type WHEN 'applied' THEN (s.decision ->> '$.new_interest_rate')::DOUBLE END AS new_interest_rate,
    s.chain ->> '$.reasoning' AS reasoning, (s.chain ->> '$.confidence')::DOUBLE AS confidence,
    nullif(s.chain ->> '$.model', '') AS model, nullif(s.chain ->> '$.prompt', '') AS prompt,
    s.chain ->> '$.response' AS response
FROM steps AS s
JOIN agents AS a USING (run, agent)
WINDOW of_quarter AS (PARTITION BY s.run, s.tick, s.agent ORDER BY s.place)
ORDER BY s.place
""",
)
QUARTERS: Final = Table(
    name="indicators",
    about="a quarter: of each nation, and, after these rows, of the whole economy at the end of each round",
    columns=(
        RUN,
        column("quarter", INTEGER, "the quarter, from 1 on"),
        TICK,
        AT,
        column("agent", INTEGER, "the nation; empty for the whole economy", key="agents.agent"),
        column("nation", TEXT, "its name"),
        column("outcome", NAME, "of the proposal: applied, accepted, rejected or proposed"),
        column("action", TEXT, "what the nation proposed"),
        column("interest_rate", NUMBER, "after the nation's action; for the economy at the end", "percent a year"),
        column("inflation", NUMBER, "at the end of the quarter", "percent a year"),
        column("gdp_growth", NUMBER, "growth of output, at the end of the quarter", "percent a year"),
        column("unemployment", NUMBER, "at the end of the quarter", "percent of the labour force"),
        column("total_economic_value", NUMBER, "at the end of the quarter", "as configured"),
    ),
    query=_STEPS  # noqa: S608
    + """, proposals AS (
    SELECT
        run, tick, agent,
        arg_max(CASE type WHEN 'proposed' THEN type ELSE state::VARCHAR END, place) AS outcome,
        arg_max(decision ->> '$.action', place) FILTER (type = 'proposed') AS action,
        arg_max(coalesce(rate, (decision ->> '$.new_interest_rate')::DOUBLE), place) FILTER (type = 'applied') AS rate
    FROM steps
    GROUP BY ALL
),
quarters AS (
    SELECT run, agent, name AS nation, unnest(range(ticks)) AS tick FROM agents JOIN runs USING (run)
    WHERE domain = 'economy'
)
SELECT
    run, tick + 1 AS quarter, tick, moment(run, tick) AS time, agent, nation, outcome, action, rate AS interest_rate,
    NULL AS inflation, NULL AS gdp_growth, NULL AS unemployment, NULL AS total_economic_value
FROM quarters LEFT JOIN proposals USING (run, tick, agent)
UNION ALL
SELECT
    run, tick, tick - 1, moment(run, tick - 1), NULL, NULL, NULL, NULL, interest_rate, inflation, gdp_growth,
    unemployment, total_economic_value
FROM rounds JOIN runs USING (run)
WHERE domain = 'economy'
ORDER BY run, agent IS NULL, tick, agent
""",
)


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One answer about a nation's proposal."""

    kind: str  # `proposed`, `reviewed` or `applied`
    text: str = ""  # what was proposed, judged or done; `reasoning`: why
    reasoning: str = ""
    # from 0 to 1; None if it was not given. A model states its own confidence; the embedded oracle computes a
    # probability by its formula.
    confidence: float | None = None
    prompt: str = ""  # the question as a model read it; empty if no model was asked
    source: str
    model: str = ""
    reason: str = ""


class Seat(msgspec.Struct, kw_only=True):
    """A nation in the council: how far its proposal came, and each stage of it."""

    agent: int
    name: str
    share: float  # its part of all economic strength, from 0 to 1
    state: str = ""
    stages: list[Stage] = []


class Council(msgspec.Struct, frozen=True, kw_only=True):
    """The council in one quarter."""

    tick: int
    before: dict[str, float]  # the indicators that the nations saw, by name
    seats: list[Seat]


def _stage(update: Update[Any]) -> Stage:
    if update.effect is None:
        return Stage(kind=update.trigger, source=update.source, reason=update.reason)
    step = msgspec.convert(update.effect, PolicyStep)
    match step:
        case Proposed(decision=policy):
            kind, text = "proposed", policy.action
        case Reviewed(decision=verdict):
            kind, text = "reviewed", "valid" if verdict.is_valid else "not valid"
        case _:
            kind, text = "applied", f"the interest rate becomes {step.decision.new_interest_rate:.2f}%"
    return Stage(
        kind=kind,
        text=text,
        reasoning=step.decision.reasoning,
        confidence=step.decision.confidence,
        prompt=step.chain.prompt,
        source=update.source,
        model=step.chain.model,
        reason=update.reason,
    )


def chain_id(chain: str) -> str:
    return msgspec.json.decode(chain, type=LLMReasoningChain).chain_id


class EconomyShow(Show):
    agent = "nation"
    agents = "nations"
    round = "quarter"
    title = "Indicators"
    pictures = ("quarters",)  # at the end of a quarter all nations are in the same state
    numbers = tuple(Number(column=name, name=each.name, unit=each.scale) for name, each in INDICATORS.items())
    compared = ("rounds.mean.inflation", "rounds.mean.unemployment")
    tables = (CHAINS, QUARTERS)
    functions = (chain_id,)
    agent_columns = (column("economic_strength", NUMBER, "strength of a nation"),)

    def named(self, column: str) -> Number:
        """Return what people call a column, also a count of proposals."""
        found = named(column, INDICATORS)
        target = self.config.economy.taylor.inflation_target if column == "inflation" else None
        return Number(column=column, name=found.name, unit=found.scale, target=target)

    def round_names(self, ticks: Sequence[int]) -> Sequence[str]:
        """Return the quarters after the real one from which the economy starts, or else those of simulated dates."""
        start = self.config.economy.initial.quarter
        if start is not None:
            following = accumulate(ticks, lambda quarter, _: quarter.following, initial=Quarter.parse(start))
            return [str(quarter) for quarter in islice(following, 1, None)]
        try:
            dates = map(clock_of(self.config).at, ticks)
            return [str(Quarter(date.year, (date.month + 2) // 3)) for date in dates]
        except OverflowError:  # later than the last year that a date can have
            return []

    def name(self, agent: int) -> str:
        return self.config.economy.nations[agent]

    def agent_values(self, domain: Any) -> dict[str, Sequence[Value]]:  # noqa: ARG002
        return {"economic_strength": self.config.economy.strengths}

    def panel(self, agent: int, messages: Sequence[Message]) -> dict[str, Any]:  # noqa: ARG002
        return {"economic strength (units of account)": self.config.economy.strengths[agent]}

    def council(self, tick: int, messages: Sequence[Message]) -> Council:
        nations, strengths, before = self.config.economy.nations, self.config.economy.strengths, dict[str, float]()
        seats = [
            Seat(agent=agent, name=name, share=strength / sum(strengths))
            for agent, (name, strength) in enumerate(zip(nations, strengths, strict=True))
        ]
        for message in messages:
            if isinstance(message, Question) and not before:
                now = msgspec.convert(message.context, Situation).state.global_state
                before = {INDICATORS[key].name: getattr(now, key) for key in RATES}
            elif isinstance(message, Update):
                seats[message.agent].state = message.to_state
                seats[message.agent].stages.append(_stage(message))
        return Council(tick=tick, before=before, seats=seats)

    def effect_name(self, effect: Any) -> str | None:
        return str(effect["type"])


SHOW = EconomyShow
