"""The show of the lights: a table of their phases, a panel for each light, and the names of the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from junction.light import Light
from prism.agents import Question, Update
from prism.show import Message, Number, Show
from prism.tables import AGENT, INTEGER, NAME, RUN, Table, column

PHASES = Table(
    name="phases",
    about="a time in which a light kept its colour, in the order of their ends; at last those that the run has cut off",
    columns=(
        RUN,
        AGENT,
        column("colour", NAME, "red, green or amber"),
        column("from_tick", INTEGER, "its first tick", "ticks"),
        column("ticks", INTEGER, "its length", "ticks"),
        column("cars", INTEGER, "cars that waited when the oracle was asked about its end; empty if it was not asked"),
    ),
    query="""
WITH ends AS (
    SELECT run, agent, tick, rowid AS place, kind_from_state(kind)::VARCHAR AS colour
    FROM journal.updates
    WHERE kind_moves(kind)
    UNION ALL
    SELECT run, agent, ticks, 1::BIGINT << 62, state FROM agents JOIN runs USING (run)
),
phases AS (
    SELECT *, lag(tick) OVER (PARTITION BY run, agent ORDER BY place) AS before FROM ends
)
SELECT
    p.run, p.agent, p.colour, coalesce(p.before, 0) AS from_tick, p.tick - coalesce(p.before, 0) AS ticks,
    CASE WHEN q.tick > coalesce(p.before, -1) THEN q.context::BIGINT END AS cars
FROM phases AS p
ASOF LEFT JOIN journal.questions AS q ON q.run = p.run AND q.agent = p.agent AND q.tick <= p.tick
ORDER BY p.place, p.agent
""",
)


class TrafficShow(Show):
    """The tables, names and panels of the lights. PRISM finds it as `SHOW` in `domain.py`."""

    agent = "light"
    agents = "lights"
    title = "The traffic"
    numbers = (
        Number(column="waiting", name="cars that wait"),
        Number(column="passed", name="cars that passed", is_total=True),
    )
    compared = ("rounds.mean.waiting",)
    tables = (PHASES,)

    def name(self, agent: int) -> str:
        """Return the name of a light."""
        return f"light {agent + 1}"

    def panel(self, agent: int, messages: Sequence[Message]) -> dict[str, Any]:
        """Return what is shown of a light beside its colour."""
        greens = sum(isinstance(each, Update) and each.to_state == Light.GREEN for each in messages)
        asked = [each.context for each in messages if isinstance(each, Question)]
        return {"turned green": greens, "cars at its last question": asked[-1] if asked else None}

    def seen(self, context: Any) -> dict[str, Any]:
        """Return what a light saw with a trigger."""
        return {"cars that wait": context}
