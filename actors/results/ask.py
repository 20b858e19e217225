"""A questionnaire put to people at moments of a recorded run, without changing the run: the asking and its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
import anyio.lowlevel
import msgspec
from anyio import to_thread

from actors.core.errors import RunDirectoryError, run_directory_error, ungrouped
from actors.core.files import read_json, refuse_links, remove_abandoned, write_json
from actors.core.machine import not_installed
from actors.explain.respondents import LINES, chosen_people, people_of, respondents_at, tick_of
from actors.explain.retrace import OnBegin, OpenRun
from actors.factory.config_file import read_text
from actors.factory.file_kinds import QUESTIONNAIRE, telling_kind
from actors.factory.oracle_backends import TAPE, open_oracle
from actors.oracle.admission import Answer
from actors.oracle.call import SingleCalls
from actors.runs.compatibility import refuse_other_settings
from actors.store.manifest import CONFIG, read_manifest
from actors.store.run import read_resolved
from actors.tables.export import refuse_inside
from actors.tables.files import write_columns
from actors.tables.schema import attribute_columns
from prism.agents import Question
from prism.survey.oracle import Interview, Respondent, SurveyOracle
from prism.survey.outcome import Given, ItemOutcome, outcomes_of
from prism.survey.questionnaire import EmbeddedAnswers, Item, read_questionnaire
from prism.tables import AGENT, INTEGER, NAME, RUN, TEXT, TICK, Column, Table, Value

RECORD: Final = "ask.json"
"""The file that says what was asked, and what the answers say, in the directory of the answers."""
END: Final = "the end"
_OWN = {
    "oracle.tape_path": "answers are kept on the tape in the directory of --out",
    "llm.memory": f"people remember as in the recorded run, or {LINES} things if it had no memory",
}
_ANSWERS: Final = Table(
    name="answers",
    about="an answer of a person to a question of a questionnaire, or the reason why there is none",
    columns=(
        RUN,
        Column(name="moment", kind=NAME, about="the moment, as the questionnaire calls it"),
        TICK,
        AGENT,
        Column(name="name", kind=TEXT, about="name of the person"),
        Column(name="question", kind=NAME, about="id of the question"),
        Column(name="repeat", kind=INTEGER, about="how often the person was asked it at this moment by then"),
        Column(name="answer", kind=TEXT, about="the option or the text"),
        Column(name="number", kind=INTEGER, about="the number on a scale"),
        Column(name="source", kind=NAME, about="oracle for an expression, llm for a model"),
        Column(name="reason", kind=NAME, about="why there is no answer"),
    ),
    primary=("run", "moment", "agent", "question", "repeat"),
)
_Place = tuple[int, int, int, int]
"""The number of the moment, the person's number, the number of the question, and the repeat."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    asking: str  # SHA-256 of the run, the questions, the moments and the people: the same for the same command
    oracle: str
    moments: dict[str, int]  # `{moment: whole ticks before it}`
    people: int  # how many were asked
    repeats: int
    wanted: int
    answered: int = 0
    missing: dict[str, int] = {}  # `{reason: answers}`
    outcomes: list[ItemOutcome] = []  # of each question, in their order
    notes: list[str] = []  # the gaps in the outcomes, a sentence each


