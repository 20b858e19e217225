"""Shadow questions: turns of a run that a rule settled, put to the oracle afterwards, for comparison only.

A turn can be one of them if its state and trigger have questions, by the chart, and a rule settled it all the same. A
hash says which of those are asked about. The run is replayed tick by tick, and the questions of a tick are asked once
it has come out as recorded. The run itself stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from actors.core.errors import RunDirectoryError, first_error
from actors.core.messages import name_of_question
from actors.factory.domains import build_domain
from actors.factory.oracle_backends import open_oracle
from actors.oracle.call import Answer
from actors.oracle.single_calls import SingleCalls
from actors.runs.directory import RunDirectory
from actors.runs.replay import replay, triggers_of
from actors.runtime.simulation import Simulation
from actors.store.listing import list_run
from actors.store.manifest import CONFIG, read_manifest
from actors.store.messages import messages_of
from actors.store.run import read_resolved
from actors.store.shadow import SHADOW, ShadowSummary
from prism.agents import Question, Source, Trigger, Update
from prism.columns import Ints
from prism.config import Config
from prism.divergence import ComparedChoices, Reference
from prism.domain import said_by
from prism.errors import OracleOutageError, OracleUnavailableError
from prism.rng import Draw, uniforms
from prism.statechart import question_kinds

SHADOW_TAPE = "shadow.sqlite"
"""The tape of a model's answers, in the run's directory: no answer is paid twice."""

ANSWERED, FAILED, AWAY, SPENT = "answered", "failed", "away", "spent"
_OUTCOMES = {"": ANSWERED, "breaker_open": AWAY, "spent": SPENT}
"""`{reason of an answer: outcome}`; any other reason is that of a call that failed."""

_ASKED = ("oracle.", "llm.")
"""The settings that say which oracle is asked, and how."""
_KEPT = f"an answer is kept in {SHADOW_TAPE}"
_OWN = {"oracle.tape": _KEPT, "oracle.tape_path": _KEPT}
"""The settings among these that the command itself sets, with the reason."""


class _Comparison:
    """The turns of a replayed run that rules settled, and the choices of an oracle that is asked about a share of them.

    Args:
        first: the first tick that is looked at.
    """

    def __init__(self, share: float, calls: SingleCalls, first: int) -> None:
        self._share, self._calls, self._first = share, calls, first
        self._simulation: Simulation | None = None
        self._options: dict[tuple[str, str], tuple[str, ...]] = {}
        self._turns: dict[int, list[Trigger[Any]]] = {}
        """`{agent: its triggers in the tick under way}`, of the agents that are asked about in this tick."""
        self._choices = ComparedChoices()
        self._outcomes = Counter[str]()

    def attach(self, simulation: Simulation) -> None:
        self._simulation, seed = simulation, simulation.config.simulation.seed
        self._options = question_kinds(simulation.domain.chart)

        def note(triggers: Sequence[Trigger[Any]]) -> None:
            def is_asked_about(agents: Ints) -> NDArray[np.bool_]:
                return uniforms(seed, agents, triggers[0].tick, Draw.SHADOW) < self._share

            for each in triggers_of(triggers, is_asked_about) if triggers else ():
                self._turns.setdefault(each.agent, []).append(each)

        simulation.engine.on_triggers = note

    def _settled(self, frame: bytes) -> Iterator[tuple[Question[Any], str]]:
        """Yield a question on each settled turn in the tick of a frame, and the state that the rule chose."""
        turns, self._turns = self._turns, {}
        if not turns or self._simulation is None:
            return
        waiting = {agent: iter(triggers) for agent, triggers in turns.items()}
        for answer in messages_of(frame, self._simulation.engine, Update, Question, agents=waiting):
            trigger = next(waiting[answer.agent])  # an agent answers its triggers in their order, each once
            if isinstance(answer, Question) or answer.source != Source.RULE:
                continue
            state, name = answer.from_state, answer.trigger
            if (options := self._options.get((state, name))) is not None:
                yield Question(answer.tick, answer.agent, name, state, options, trigger.context), answer.to_state

    async def ask(self, tick: int, frame: bytes) -> None:
        """Ask about a tick that has come out as recorded."""
        for question, ruled in self._settled(frame):
            if tick >= self._first and self._simulation is not None:
                domain = self._simulation.domain
                reference = said_by(domain).reference
                count = partial(self._count, question, ruled, reference)
                await self._calls.ask(domain.asker(question), question, count)
                await anyio.lowlevel.checkpoint()

    def _count(
        self, question: Question[Any], ruled: str, reference: Callable[[Question[Any]], Reference], answer: Answer
    ) -> None:
        self._outcomes[_OUTCOMES.get(answer.reason, FAILED)] += 1
        if answer.reason:
            self._choices.add_fallback(question.trigger, question.state)
            return
        name, options = name_of_question(question), question.options
        known = reference(question)
        self._choices.add(name, question.state, options, chosen=answer.state, ruled=ruled, reference=known)

    def summary(self, digest: str, oracle: str) -> ShadowSummary:
        """Return the figures, once every call has ended."""
        return ShadowSummary(
            digest=digest,
            oracle=oracle,
            share=self._share,
            questions=self._outcomes.total(),
            outcomes=dict(sorted(self._outcomes.items())),
            divergence=self._choices.divergences(),
        )


async def shadow(
    directory: RunDirectory,
    share: float,
    overrides: Sequence[str] = (),
    on_begin: Callable[[Simulation], None] = lambda _: None,
) -> ShadowSummary:
    """Replay a run, ask an oracle about turns that rules settled, and write the figures. The caller holds its lock.

    In a fork only the ticks after the fork are used.

    Args:
        overrides: `a.b=value` each: settings of the oracle and the model.

    Raises:
        RunDirectoryError: it is no run, or has ticks to go, or a setting is not one of the oracle.
        ConfigError: a setting is wrong.
        OracleUnavailableError: the oracle cannot be asked, or stayed away.
        DivergedError: a tick has another result.
    """
    config = await to_thread.run_sync(asked_config, directory, overrides)
    domain = (await to_thread.run_sync(build_domain, config)).domain
    forks = read_manifest(directory.path).forks
    try:
        async with open_oracle(config, domain, directory.path) as opened, anyio.create_task_group() as tasks:
            calls = SingleCalls(opened.oracle, config.oracle, config.llm.prices, tasks)
            comparison = _Comparison(share, calls, forks[-1].tick if forks else 0)

            def begin(simulation: Simulation) -> None:
                comparison.attach(simulation)
                on_begin(simulation)

            simulation = await replay(directory, on_begin=begin, on_frame=comparison.ask)
    except BaseExceptionGroup as group:
        if (outage := first_error(group, OracleOutageError)) is not None:
            raise away(directory, outage) from None
        raise
    found = comparison.summary(simulation.engine.digest.hexdigest(), opened.description)
    await to_thread.run_sync(directory.write, SHADOW, msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    return found


def away(directory: RunDirectory, outage: OracleOutageError) -> OracleUnavailableError:
    """Return the error of an oracle that has not answered for too long."""
    return OracleUnavailableError(
        f"the oracle has not answered for {outage.waited_s:.0f} s ({outage.failure}); its answers so far are in "
        f"{directory.path / SHADOW_TAPE}: `prism shadow {directory.path}` goes on with them once it is back"
    )


def asked_config(directory: RunDirectory, overrides: Sequence[str], *, is_whole: bool = True) -> Config:
    """Return the settings of the oracle that is asked.

    Args:
        is_whole: whether the run must have all its ticks.

    Raises:
        RunDirectoryError: the run has ticks to go, or a setting is not one of the oracle.
        ConfigError: a setting is wrong.
    """
    refuse_other_settings(directory.path, overrides, _OWN, "the turns are those of the recorded run")
    config = read_resolved(directory.path / CONFIG, overrides)
    listed = list_run(directory.path)
    if is_whole and listed.ticks < listed.length:
        raise RunDirectoryError(
            f"{directory.path}: has {listed.ticks:,} of {listed.length:,} ticks; finish it first: "
            f"prism resume {directory.path}"
        )
    oracle = config.oracle.unshared
    if oracle.backend != "choice":
        oracle = msgspec.structs.replace(oracle, tape="record", tape_path=str(directory.path / SHADOW_TAPE))
    return msgspec.structs.replace(config, oracle=oracle)


def refuse_other_settings(path: Path, overrides: Sequence[str], own: Mapping[str, str], why: str) -> None:
    """Refuse settings that are not about the oracle which is asked about a recorded run.

    Args:
        own: `{setting of an oracle that the command makes: the reason}`; why: the reason for settings of the run.

    Raises:
        RunDirectoryError: naming the first of them.
    """
    for key in (override.partition("=")[0].strip() for override in overrides):
        if not key.startswith(_ASKED) or key in own:
            raise RunDirectoryError(f"{path}: {key} cannot be set here: {own.get(key, why)}")
