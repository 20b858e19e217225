"""Recorded questions asked again in other ways, within their oracle's limits. Each answer is kept as it arrives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import anyio
import anyio.lowlevel
import numpy as np
from msgspec.structs import replace

from actors.core.errors import ungrouped
from actors.factory.domains import build_domain
from actors.factory.oracle_backends import open_oracle
from actors.oracle.admission import Answer
from actors.oracle.call import SingleCalls
from actors.store.manifest import CONFIG
from actors.store.run import read_resolved
from actors.studies.audit.questions import Asking, Study, line_of
from actors.studies.audit.record import TAPE
from prism.agents import Question
from prism.columns import Floats, Ints
from prism.config import Config
from prism.llm.prompt import ChoicePrompt, order_of, template_of
from prism.rng import Draw, integer
from prism.wording import model_name

AGAIN: Final = "again"
TEMPERATURE: Final = "llm.temperature"
MODEL: Final[Any] = SimpleNamespace(oracle=lambda model: model)
"""A stand-in for a domain: its oracle is the model itself."""
Change = Callable[[ChoicePrompt], ChoicePrompt]
Questions = Iterable[tuple[int, Any, Question[Any]]]
"""Numbers of questions with the agents that ask them."""
Note = Callable[[int, Answer], None]
"""Gets the number of a question, and its answer."""


class Way(NamedTuple):
    """A way to ask recorded questions."""

    name: str
    what: str  # what differs from the run, in words
    overrides: tuple[str, ...] = ()  # settings of the oracle
    change: Change | None = None  # of the prompt
    is_other: bool = False  # whether the settings are those of `--other`

    @property
    def is_random(self) -> bool:
        """True if it changes how far answers are left to chance, so that turned ones tell nothing."""
        return self.name == AGAIN or any(_key(each) == TEMPERATURE for each in self.overrides)


def _key(setting: str) -> str:
    return setting.partition("=")[0].strip()


def seed_of_way(config: Config, number: int) -> str:
    """Return a seed of the model as a setting, another for each way: only then nothing tells which asking is which."""
    return f"llm.seed={(config.llm.seed + number) % 2**31}"


def ways_of(config: Config, other: Sequence[str]) -> list[Way]:
    """Return the ways in which a run's questions are asked again: the first one is its own way with another seed.

    Another temperature alone takes the place of the one that is asked by default.
    """
    llm, seed = config.llm, config.simulation.seed

    def in_order(prompt: ChoicePrompt) -> ChoicePrompt:
        anew = integer(1 << 31, seed, prompt.agent.agent_id, prompt.agent.tick, Draw.AUDIT_ORDER)
        return replace(prompt, order=order_of(anew, prompt.agent.agent_id, prompt.agent.tick, len(prompt.order)))

    def worded(prompt: ChoicePrompt) -> ChoicePrompt:
        other = "list" if prompt.template.text.strip() == template_of("prose").text.strip() else "prose"
        return replace(prompt, template=template_of(other), persona=_persona(prompt))

    def described(prompt: ChoicePrompt) -> ChoicePrompt:
        return replace(prompt, persona="prose" if _persona(prompt) == "list" else "list")

    given = {_key(each): each.partition("=")[2].strip() for each in other}
    temperature, is_other = "0" if llm.temperature >= 0.5 else "1", given.keys() == {TEMPERATURE}
    if is_other:
        temperature = given[TEMPERATURE]
    found = [
        Way(AGAIN, "seed", (seed_of_way(config, 1),)),
        Way("wording", "wording", (seed_of_way(config, 2),), worded),
        Way("persona", "persona format", (seed_of_way(config, 3),), described),
        Way("order", "order of the options", (seed_of_way(config, 4),), in_order),
        Way(
            "temperature",
            f"temperature ({temperature} in place of {llm.temperature:g})",
            (seed_of_way(config, 5), *(other if is_other else [f"{TEMPERATURE}={temperature}"])),
            is_other=is_other,
        ),
    ]
    if other and not is_other:
        # The words stand in a paper, so they leave out the address of a host and the directories of a model's file.
        told = [model_name(given["llm.model"])] if "llm.model" in given else []
        told += [f"{name}={value}" for name, value in given.items() if name not in ("llm.model", "llm.host")]
        what = "model" if "llm.model" in given else "host" if "llm.host" in given else "setting"
        details = f" ({', '.join(told)})" if told else ""
        name = "setting" if what == "setting" else "model"
        found.append(Way(name, f"{what}{details}", tuple(other), is_other=True))
    return found


def _persona(prompt: ChoicePrompt) -> Any:
    return prompt.persona or ("list" if "{person_list}" in prompt.template.text else "prose")


def prompt_of(oracle: Any, asking: Asking) -> ChoicePrompt:
    question, agent = asking.question, asking.agent
    states = [type(agent.state)(option) for option in question.options]
    prompt: ChoicePrompt = oracle.prompt(agent, agent.state, question.trigger, states, question.context)
    return prompt


class Answers(NamedTuple):
    """The answers to a sample of questions in one way."""

    rows: Ints  # the numbers of the questions that were answered, ascending
    probabilities: Floats  # shape (rows, options of the study)
    orders: Mapping[int, tuple[int, ...]]  # `{question: the numbers of its options as they were shown}`
    missing: dict[str, int]  # `{reason: questions without an answer}`
    oracle: str
    drawn: float  # the share of the answers that left an option to chance, where the server gave no probabilities


class Asker:
    """Asks the questions of a study, and keeps the answers on tapes: one that is there is not asked for again.

    The overrides, `a.b=value` each, hold for all ways.
    """

    def __init__(self, study: Study, place: Path, overrides: Sequence[str] = ()) -> None:
        self._study, self._place, self._overrides = study, place, overrides
        self._configs: dict[tuple[int, str], Config] = {}
        self.calls = 0
        """The calls so far; those whose answers were kept count, too."""

    async def check(self, way: Way) -> None:
        """Look at the server and the model of a way before anything is asked. Raises: OracleUnavailableError."""
        async with open_oracle(self.config(0, way.name, way.overrides), MODEL.oracle, None):
            pass

    def config(self, cell: int, way: str, overrides: Sequence[str] = ()) -> Config:
        if (cell, way) not in self._configs:
            config = read_resolved(self._study.cells[cell].path / CONFIG, [*self._overrides, *overrides])
            tape = str(self._place / f"{way}{TAPE}")
            own = replace(config.oracle.unshared, tape="record", tape_path=tape)
            self._configs[cell, way] = replace(config, oracle=own)
        return self._configs[cell, way]

    async def answers(self, way: Way, asked: Mapping[int, Asking]) -> Answers:
        """Ask questions, by their numbers, in one way. Raises: as `put`."""
        options = self._study.options
        found: dict[int, Floats] = {}
        orders: dict[int, tuple[int, ...]] = {}
        missing, oracle, drawn = Counter[str](), "", set[int]()
        for cell in dict.fromkeys(each.cell for each in asked.values()):
            own = {row: each for row, each in asked.items() if each.cell == cell}

            def note(row: int, answer: Answer) -> None:
                if answer.judgement is None:
                    missing[answer.reason or "no probabilities"] += 1
                    return
                found[row] = line_of(options, asked[row].question.options, answer.judgement.probabilities)
                if answer.judgement.samples:
                    drawn.add(row)

            questions = [(row, each.agent, each.question) for row, each in own.items()]
            config = self.config(cell, way.name, way.overrides)

            def made(model: Any, config: Config = config) -> Any:
                asker: Any = build_domain(config).domain.oracle(model)
                asker.change = way.change
                return asker

            asker, oracle = await self.put(config, made, questions, note, samples=1)
            orders |= {row: prompt_of(asker, asking).order for row, asking in own.items()}
        kept = np.array(sorted(found), dtype=np.int64)
        table = np.array([found[row] for row in kept.tolist()]).reshape(len(kept), len(options))
        share = len(drawn) / max(1, len(kept))
        return Answers(kept, table, orders, dict(sorted(missing.items())), oracle, share)

    async def put(
        self, config: Config, made: Callable[[Any], Any], questions: Questions, note: Note, samples: int = 0
    ) -> tuple[Any, str]:
        """Put questions through the oracle that is made of the model; return it, and its model in words.

        Raises:
            OracleUnavailableError: the model cannot be asked, or stayed away.
        """
        with ungrouped():
            async with open_oracle(config, MODEL.oracle, None) as opened, anyio.create_task_group() as tasks:
                asker = made(opened.oracle)
                single = SingleCalls(asker, config.oracle, config.llm.prices, tasks, samples)
                for number, agent, question in questions:
                    await single.ask(agent, question, partial(note, number))
                    await anyio.lowlevel.checkpoint()
        self.calls += sum(spent.calls for spent in single.spent)
        return asker, opened.description