class Survey:
    """A questionnaire for people of a run. First `gather`, then `ask` within `kept`.

    Args:
        path: the run's directory, of which nothing changes.
        at: the round after which it is asked; by default as in the file, or the end.
        agents: the people, such as `0-99,120,Ada Novak`; empty for all.
        out: the directory of the answers; None for no files.
        overrides: `a.b=value` each: settings of the oracle and the model.

    Raises:
        RunDirectoryError: there is no such run, round or person; it has no people; a setting is not one of the
            oracle; or `out` holds other files than the answers to the same questions.
        ConfigError: the questionnaire or a setting is wrong, or a question needs a model.
        JournalError, InputError, RunDirectoryError, UntrustedCodeError: as for `OpenRun`.
    """

    def __init__(  # one for each option of the command
        self,
        path: Path,
        questions: Path,
        *,
        at: int | None = None,
        agents: str = "",
        out: Path | None = None,
        overrides: Sequence[str] = (),
    ) -> None:
        with telling_kind(questions, QUESTIONNAIRE):
            text = read_text(questions, "expected a YAML file with questions: docs/language-models.md")
            self._questionnaire = read_questionnaire(text, str(questions))
        self.path, self.out = path, out
        read_manifest(path)  # this raises the error of a directory that is no run
        refuse_other_settings(path, overrides, _OWN, "people are asked as they were in the recorded run")
        is_set = any(override.partition("=")[0].strip() == "oracle.tape" for override in overrides)
        place = "null" if out is None else msgspec.json.encode(str(out / TAPE)).decode()
        config = read_resolved(path / CONFIG, [*overrides, f"oracle.tape_path={place}"] if is_set else overrides)
        oracle = config.oracle.unshared
        if oracle.backend != "choice":
            mode = "off" if out is None else oracle.tape if is_set else "record"
            tape = None if out is None or mode == "off" else str(out / TAPE)
            oracle = msgspec.structs.replace(oracle, tape=mode, tape_path=tape)
        self._config = msgspec.structs.replace(config, oracle=oracle)
        self._run = OpenRun(path)
        people_of(self._run)
        self._numbers = chosen_people(self._run, agents)
        rounds = self._questionnaire.at if at is None else {f"round {at}": at}
        self._moments = {name: tick_of(self._run, each) for name, each in rounds.items()} or {END: self._run.length}
        self._embedded, self.oracle = None, "expressions of the questionnaire"
        if oracle.backend == "choice":
            attributes, seed = config.population.attributes, config.simulation.seed
            self._embedded = EmbeddedAnswers(self._questionnaire, attributes, seed)
        self._people: list[list[Respondent]] = []
        self._answers: dict[_Place, tuple[int | str | None, str, str]] = {}
        """`{place: (answer, source, reason)}` of those that came."""
        if out is not None:
            refuse_inside([path], out)
            _refuse_other(out, self._asking())

    @property
    def wanted(self) -> int:
        return len(self._moments) * len(self._numbers) * len(self._questionnaire.items) * self._questionnaire.repeat

    @property
    def answers(self) -> int:
        """The questions that have been put so far, with an answer or a reason why there is none."""
        return len(self._answers)

    @property
    def items(self) -> tuple[Item, ...]:
        return self._questionnaire.items

    def _asking(self) -> str:
        items = [msgspec.to_builtins(item) for item in self._questionnaire.items]
        header = self._run.header
        parts = (header.config_sha256, header.seed, items, self._moments, self._numbers, self._questionnaire.repeat)
        return sha256(msgspec.json.encode(parts)).hexdigest()

    async def gather(self, on_begin: OnBegin = lambda _: None) -> None:
        """Restore the people at each moment. A tick with another result than the journal is a DivergedError."""
        work_out = None if self._embedded is None else self._embedded.of
        for number, (moment, tick) in enumerate(self._moments.items()):
            run = self._run if not number else await to_thread.run_sync(OpenRun, self.path)
            self._people.append(await respondents_at(run, moment, tick, self._numbers, work_out, on_begin))

    async def ask(self) -> None:
        """Put every question to everybody, within the limits of the oracle. Answers that came stay after an error."""
        if self._embedded is not None:
            for place, person, item in self._places():
                answer = person.answers[item.id, place[3]]
                self._answers[place] = (answer, "oracle", "" if answer is not None else "no_value")
            return
        config = self._config
        seed, attempts = config.simulation.seed, config.oracle.max_attempts
        make = partial(SurveyOracle, config=config.llm, seed=seed, attempts=attempts)
        with ungrouped():
            async with open_oracle(config, make, self.out) as opened, anyio.create_task_group() as tasks:
                self.oracle = opened.description
                calls = SingleCalls(opened.oracle, config.oracle, config.llm.prices, tasks)
                for place, person, item in self._places():
                    await self._put(calls, place, Interview(person, item, place[3]))

    async def _put(self, calls: SingleCalls, place: _Place, asked: Interview) -> None:
        item, options = asked.item, tuple(asked.item.states)
        question = Question(asked.tick, asked.agent_id, item.id, options[0], options, place)

        def note(answer: Answer) -> None:
            said: int | str | None = None if answer.reason else answer.content or answer.state
            number = said if said is None or item.scale is None else int(said)
            self._answers[place] = (number, "" if answer.reason else answer.source, answer.reason)

        agent: Any = asked
        await calls.ask(agent, question, note)
        await anyio.lowlevel.checkpoint()

    def _places(self) -> Iterator[tuple[_Place, Respondent, Item]]:
        """Yield every asking; prompts with the same beginning follow each other, so that a server reads it once."""
        for moment, people in enumerate(self._people):
            for number, item in enumerate(self.items):
                for repeat in range(1, self._questionnaire.repeat + 1):
                    for person in people:
                        yield (moment, person.number, number, repeat), person, item

    def rows(self) -> dict[str, list[Value]]:
        """Return the answers so far as columns, in the order of moment, person, question and repeat."""
        columns, run, names = self._table.columns, self.path.resolve().name, [*self._moments]
        people = [{person.number: person for person in each} for each in self._people]
        declared = self._config.population.attributes.items()
        rows: list[tuple[Value, ...]] = []
        for (moment, agent, number, repeat), (answer, source, reason) in sorted(self._answers.items()):
            person, item = people[moment][agent], self.items[number]
            text, score = (answer, None) if isinstance(answer, str) else (None, answer)
            told = (person.name, item.id, repeat, text, score, source or None, reason or None)
            values = ((person.attributes[name], each.type) for name, each in declared)
            numbers = (float(value) if kind == "float" else value for value, kind in values)
            rows.append((run, names[moment], person.tick, agent, *told, *numbers))
        found = zip(*rows, strict=True) if rows else [()] * len(columns)
        return {column.name: [*values] for column, values in zip(columns, found, strict=True)}

    @property
    def _table(self) -> Table:
        return _ANSWERS.with_columns(
            column for (_, is_end), column in attribute_columns([self._config]).items() if not is_end
        )

    def outcome(self) -> Asked:
        names, notes = [*self._moments], [*self._run.notes]
        given = [
            Given(agent, names[moment], self.items[number].id, repeat, answer)
            for (moment, agent, number, repeat), (answer, _, _) in sorted(self._answers.items())
        ]
        try:
            outcomes = outcomes_of(self.items, names, given)
        except ImportError:
            outcomes = outcomes_of(self.items, names, given, compares=False)
            notes.append(not_installed("answers at several moments are compared with scipy", "experiments"))
        missing = Counter(reason for _, _, reason in self._answers.values() if reason)
        return Asked(
            run=self.path.resolve().name,
            asking=self._asking(),
            oracle=self.oracle,
            moments=self._moments,
            people=len(self._numbers),
            repeats=self._questionnaire.repeat,
            wanted=self.wanted,
            answered=len(self._answers) - missing.total(),
            missing=dict(sorted(missing.items())),
            outcomes=outcomes if given else [],
            notes=notes,
        )

    @contextmanager
    def kept(self, form: str = "csv") -> Iterator[None]:
        """Write the answers that come in the block, however it ends; a new directory without answers is removed.

        Raises:
            RunDirectoryError, DiskFailedError: the directory cannot be written, or the disk is full.
        """
        if self.out is None:
            yield
            return
        is_new, table = not self.out.exists(), self._table
        try:
            self.out.mkdir(exist_ok=True)
            refuse_links(self.out)
        except OSError as error:
            raise run_directory_error(error, f"{error.filename or self.out}: cannot be written") from None
        write_json(self.out / RECORD, self.outcome())
        try:
            yield
        finally:
            if self._answers:
                # Write the table and its outcome, each file whole or not at all.
                try:
                    remove_abandoned(self.out / table.name)
                    with TemporaryDirectory(prefix=".answers.", suffix=".tmp", dir=self.out) as draft:
                        facts = {"run": self.path.resolve().name, "asking": self._asking()}
                        write_columns(Path(draft) / f"{table.name}.{form}", table, self.rows(), facts)
                        for made in Path(draft).iterdir():
                            made.replace(self.out / made.name)
                except OSError as error:
                    raise run_directory_error(error, f"{self.out}: cannot be written") from None
                write_json(self.out / RECORD, self.outcome())
            elif is_new:
                rmtree(self.out, ignore_errors=True)


def _refuse_other(out: Path, asking: str) -> None:
    """Refuse a directory that holds something other than answers to the same questions."""
    if not out.exists() and not out.is_symlink():
        if not out.absolute().parent.is_dir():
            raise RunDirectoryError(f"{out.parent}: no such directory")
        return
    if out.is_dir() and not any(out.iterdir()):
        return
    try:
        before = read_json(out / RECORD, Asked)
    except OSError:
        raise RunDirectoryError(
            f"{out}: exists already, and has no answers of `prism ask`; name another --out"
        ) from None
    if before.asking != asking:
        problem = f"has answers to other questions, or of other people or moments of {before.run}"
        raise RunDirectoryError(f"{out}: {problem}; name another --out")


def ask_people(path: Path, questions: Path, on_begin: OnBegin = lambda _: None, **options: Any) -> Survey:
    """Put a questionnaire to people of a run, and return it with its answers. `options` and errors: as for `Survey`."""
    survey = Survey(path, questions, **options)
    anyio.run(survey.gather, on_begin)
    with survey.kept():
        anyio.run(survey.ask)
    return survey
