"""A recorded run done again without any model, from its journal's header and its oracle's answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import anyio

from actors.core.errors import JournalError, first_error
from actors.core.messages import Decided
from actors.core.ports import Record
from actors.factory.domains import build_domain
from actors.persistence.disk import RealDisk
from actors.persistence.oracle_log import ANSWERS, RecordedAnswers
from actors.persistence.recorded_ticks import RecordedTicks
from actors.persistence.recovery import recover
from actors.runs.compatibility import refuse_unless_compatible
from actors.runs.directory import CONFIG, RunDirectory
from actors.runs.resume import read_resolved
from actors.runtime.simulation import Simulation
from prism.agents import Question
from prism.columns import Columns
from prism.config import Config
from prism.domain import Domain
from prism.errors import OracleUnavailableError, PrismError
from prism.statechart import Oracle


class Part(NamedTuple):
    """A part of a run with one configuration: until the tick of a fork, or to the end."""

    until: int
    config: Config


class AbsentOracle(Oracle[Any]):
    """Stands where the model was: whatever was answered is on record.

    Args:
        may_be_late: whether a question may have gone without an answer because the clock did not wait.
    """

    def __init__(self, *, may_be_late: bool) -> None:
        self._may_be_late = may_be_late

    async def ask(
        self,
        agent: Any,
        current_state: Any,  # noqa: ARG002  # the interface's
        trigger: str,
        options: Any,  # noqa: ARG002
        context: Any = None,  # noqa: ARG002
    ) -> Any:
        """No answer, ever."""
        if self._may_be_late:
            await anyio.sleep_forever()
        raise OracleUnavailableError(
            f"{ANSWERS}: has no answer to agent {agent.agent_id}'s {trigger!r} of tick {agent.tick}; "
            "a part of it is lost"
        )


class Replay(Record):
    """Compares every tick with the journal, and answers from the oracle's log.

    Args:
        known: the answers; what is not among them is computed again.
    """

    def __init__(self, recorded: RecordedTicks, known: RecordedAnswers) -> None:
        self._recorded = recorded
        self._known = known

    def late_agents(self, tick: int) -> frozenset[int] | None:
        """Whose decisions came too late in this tick."""
        return self._recorded.late_agents(tick)

    def recorded_answer(self, question: Question[Any]) -> Decided | None:
        """The recorded answer."""
        return self._known.take(question)

    async def keep(self, decided: bytes) -> None:
        """It is kept already."""

    async def commit(self, tick: int, frame: bytes) -> None:
        """Compare."""
        if not self._recorded.compare(tick, frame):
            raise JournalError(f"tick {tick} is not in the journal")


async def replay(
    directory: RunDirectory, until: int | None = None, on_begin: Callable[[Simulation], None] = lambda _: None
) -> Simulation:
    """The simulation as the journal leaves it, every tick of it done again from the first on, and found equal.

    Args:
        until: stop after this many ticks.
        on_begin: called with the simulation of each part before it runs.

    Raises:
        DivergedError: a tick came out differently.
        ResumeRefusedError: settings or input files are not what the run was made of.
        JournalError: the journal cannot be read, or does not have so many ticks.
    """
    manifest = directory.manifest()
    disk = RealDisk(directory.path)
    recovered = recover(disk, repair=False, before=0)
    recorded = recovered.recorded
    ticks = recorded.ticks if until is None else until
    if ticks > recorded.ticks:
        raise JournalError(f"{directory.path}: has {recorded.ticks:,} ticks, not {ticks:,}")
    config = read_resolved(directory.path / CONFIG)
    # Before it looks as if the run could not be repeated: other code is what a replay is there to judge, no obstacle.
    built = build_domain(config)
    refuse_unless_compatible(directory.path, recovered.header, manifest, config, built.inputs, force=True)
    record = Replay(recorded, RecordedAnswers(disk, recorded.answers_from, recorded.answers_end))
    simulation: Simulation | None = None
    for part in parts_of(directory, config, ticks):
        domain = built.domain if part.config is config else build_domain(part.config).domain
        simulation = await _continued(simulation, part, domain, record, on_begin)
    if simulation is None:
        raise JournalError(f"{directory.path}: has no tick to replay")
    return simulation


def parts_of(directory: RunDirectory, config: Config, ticks: int) -> list[Part]:
    """The parts of a run up to a tick, the first one first."""
    forks = directory.manifest().forks
    parts = [Part(min(fork.tick, ticks), read_resolved(directory.path / fork.config)) for fork in forks]
    parts.append(Part(ticks, config))
    return [
        part for before, part in zip([0, *(each.until for each in parts)], parts, strict=False) if part.until > before
    ]


async def _continued(
    before: Simulation | None, part: Part, domain: Domain, record: Replay, on_begin: Callable[[Simulation], None]
) -> Simulation:
    """A simulation that goes on where another stands, with the configuration of the next part, to its end."""
    oracle = None
    if part.config.oracle.backend != "choice":
        oracle = AbsentOracle(may_be_late=part.config.oracle.mode == "realtime")
    simulation = Simulation(part.config, domain, oracle, record)
    simulation.ticks = part.until
    if before is not None:
        await hand_over(before, simulation)
    on_begin(simulation)
    try:
        await simulation.run()
    except BaseExceptionGroup as group:
        if (error := first_error(group, PrismError)) is not None:
            raise error from None
        raise
    return simulation


async def hand_over(before: Simulation, after: Simulation) -> None:
    """Put a new simulation where another one stands between two ticks."""
    state, columns = await before.checkpoint()
    after.restore(state, Columns(columns))
