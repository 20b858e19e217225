"""The questions of a run as a table, each joined with its answer in the oracle's log and with its effect."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from actors.core.kinds import ASKED
from actors.core.messages import Decided
from actors.results.part import Part, used_kinds
from actors.results.people import BuiltOnce
from actors.results.table_files import Rows
from actors.store.answers import answers_by_question, judgements_in
from actors.store.messages import questions_in
from actors.store.oracle_log import ANSWERS
from actors.store.record import Block, tick_of_rows
from actors.store.run import Recorded
from prism.agents import DECIDED, STALE
from prism.agents.waves import Kind
from prism.cells import Cells
from prism.columns import Ints
from prism.domain import Domain
from prism.llm.question_id import question_id
from prism.llm.spending import USEFUL, cost_usd
from prism.sharing.audit import divergence_from
from prism.sharing.settings import archetypes_of, fields_of
from prism.sharing.table import words_of
from prism.tables import Value

_encode = msgspec.msgpack.Encoder().encode
_NO_COSTS = (None,) * 8


class Questions(Part):
    """The rows of `questions`.

    A decision takes effect some ticks after its question, so all decisions are read before the first row is written.
    """

    def __init__(self, run: Recorded, rows: Rows, built: BuiltOnce) -> None:
        super().__init__(run)
        self.before = {"questions": ("agent", "kind"), "updates": ("agent", "kind")}
        self.wanted = run.record.all_of("questions")
        self._rows, self._built = rows, built
        self._triggers: dict[str, int] = {}
        self._noted: list[Ints] = [np.empty((4, 0), np.int64)]
        """Of each question and decision the agent and trigger as one number, the tick, the wave, and the kind."""
        self._decided = np.empty((2, 0), np.int64)
        """Of each question that has no row yet the kind of the decision, -1 for none, and its tick."""
        self._answers = answers_by_question(run.path)
        self._lost = 0
        """The number of a model's answers that took effect but are missing in the log."""

    def look(self, block: Block) -> None:
        kinds = self.run.record.kinds
        triggers = np.array([self._triggers.setdefault(kind.trigger, len(self._triggers)) for kind in kinds], np.int64)
        is_told = np.array([kind.source in (ASKED, *DECIDED) or kind.reason == STALE for kind in kinds], np.bool_)
        for table in (block.tables["questions"], block.tables["updates"]):
            codes = table.columns["kind"]
            told = np.flatnonzero(is_told[codes])
            names = triggers[codes[told]] * self.run.header.agents + table.columns["agent"][told]
            ticks, waves = (np.repeat(each, table.rows)[told] for each in (table.ticks, table.waves))
            self._noted.append(np.array((names, ticks, waves, codes[told])))

    def ready(self) -> None:
        """Join each question with the next decision of its agent and trigger, if no other question comes before it."""
        names, ticks, waves, codes = np.concatenate(self._noted, axis=1)
        is_asked = np.array([kind.source == ASKED for kind in self.run.record.kinds], np.bool_)[codes]
        order = np.lexsort((waves, ticks, names))
        asked, following = order[:-1], order[1:]
        is_decided = is_asked[asked] & ~is_asked[following] & (names[asked] == names[following])
        found = np.full((2, len(names)), -1)
        found[:, asked[is_decided]] = codes[following[is_decided]], ticks[following[is_decided]]
        self._decided = found[:, is_asked]
        self._noted.clear()

    def take(self, block: Block) -> None:
        run, kinds, table = self.run, self.run.record.kinds, block.tables["questions"]
        if not len(ticks := tick_of_rows(table)):
            return
        asked = [*questions_in(ticks.tolist(), [*table.columns.values()], run.record.shapes, kinds)]
        answers = [*map(self._answers.take, asked)] if self._answers.are_left() else [None] * len(asked)
        (codes, decided), self._decided = self._decided[:, : len(ticks)], self._decided[:, len(ticks) :]
        told = [*map(_outcome, kinds), (None, None, None)]  # the last one is that of no decision
        option, source, reason = (Cells.of_texts(each).at(codes) for each in zip(*told, strict=True))
        sources: list[Value] = source.listed()
        for place, answer in enumerate(answers):
            if answer is None:
                self._lost += sources[place] == "llm"
            elif sources[place] is None and codes[place] >= 0:  # too late for the agent: the log says who it was
                sources[place] = answer.source
        used, of_kind = used_kinds(kinds, table.columns["kind"])
        trigger, state, _, _, options, _ = (Cells.of_texts(each).at(of_kind) for each in zip(*used, strict=True))
        self._rows.extend(
            Cells.same(run.name, len(ticks)),
            [question_id(run.header.seed, each.tick, each.agent, _encode(each)) for each in asked],
            *(ticks, run.times(ticks), table.columns["agent"], trigger, state, options),
            [run.show.post(each.context) for each in asked],
            *(option, sources, reason, [each.method or None if each else None for each in answers]),
            Cells.from_zero(decided),
            self._built.probabilities(asked, table.columns),
            *zip(*map(self._costs, answers), strict=True),
        )

    def finish(self) -> None:
        if self._lost:
            lost = "1 answer" if self._lost == 1 else f"{self._lost:,} answers"
            self.run.notes.append(f"{ANSWERS} lacks {lost}, whose latency and cost are not known")

    def _costs(self, answer: Decided | None) -> Sequence[Value]:
        if answer is None:
            return _NO_COSTS
        spent = answer.spent
        return (
            answer.content or None,
            answer.latency_s,
            sum(each.calls for each in spent),
            sum(each.calls for each in spent if each.outcome != USEFUL),
            sum(each.prompt_tokens for each in spent),
            sum(each.cached_tokens for each in spent),
            sum(each.completion_tokens for each in spent),
            cost_usd(spent, self.run.config.llm.prices),
        )


def _outcome(kind: Kind) -> tuple[str | None, str | None, str | None]:
    """Return answer, source and reason of a question that was decided in this way."""
    if kind.source in DECIDED:
        return kind.to_state, kind.source, kind.reason or None
    return None, None, kind.reason


def add_judgements(run: Recorded, rows: Rows, domain: Domain) -> None:
    """Add the judgements of the oracle's log up to the end of the journal, by tick and agent."""
    archetypes = archetypes_of(run.config, fields_of(run.config, domain))
    for judged in sorted(judgements_in(run.path), key=lambda each: (each.asked, each.name)):
        if judged.asked >= run.length:
            continue
        state, _, *options = map(str, judged.kind)
        rows.add(
            run.name,
            judged.asked,
            run.time_at(judged.asked),
            judged.agent,
            judged.trigger,
            state,
            words_of(archetypes, judged.key),
            judged.is_audit,
            _shares(options, judged.probabilities),
            _shares(options, judged.shared) if judged.is_audit else None,
            divergence_from(judged, judged.shared) if judged.is_audit else None,
            judged.chance,
            judged.samples,
            msgspec.json.encode(dict(zip(archetypes.names, judged.values, strict=False))).decode(),
        )


def _shares(options: list[str], shares: tuple[float, ...]) -> str:
    return msgspec.json.encode(dict(zip(options, shares, strict=True))).decode()
