"""The audit of a run or of an experiment: its plan with the calls that it takes, and its course."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.factory.domains import build_domain
from actors.factory.input_files import read_input, with_prompt
from actors.oracle.admission import Answer
from actors.runs.compatibility import refuse_other_settings
from actors.store.run import list_run
from actors.studies.audit.asking import AGAIN, MODEL, Answers, Asker, Way, prompt_of, seed_of_way, ways_of
from actors.studies.audit.carried import Carrying
from actors.studies.audit.questions import Asking, Cell, Study, line_of
from actors.studies.audit.record import directory_of
from actors.studies.causes.track import track_of
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.record import CellState, ExperimentRecord, is_experiment, read_experiment_record
from prism.agents import Question
from prism.audit.choices import ChoiceModel, Recorded, fitted
from prism.audit.known import Informant, InformantOracle, Known, Text, known_of, share_over_people, stems
from prism.audit.record import Audit, Claim, Decider, judged
from prism.audit.shift import Asked, Exchange, Position, Shift, exchange_of, followed, positions_of, shift_of
from prism.audit.variety import Variety, calibration_of, variety_of
from prism.audit.words import paragraph_of
from prism.columns import Floats, Ints
from prism.domain import HasFutures
from prism.errors import ConfigError, InputError, OracleUnavailableError, together
from prism.text_files import decode_text, read_table

EXCHANGED: Final = "exchanged"
RULED: Final = "rules"
INFORMANTS: Final = 24  # the questions in which the model is asked to name the study
CHECKS: Final = 3  # the calls that look at a server before it is asked
CALLS: Final = 1000  # the calls of an audit by default, and at most twice those of the study
FEWEST: Final = 8  # the fewest questions that are asked again
CELLS_OF_CONDITION: Final = 2  # the cells of each condition whose questions are asked again
MIXED: Final = 0.1  # two ways whose shares of drawn answers differ by more are compared by shares of options alone
OTHER: Final = "--other"
COLUMNS: Final = ("agent", "choice", "tick")  # of a file with choices of real people
DRAWS: Final = 8  # the draws of a run, or the seeds of an experiment, at which shifts are carried, by default

OnProgress = Callable[[str], None]  # called with what has been done, in words


class Options(NamedTuple):
    """The options of an audit.

    Args:
        calls: the most calls; None for the default.
        other: `a.b=value` each: the settings of another model or host.
        about: what the study is about, in words, besides the question of an experiment.
        against: a CSV file with choices of real people.
        measures: those of a run whose change counts; none for those by which runs of its domain are compared.
        overrides: `a.b=value` each: settings of the oracle that hold for all that is asked.
        draws: the draws of a run, or the most seeds of an experiment, at which shifts are carried to the outcome, and
            the resamples of each shift; 0 carries none.
        jobs: futures at once; the result is the same.
    """

    calls: int | None = None
    other: tuple[str, ...] = ()
    about: str = ""
    against: Path | None = None
    measures: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    draws: int = DRAWS
    jobs: int = 1


class Auditing:
    """An audit that has been planned. Opening it reads the study, and blocks; nothing is asked yet."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path, self._options = path, options
        own = dict.fromkeys(("oracle.tape", "oracle.tape_path"), "answers are kept in the directory of the audit")
        why = "the questions are those of the recorded runs"
        refuse_other_settings(path, options.overrides, own, why)
        refuse_other_settings(path, options.other, own, why, OTHER)
        self._experiment = read_experiment_record(path) if is_experiment(path) else None
        cells, asked = _cells_of(path, self._experiment)
        self.study = Study(cells, asked)
        run = self.study.run(0)
        if not hasattr(run.domain.oracle(), "judge") or run.domain_name == "economy":
            problem = "an audit compares choices among options, such as those of people on a feed"
            raise RunDirectoryError(f"{path}: {problem}; the domain {run.domain_name} asks for something else")
        self._refuse_few(self.study.recorded)
        if self._experiment is not None and options.measures:
            raise RunDirectoryError(f"{path}: --of is for a run; the hypotheses of an experiment name its measures")
        for each in options.measures:
            track_of(run, each)  # refuses an unknown measure before the first call
        self._real = [] if options.against is None else _real_choices(options.against)
        text = with_prompt(run.config)[0].llm.prompt
        self.ways = [each for each in ways_of(run.config, options.other) if each.name != "persona" or "{person" in text]
        self._asker = Asker(self.study, directory_of(path), options.overrides)
        for way in sorted(self.ways, key=lambda each: each.is_other):  # wrong settings are refused before any call
            with naming_other(way.is_other):
                self._asker.config(0, way.name, way.overrides)
        self._exchange = Way(EXCHANGED, "what was seen", (seed_of_way(run.config, 6),))
        most = min(CALLS, 2 * self.study.calls) if options.calls is None else options.calls
        self._fixed = INFORMANTS + 1 + CHECKS * (asked * (len(self.ways) + 3) + bool(options.other))
        # Beside the ways, the exchange asks each question once, and turns of rules take half as many calls.
        questions = int((most - self._fixed) / (self.study.calls_each * (len(self.ways) + 1.5)))
        self.questions = min(questions, self.study.recorded)
        if self.questions < FEWEST:
            least = math.ceil(self.study.calls_each * (len(self.ways) + 2) * FEWEST) + self._fixed
            told = f"--calls {most:,}" if options.calls is not None else f"a study of {self.study.calls:,} calls"
            problem = f"an audit takes {least:,} calls or more, and {told} leaves it {most:,}"
            raise RunDirectoryError(f"{path}: {problem}; set --calls to {least} or more")
        self._notes = list[str]()

    def _refuse_few(self, questions: int) -> None:
        if questions < FEWEST:
            problem = f"{questions:,} of its questions have an answer of the model, and an audit takes {FEWEST} or more"
            problem += "; more people or rounds, or a larger population.ambiguity, make more"
            raise RunDirectoryError(f"{self.path}: {problem}")

    @property
    def calls(self) -> int:
        """The calls that it takes at most."""
        asked = self.questions * (len(self.ways) + 1) + self.questions // 2
        return math.ceil(self.study.calls_each * asked) + self._fixed

    @property
    def plan(self) -> str:
        ways = ", ".join(each.what for each in self.ways)
        cells = "" if self._experiment is None else f" in {self.study.asked:,} of {len(self.study.cells):,} cells"
        again = f"{self.questions:,} of {self.study.recorded:,} recorded questions{cells} are asked again"
        return (
            f"{again}, with one thing changed at a time: {ways}, what was seen; up to {INFORMANTS} times the model is "
            f"asked what is studied: at most {self.calls:,} calls, the study took {self.study.calls:,}"
        )

    async def audit(self, on_progress: OnProgress = lambda _: None) -> Audit:
        """Ask, carry the answers to the outcome, and return what was found.

        Raises:
            OracleUnavailableError: the model cannot be asked, or stayed away. Answers that came are kept.
        """
        study, options = self.study, self._options
        seed = study.run(0).config.simulation.seed
        for way in self.ways:
            if way.is_other:  # if it is not there, nothing else is asked in vain
                with naming_other(is_other=True):
                    await self._asker.check(way)
        on_progress("replaying the recorded questions")
        await study.gather(self.questions, self.questions // 2, seed)
        recorded, rows = study.in_columns(), study.sample
        self._refuse_few(len(rows))  # fallbacks were recorded, too
        if unknown := next((each for each in self._real if each.option not in recorded.options), None):
            expected = f"expected one of: {', '.join(recorded.options)}, got {unknown.option!r:.80}"
            raise InputError(str(options.against), expected, key="choice", line=unknown.line)
        asker, answers = self._asker, dict[str, Answers]()

        def step(what: str) -> None:
            on_progress(f"{asker.calls:,} of at most {self.calls:,} calls; asking {what}")

        for way in self.ways:
            step(f"{len(rows):,} questions with another {way.what}")
            answers[way.name] = await asker.answers(way, rows)
        step(f"{len(rows):,} questions with what another person saw")
        partners = _partners(study, rows)
        swapped = {
            row: rows[row]._replace(question=replace(rows[row].question, context=its.question.context))
            for row, its in partners.items()
        }
        exchanged = await asker.answers(self._exchange, swapped)
        step(f"about {len(study.ruled):,} turns that rules settled")
        ruled = await asker.answers(Way(RULED, "model in place of the rules"), study.ruled)
        step("what is being studied")
        known, plain = await self._informed(asker)
        if (count := len(answers[AGAIN].rows)) < FEWEST:
            reasons = ", ".join(f"{reason} {times:,}" for reason, times in answers[AGAIN].missing.items())
            problem = f"only {count:,} of {len(rows):,} questions got an answer ({reasons})"
            raise OracleUnavailableError(f"{self.path}: {problem}; answers are kept, and the same command goes on")
        compared = _Compared(study, recorded, answers[AGAIN])
        shifts = [compared.shift(way, answers[way.name], seed) for way in self.ways]
        self._note_limits(compared, answers, [exchanged, ruled])
        model = fitted(recorded)
        moved = [
            (way.what, compared.differences(answers[way.name]))
            for way in self.ways
            if way.name != AGAIN and len(answers[way.name].rows) >= FEWEST
        ]
        claims, measures = self.claims() if options.draws else ([], {})
        values = {} if self._experiment is None else self._experiment.values
        carrying = Carrying(
            study, claims, measures, self.replicates(), values, options.draws, options.jobs, on_progress
        )
        claims, futures = await carrying.carried(recorded, model, moved, seed)
        found = Audit(
            study=self.path.resolve().name,
            digests=tuple(list_run(each.path).digest for each in study.cells),
            oracle=answers[AGAIN].oracle,
            cells=study.asked,
            recorded=len(study.askings),
            sampled=len(rows),
            calls=asker.calls,
            calls_of_study=study.calls,
            fallbacks=study.fallbacks,
            shifts=tuple(shifts),
            positions=self._positions(answers, seed),
            claims=tuple(claims),
            futures=futures,
            known=known,
            ruled=_against_rules(study, ruled, seed),
            exchange=compared.exchange(exchanged, partners, seed),
            variety=self._variety(recorded, model, seed),
            deciders=tuple(_deciders(study, recorded, plain)),
            notes=tuple(self._notes),
        )
        found = judged(found)
        return replace(found, paragraph=paragraph_of(found))

    def _note_limits(self, compared: _Compared, answers: Mapping[str, Answers], others: Sequence[Answers]) -> None:
        gaps = Counter[str]()
        for each in (*answers.values(), *others):
            gaps.update(each.missing)
        for reason, count in sorted(gaps.items()):
            self._notes.append(f"{count:,} askings have no answer: {reason}; they are left out")
        self._notes += [
            f"{way.what}: only one of the two ways gave probabilities, so shares are compared, and no turned answers"
            for way in self.ways
            if not way.is_random and compared.is_mixed(answers[way.name])
        ]

    async def _informed(self, asker: Asker) -> tuple[Known, dict[str, float]]:
        study = self.study
        by_cell: dict[int, list[int]] = {}
        for row, each in study.sample.items():
            by_cell.setdefault(each.cell, []).append(row)
        # One of each cell in turn; the first one is also asked the plain question.
        rows = [row for turn in zip_longest(*by_cell.values()) for row in turn if row is not None][:INFORMANTS]
        askings = [study.sample[row] for row in (rows[0], *rows)]
        said, shares, missing = list[tuple[str, str]](), dict[str, float](), Counter[str]()
        for cell in dict.fromkeys(each.cell for each in askings):
            config = asker.config(cell, "informed")
            informants: dict[int, Informant] = {}

            def note(place: int, answer: Answer, informants: Mapping[int, Informant] = informants) -> None:
                if answer.reason:
                    missing[answer.reason] += 1
                elif place:
                    said.append((answer.content, informants[place].told))
                else:
                    shares.update(zip(askings[0].question.options, json.loads(answer.content), strict=True))

            oracle: Any = build_domain(config).domain.oracle(MODEL)
            for place, each in enumerate(askings):
                if each.cell == cell:
                    informants[place] = Informant(prompt=prompt_of(oracle, each), is_plain=not place)
            questions = [
                (place, each, Question(each.tick, each.agent_id, "study", Text.TEXT, (Text.TEXT,), place))
                for place, each in informants.items()
            ]
            await asker.put(config, partial(InformantOracle, seed=config.llm.seed), questions, note)
        words = [self._options.about]
        if self._experiment is not None:
            plan = self._experiment.plan.experiment
            factors = [name for each in plan.conditions for name in (*each.factors, *each.settings)]
            names = [each.name for each in plan.conditions]
            words += [plan.question, *names, *plan.measures, *plan.measures.values(), *factors]
        found = known_of(said, stems(" ".join(words).replace("_", " ").replace(".", " ")))
        return replace(found, missing=dict(missing)), shares

    def _positions(self, answers: Mapping[str, Answers], seed: int) -> tuple[Position, ...]:
        study, options = self.study, self.study.options
        ways = ("order",) if study.run(0).config.llm.order == "fixed" else (AGAIN, "order")
        shown = [answers[name] for name in ways if name in answers]
        if not shown:
            return ()
        of = [row for each in shown for row in each.rows.tolist()]
        places = [each.orders[row] for each in shown for row in each.rows.tolist()]
        names = [study.askings[row].question.options for row in of]
        numbers = [[options.index(own[at]) for at in order] for own, order in zip(names, places, strict=True)]
        return positions_of(study.people(of), np.concatenate([each.probabilities for each in shown]), numbers, seed)

    def _variety(self, recorded: Recorded, model: ChoiceModel, seed: int) -> Variety:
        study = self.study
        people = study.people(range(len(study.askings)))
        firsts = [each.question.options[0] for each in study.askings]
        acts = np.array([each.chosen != first for each, first in zip(study.askings, firsts, strict=True)], np.float64)
        embedded = None
        if all(each.embedded is not None for each in study.askings):
            embedded = np.array([1.0 - each.embedded[0] for each in study.askings if each.embedded is not None])
        if self._options.against is None:
            return variety_of(people, acts, embedded, seed=seed)
        # A real choice acts if it is not the first option of its question; without a known question, of any question.
        places = {(each.question.agent, each.question.tick): row for row, each in enumerate(study.askings)}
        rows = [places.get(each[:2]) for each in self._real]
        passive = [{*firsts} if row is None else {firsts[row]} for row in rows]
        who = np.array([each.agent for each in self._real], dtype=np.int64)
        did = [each.option not in first for each, first in zip(self._real, passive, strict=True)]
        found = variety_of(people, acts, embedded, (who, np.array(did, np.float64)), seed)
        pairs = [
            (row, each.option)
            for row, each in zip(rows, self._real, strict=True)
            if row is not None and each.option in study.askings[row].question.options
        ]
        if not pairs:
            self._notes.append(f"{self._options.against.name}: no row has the agent and the tick of a question")
            return found
        asked = [(study.askings[row].question.options, study.askings[row].features) for row, _ in pairs]
        table = np.stack([line_of(recorded.options, each, model.probabilities(each, seen)) for each, seen in asked])
        chosen = np.array([recorded.options.index(choice) for _, choice in pairs])
        first = np.array([recorded.options.index(firsts[row]) for row, _ in pairs])
        calibration = calibration_of(study.people([row for row, _ in pairs]), table, chosen, first)
        return replace(found, calibration=calibration)

    def replicates(self) -> list[dict[str, tuple[int, int | None]]]:
        """Return `{condition: (run, draw)}` of each replicate: of a seed of an experiment, or of a draw of one run."""
        cells = self.study.cells
        if self._experiment is None:
            draws = self._options.draws if isinstance(self.study.run(0).domain, HasFutures) else 1
            return [{"": (0, draw or None)} for draw in range(draws)]
        by_seed: dict[int, dict[str, tuple[int, int | None]]] = {}
        for place, each in enumerate(cells):
            by_seed.setdefault(each.seed, {})[each.condition] = place, None
        whole = [each for _, each in sorted(by_seed.items()) if len(each) == len(self.study.conditions)]
        return whole[: self._options.draws]

    def claims(self) -> tuple[list[Claim], dict[str, str]]:
        """Return the claims of the study, and `{measure: where it is found}`."""
        if self._experiment is None:
            run = self.study.run(0)
            names = self._options.measures or tuple(run.show.compared)
            return [Claim(claim=each, measure=each, kind="measure", effect=0.0) for each in names], {
                each: each for each in names
            }
        plan, found = self._experiment.plan.experiment, list[Claim]()
        for each in self._experiment.outcome.comparisons:
            hypothesis = each.hypothesis
            if ":" in plan.measures[hypothesis.measure]:
                self._notes.append(f"{hypothesis}: its measure is a function of the user's own, and is not carried")
                continue
            is_equal = hypothesis.margin is not None and not each.refuted
            found.append(
                Claim(
                    claim=f"{hypothesis} (refuted by the study)" if each.refuted else str(hypothesis),
                    measure=hypothesis.measure,
                    kind="equivalence" if is_equal else "difference",
                    effect=each.difference.mean,
                    margin=hypothesis.margin if is_equal else None,
                    is_supported=each.supported or each.refuted,
                    contrast=hypothesis.contrast,
                )
            )
        wanted = {each.measure for each in found}
        return found, {name: place for name, place in plan.measures.items() if name in wanted}


@contextmanager
def naming_other(is_other: bool) -> Iterator[None]:
    """Add the name of the option --other to errors of the block, if they are about the settings that it gave."""
    try:
        yield
    except ConfigError as error:
        if not is_other:
            raise
        raise together([ConfigError(OTHER, each.problem, key=each.key) for each in (error, *error.others)]) from None
    except OracleUnavailableError as error:
        raise OracleUnavailableError(f"{OTHER}: {error}") from None


class _Compared:
    def __init__(self, study: Study, recorded: Recorded, again: Answers) -> None:
        self._study, self._recorded, self._again = study, recorded, again
        self._taken = np.eye(len(recorded.options))[recorded.chosen]
        run = study.run(0).config
        shares = again.probabilities
        # Recorded and repeated answers are alike, unless the model gives probabilities, or the run shared judgements
        # or wrote texts.
        self._is_alike = run.oracle.sharing.by == "none" and not run.llm.writes
        self._is_alike &= not bool(((shares > 0.0) & (shares < 1.0)).any())
        # The model reads the answers to other questions: an answer must not decide what is expected of itself.
        weights = recorded.weights.copy()
        weights[[*study.sample]] = 0.0
        self._model = fitted(recorded._replace(weights=weights)) if weights.sum() >= FEWEST else None
        self._likely = {row: self._expected(study.askings[row].question, each) for row, each in study.sample.items()}

    def _expected(self, question: Question[Any], seen: Asking) -> Floats:
        """Return the probabilities of a question's options if this is what is seen; zeros without a model."""
        if self._model is None:
            return np.zeros(len(self._recorded.options))
        likely = self._model.probabilities(question.options, seen.features)
        return line_of(self._recorded.options, question.options, likely)

    def _asked(self, found: Answers) -> tuple[Ints, Asked]:
        rows = np.intersect1d(found.rows, self._again.rows)
        other, again = (each.probabilities[np.searchsorted(each.rows, rows)] for each in (found, self._again))
        if found is self._again:
            same = self._taken[rows][None]
        else:
            same = np.stack([self._taken[rows], again]) if self._is_alike else again[None]
        return rows, Asked(self._study.people(rows), self._recorded.options, other, same)

    def shift(self, way: Way, found: Answers, seed: int) -> Shift:
        rows, asked = self._asked(found)
        if not len(rows):
            return Shift(way=way.name, what=way.what, questions=0, people=0, missing=found.missing)
        # A drawn answer is far from probabilities also where nothing has changed.
        is_random = way.is_random or self.is_mixed(found)
        askings = [(row, self._study.askings[row].question.options[0]) for row in rows.tolist()]
        passive = np.array([self._likely[row][self._recorded.options.index(first)] for row, first in askings])
        seen = self._study.seen(rows)
        shift = shift_of(way.name, way.what, asked, seen, 1.0 - passive, seed, is_random=is_random)
        return replace(shift, missing=found.missing)

    def is_mixed(self, found: Answers) -> bool:
        """Return whether only one of two ways has probabilities: then shares are compared, and no single answers."""
        return abs(found.drawn - self._again.drawn) > MIXED

    def differences(self, found: Answers) -> tuple[Ints, Floats]:
        rows, asked = self._asked(found)
        return rows, asked.other - asked.same.mean(axis=0)

    def exchange(self, found: Answers, partners: Mapping[int, Asking], seed: int) -> Exchange | None:
        rows, asked = self._asked(found)
        if not len(rows):
            return None
        recorded, theirs, leaning = self._recorded, np.zeros_like(asked.other), np.zeros_like(asked.other)
        for line, row in enumerate(rows.tolist()):
            theirs[line, recorded.options.index(partners[row].chosen)] = 1.0
            leaning[line] = self._expected(self._study.askings[row].question, partners[row]) - self._likely[row]
        people = self._study.people(range(len(recorded.chosen)))
        p_recorded = followed(people, self._taken, recorded.features, seed)
        return exchange_of(asked, leaning, theirs, p_recorded, seed)


def _cells_of(path: Path, experiment: ExperimentRecord | None) -> tuple[list[Cell], int]:
    """Return the runs of a study, those whose questions are asked again first, and how many these are."""
    if experiment is None:
        listed = list_run(path)
        if listed.ticks < listed.length:
            todo = f"has {listed.ticks:,} of {listed.length:,} ticks; finish it first: prism resume {path}"
            raise RunDirectoryError(f"{path}: {todo}")
        return [Cell(path, "", 0)], 1
    done = [each for each in experiment.cells if each.state is CellState.DONE]
    if not done:
        raise RunDirectoryError(f"{path}: no cell of the experiment is done; run it first")
    asked = [
        each
        for name in experiment.conditions
        for each in [one for one in done if one.condition == name][:CELLS_OF_CONDITION]
    ]
    order = [*asked, *(each for each in done if each not in asked)]
    return [Cell(cell_path(path, each), each.condition, each.seed) for each in order], len(asked)


def _against_rules(study: Study, found: Answers, seed: int) -> Shift | None:
    """Return how the model would have settled turns that rules settled; None without such turns."""
    if not len(found.rows):
        return None
    askings = [study.ruled[row] for row in found.rows.tolist()]
    options = study.options
    did = np.eye(len(options))[[options.index(each.chosen) for each in askings]]
    asked = Asked(study.people_of(askings), options, found.probabilities, did[None])
    share = share_over_people(1.0 - (found.probabilities * did).sum(axis=1), asked.people)
    turned = share.changed(lambda value: 100.0 * value)
    return replace(shift_of(RULED, "model in place of the rules", asked, seed=seed), turned=turned)


def _partners(study: Study, rows: Mapping[int, Asking]) -> dict[int, Asking]:
    """Return, for each question, another person's, half of all questions away in the order of the embedded choice."""
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for row, each in rows.items():
        kinds.setdefault((each.cell, each.question.trigger, each.question.state, each.question.options), []).append(row)
    found = dict[int, Asking]()
    for alike in kinds.values():
        order = sorted(alike, key=lambda row: (study.askings[row].features[0], row))
        half = len(order) // 2
        for place, row in enumerate(order):
            own = study.askings[row].question.agent
            others = (study.askings[order[(place + half + step) % len(order)]] for step in range(len(order)))
            other = next((each for each in others if each.question.agent != own), None)
            if other is not None:
                found[row] = other
    return found


def _deciders(study: Study, recorded: Recorded, plain: Mapping[str, float]) -> Iterator[Decider]:
    taken = [each.question.options.index(each.chosen) for each in study.askings]
    tables: dict[str, list[Sequence[float]]] = {
        "first option": [[1.0, *[0.0] * (len(each.question.options) - 1)] for each in study.askings]
    }
    if all(each.embedded is not None for each in study.askings):
        tables["embedded"] = [each.embedded or () for each in study.askings]
    if plain:
        weights = [[plain.get(option, 0.0) for option in each.question.options] for each in study.askings]
        tables["plain question"] = [
            [one / sum(each) for one in each] if sum(each) else [1.0 / len(each)] * len(each) for each in weights
        ]
    for name, table in tables.items():
        shares = dict.fromkeys(recorded.options, 0.0)
        for each, line in zip(study.askings, table, strict=True):
            for option, share in zip(each.question.options, line, strict=True):
                shares[option] += share / len(table)
        agreement = float(np.mean([line[place] for line, place in zip(table, taken, strict=True)]))
        yield Decider(decider=name, agreement=agreement, shares=shares)


class _RealChoice(NamedTuple):
    agent: int
    tick: int  # -1 where the file has none
    option: str
    line: int


def _real_choices(path: Path) -> list[_RealChoice]:
    source = read_input(path)
    table = read_table(decode_text(source.data, source.name), source.name, COLUMNS)
    header, found = [name.lower() for name in table.header], list[_RealChoice]()
    if any(header.count(name) != 1 and (name in header or name != "tick") for name in COLUMNS):
        problem = f"expected the columns agent and choice, and perhaps tick; got {', '.join(header) or 'none'}"
        raise InputError(source.name, problem, line=table.line)
    for line, cells in table.rows:
        row = dict(zip(header, cells, strict=True))
        agent, tick = row["agent"], row.get("tick") or "-1"
        if not agent.isdecimal() or not tick.removeprefix("-").isdecimal():
            problem = f"expected whole numbers as agent and tick, got {agent!r:.60} and {tick!r:.60}"
            raise InputError(source.name, problem, line=line)
        found.append(_RealChoice(int(agent), int(tick), row["choice"], line))
    if not found:
        raise InputError(source.name, "expected a row for each choice; there is none")
    return found
